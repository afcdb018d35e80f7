package httpadapter_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/localkeys"
)

// A page of the host's own shows a customer's address, as far as the reader's roles go.
func ExampleAllowByAccess() {
	ctx := context.Background()
	db, _ := memory.Open(ctx, nil)
	key := make([]byte, localkeys.RootSize) // a host reads it from a file or a secret manager
	_, _ = rand.Read(key)
	root, err := localkeys.NewRoot(key)
	if err != nil {
		log.Fatal(err)
	}
	keyring, err := localkeys.New(localkeys.Key{Version: 1, Root: root})
	if err != nil {
		log.Fatal(err)
	}
	values, err := vault.New(db.Vault(), keyring, nil)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := values.CreateVault(ctx, "acme", "setup", "customers", vault.Schema{Tables: []vault.Table{{
		Name:    "persons",
		Columns: []vault.Column{{Name: "email", Tokenization: vault.Deterministic, Format: "email"}},
	}}}); err != nil {
		log.Fatal(err)
	}
	stored, err := values.Insert(ctx, "acme", "setup", "customers", []vault.Item{
		{Place: vault.InColumn("persons", "email"), Value: vault.NewValue("ada@example.com")},
	})
	if err != nil {
		log.Fatal(err)
	}

	auth := httpadapter.AuthenticatorFunc(func(r *http.Request) (httpadapter.Principal, error) {
		role := access.Role{ID: r.Header.Get("Role")} // a host has a session or a JWT
		return httpadapter.Principal{
			Organization: "acme", Subject: role.ID, Access: access.DefaultCatalogue().Access(role),
		}, nil
	})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /customers/{token}", func(w http.ResponseWriter, r *http.Request) {
		p, err := auth.Authenticate(r)
		if err != nil {
			http.Error(w, "Sign in.", http.StatusUnauthorized)
			return
		}
		shown, err := values.Detokenize(r.Context(), p.Organization, mortise.Actor(p.Subject), "customers",
			[]vault.DetokenizeItem{{Token: r.PathValue("token")}}, httpadapter.AllowByAccess(p.Access))
		switch {
		case errors.Is(err, vault.ErrTokenNotFound):
			http.NotFound(w, r)
		case err != nil:
			http.Error(w, "Try again later.", http.StatusServiceUnavailable)
		default:
			fmt.Fprint(w, shown[0].Value.Reveal())
		}
	})

	for _, role := range []string{"admin", "editor", "viewer"} {
		r := httptest.NewRequest(http.MethodGet, "/customers/"+stored[0], nil)
		r.Header.Set("Role", role)
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		fmt.Println(role, w.Code, w.Body)
	}
	// Output:
	// admin 200 ada@example.com
	// editor 200 a********@example.com
	// viewer 200 *REDACTED*
}
