package sqlite

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
)

const (
	auditColumns = "id, organization, at, kind, actor, target, before, after"
	insertAudit  = "INSERT INTO authmgmt_audit (" + auditColumns + ") VALUES (?,?,?,?,?,?,?,?)"
)

// auditChange returns what stores an event: nothing if it has no ID.
func auditChange(e *authmgmt.AuditEvent) ([]change, error) {
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
	return []change{{insertAudit, args}}, nil
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
func (a *AuthMgmt) ListAuditEvents(ctx context.Context, org string, q authmgmt.AuditQuery) (mortise.Page[authmgmt.AuditEvent], error) {
	statement, args, err := auditStatement(org, &q)
	if err != nil {
		return mortise.Page[authmgmt.AuditEvent]{}, err
	}
	var events []authmgmt.AuditEvent
	err = a.db.list(ctx, org, statement, args, func(r *row) error {
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

var authmgmtAudit = auditTable{table: "authmgmt_audit", columns: auditColumns, about: "target", index: "authmgmt_audit_target"}

// eventOfDeleted returns what the trail of an organization shows that was deleted. It is
// empty for others.
func (a *AuthMgmt) eventOfDeleted(
	ctx context.Context, org string, q *authmgmt.AuditQuery,
) (page mortise.Page[authmgmt.AuditEvent], err error) {
	err = a.db.find(ctx, org, eventOfDeleted, []any{org}, func(r *row) error {
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
	statement, args, err = authmgmtAudit.listing(org, &auditSelection{
		kind: string(q.Kind), actor: string(q.Actor), about: q.Target, from: q.From, to: q.To, after: q.After, limit: q.Limit,
	})
	return statement + " WHERE TRUE" + notDeleted, args, err
}

// scanAudit reads a row of auditColumns.
func scanAudit(r *row, e *authmgmt.AuditEvent) (err error) {
	r.blob(0, e.ID[:])
	e.Organization, e.At, e.Kind, e.Actor, e.Target = r.text(1), r.moment(2), mortise.Kind(r.text(3)), mortise.Actor(r.text(4)), r.text(5)
	if e.Before, err = scanSnapshot(r, 6); err != nil {
		return err
	}
	e.After, err = scanSnapshot(r, 7)
	return err
}

func scanSnapshot(r *row, i int) (*authmgmt.Snapshot, error) {
	if r.null(i) {
		return nil, nil
	}
	s := new(authmgmt.Snapshot)
	if err := json.Unmarshal(r.bytes(i), s); err != nil {
		return nil, fmt.Errorf("sqlite: a row is damaged: column %d is no snapshot: %w", i, err)
	}
	return s, nil
}
