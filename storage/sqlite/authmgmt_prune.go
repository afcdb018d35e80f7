package sqlite

import (
	"context"
	"time"
)

const (
	pruneAudit  = "DELETE FROM authmgmt_audit WHERE seq IN (SELECT seq FROM authmgmt_audit WHERE at < ? ORDER BY at LIMIT ?)"
	pruneTokens = "DELETE FROM authmgmt_tokens WHERE digest IN" +
		" (SELECT digest FROM authmgmt_tokens WHERE expires_at < ? ORDER BY expires_at LIMIT ?)"
	pruneInvitations = "DELETE FROM authmgmt_invitations WHERE (organization, id) IN" +
		" (SELECT organization, id FROM authmgmt_invitations WHERE ended_at < ? ORDER BY ended_at LIMIT ?)"
)

// PruneAudit implements [authmgmt.Pruner].
func (a *AuthMgmt) PruneAudit(ctx context.Context, before time.Time, limit int) (removed int, err error) {
	return a.prune(ctx, pruneAudit, before, limit)
}

// PruneTokens implements [authmgmt.Pruner].
func (a *AuthMgmt) PruneTokens(ctx context.Context, before time.Time, limit int) (removed int, err error) {
	return a.prune(ctx, pruneTokens, before, limit)
}

// PruneInvitations implements [authmgmt.Pruner].
func (a *AuthMgmt) PruneInvitations(ctx context.Context, before time.Time, limit int) (removed int, err error) {
	return a.prune(ctx, pruneInvitations, before, limit)
}

// prune removes what ended before a time, in steps: other writes wait for one of them at most.
func (a *AuthMgmt) prune(ctx context.Context, statement string, before time.Time, limit int) (removed int, err error) {
	for removed < limit {
		step := min(pruneStep, limit-removed)
		var n int64
		err := a.db.writer.write(ctx, func(tx *tx) (err error) {
			n, err = tx.exec(statement, ceilMicros(before), step)
			return err
		})
		if err != nil {
			return removed, err
		}
		if removed += int(n); n < int64(step) {
			break
		}
	}
	return removed, ctx.Err()
}
