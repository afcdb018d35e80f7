package memory

import (
	"context"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
)

// addEvent stores an audit event, unless it is none.
func (t *authmgmtTables) addEvent(e authmgmt.AuditEvent) { t.audit.add(e.Organization, e) }

// ListAuditEvents implements [authmgmt.Audit].
func (a *AuthMgmt) ListAuditEvents(ctx context.Context, org string, q authmgmt.AuditQuery) (mortise.Page[authmgmt.AuditEvent], error) {
	shown := func(t *tables) []authmgmt.AuditEvent { return t.authmgmt.trail(org) }
	return listEvents(ctx, a.db, shown, auditQuery[authmgmt.AuditEvent]{q.Matches, q.From, q.After, q.Limit})
}

// PruneAudit implements [authmgmt.Pruner].
func (a *AuthMgmt) PruneAudit(ctx context.Context, before time.Time, limit int) (int, bool, error) {
	of := func(t *tables) trails[authmgmt.AuditEvent, *authmgmt.AuditEvent] { return t.authmgmt.audit }
	return pruneEvents(ctx, a.db, of, before, limit)
}
