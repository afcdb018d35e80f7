package memory

import (
	"context"
	"slices"
	"sort"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/vault"
)

// AddAuditEvent implements [vault.Audit].
func (s *Vault) AddAuditEvent(ctx context.Context, e vault.AuditEvent) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.db.mu.Lock()
	defer s.db.mu.Unlock()
	if s.db.vault.isDeleted(e.Organization, e.Vault) && e.ID != ([16]byte{}) {
		return vault.ErrNotFound
	}
	s.db.vault.addEvent(e)
	return nil
}

// addEvent stores an audit event, unless it is none.
func (t *vaultTables) addEvent(e vault.AuditEvent) {
	if e.ID == ([16]byte{}) {
		return
	}
	trail := t.audit[e.Organization]
	at := sort.Search(len(trail), func(i int) bool { return trail[i].Position().Compare(e.Position()) > 0 })
	t.audit[e.Organization] = slices.Insert(trail, at, e.Clone())
}

// ListAuditEvents implements [vault.Audit].
func (s *Vault) ListAuditEvents(ctx context.Context, org string, q vault.AuditQuery) (mortise.Page[vault.AuditEvent], error) {
	if err := ctx.Err(); err != nil || q.Limit <= 0 {
		return mortise.Page[vault.AuditEvent]{}, err
	}
	var after *mortise.Position
	if !q.After.IsZero() {
		after = &q.After
	}
	trail := func() []vault.AuditEvent { return s.db.vault.audit[org] }
	var page mortise.Page[vault.AuditEvent]
	err := newestFirst(ctx, s.db, after, trail, (*vault.AuditEvent).Position, func(e *vault.AuditEvent) (more bool) {
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
		return mortise.Page[vault.AuditEvent]{}, err
	}
	return page, nil
}

// PruneAudit implements [vault.Audit].
func (s *Vault) PruneAudit(ctx context.Context, before time.Time, limit int) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	s.db.mu.Lock()
	defer s.db.mu.Unlock()
	removed := 0
	for org, trail := range s.db.vault.audit {
		s.db.vault.audit[org] = slices.DeleteFunc(trail, func(e vault.AuditEvent) bool {
			return counted(&removed, limit, e.At.Before(before))
		})
	}
	return removed, nil
}
