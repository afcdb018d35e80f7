package sqlite

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/vault"
)

// Vault implements [vault.Store] and [mortise.HostTx].
type Vault struct{ db *file }

var (
	_ vault.Store    = (*Vault)(nil)
	_ mortise.HostTx = (*Vault)(nil)
)

// AfterCommit implements [mortise.HostTx].
func (s *Vault) AfterCommit(ctx context.Context, f func(ctx context.Context)) bool {
	return s.db.afterCommit(ctx, f)
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
func (s *Vault) Vault(ctx context.Context, org, id string) (vault.Vault, error) {
	var v vault.Vault
	found := false
	err := s.db.find(ctx, org, vaultByID, []any{org, id}, func(r *row) (err error) {
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
func scanVault(r *row, org, id string) (vault.Vault, error) {
	v := vault.Vault{
		Organization: org, ID: id, Revision: int64(r.number(0)), CreatedAt: r.moment(1), UpdatedAt: r.moment(2),
	}
	var stored storedSchema
	err := scanSchema(r, 3, &stored)
	v.Schema, v.Past = stored.Schema, stored.Past
	return v, err
}

// PutVault implements [vault.Vaults].
func (s *Vault) PutVault(ctx context.Context, v vault.Vault, left []string, a vault.AuditEvent) error {
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
	return s.db.writer.write(ctx, func(tx *tx) error {
		seq, stored, err := tx.vaultRevision(org, id)
		switch {
		case err != nil:
			return err
		case revision == firstRevision && seq != noVault:
			return mortise.ErrExists
		case revision == firstRevision:
			if gone, err := tx.exists(isDeleted, org, id); err != nil {
				return err
			} else if gone {
				return mortise.ErrDeleted
			}
			return tx.apply(append([]change{{insertVault, []any{org, id, revision, created, updated, schema}}}, event...))
		case seq == noVault:
			return mortise.ErrNotFound
		case stored != revision-1:
			return vault.ErrConflict
		}
		for _, scope := range left {
			if has, err := tx.scopeHasValues(seq, scope); err != nil {
				return err
			} else if has {
				return vault.ErrScopeInUse
			}
		}
		return tx.apply(append([]change{{updateVault, []any{revision, updated, schema, seq}}}, event...))
	})
}

// vaultRevision returns the number of a vault, or noVault, and its revision.
func (t *tx) vaultRevision(org, id string) (seq int, revision int64, err error) {
	seq = noVault
	err = t.query(vaultRevision, []any{org, id}, func(r *row) error {
		seq, revision = r.number(0), int64(r.number(1))
		return nil
	})
	return seq, revision, err
}

// scopeHasValues reports whether a scope has a deterministic row that is not deleted.
func (t *tx) scopeHasValues(vault int, name string) (bool, error) {
	scope, err := t.vaultScope(vault, name)
	if err != nil || scope == noScope {
		return false, err
	}
	if err := t.settleCounts(); err != nil {
		return false, err
	}
	return t.exists(scopeHasValues, scope)
}

const noScope = -1

// vaultScope returns the number of a scope, or noScope.
func (t *tx) vaultScope(vault int, name string) (seq int, err error) {
	seq = noScope
	err = t.query(scopeByName, []any{vault, name}, func(r *row) error {
		seq = r.number(0)
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

func scanSchema(r *row, i int, s any) error {
	if err := json.Unmarshal(r.bytes(i), s); err != nil {
		return fmt.Errorf("sqlite: a row is damaged: column %d is no schema: %w", i, err)
	}
	return nil
}
