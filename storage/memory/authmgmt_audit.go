package memory

import (
	"context"
	"slices"
	"sort"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
)

// addEvent stores an audit event, unless it is none.
func (t *authmgmtTables) addEvent(e authmgmt.AuditEvent) {
	if e.ID == ([16]byte{}) {
		return
	}
	trail := t.audit[e.Organization]
	at := sort.Search(len(trail), func(i int) bool { return trail[i].Position().Compare(e.Position()) > 0 })
	t.audit[e.Organization] = slices.Insert(trail, at, e.Clone())
}

// ListAuditEvents implements [authmgmt.Audit].
func (a *AuthMgmt) ListAuditEvents(ctx context.Context, org string, q authmgmt.AuditQuery) (mortise.Page[authmgmt.AuditEvent], error) {
	if err := ctx.Err(); err != nil || q.Limit <= 0 {
		return mortise.Page[authmgmt.AuditEvent]{}, err
	}
	var after *mortise.Position
	if !q.After.IsZero() {
		after = &q.After
	}
	trail := func() []authmgmt.AuditEvent { return a.db.authmgmt.trail(org) }
	var page mortise.Page[authmgmt.AuditEvent]
	err := newestFirst(ctx, a.db, after, trail, (*authmgmt.AuditEvent).Position, func(e *authmgmt.AuditEvent) (more bool) {
		switch {
		case e.At.Before(q.From):
			return false
		case !q.Matches(e):
			return true
		case len(page.Items) == q.Limit:
			page.Next = page.Items[q.Limit-1].Position()
			return false
		}
		page.Items = append(page.Items, e.Clone())
		return true
	})
	if err != nil {
		return mortise.Page[authmgmt.AuditEvent]{}, err
	}
	return page, nil
}
