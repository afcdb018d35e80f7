package memory

import (
	"context"
	"maps"
	"slices"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// Vault implements [vault.Store] and [mortise.HostTx].
type Vault struct {
	db *DB
	revoked
}

var (
	_ vault.Store    = (*Vault)(nil)
	_ mortise.HostTx = (*Vault)(nil)
)

// AfterCommit implements [mortise.HostTx].
func (s *Vault) AfterCommit(ctx context.Context, f func(ctx context.Context)) bool {
	return s.db.afterCommit(ctx, f)
}

// vaultTables is what the domain vault keeps.
type vaultTables struct {
	vaults map[ownedID]*vaultEntry
	ids    map[string][]string // of vaults, by organization, sorted
	rows   []*vaultRow         // of all vaults, as they came; nil where one was removed
	keys   map[vaultKeyID]*keyring.Key
	audit  trails[vault.AuditEvent, *vault.AuditEvent]
	swept  map[int]int // how many of rows are without fingerprints of a version that is retired

	deleted map[string]*deletedVaults // by organization
	going   int                       // vaults that were deleted, and have rows in rows
}

// clone returns tables with copies of all that is changed in place.
func (t *vaultTables) clone() vaultTables {
	rows, keys := make(copies[vaultRow]), make(copies[keyring.Key])
	entry := func(e *vaultEntry) *vaultEntry {
		return &vaultEntry{
			Vault: e.Vault, rows: mapped(e.rows, rows.of),
			tokens: mapped(e.tokens, maps.Clone),
		}
	}
	copied := vaultTables{
		vaults: mapped(t.vaults, entry),
		ids:    mapped(t.ids, slices.Clone),
		rows:   rows.all(t.rows),
		keys:   mapped(t.keys, keys.of),
		audit:  mapped(t.audit, slices.Clone),
		swept:  maps.Clone(t.swept),
		deleted: mapped(t.deleted, func(d *deletedVaults) *deletedVaults {
			return &deletedVaults{
				all: d.all, since: d.since, vaults: maps.Clone(d.vaults),
				rest: mapped(d.rest, entry), audit: slices.Clone(d.audit),
			}
		}),
		going: t.going,
	}
	for _, r := range rows {
		r.Fingerprints = slices.Clone(r.Fingerprints)
	}
	return copied
}

// vaultEntry is a vault and what is in it.
type vaultEntry struct {
	vault.Vault
	rows   map[string]*vaultRow            // by token, deleted ones included
	tokens map[vaultIndex]fingerprintIndex // the rows by their fingerprints
}

// vaultRow is a row, or what is left of one: its token, which is not given again.
type vaultRow struct {
	vault.Row
	deleted bool
	place   uint32 // in vaultTables.rows
}

// vaultIndex is where the fingerprints of one version and scope are.
type vaultIndex struct {
	scope   string
	version int
}

type fingerprintIndex map[keyring.Fingerprint]string

// vaultKeyID is which key.
type vaultKeyID struct {
	purpose keyring.Purpose
	version int
}

// Vault implements [vault.Vaults].
func (s *Vault) Vault(ctx context.Context, org, id string) (vault.Vault, error) {
	db, err := s.db.read(ctx)
	if err != nil {
		return vault.Vault{}, err
	}
	defer db.end()
	if e, ok := db.vault.vaults[ownedID{org, id}]; ok {
		return e.Clone(), nil
	}
	return vault.Vault{}, mortise.ErrNotFound
}

// PutVault implements [vault.Vaults].
func (s *Vault) PutVault(ctx context.Context, v vault.Vault, left []string, a vault.AuditEvent) error {
	db, err := s.db.write(ctx)
	if err != nil {
		return err
	}
	defer db.end()
	t := &db.vault
	id := ownedID{v.Organization, v.ID}
	e, ok := t.vaults[id]
	switch {
	case v.Revision == 1 && ok:
		return mortise.ErrExists
	case v.Revision == 1 && t.isDeleted(v.Organization, v.ID):
		return mortise.ErrDeleted
	case v.Revision == 1:
		e = &vaultEntry{rows: make(map[string]*vaultRow), tokens: make(map[vaultIndex]fingerprintIndex)}
		t.addVault(id, e)
	case !ok:
		return mortise.ErrNotFound
	case e.Revision != v.Revision-1:
		return vault.ErrConflict
	case e.hasTokens(left):
		return vault.ErrScopeInUse
	default:
		v.CreatedAt = e.CreatedAt
	}
	e.Vault = v.Clone()
	t.addEvent(a)
	return nil
}

// hasTokens reports whether a scope has a deterministic row.
func (e *vaultEntry) hasTokens(scopes []string) bool {
	for _, r := range e.rows {
		if r.Deterministic && !r.deleted && slices.Contains(scopes, r.Scope) {
			return true
		}
	}
	return false
}

// entry returns a vault at a revision.
func (t *vaultTables) entry(org, id string, revision int64) (*vaultEntry, error) {
	e, ok := t.vaults[ownedID{org, id}]
	switch {
	case !ok:
		return nil, mortise.ErrNotFound
	case e.Revision != revision:
		return nil, vault.ErrConflict
	}
	return e, nil
}
