// Package sandbox makes a vault service to try things out, beside the one in production:
// with a store and keys of its own, which are in RAM and gone at the end of the process.
//
//	trial, err := sandbox.New(nil)
//
// It is mounted as another vault service is, under another prefix, which
// httpadapter.VaultOptions.SandboxURL of the one in production names. The host gives it
// the vaults that shall be there, by [vault.Service.EnsureVault].
package sandbox

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/localkeys"
)

// Options are the settings of New. The zero value means the defaults.
type Options struct {
	vault.Options // of the service

	MaxBytes int // what is kept of one organization: 8 MiB; none has less because of the others
}

const (
	defaultBytes = 8 << 20
	rowBytes     = 768 // of a row beside its sealed value, about
	goneBytes    = 384 // of a deleted row: its token stays, for it is never given again
)

// New returns a vault service in RAM under a random key. It takes values of an
// organization until that has MaxBytes of them, and is then [vault.ErrFull] until
// something is deleted. It keeps no audit trail of what is shown, and imports nothing.
func New(opts *Options) (*vault.Service, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	switch {
	case o.MaxBytes < 0:
		return nil, errors.New("sandbox: Options.MaxBytes must be 0 or more")
	case o.MaxBytes == 0:
		o.MaxBytes = defaultBytes
	}
	store, err := newStore(o.MaxBytes)
	if err != nil {
		return nil, err
	}
	return newService(store, &o.Options)
}

func newService(store *store, opts *vault.Options) (*vault.Service, error) {
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
	return vault.New(vault.Backend{Store: store}, keyring, opts)
}

// tables is another name of the type, for a field of its own name would hide the method
// Vault.
type tables = memory.Vault

// store takes values until it is full, and keeps no audit trail of what is shown and
// imported.
type store struct {
	*tables
	most int // bytes of an organization

	mu   sync.Mutex
	kept map[string]int // bytes by organization
}

func newStore(most int) (*store, error) {
	db, err := memory.Open(context.Background(), nil)
	if err != nil {
		return nil, err
	}
	in, ok := db.Vault().Store.(*memory.Vault)
	if !ok {
		return nil, errors.New("sandbox: storage/memory has another store of vaults")
	}
	return &store{tables: in, most: most, kept: make(map[string]int)}, nil
}

// take counts bytes of an organization, or returns [vault.ErrFull].
func (s *store) take(organization string, size int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept[organization]+size > s.most {
		return fmt.Errorf("the sandbox is full until something is deleted, or the next start: %w", vault.ErrFull)
	}
	s.kept[organization] += size
	return nil
}

// giveBack counts bytes no longer.
func (s *store) giveBack(organization string, size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept[organization] -= size
}

func sizeOf(r *vault.Row) int { return len(r.Sealed.Ciphertext) + rowBytes }

// InsertTokens implements [vault.Tokens].
func (s *store) InsertTokens(ctx context.Context, org, id string, revision int64, rows []vault.Row) ([]string, error) {
	size := 0
	for i := range rows {
		size += sizeOf(&rows[i])
	}
	if err := s.take(org, size); err != nil {
		return nil, err
	}
	tokens, err := s.tables.InsertTokens(ctx, org, id, revision, rows)
	if err != nil {
		s.giveBack(org, size)
		return nil, err
	}
	for i := range tokens {
		if tokens[i] != rows[i].Token { // the value was there
			s.giveBack(org, sizeOf(&rows[i]))
		}
	}
	return tokens, nil
}

// ImportTokens implements [vault.Imports]: nobody counts what is imported, so nothing is.
func (s *store) ImportTokens(context.Context, string, string, int64, []vault.Row, vault.AuditEvent) error {
	return vault.ErrFull
}

// DeleteToken implements [vault.Tokens].
func (s *store) DeleteToken(ctx context.Context, org, id, token string, a vault.AuditEvent) error {
	rows, err := s.Rows(ctx, org, id, []string{token})
	if errors.Is(err, mortise.ErrNotFound) {
		return vault.ErrTokenNotFound
	}
	if err == nil {
		err = s.tables.DeleteToken(ctx, org, id, token, a)
	}
	if err == nil {
		s.giveBack(org, sizeOf(&rows[0])-goneBytes)
	}
	return err
}

// AddAuditEvent implements [vault.Audit].
func (s *store) AddAuditEvent(context.Context, vault.AuditEvent) error { return nil }
