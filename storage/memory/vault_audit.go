package memory

import (
	"context"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/vault"
)

// AddAuditEvent implements [vault.Audit].
func (s *Vault) AddAuditEvent(ctx context.Context, e vault.AuditEvent) error {
	db, err := s.db.write(ctx)
	if err != nil {
		return err
	}
	defer db.end()
	if db.vault.isDeleted(e.Organization, e.Vault) && e.ID != ([16]byte{}) {
		return mortise.ErrNotFound
	}
	db.vault.addEvent(e)
	return nil
}

// addEvent stores an audit event, unless it is none.
func (t *vaultTables) addEvent(e vault.AuditEvent) { t.audit.add(e.Organization, e) }

// ListAuditEvents implements [vault.Audit].
func (s *Vault) ListAuditEvents(ctx context.Context, org string, q vault.AuditQuery) (mortise.Page[vault.AuditEvent], error) {
	shown := func(t *tables) []vault.AuditEvent { return t.vault.audit[org] }
	return listEvents(ctx, s.db, shown, auditQuery[vault.AuditEvent]{q.Matches, q.From, q.After, q.Limit})
}

// PruneAudit implements [vault.Audit].
func (s *Vault) PruneAudit(ctx context.Context, before time.Time, limit int) (int, bool, error) {
	of := func(t *tables) trails[vault.AuditEvent, *vault.AuditEvent] { return t.vault.audit }
	return pruneEvents(ctx, s.db, of, before, limit)
}
