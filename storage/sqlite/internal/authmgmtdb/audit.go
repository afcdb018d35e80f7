package authmgmtdb

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/internal/pages"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/audit"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
)

const (
	auditColumns = "id, organization, at, kind, actor, target, before, after"
	insertAudit  = "INSERT INTO authmgmt_audit (" + auditColumns + ") VALUES (?,?,?,?,?,?,?,?)"
)

// auditChange returns what stores an event: nothing if it has no ID.
func auditChange(e *authmgmt.AuditEvent) ([]file.Change, error) {
	if e.ID == uuid.Nil {
		return nil, nil
	}
	before, err := snapshotText(e.Before)
	if err != nil {
		return nil, err
	}
	after, err := snapshotText(e.After)
	if err != nil {
		return nil, err
	}
	args := []any{bytes.Clone(e.ID[:]), e.Organization, e.At.UnixMicro(), string(e.Kind), string(e.Actor), e.Target, before, after}
	changes := []file.Change{file.Do(insertAudit, args...)}
	if e.Kind.TakesAway() {
		changes = append(changes, file.TookAway(e.At))
	}
	return changes, nil
}

func snapshotText(s *authmgmt.Snapshot) (any, error) {
	if s == nil {
		return nil, nil
	}
	b, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("sqlite: write a snapshot: %w", err)
	}
	return string(b), nil
}

// ListAuditEvents implements [authmgmt.Audit].
func (a *Store) ListAuditEvents(ctx context.Context, org string, q authmgmt.AuditQuery) (mortise.Page[authmgmt.AuditEvent], error) {
	statement, args, err := auditStatement(org, &q)
	if err != nil {
		return mortise.Page[authmgmt.AuditEvent]{}, err
	}
	var events []authmgmt.AuditEvent
	err = a.db.List(ctx, org, statement, args, func(r *file.Row) error {
		var e authmgmt.AuditEvent
		if err := scanAudit(r, &e); err != nil {
			return err
		}
		events = append(events, e)
		return nil
	})
	if err != nil {
		return mortise.Page[authmgmt.AuditEvent]{}, err
	}
	if len(events) == 0 {
		return a.eventOfDeleted(ctx, org, &q)
	}
	slices.SortFunc(events, func(a, b authmgmt.AuditEvent) int { return b.Position().Compare(a.Position()) })
	return pages.Cut(events, q.Limit, (*authmgmt.AuditEvent).Position), nil
}

var authmgmtAudit = audit.Table{Table: "authmgmt_audit", Columns: auditColumns, About: "target", Index: "authmgmt_audit_target"}

// eventOfDeleted returns what the trail of an organization shows that was deleted. It is
// empty for others.
func (a *Store) eventOfDeleted(
	ctx context.Context, org string, q *authmgmt.AuditQuery,
) (page mortise.Page[authmgmt.AuditEvent], err error) {
	err = a.db.Find(ctx, org, eventOfDeleted, []any{org}, func(r *file.Row) error {
		var e authmgmt.AuditEvent
		if err := scanAudit(r, &e); err != nil {
			return err
		}
		if q.Matches(&e) && pages.Older(q.After, e.Position()) {
			page.Items = append(page.Items, e)
		}
		return nil
	})
	if err != nil {
		return mortise.Page[authmgmt.AuditEvent]{}, err
	}
	return page, nil
}

// auditStatement returns the query of ListAuditEvents.
func auditStatement(org string, q *authmgmt.AuditQuery) (statement string, args []any, err error) {
	statement, args, err = authmgmtAudit.Listing(org, &audit.Selection{
		Kind: string(q.Kind), Actor: string(q.Actor), About: q.Target, From: q.From, To: q.To, After: q.After, Limit: q.Limit,
	})
	return statement + " WHERE TRUE" + notDeleted, args, err
}

// scanAudit reads a row of auditColumns.
func scanAudit(r *file.Row, e *authmgmt.AuditEvent) (err error) {
	r.Blob(0, e.ID[:])
	e.Organization, e.At, e.Kind, e.Actor, e.Target = r.Text(1), r.Moment(2), mortise.Kind(r.Text(3)), mortise.Actor(r.Text(4)), r.Text(5)
	if e.Before, err = scanSnapshot(r, 6); err != nil {
		return err
	}
	e.After, err = scanSnapshot(r, 7)
	return err
}

func scanSnapshot(r *file.Row, i int) (*authmgmt.Snapshot, error) {
	if r.Null(i) {
		return nil, nil
	}
	s := new(authmgmt.Snapshot)
	if err := json.Unmarshal(r.Bytes(i), s); err != nil {
		return nil, fmt.Errorf("sqlite: a row is damaged: column %d is no snapshot: %w", i, err)
	}
	return s, nil
}
