package embed

import (
	"context"
	"fmt"
	"log"
	"net/http/httptest"
	"strings"

	"github.com/seed-6363c74e/mortise/authmgmt"
)

// Example_invitations takes a person from the invitation to the membership.
func Example_invitations() {
	ctx := context.Background()
	host, err := newHost(exampleSecret)
	if err != nil {
		log.Fatal(err)
	}
	server := httptest.NewServer(host)
	defer server.Close()
	var m members
	key, err := authmgmt.NewInvitationKey([]byte("not random, for the example only"))
	if err != nil {
		log.Fatal(err)
	}
	if _, err := addCredentials(ctx, host, server.URL, key, &m); err != nil {
		log.Fatal(err)
	}
	ada := managerToken("ada@example.com", "acme")

	answer := request("POST", server.URL+"/credentials/api/v1/auth-management/user-invitations", ada,
		`{"email":"alan@example.com","name":"Alan","roles":[{"role_id":"viewer"}]}`)
	status, body, _ := strings.Cut(answer, " ")
	fmt.Println(status)
	_, link, _ := strings.Cut(body, `"invitation_url":"`)
	link, _, _ = strings.Cut(link, `"`)

	fmt.Println(strings.Contains(request("GET", link, "", ""), "Join the docs team"))
	fmt.Println(request("POST", link, token("", "acme"), ""))
	fmt.Println(request("POST", link, token("eve@example.com", ""), ""))
	fmt.Println(request("POST", link, token("alan@example.com", ""), ""))
	fmt.Println(request("POST", link, token("alan@example.com", ""), ""))
	fmt.Println(m.rows[[2]string{"acme", "alan@example.com"}])
	// Output:
	// 201
	// true
	// 401 sign in first
	// 403 this invitation is for somebody else
	// 200 welcome to acme
	// 404 this invitation cannot be used any more
	// [{viewer  }]
}
