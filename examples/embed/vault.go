package embed

import (
	"context"
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/localkeys"
)

// customers is what the host keeps in its vault: the email address of a customer has one
// token, in whatever table it stands.
var customers = vault.Schema{Tables: []vault.Table{
	{Name: "persons", Columns: []vault.Column{{Name: "email", Tokenization: vault.Deterministic, Group: "emails", Format: "email"}}},
	{Name: "orders", Columns: []vault.Column{
		{Name: "contact", Tokenization: vault.Deterministic, Group: "emails", Format: "email"},
		{Name: "card", Tokenization: vault.Deterministic, Format: "digits:luhn,last4"},
	}},
}}

// addVaults adds two vault services to the host: one under /vault, and one under /sandbox
// for trying things out. They have nothing in common: neither a store nor a key. So no
// token of one means anything to the other.
func addVaults(ctx context.Context, r chi.Router, production, sandbox localkeys.Root) (live *vault.Service, err error) {
	if live, err = addVault(ctx, r, "/vault", production); err != nil {
		return nil, err
	}
	_, err = addVault(ctx, r, "/sandbox", sandbox)
	return live, err
}

func addVault(ctx context.Context, r chi.Router, prefix string, root localkeys.Root) (*vault.Service, error) {
	db, err := memory.Open(ctx, nil)
	if err != nil {
		return nil, err
	}
	keyring, err := localkeys.New(localkeys.Key{Version: 1, Root: root})
	if err != nil {
		return nil, err
	}
	service, err := vault.New(db.Vault(), keyring, nil)
	if err != nil {
		return nil, err
	}
	if _, err := service.EnsureVault(ctx, "acme", "the host", "customers", customers); err != nil {
		return nil, err
	}
	handler, err := httpadapter.NewVault(service, httpadapter.AuthenticatorFunc(vaultUser), &httpadapter.VaultOptions{Insert: true, Detokenize: true})
	if err != nil {
		return nil, err
	}
	r.Handle(prefix+"/*", http.StripPrefix(prefix, handler))
	return service, nil
}

var roles = access.DefaultCatalogue()

// vaultUser says who is asking. Managers see plain values; everybody else inserts values,
// and sees them masked.
func vaultUser(r *http.Request) (httpadapter.Principal, error) {
	c, ok := claimsFrom(r.Context())
	if !ok || c.Tenant == "" {
		return httpadapter.Principal{}, httpadapter.ErrUnauthenticated
	}
	role := "editor"
	if c.Manager {
		role = "admin"
	}
	return httpadapter.Principal{Organization: c.Tenant, Subject: c.Subject, Access: roles.Access(access.Role{ID: role})}, nil
}
