package sqlite

import (
	"context"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
)

// Each number of these is counted by entries of an index that stand side by side, and no
// further than a limit. A statement has one snapshot for all of its numbers.
const (
	// For an organization, a limit and a time.
	countAuthMgmt = "SELECT" +
		" (SELECT count(*) FROM (SELECT 1 FROM authmgmt_clients WHERE organization = ?1 AND deleted_at IS NULL LIMIT 0 + ?2))," +
		" (SELECT count(*) FROM (" + liveTokens + " AND expires_at > ?3 LIMIT 0 + ?2))," +
		" (SELECT count(*) FROM (" + liveTokens + " AND expires_at IS NULL LIMIT 0 + ?2))," +
		" (SELECT count(*) FROM (SELECT 1 FROM authmgmt_invitations INDEXED BY authmgmt_invitations_open" +
		" WHERE organization = ?1 AND accepted_at IS NULL AND cancelled_at IS NULL AND expires_at > ?3 LIMIT 0 + ?2))," +
		" (SELECT count(*) FROM (SELECT 1" + waitingGrants + " AND organization = ?1 LIMIT 0 + ?2))," +
		" (SELECT min(accepted_at)" + waitingGrants + " AND organization = ?1)" +
		" WHERE TRUE" + notDeleted

	// For a limit, and the smallest time.
	countGrants = "SELECT" +
		" (SELECT count(*) FROM (SELECT 1" + waitingGrants + ofTheLiving + " LIMIT 0 + ?1))," +
		" (SELECT min(accepted_at)" + waitingGrants + ofTheLiving + ")," +
		" (SELECT min(grant_due) FROM authmgmt_invitations INDEXED BY authmgmt_invitations_due" +
		" WHERE accepted_at IS NOT NULL AND granted_at IS NULL AND awaits_person = 0 AND grant_due > ?2" + ofTheLiving + ")"

	ofTheLiving = notDeletedOf + "authmgmt_invitations.organization)"

	liveTokens = "SELECT 1 FROM authmgmt_tokens INDEXED BY authmgmt_tokens_live" +
		" WHERE organization = ?1 AND revoked_at IS NULL"
	waitingGrants = " FROM authmgmt_invitations INDEXED BY authmgmt_invitations_waiting" +
		" WHERE accepted_at IS NOT NULL AND granted_at IS NULL"
)

// Stats implements [authmgmt.Counter].
func (a *AuthMgmt) Stats(
	ctx context.Context, org string, now time.Time, most int,
) (stats authmgmt.Stats, err error) {
	args := []any{org, most + 1, now.UnixMicro()}
	err = a.db.list(ctx, org, countAuthMgmt, args, func(r *row) error {
		stats.Clients = mortise.CountUpTo(r.number(0), most)
		stats.Tokens = mortise.CountUpTo(r.number(1)+r.number(2), most)
		stats.Pending = mortise.CountUpTo(r.number(3), most)
		stats.Waiting = mortise.CountUpTo(r.number(4), most)
		stats.OldestWaiting = r.moment(5)
		return nil
	})
	if err != nil {
		return authmgmt.Stats{}, err
	}
	return stats, nil
}

// StatsAll implements [authmgmt.Counter].
func (a *AuthMgmt) StatsAll(ctx context.Context, most int) (open authmgmt.AllStats, err error) {
	args := []any{most + 1, time.Time{}.UnixMicro()}
	err = a.db.list(ctx, noOrg, countGrants, args, func(r *row) error {
		open.Waiting = mortise.CountUpTo(r.number(0), most)
		open.OldestWaiting, open.NextDue = r.moment(1), r.moment(2)
		return nil
	})
	if err != nil {
		return authmgmt.AllStats{}, err
	}
	return open, nil
}
