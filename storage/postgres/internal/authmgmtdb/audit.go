package authmgmtdb

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/internal/pages"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/engine"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/sqltext"
)

const (
	auditColumns = "id, organization, at, kind, actor, target, before, after"
	insertAudit  = "INSERT INTO @.authmgmt_audit (" + auditColumns + ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING seq"

	eventOfDeleted = "SELECT " + auditColumns + " FROM @.authmgmt_audit WHERE organization = $1" +
		" AND seq = (SELECT event FROM @.authmgmt_deleted WHERE organization = $1)"
)

// audit stores an event, unless it has no ID.
func audit(s *engine.Session, e *authmgmt.AuditEvent) error {
	_, err := auditSeq(s, e)
	return err
}

// auditSeq stores an event, unless it has no ID, and returns its number, or NULL.
func auditSeq(s *engine.Session, e *authmgmt.AuditEvent) (seq pgtype.Int8, err error) {
	if e.ID == uuid.Nil {
		return seq, nil
	}
	args, err := auditArgs(e)
	if err != nil {
		return seq, err
	}
	err = s.Row(insertAudit, args, &seq)
	if err == nil && e.Kind.TakesAway() {
		err = s.TookAway(e.At)
	}
	return seq, err
}

// auditArgs are those of insertAudit.
func auditArgs(e *authmgmt.AuditEvent) ([]any, error) {
	before, err := snapshotText(e.Before)
	if err != nil {
		return nil, err
	}
	after, err := snapshotText(e.After)
	if err != nil {
		return nil, err
	}
	return []any{e.ID, e.Organization, sqltext.Bound(e.At), string(e.Kind), string(e.Actor), e.Target, before, after}, nil
}

func snapshotText(s *authmgmt.Snapshot) (any, error) {
	if s == nil {
		return nil, nil
	}
	b, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("postgres: write a snapshot: %w", err)
	}
	return string(b), nil
}

// ListAuditEvents implements [authmgmt.Audit]. Of an organization that was deleted there is
// one event at most.
func (a *Store) ListAuditEvents(
	ctx context.Context, org string, q authmgmt.AuditQuery,
) (page mortise.Page[authmgmt.AuditEvent], err error) {
	statement, args, err := auditStatement(org, &q)
	if err != nil {
		return page, err
	}
	var events []authmgmt.AuditEvent
	err = a.db.Read(ctx, org, func(s *engine.Session) error {
		events = nil
		b := s.Queued() // which has one snapshot for each statement: what is marked meanwhile is seen by the second
		b.Query(func(rows pgx.Rows) error {
			e, err := scanAudit(rows)
			events = append(events, e)
			return err
		}, statement, args...)
		b.Query(func(rows pgx.Rows) error {
			e, err := scanAudit(rows)
			if err != nil {
				return err
			}
			if events = nil; q.Matches(&e) && pages.Older(q.After, e.Position()) {
				events = []authmgmt.AuditEvent{e}
			}
			return nil
		}, eventOfDeleted, org)
		return b.Send()
	})
	if err != nil {
		return page, err
	}
	return pages.Cut(events, q.Limit, (*authmgmt.AuditEvent).Position), nil
}

// auditStatement returns the query of ListAuditEvents, for one event more than the page
// holds.
func auditStatement(org string, q *authmgmt.AuditQuery) (statement string, args []any, err error) {
	at, id, behind, err := pages.ByUUID(q.After)
	if err != nil {
		return "", nil, err
	}
	args = []any{org}
	where := []string{"organization = $1"}
	and := func(condition string, values ...any) {
		var numbers []any
		for _, v := range values {
			args = append(args, v)
			numbers = append(numbers, len(args))
		}
		where = append(where, fmt.Sprintf(condition, numbers...))
	}
	if q.Kind != "" {
		and("kind = $%d", string(q.Kind))
	}
	if q.Actor != "" {
		and("actor = $%d", string(q.Actor))
	}
	if q.Target != "" {
		and("target = $%d", q.Target)
	}
	if !q.From.IsZero() {
		and("at >= $%d", sqltext.Upper(q.From))
	}
	if !q.To.IsZero() {
		and("at < $%d", sqltext.Upper(q.To))
	}
	if behind {
		and("(at, id) < ($%d, $%d)", sqltext.Upper(at), id)
	}
	and("TRUE"+authNotDeleted+" ORDER BY at DESC, id DESC LIMIT $%d", q.Limit+1)
	return "SELECT " + auditColumns + " FROM @.authmgmt_audit WHERE " + strings.Join(where, " AND "), args, nil
}

// scanAudit reads a row of auditColumns.
func scanAudit(rows pgx.Rows) (e authmgmt.AuditEvent, err error) {
	var org, kind, actor, target, before, after []byte
	var at pgtype.Timestamptz
	if err := rows.Scan(&e.ID, &org, &at, &kind, &actor, &target, &before, &after); err != nil {
		return e, err
	}
	e.Organization, e.At, e.Target = string(org), sqltext.TimeOf(at), string(target)
	e.Kind, e.Actor = mortise.Kind(kind), mortise.Actor(actor)
	if e.Before, err = scanSnapshot(before); err != nil {
		return e, err
	}
	e.After, err = scanSnapshot(after)
	return e, err
}

func scanSnapshot(text []byte) (*authmgmt.Snapshot, error) {
	if text == nil {
		return nil, nil
	}
	s := new(authmgmt.Snapshot)
	if err := json.Unmarshal(text, s); err != nil {
		return nil, fmt.Errorf("postgres: a row is damaged: no snapshot: %w", err)
	}
	return s, nil
}
