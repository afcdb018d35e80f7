package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/localkeys"
)

// sandboxPrefix is where the sandbox of the vault is, before the paths of the vault.
const sandboxPrefix = "/sandbox"

// vaultSandbox is a second vault service to try things out: with a store and a keyring of its own, which are in RAM and gone at the end. It takes
// the same access tokens, and has the vaults of the provisioning document, without their records.
type vaultSandbox struct {
	service *vault.Service
	routes  *httpadapter.Handler
}

func newVaultSandbox(auth httpadapter.Authenticator, opts *httpadapter.VaultOptions) (*vaultSandbox, error) {
	db, err := memory.Open(context.Background(), nil)
	if err != nil {
		return nil, err
	}
	key := make([]byte, localkeys.RootSize)
	_, _ = rand.Read(key) // never fails
	root, err := localkeys.NewRoot(key)
	if err != nil {
		return nil, err
	}
	keyring, err := localkeys.New(localkeys.Key{Version: 1, Root: root})
	if err != nil {
		return nil, err
	}
	service, err := vault.New(&sandboxStore{sandboxTables: db.Vault()}, keyring, &vault.Options{MaxValue: maxVaultValue})
	if err != nil {
		return nil, fmt.Errorf("make the vault's sandbox: %w", err)
	}
	routes, err := httpadapter.NewVault(service, auth, opts)
	if err != nil {
		return nil, fmt.Errorf("mount the vault's sandbox: %w", err)
	}
	return &vaultSandbox{service: service, routes: routes}, nil
}

// maxSandbox bounds what a sandbox holds, in bytes of sealed values: it shares the memory of the program.
const maxSandbox = 32 << 20

// sandboxTables is another name of the type, for a field of its own name would hide the method Vault.
type sandboxTables = memory.Vault

// sandboxStore takes values until it is full, and keeps no audit trail of what is shown.
type sandboxStore struct {
	*sandboxTables
	size atomic.Int64
}

var errSandboxFull = errors.New("the sandbox is full until the next start")

// InsertTokens implements [vault.Tokens].
func (s *sandboxStore) InsertTokens(ctx context.Context, org, id string, revision int64, rows []vault.Row) ([]string, error) {
	const overhead = 512 // of a row, about
	size := int64(0)
	for i := range rows {
		size += int64(len(rows[i].Sealed.Ciphertext)) + overhead
	}
	if s.size.Add(size) > maxSandbox {
		s.size.Add(-size)
		return nil, errSandboxFull
	}
	tokens, err := s.sandboxTables.InsertTokens(ctx, org, id, revision, rows)
	if err != nil {
		s.size.Add(-size)
	}
	return tokens, err
}

// AddAuditEvent implements [vault.Audit].
func (s *sandboxStore) AddAuditEvent(context.Context, vault.AuditEvent) error { return nil }

// provision makes a vault of the sandbox what the one in production is.
func (s *vaultSandbox) provision(ctx context.Context, org, id string, schema vault.Schema) error {
	_, err := s.service.CreateVault(ctx, org, provisioner.Subject, id, schema)
	if errors.Is(err, vault.ErrExists) {
		err = nil
	}
	return err
}
