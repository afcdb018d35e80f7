// Package vaultdb keeps package vault in a file of SQLite's.
package vaultdb

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
	"github.com/seed-6363c74e/mortise/vault"
)

// Store implements [vault.Store] and [mortise.HostTx].
type Store struct {
	db *file.File
	file.Revoked
}

var (
	_ vault.Store    = (*Store)(nil)
	_ mortise.HostTx = (*Store)(nil)
)

func New(db *file.File) *Store { return &Store{db, db.Revoked()} }

// AfterCommit implements [mortise.HostTx].
func (s *Store) AfterCommit(ctx context.Context, f func(ctx context.Context)) bool {
	return s.db.AfterCommit(ctx, f)
}

const (
	// vaultColumns are the columns of a vault, in the order of scanVault.
	vaultColumns = "revision, created_at, updated_at, schema"

	vaultByID      = "SELECT " + vaultColumns + " FROM vault_vaults WHERE organization = ? AND id = ?" + vaultIsThere
	vaultRevision  = "SELECT seq, revision FROM vault_vaults WHERE organization = ? AND id = ?" + vaultIsThere
	insertVault    = "INSERT INTO vault_vaults (organization, id, revision, created_at, updated_at, schema) VALUES (?,?,?,?,?,?)"
	updateVault    = "UPDATE vault_vaults SET (revision, updated_at, schema) = (?,?,?) WHERE seq = ?"
	scopeHasValues = "SELECT 1 FROM vault_counts WHERE scope = ? AND deterministic = 1 LIMIT 1"
	scopeByName    = "SELECT seq FROM vault_scopes WHERE vault = ? AND name = ?"
	insertScope    = "INSERT INTO vault_scopes (vault, name) VALUES (?, ?)"
	firstRevision  = 1
	noVault        = -1
)

// Vault implements [vault.Vaults].
func (s *Store) Vault(ctx context.Context, org, id string) (vault.Vault, error) {
	var v vault.Vault
	found := false
	err := s.db.Find(ctx, org, vaultByID, []any{org, id}, func(r *file.Row) (err error) {
		found = true
		v, err = scanVault(r, org, id)
		return err
	})
	if err == nil && !found {
		err = mortise.ErrNotFound
	}
	if err != nil {
		return vault.Vault{}, err
	}
	return v, nil
}

// scanVault reads a row of vaultColumns.
func scanVault(r *file.Row, org, id string) (vault.Vault, error) {
	v := vault.Vault{
		Organization: org, ID: id, Revision: int64(r.Number(0)), CreatedAt: r.Moment(1), UpdatedAt: r.Moment(2),
	}
	var stored storedSchema
	err := scanSchema(r, 3, &stored)
	v.Schema, v.Past = stored.Schema, stored.Past
	return v, err
}

// PutVault implements [vault.Vaults].
func (s *Store) PutVault(ctx context.Context, v vault.Vault, left []string, a vault.AuditEvent) error {
	schema, err := schemaText(storedSchema{v.Schema, v.Past})
	if err != nil {
		return err
	}
	event, err := vaultAuditChange(&a)
	if err != nil {
		return err
	}
	left = append([]string(nil), left...)
	org, id, revision, created, updated := v.Organization, v.ID, v.Revision, v.CreatedAt.UnixMicro(), v.UpdatedAt.UnixMicro()
	return s.db.Write(ctx, func(tx *file.Tx) error {
		seq, stored, err := revisionOf(tx, org, id)
		switch {
		case err != nil:
			return err
		case revision == firstRevision && seq != noVault:
			return mortise.ErrExists
		case revision == firstRevision:
			if gone, err := tx.Exists(isDeleted, org, id); err != nil {
				return err
			} else if gone {
				return mortise.ErrDeleted
			}
			return tx.Apply(append([]file.Change{file.Do(insertVault, org, id, revision, created, updated, schema)}, event...)...)
		case seq == noVault:
			return mortise.ErrNotFound
		case stored != revision-1:
			return vault.ErrConflict
		}
		for _, scope := range left {
			if has, err := hasValues(tx, seq, scope); err != nil {
				return err
			} else if has {
				return vault.ErrScopeInUse
			}
		}
		return tx.Apply(append([]file.Change{file.Do(updateVault, revision, updated, schema, seq)}, event...)...)
	})
}

// revisionOf returns the number of a vault, or noVault, and its revision.
func revisionOf(t *file.Tx, org, id string) (seq int, revision int64, err error) {
	seq = noVault
	err = t.Query(vaultRevision, []any{org, id}, func(r *file.Row) error {
		seq, revision = r.Number(0), int64(r.Number(1))
		return nil
	})
	return seq, revision, err
}

// hasValues reports whether a scope has a deterministic row that is not deleted.
func hasValues(t *file.Tx, vault int, name string) (bool, error) {
	scope, err := vaultScope(t, vault, name)
	if err != nil || scope == noScope {
		return false, err
	}
	if err := settleCounts(t); err != nil {
		return false, err
	}
	return t.Exists(scopeHasValues, scope)
}

const noScope = -1

// vaultScope returns the number of a scope, or noScope.
func vaultScope(t *file.Tx, vault int, name string) (seq int, err error) {
	seq = noScope
	err = t.Query(scopeByName, []any{vault, name}, func(r *file.Row) error {
		seq = r.Number(0)
		return nil
	})
	return seq, err
}

// storedSchema is what stands in the column of a vault's schema.
type storedSchema struct {
	vault.Schema
	Past []vault.PastColumn `json:"past,omitempty"`
}

// schemaText writes a schema, or one with more, as JSON.
func schemaText(s any) (string, error) {
	b, err := json.Marshal(s)
	if err != nil {
		return "", fmt.Errorf("sqlite: write a schema: %w", err)
	}
	return string(b), nil
}

func scanSchema(r *file.Row, i int, s any) error {
	if err := json.Unmarshal(r.Bytes(i), s); err != nil {
		return fmt.Errorf("sqlite: a row is damaged: column %d is no schema: %w", i, err)
	}
	return nil
}
