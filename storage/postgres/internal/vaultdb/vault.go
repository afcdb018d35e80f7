// Package vaultdb keeps package vault in PostgreSQL.
package vaultdb

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/pages"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/engine"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/sqltext"
	"github.com/seed-6363c74e/mortise/vault"
)

// Store implements [vault.Store] and [mortise.HostTx].
type Store struct {
	db *engine.DB
	engine.Revoked
}

func New(db *engine.DB) *Store { return &Store{db, db.Revoked()} }

var (
	_ vault.Store    = (*Store)(nil)
	_ mortise.HostTx = (*Store)(nil)
)

// AfterCommit implements [mortise.HostTx].
func (s *Store) AfterCommit(ctx context.Context, f func(ctx context.Context)) bool {
	return s.db.AfterCommit(ctx, f)
}

// The locks of the domain. Whoever takes several takes them in this order, and before any
// lock of a row. Then stored rows of vault_tokens by organization, vault and token, new
// tokens as bytes, new fingerprints as bytes: so no two calls wait for each other.
const (
	lockVaultOrg  = "vault organization" // alone: to mark it as deleted
	lockVault     = "vault"              // alone: to change or delete it
	lockVaultKeys = "vault keys"         // alone: to change what is known of keys
)

// lockVaultShared takes the locks of an organization and of a vault of its, shared, and with
// them those of keys: so neither the schema nor the keys change until the transaction ends.
const lockVaultShared = "SELECT pg_advisory_xact_lock_shared(pg_catalog.hashtextextended($1, 0::bigint))," +
	" pg_advisory_xact_lock_shared(pg_catalog.hashtextextended($2, 0::bigint)), pg_advisory_xact_lock_shared(pg_catalog.hashtextextended($3, 0::bigint))"

func vaultLockArgs(db *engine.DB, org, id string) []any {
	return []any{db.LockName(lockVaultOrg, org), db.LockName(lockVault, vaultLock(org, id)), db.LockName(lockVaultKeys, "")}
}

// vaultLock is the name of a vault's lock.
func vaultLock(org, id string) string { return fmt.Sprintf("%x %x", org, id) }

const (
	// vaultIsThere is the condition that a vault v was not deleted, and orgIsThere that an
	// organization $1 was not.
	vaultIsThere    = " AND v.deleted_at IS NULL" + vaultOrgIsThere
	vaultOrgIsThere = " AND NOT EXISTS (SELECT 1 FROM @.vault_deleted_orgs WHERE organization = $1)"

	vaultColumns = "v.revision, v.created_at, v.updated_at, v.schema, v.id"
	vaultByID    = "SELECT " + vaultColumns + " FROM @.vault_vaults v WHERE v.organization = $1 AND v.id = $2" + vaultIsThere
	vaultsAfter  = "SELECT " + vaultColumns + " FROM @.vault_vaults v WHERE v.organization = $1 AND v.id > $2" + vaultIsThere +
		" ORDER BY v.id LIMIT $3"

	// vaultState is for whoever has its lock.
	vaultState = "SELECT v.seq, v.revision, v.deleted_at FROM @.vault_vaults v WHERE v.organization = $1 AND v.id = $2" + vaultOrgIsThere

	insertVault = "INSERT INTO @.vault_vaults (organization, id, revision, created_at, updated_at, schema)" +
		" VALUES ($1, $2, $3, $4, $5, $6)"
	updateVault     = "UPDATE @.vault_vaults SET (revision, updated_at, schema) = ($2, $3, $4) WHERE seq = $1"
	scopesHaveValue = "SELECT EXISTS (SELECT 1 FROM @.vault_scopes s CROSS JOIN LATERAL (SELECT 1 FROM @.vault_tokens t" +
		" WHERE t.scope = s.seq AND t.deterministic AND t.sealed IS NOT NULL LIMIT 1) t" +
		" WHERE s.vault = $1 AND s.name = ANY($2::text[]))"

	firstRevision = 1
)

// Vault implements [vault.Vaults].
func (s *Store) Vault(ctx context.Context, org, id string) (vault.Vault, error) {
	return engine.One(s.vaults(ctx, org, vaultByID, org, id))
}

