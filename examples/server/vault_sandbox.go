package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/vault"
)

// sandboxPrefix is where the sandbox of the vault is, before the paths of the vault.
const sandboxPrefix = "/sandbox"

// vaultSandbox is a second vault service to try things out: with a store and a keyring of
// its own, which are in RAM and gone at the end. It takes the same access tokens, and has
// the vaults of the provisioning document, without their records.
type vaultSandbox struct {
	service *vault.Service
	store   *sandboxStore
	handler *httpadapter.Handler
}

func newVaultSandbox(auth httpadapter.Authenticator, opts *httpadapter.VaultOptions) (*vaultSandbox, error) {
	db, err := memory.Open(context.Background(), nil)
	if err != nil {
		return nil, err
	}
	root, _ := newRootKey()
	keyring, err := vaultKeyring(root)
	if err != nil {
		return nil, err
	}
	store := &sandboxStore{sandboxTables: db.Vault().Store.(*memory.Vault), kept: make(map[string]int)}
	service, err := vault.New(vault.Backend{Store: store}, keyring, &vault.Options{MaxValue: maxVaultValue, Logger: opts.Logger})
	if err != nil {
		return nil, fmt.Errorf("make the vault's sandbox: %w", err)
	}
	routes, err := httpadapter.NewVault(service, auth, opts)
	if err != nil {
		return nil, fmt.Errorf("mount the vault's sandbox: %w", err)
	}
	return &vaultSandbox{service: service, store: store, handler: routes}, nil
}

// What a sandbox keeps, in bytes: it shares the memory of the program.
const (
	maxSandbox  = 8 << 20 // of one organization; none has less because of the others
	sandboxRow  = 768     // of a row beside its sealed value, about
	sandboxGone = 384     // of a deleted row: its token stays, for it is never given again
)

// sandboxTables is another name of the type, for a field of its own name would hide the
// method Vault.
type sandboxTables = memory.Vault

// sandboxStore takes values until it is full, and keeps no audit trail of what is shown
// and imported.
type sandboxStore struct {
	*sandboxTables

	mu   sync.Mutex
	kept map[string]int // bytes by organization
}

// take counts bytes of an organization, or returns [vault.ErrFull].
func (s *sandboxStore) take(organization string, size int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept[organization]+size > maxSandbox {
		return fmt.Errorf("the sandbox is full until something is deleted, or the next start: %w", vault.ErrFull)
	}
	s.kept[organization] += size
	return nil
}

// giveBack counts bytes no longer.
func (s *sandboxStore) giveBack(organization string, size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept[organization] -= size
}

func sandboxSize(r *vault.Row) int { return len(r.Sealed.Ciphertext) + sandboxRow }

// InsertTokens implements [vault.Tokens].
func (s *sandboxStore) InsertTokens(ctx context.Context, org, id string, revision int64, rows []vault.Row) ([]string, error) {
	size := 0
	for i := range rows {
		size += sandboxSize(&rows[i])
	}
	if err := s.take(org, size); err != nil {
		return nil, err
	}
	tokens, err := s.sandboxTables.InsertTokens(ctx, org, id, revision, rows)
	if err != nil {
		s.giveBack(org, size)
		return nil, err
	}
	for i := range tokens {
		if tokens[i] != rows[i].Token { // the value was there
			s.giveBack(org, sandboxSize(&rows[i]))
		}
	}
	return tokens, nil
}

// ImportTokens implements [vault.Imports]: no operation of the HTTP interface imports, so
// nothing is imported here.
func (s *sandboxStore) ImportTokens(context.Context, string, string, int64, []vault.Row, vault.AuditEvent) error {
	return vault.ErrFull
}

// DeleteToken implements [vault.Tokens].
func (s *sandboxStore) DeleteToken(ctx context.Context, org, id, token string, a vault.AuditEvent) error {
	rows, err := s.Rows(ctx, org, id, []string{token})
	if errors.Is(err, vault.ErrNotFound) {
		return vault.ErrTokenNotFound
	}
	if err == nil {
		err = s.sandboxTables.DeleteToken(ctx, org, id, token, a)
	}
	if err == nil {
		s.giveBack(org, sandboxSize(&rows[0])-sandboxGone)
	}
	return err
}

// AddAuditEvent implements [vault.Audit].
func (s *sandboxStore) AddAuditEvent(context.Context, vault.AuditEvent) error { return nil }

// provision makes a vault of the sandbox what the one in production is.
func (s *vaultSandbox) provision(ctx context.Context, org, id string, schema vault.Schema) error {
	_, err := s.service.CreateVault(ctx, org, provisioning, id, schema)
	if errors.Is(err, vault.ErrExists) {
		err = nil
	}
	return err
}
