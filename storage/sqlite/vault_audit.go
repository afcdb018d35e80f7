package sqlite

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

// vaultAuditChange returns what stores an event: nothing if it has no ID.
func vaultAuditChange(e *vault.AuditEvent) ([]change, error) {
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
	args := []any{bytes.Clone(e.ID[:]), e.Organization, e.At.UnixMicro(), string(e.Kind), string(e.Actor), e.Vault, tokens, schema}
	return []change{{insertVaultAudit, args}}, nil
}

// AddAuditEvent implements [vault.Audit].
func (s *Vault) AddAuditEvent(ctx context.Context, e vault.AuditEvent) error {
	event, err := vaultAuditChange(&e)
	if err != nil {
		return err
	}
	if event == nil {
		return ctx.Err()
	}
	args := append(event[0].args, e.Organization, e.Vault, e.Organization)
	return s.db.writer.write(ctx, func(tx *tx) error {
		added, err := tx.exec(addVaultAudit, args...)
		if err == nil && added == 0 {
			err = mortise.ErrNotFound
		}
		return err
	})
}

// ListAuditEvents implements [vault.Audit].
func (s *Vault) ListAuditEvents(ctx context.Context, org string, q vault.AuditQuery) (mortise.Page[vault.AuditEvent], error) {
	statement, args, err := vaultAuditStatement(org, &q)
	if err != nil {
		return mortise.Page[vault.AuditEvent]{}, err
	}
	var events []vault.AuditEvent
	err = s.db.list(ctx, org, statement, args, func(r *row) error {
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

var vaultAudit = auditTable{table: "vault_audit", columns: vaultAuditColumns, about: "vault", index: "vault_audit_vault",
	deleted: "vault_deleted_orgs"}

// vaultAuditStatement returns the query of ListAuditEvents.
func vaultAuditStatement(org string, q *vault.AuditQuery) (statement string, args []any, err error) {
	return vaultAudit.listing(org, &auditSelection{
		kind: string(q.Kind), actor: string(q.Actor), about: q.Vault, from: q.From, to: q.To, after: q.After, limit: q.Limit,
	})
}

// scanVaultAudit reads a row of vaultAuditColumns.
func scanVaultAudit(r *row, e *vault.AuditEvent) error {
	r.blob(0, e.ID[:])
	e.Organization, e.At, e.Kind, e.Actor, e.Vault = r.text(1), r.moment(2), mortise.Kind(r.text(3)), mortise.Actor(r.text(4)), r.text(5)
	if !r.null(6) {
		if err := json.Unmarshal(r.bytes(6), &e.Tokens); err != nil {
			return fmt.Errorf("sqlite: a row is damaged: column 6 holds no tokens: %w", err)
		}
	}
	if r.null(7) {
		return nil
	}
	e.Schema = new(vault.Schema)
	return scanSchema(r, 7, e.Schema)
}

// PruneAudit implements [vault.Audit].
func (s *Vault) PruneAudit(ctx context.Context, before time.Time, limit int) (n int, more bool, err error) {
	return s.db.prune(ctx, pruneVaultAudit, before, limit)
}
