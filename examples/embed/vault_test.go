package embed

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"net/http/httptest"
	"strings"

	"github.com/seed-6363c74e/mortise/vault/localkeys"
)

// Example_tokens inserts a card number, asks for its token, and shows it to two people.
func Example_tokens() {
	host, err := newHost(exampleSecret)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := addVaults(context.Background(), host, exampleRoot(1), exampleRoot(2)); err != nil {
		log.Fatal(err)
	}
	server := httptest.NewServer(host)
	defer server.Close()
	vault, sandbox := server.URL+"/vault/v1/vaults/customers", server.URL+"/sandbox/v1/vaults/customers"
	bob, ada := token("bob", "acme"), managerToken("ada", "acme")

	inserted := request("POST", vault+"/orders", bob, `{"records":[{"fields":{"card":"4111111111111111"}}]}`)
	card := strings.Split(inserted, `"`)[7]
	fmt.Println(strings.Replace(inserted, card, "TOKEN", 1), len(card), card[12:])

	ask := `{"tokenizationParameters":[{"table":"orders","column":"card","value":"4111111111111111"}]}`
	fmt.Println(strings.Replace(request("POST", vault+"/tokenize", bob, ask), card, "TOKEN", 1))
	fmt.Println(request("POST", sandbox+"/tokenize", bob, ask)[:3])

	show := `{"detokenizationParameters":[{"token":"` + card + `"}]}`
	for _, who := range []string{bob, ada} {
		fmt.Println(strings.Replace(request("POST", vault+"/detokenize", who, show), card, "TOKEN", 1))
	}
	// Output:
	// 200 {"records":[{"tokens":{"card":"TOKEN"}}]} 16 1111
	// 200 {"records":[{"token":"TOKEN"}]}
	// 404
	// 200 {"records":[{"token":"TOKEN","value":"********1111","valueType":"STRING","redaction":"MASKED"}]}
	// 200 {"records":[{"token":"TOKEN","value":"4111111111111111","valueType":"STRING","redaction":"PLAIN_TEXT"}]}
}

// exampleRoot stands for 32 random bytes that the host keeps outside of its database.
func exampleRoot(b byte) localkeys.Root {
	root, err := localkeys.NewRoot(bytes.Repeat([]byte{b}, localkeys.RootSize))
	if err != nil {
		log.Fatal(err)
	}
	return root
}
