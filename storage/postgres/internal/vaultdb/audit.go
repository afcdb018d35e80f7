package vaultdb

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/pages"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/engine"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/sqltext"
	"github.com/seed-6363c74e/mortise/vault"
)

const (
	vaultAuditColumns = "id, organization, at, kind, actor, vault, tokens, schema"
	insertVaultAudit  = "INSERT INTO @.vault_audit (" + vaultAuditColumns + ", mark) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)"
	addVaultAudit     = "INSERT INTO @.vault_audit (" + vaultAuditColumns + ", mark)" +
		" SELECT $1, $2, $3::timestamptz, $4, $5, $6, $7, $8, $9::boolean" +
		" WHERE NOT EXISTS (SELECT 1 FROM @.vault_vaults WHERE organization = $2 AND id = $6 AND deleted_at IS NOT NULL)" +
		" AND NOT EXISTS (SELECT 1 FROM @.vault_deleted_orgs WHERE organization = $2)"
	// Each is looked at again when its lock is had: so two calls at once remove others.
	pruneVaultAudit = "DELETE FROM @.vault_audit WHERE ctid = ANY(ARRAY(SELECT ctid FROM @.vault_audit" +
		" WHERE at < $1 ORDER BY at LIMIT $2 FOR UPDATE SKIP LOCKED))"
)

// vaultEvent is an event as it is stored; nil: there is none.
type vaultEvent []any

// newVaultEvent copies an event. It is nil if it has no ID.
func newVaultEvent(e *vault.AuditEvent) (vaultEvent, error) {
	if e.ID == uuid.Nil {
		return nil, nil
	}
	var tokens, schema []byte
	var err error
	if e.Tokens != nil {
		if tokens, err = json.Marshal(e.Tokens); err != nil {
			return nil, fmt.Errorf("postgres: write the tokens of an event: %w", err)
		}
	}
	if e.Schema != nil {
		if schema, err = json.Marshal(e.Schema); err != nil {
			return nil, fmt.Errorf("postgres: write a schema: %w", err)
		}
	}
	return vaultEvent{
		e.ID, e.Organization, sqltext.Bound(e.At), string(e.Kind), string(e.Actor), e.Vault, sqltext.TextIf(tokens, tokens != nil), sqltext.TextIf(schema, schema != nil), false,
	}, nil
}

// asMark makes it the event of the deletion of its organization.
func (e vaultEvent) asMark() vaultEvent {
	if e != nil {
		e[len(e)-1] = true
	}
	return e
}

func addVaultEvent(s *engine.Session, e vaultEvent) error {
	if e == nil {
		return nil
	}
	_, err := s.Exec(insertVaultAudit, e...)
	return err
}

// AddAuditEvent implements [vault.Audit].
func (s *Store) AddAuditEvent(ctx context.Context, e vault.AuditEvent) error {
	event, err := newVaultEvent(&e)
	if err != nil {
		return err
	}
	if event == nil {
		return ctx.Err()
	}
	size := 0
	for _, arg := range event {
		if text, is := arg.(string); is {
			size += len(text)
		}
	}
	locks := vaultLockArgs(s.db, e.Organization, e.Vault)
	added := int64(0)
	err = s.db.Together(ctx, e.Organization, size, func(b *engine.Batch) {
		b.LockAll(lockVaultShared, locks...)
		b.Exec(func(n int64) { added = n }, addVaultAudit, event...)
	})
	if err == nil && added == 0 { // without an error, nobody writes it any more
		err = mortise.ErrNotFound
	}
	return err
}

// ListAuditEvents implements [vault.Audit].
func (s *Store) ListAuditEvents(ctx context.Context, org string, q vault.AuditQuery) (mortise.Page[vault.AuditEvent], error) {
	text, args, err := vaultAuditListing(org, &q)
	if err != nil {
		return mortise.Page[vault.AuditEvent]{}, err
	}
	var events []vault.AuditEvent
	err = s.db.Read(ctx, org, func(db *engine.Session) error {
		events = nil
		return db.Query(func(r pgx.Rows) error {
			e, err := scanVaultAudit(r)
			if err == nil && q.Matches(&e) && pages.Older(q.After, e.Position()) { // all do, but for that of a deleted organization
				events = append(events, e)
			}
			return err
		}, text, args...)
	})
	if err != nil {
		return mortise.Page[vault.AuditEvent]{}, err
	}
	slices.SortFunc(events, func(a, b vault.AuditEvent) int { return b.Position().Compare(a.Position()) })
	return pages.Cut(events, q.Limit, (*vault.AuditEvent).Position), nil
}

// vaultAuditListing returns a query of events, for one more than the page holds. Of an
// organization that was deleted, it finds just the event that says so, whatever is selected.
func vaultAuditListing(org string, q *vault.AuditQuery) (text string, args []any, err error) {
	at, id, behind, err := pages.ByUUID(q.After)
	if err != nil {
		return "", nil, err
	}
	where := []string{"organization = $1", "NOT EXISTS (SELECT 1 FROM @.vault_deleted_orgs WHERE organization = $1)"}
	args = []any{org}
	and := func(condition string, values ...any) {
		for _, v := range values {
			args = append(args, v)
			condition = strings.Replace(condition, "?", "$"+strconv.Itoa(len(args)), 1)
		}
		where = append(where, condition)
	}
	if q.Kind != "" {
		and("kind = ?", string(q.Kind))
	}
	if q.Actor != "" {
		and("actor = ?", string(q.Actor))
	}
	if q.Vault != "" {
		and("vault = ?", q.Vault)
	}
	if !q.From.IsZero() {
		and("at >= ?", sqltext.Upper(q.From))
	}
	if !q.To.IsZero() {
		and("at < ?", sqltext.Upper(q.To))
	}
	if behind {
		and("(at, id) < (?, ?)", sqltext.Upper(at), id)
	}
	args = append(args, q.Limit+1)
	return "(SELECT " + vaultAuditColumns + " FROM @.vault_audit WHERE " + strings.Join(where, " AND ") +
		" ORDER BY at DESC, id DESC LIMIT $" + strconv.Itoa(len(args)) + ") UNION ALL (SELECT " + vaultAuditColumns +
		" FROM @.vault_audit WHERE organization = $1 AND mark)", args, nil
}

// scanVaultAudit reads a row of vaultAuditColumns.
func scanVaultAudit(r pgx.Rows) (e vault.AuditEvent, err error) {
	var at pgtype.Timestamptz
	var org, kind, actor, id, tokens, schema []byte
	if err := r.Scan(&e.ID, &org, &at, &kind, &actor, &id, &tokens, &schema); err != nil {
		return e, err
	}
	e.Organization, e.At, e.Kind, e.Actor, e.Vault = string(org), sqltext.TimeOf(at), mortise.Kind(kind), mortise.Actor(actor), string(id)
	if tokens != nil {
		if err := json.Unmarshal(tokens, &e.Tokens); err != nil {
			return e, fmt.Errorf("postgres: a row is damaged: an event's tokens are none: %w", err)
		}
	}
	if schema != nil {
		e.Schema = new(vault.Schema)
		if err := json.Unmarshal(schema, e.Schema); err != nil {
			return e, fmt.Errorf("postgres: a row is damaged: an event's schema is none: %w", err)
		}
	}
	return e, nil
}

// PruneAudit implements [vault.Audit].
func (s *Store) PruneAudit(ctx context.Context, before time.Time, limit int) (n int, more bool, err error) {
	return s.db.Prune(ctx, pruneVaultAudit, before, limit)
}
