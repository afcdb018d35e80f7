package authmgmtdb

import (
	"context"
	"time"
)

const (
	pruneAudit  = "DELETE FROM authmgmt_audit WHERE seq IN (SELECT seq FROM authmgmt_audit WHERE at < ? ORDER BY at LIMIT 0 + ?)"
	pruneTokens = "DELETE FROM authmgmt_tokens WHERE digest IN" +
		" (SELECT digest FROM authmgmt_tokens WHERE expires_at < ? ORDER BY expires_at LIMIT 0 + ?)"
	removeTokens     = "DELETE FROM authmgmt_tokens WHERE digest IN (SELECT digest FROM authmgmt_tokens WHERE digest >= x'' AND revoked_at IS NULL AND ? IS NOT NULL LIMIT 0 + ?)"
	pruneInvitations = "DELETE FROM authmgmt_invitations WHERE (organization, id) IN" +
		" (SELECT organization, id FROM authmgmt_invitations WHERE ended_at < ? ORDER BY ended_at LIMIT 0 + ?)"
)

// PruneAudit implements [authmgmt.Pruner].
func (a *Store) PruneAudit(ctx context.Context, before time.Time, limit int) (n int, more bool, err error) {
	return a.db.Prune(ctx, pruneAudit, before, limit)
}

// PruneTokens implements [authmgmt.Pruner].
func (a *Store) PruneTokens(ctx context.Context, before time.Time, limit int) (n int, more bool, err error) {
	return a.db.Prune(ctx, pruneTokens, before, limit)
}

// RemoveTokens implements [authmgmt.Restorable].
func (a *Store) RemoveTokens(ctx context.Context, limit int) (n int, more bool, err error) {
	return a.db.Prune(ctx, removeTokens, time.Time{}, limit)
}

// PruneInvitations implements [authmgmt.Pruner].
func (a *Store) PruneInvitations(ctx context.Context, before time.Time, limit int) (n int, more bool, err error) {
	return a.db.Prune(ctx, pruneInvitations, before, limit)
}
