package vaultdb

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/pages"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/audit"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
	"github.com/seed-6363c74e/mortise/vault"
)

const (
	vaultAuditColumns = "id, organization, at, kind, actor, vault, tokens, schema"
	insertVaultAudit  = "INSERT INTO vault_audit (" + vaultAuditColumns + ") VALUES (?,?,?,?,?,?,?,?)"
	addVaultAudit     = "INSERT INTO vault_audit (" + vaultAuditColumns + ") SELECT ?,?,?,?,?,?,?,?" +
		" WHERE NOT EXISTS (SELECT 1 FROM vault_deleted_vaults WHERE organization = ? AND id = ?)" +
		" AND NOT EXISTS (SELECT 1 FROM vault_deleted_orgs WHERE organization = ?)"
	pruneVaultAudit = "DELETE FROM vault_audit WHERE seq IN (SELECT seq FROM vault_audit WHERE at < ? ORDER BY at LIMIT 0 + ?)"
)

// vaultAuditArgs are the values of insertVaultAudit; nil if the event has no ID.
func vaultAuditArgs(e *vault.AuditEvent) ([]any, error) {
	if e.ID == uuid.Nil {
		return nil, nil
	}
	var tokens, schema any
	if e.Tokens != nil {
		text, err := json.Marshal(e.Tokens)
		if err != nil {
			return nil, fmt.Errorf("sqlite: write the tokens of an event: %w", err)
		}
		tokens = string(text)
	}
	if e.Schema != nil {
		text, err := schemaText(e.Schema)
		if err != nil {
			return nil, err
		}
		schema = text
	}
	return []any{bytes.Clone(e.ID[:]), e.Organization, e.At.UnixMicro(), string(e.Kind), string(e.Actor), e.Vault, tokens, schema}, nil
}

// vaultAuditChange is the change that stores an event, none if its ID is zero.
func vaultAuditChange(e *vault.AuditEvent) ([]file.Change, error) {
	args, err := vaultAuditArgs(e)
	if args == nil || err != nil {
		return nil, err
	}
	return []file.Change{file.Do(insertVaultAudit, args...)}, nil
}

// AddAuditEvent implements [vault.Audit].
func (s *Store) AddAuditEvent(ctx context.Context, e vault.AuditEvent) error {
	args, err := vaultAuditArgs(&e)
	if err != nil {
		return err
	}
	if args == nil {
		return ctx.Err()
	}
	args = append(args, e.Organization, e.Vault, e.Organization)
	return s.db.Write(ctx, func(tx *file.Tx) error {
		added, err := tx.Exec(addVaultAudit, args...)
		if err == nil && added == 0 {
			err = mortise.ErrNotFound
		}
		return err
	})
}

// ListAuditEvents implements [vault.Audit].
func (s *Store) ListAuditEvents(ctx context.Context, org string, q vault.AuditQuery) (mortise.Page[vault.AuditEvent], error) {
	statement, args, err := vaultAuditStatement(org, &q)
	if err != nil {
		return mortise.Page[vault.AuditEvent]{}, err
	}
	var events []vault.AuditEvent
	err = s.db.List(ctx, org, statement, args, func(r *file.Row) error {
		var e vault.AuditEvent
		if err := scanVaultAudit(r, &e); err != nil {
			return err
		}
		if q.Matches(&e) && pages.Older(q.After, e.Position()) { // all do, but for that of a deleted organization
			events = append(events, e)
		}
		return nil
	})
	if err != nil {
		return mortise.Page[vault.AuditEvent]{}, err
	}
	slices.SortFunc(events, func(a, b vault.AuditEvent) int { return b.Position().Compare(a.Position()) })
	return pages.Cut(events, q.Limit, (*vault.AuditEvent).Position), nil
}

var vaultAudit = audit.Table{Table: "vault_audit", Columns: vaultAuditColumns, About: "vault", Index: "vault_audit_vault",
	Deleted: "vault_deleted_orgs"}

// vaultAuditStatement returns the query of ListAuditEvents.
func vaultAuditStatement(org string, q *vault.AuditQuery) (statement string, args []any, err error) {
	return vaultAudit.Listing(org, &audit.Selection{
		Kind: string(q.Kind), Actor: string(q.Actor), About: q.Vault, From: q.From, To: q.To, After: q.After, Limit: q.Limit,
	})
}

// scanVaultAudit reads a row of vaultAuditColumns.
func scanVaultAudit(r *file.Row, e *vault.AuditEvent) error {
	r.Blob(0, e.ID[:])
	e.Organization, e.At, e.Kind, e.Actor, e.Vault = r.Text(1), r.Moment(2), mortise.Kind(r.Text(3)), mortise.Actor(r.Text(4)), r.Text(5)
	if !r.Null(6) {
		if err := json.Unmarshal(r.Bytes(6), &e.Tokens); err != nil {
			return fmt.Errorf("sqlite: a row is damaged: column 6 holds no tokens: %w", err)
		}
	}
	if r.Null(7) {
		return nil
	}
	e.Schema = new(vault.Schema)
	return scanSchema(r, 7, e.Schema)
}

// PruneAudit implements [vault.Audit].
func (s *Store) PruneAudit(ctx context.Context, before time.Time, limit int) (n int, more bool, err error) {
	return s.db.Prune(ctx, pruneVaultAudit, before, limit)
}
