package authmgmtdb

import (
	"context"
	"time"
)

// Rows that another session holds are left for the next time.
const (
	pruneAudit = "DELETE FROM @.authmgmt_audit WHERE seq = ANY (ARRAY" +
		"(SELECT seq FROM @.authmgmt_audit WHERE at < $1 ORDER BY at LIMIT $2 FOR UPDATE SKIP LOCKED))"
	pruneTokens = "DELETE FROM @.authmgmt_tokens WHERE digest = ANY (ARRAY" +
		"(SELECT digest FROM @.authmgmt_tokens WHERE expires_at < $1 ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED))"
	removeTokens = "DELETE FROM @.authmgmt_tokens WHERE digest = ANY (ARRAY" +
		"(SELECT digest FROM @.authmgmt_tokens WHERE digest >= '' AND revoked_at IS NULL AND $1::timestamptz IS NOT NULL ORDER BY digest LIMIT $2 FOR UPDATE))"
	pruneInvitations = "DELETE FROM @.authmgmt_invitations i USING" +
		" (SELECT organization, id FROM @.authmgmt_invitations WHERE ended_at < $1 ORDER BY ended_at LIMIT $2 FOR UPDATE SKIP LOCKED) p" +
		" WHERE i.organization = p.organization AND i.id = p.id"
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