// ListVaults implements [vault.Vaults].
func (s *Store) ListVaults(
	ctx context.Context, org string, after mortise.Cursor, limit int,
) (page mortise.Page[vault.Vault], err error) {
	_, id, _, err := pages.ByNameAlone(after)
	if err != nil {
		return page, err
	}
	vaults, err := s.vaults(ctx, org, vaultsAfter, org, id, limit+1)
	if err != nil {
		return page, err
	}
	return pages.Cut(vaults, limit, (*vault.Vault).Position), nil
}

// vaults reads rows of vaultColumns.
func (s *Store) vaults(ctx context.Context, org, text string, args ...any) ([]vault.Vault, error) {
	return engine.ListOf(ctx, s.db, org, func(r pgx.Rows) (vault.Vault, error) {
		var created, updated pgtype.Timestamptz
		var schema, id []byte
		v := vault.Vault{Organization: org}
		if err := r.Scan(&v.Revision, &created, &updated, &schema, &id); err != nil {
			return v, err
		}
		var stored storedSchema
		if err := json.Unmarshal(schema, &stored); err != nil {
			return v, fmt.Errorf("postgres: a row is damaged: its schema is none: %w", err)
		}
		v.ID, v.CreatedAt, v.UpdatedAt, v.Schema, v.Past = string(id), sqltext.TimeOf(created), sqltext.TimeOf(updated), stored.Schema, stored.Past
		return v, nil
	}, text, args...)
}

// storedSchema is what stands in the column of a vault's schema.
type storedSchema struct {
	vault.Schema
	Past []vault.PastColumn `json:"past,omitempty"`
}

// PutVault implements [vault.Vaults].
func (s *Store) PutVault(ctx context.Context, v vault.Vault, left []string, a vault.AuditEvent) error {
	schema, err := json.Marshal(storedSchema{v.Schema, v.Past})
	if err != nil {
		return fmt.Errorf("postgres: write a schema: %w", err)
	}
	event, err := newVaultEvent(&a)
	if err != nil {
		return err
	}
	return s.db.Transact(ctx, v.Organization, func(q *engine.Session) error {
		if err := q.Lock(lockVaultOrg, v.Organization, true); err != nil {
			return err
		}
		if err := q.Lock(lockVault, vaultLock(v.Organization, v.ID), false); err != nil {
			return err
		}
		stored, err := stateOf(q, v.Organization, v.ID)
		if err != nil {
			return err
		}
		if v.Revision == firstRevision {
			switch gone, err := vaultOrgIsDeleted(q, v.Organization); {
			case err != nil:
				return err
			case gone, stored.known && stored.deleted:
				return mortise.ErrDeleted
			case stored.known:
				return mortise.ErrExists
			}
			if _, err := q.Exec(insertVault, v.Organization, v.ID, v.Revision, sqltext.Bound(v.CreatedAt), sqltext.Bound(v.UpdatedAt), string(schema)); err != nil {
				return err
			}
			return addVaultEvent(q, event)
		}
		switch {
		case !stored.known, stored.deleted:
			return mortise.ErrNotFound
		case stored.revision != v.Revision-1:
			return vault.ErrConflict
		}
		if len(left) > 0 {
			if err := q.NeedsLatest(); err != nil {
				return err
			}
			var has bool
			if err := q.Row(scopesHaveValue, []any{stored.seq, left}, &has); err != nil {
				return err
			} else if has {
				return vault.ErrScopeInUse
			}
		}
		if _, err := q.Exec(updateVault, stored.seq, v.Revision, sqltext.Bound(v.UpdatedAt), string(schema)); err != nil {
			return err
		}
		return addVaultEvent(q, event)
	})
}

// storedVault is what a transaction has to know of a vault.
type storedVault struct {
	known    bool // there is a row of it, and its organization was not deleted
	deleted  bool
	since    pgtype.Timestamptz // when it was deleted
	seq      int64
	revision int64
}

func stateOf(s *engine.Session, org, id string) (v storedVault, err error) {
	err = s.Row(vaultState, []any{org, id}, &v.seq, &v.revision, &v.since)
	if engine.IsNoRow(err) {
		return storedVault{}, nil
	}
	v.known, v.deleted = err == nil, v.since.Valid
	return v, err
}
