package httpadapter_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/localkeys"
)

// An editor inserts a record, asks for the token of its value, and sees the value masked.
func ExampleNewVault() {
	ctx := context.Background()
	db, _ := memory.Open(ctx, nil)
	key := make([]byte, localkeys.RootSize) // a host reads it from a file or a secret manager, for it must stay the same
	_, _ = rand.Read(key)
	root, err := localkeys.NewRoot(key)
	if err != nil {
		log.Fatal(err)
	}
	keyring, err := localkeys.New(localkeys.Key{Version: 1, Root: root})
	if err != nil {
		log.Fatal(err)
	}
	service, err := vault.New(db.Vault(), keyring, nil)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := service.CreateVault(ctx, "acme", "operator", "v1", vault.Schema{Tables: []vault.Table{{Name: "persons", Columns: []vault.Column{
		{Name: "email", Tokenization: vault.Deterministic, Format: "email"},
	}}}}); err != nil {
		log.Fatal(err)
	}

	editor := access.DefaultCatalogue().Access(access.Role{ID: "editor", Resource: access.Vault, ResourceInstance: "v1"})
	auth := httpadapter.Bearer(func(_ context.Context, token string) (httpadapter.Principal, error) {
		if token != "the-editors-token" {
			return httpadapter.Principal{}, httpadapter.ErrUnauthenticated
		}
		return httpadapter.Principal{Organization: "acme", Subject: "person:grace", Access: editor}, nil
	})
	vaults, err := httpadapter.NewVault(service, auth, &httpadapter.VaultOptions{Insert: true, Detokenize: true})
	if err != nil {
		log.Fatal(err)
	}
	token := ""
	post := func(path, body string) {
		r := httptest.NewRequest(http.MethodPost, "/v1/vaults/v1/"+path, strings.NewReader(strings.ReplaceAll(body, "TOKEN", token)))
		r.Header.Set("Authorization", "Bearer the-editors-token")
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		vaults.ServeHTTP(w, r)
		if _, rest, ok := strings.Cut(w.Body.String(), `"email":"`); ok {
			token, _, _ = strings.Cut(rest, `"`)
		}
		fmt.Println(w.Code, strings.ReplaceAll(w.Body.String(), token, "TOKEN"))
	}
	post("persons", `{"records":[{"fields":{"email":"ada@example.com"}}]}`)
	post("tokenize", `{"tokenizationParameters":[{"value":"ada@example.com","table":"persons","column":"email"}]}`)
	post("detokenize", `{"detokenizationParameters":[{"token":"TOKEN"}]}`)
	post("tokenize", `{"tokenizationParameters":[{"value":"eve@example.com","table":"persons","column":"email"}]}`)
	// Output:
	// 200 {"records":[{"tokens":{"email":"TOKEN"}}]}
	// 200 {"records":[{"token":"TOKEN"}]}
	// 200 {"records":[{"token":"TOKEN","value":"a********@example.com","valueType":"STRING","redaction":"MASKED"}]}
	// 404 {"error":{"grpc_code":5,"http_code":404,"http_status":"Not Found","message":"Item 0: The value has no token. Insert it first.","details":[{"index":0,"reason":"value_not_found"}]}}
}
