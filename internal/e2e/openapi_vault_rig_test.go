package e2e

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
	"github.com/seed-6363c74e/mortise/vault/localkeys"
)

// vaultAPI is the vault service, with callers by the names of their roles.
type vaultAPI struct {
	*openapiRig
	service *vault.Service
}

// vaultMemory has another name than its method Vault.
type vaultMemory = memory.Vault

// vaultAPIStore is memory that can fail, be corrupt, and hold values that were changed.
type vaultAPIStore struct {
	*vaultMemory
	fault func(method string) error
}

// Faults of a vaultAPIStore that are none of a method's.
const (
	storeCorrupt = "corrupt"
	rowsTampered = "tampered"
)

func (s vaultAPIStore) fails(method string) error {
	if s.fault(storeCorrupt) != nil {
		return keyring.ErrCorrupt
	}
	return s.fault(method)
}

func (s vaultAPIStore) FindTokens(ctx context.Context, org, id string, revision int64, lookups []vault.Lookup) ([][]string, error) {
	if err := s.fails("FindTokens"); err != nil {
		return nil, err
	}
	return s.vaultMemory.FindTokens(ctx, org, id, revision, lookups)
}

func (s vaultAPIStore) Rows(ctx context.Context, org, id string, tokens []string) ([]vault.Row, error) {
	if err := s.fails("Rows"); err != nil {
		return nil, err
	}
	rows, err := s.vaultMemory.Rows(ctx, org, id, tokens)
	if err == nil && s.fault(rowsTampered) != nil {
		rows[0].Sealed.Ciphertext[0] ^= 1
	}
	return rows, err
}

func newVaultAPI(t *testing.T) *vaultAPI {
	t.Helper()
	r := &vaultAPI{openapiRig: &openapiRig{t: t, key: "full", answered: make(map[string]map[string]bool)}}
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	root, err := localkeys.NewRoot([]byte("a root key of the tests, 32 byte"))
	require.NoError(t, err)
	keyring, err := localkeys.New(localkeys.Key{Version: 1, Root: root})
	require.NoError(t, err)
	r.service, err = vault.New(vault.Backend{Store: vaultAPIStore{db.Vault().Store.(*memory.Vault), r.fault}}, keyring, nil)
	require.NoError(t, err)
	_, err = r.service.CreateVault(t.Context(), "acme", "operator", "v1", vault.Schema{Tables: []vault.Table{{Name: "persons", Columns: []vault.Column{
		{Name: "email", Tokenization: vault.Deterministic, Group: "emails", Format: "email"}, {Name: "note", Tokenization: vault.Random}, {Name: "remark"},
	}}}})
	require.NoError(t, err)
	h, err := httpadapter.NewVault(r.service, unlessHasty(httpadapter.Bearer(callerByRole)), &httpadapter.VaultOptions{
		Options: r.options(), Insert: true, Detokenize: true, Delete: true,
	})
	require.NoError(t, err)
	r.serve(h)
	return r
}

// callerByRole takes the name of a role for a token; "full" is full access.
func callerByRole(_ context.Context, token string) (httpadapter.Principal, error) {
	p := httpadapter.Principal{Organization: "acme", Subject: token, Access: access.DefaultCatalogue().Access(access.Role{ID: token})}
	switch token {
	case "full":
		p.Access = access.Full()
	case "viewer", "editor", "nobody":
	default:
		return httpadapter.Principal{}, httpadapter.ErrUnauthenticated
	}
	return p, nil
}

// insert stores a value and returns its token.
func (r *vaultAPI) insert(column, value string) string {
	r.t.Helper()
	tokens, err := r.service.Insert(r.t.Context(), "acme", "operator", "v1",
		[]vault.Item{{Place: vault.InColumn("persons", column), Value: vault.NewValue(value)}})
	require.NoError(r.t, err)
	return tokens[0]
}
