package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
)

// Each number of these is counted by entries of an index that stand side by side, and no
// further than a limit. A statement has one snapshot for all of its numbers.
const (
	// For an organization, a limit and a time.
	countAuthMgmt = "SELECT" +
		" (SELECT count(*) FROM (SELECT FROM @.authmgmt_clients WHERE organization = $1 AND deleted_at IS NULL LIMIT $2) c)," +
		" (SELECT count(*) FROM (" + liveTokens + " AND expires_at > $3 LIMIT $2) t)," +
		" (SELECT count(*) FROM (" + liveTokens + " AND expires_at IS NULL LIMIT $2) t)," +
		" (SELECT count(*) FROM (SELECT FROM @.authmgmt_invitations" +
		" WHERE organization = $1 AND accepted_at IS NULL AND cancelled_at IS NULL AND expires_at > $3 LIMIT $2) i)," +
		" (SELECT count(*) FROM (SELECT" + waitingGrants + " AND organization = $1 LIMIT $2) i)," +
		" (SELECT min(accepted_at)" + waitingGrants + " AND organization = $1)" +
		" WHERE TRUE" + authNotDeleted

	// For a limit, and the smallest time.
	countGrants = "SELECT" +
		" (SELECT count(*) FROM (SELECT" + waitingGrants + ofTheLiving + " LIMIT $1) i)," +
		" (SELECT min(accepted_at)" + waitingGrants + ofTheLiving + ")," +
		" (SELECT min(grant_due) FROM @.authmgmt_invitations i" +
		" WHERE accepted_at IS NOT NULL AND granted_at IS NULL AND NOT awaits_person AND grant_due > $2" + ofTheLiving + ")"

	ofTheLiving = authNotDeletedOf + "i.organization)"

	liveTokens    = "SELECT FROM @.authmgmt_tokens WHERE organization = $1 AND revoked_at IS NULL"
	waitingGrants = " FROM @.authmgmt_invitations i WHERE accepted_at IS NOT NULL AND granted_at IS NULL"
)

// Stats implements [authmgmt.Counter].
func (a *AuthMgmt) Stats(ctx context.Context, org string, now time.Time, most int) (authmgmt.Stats, error) {
	var clients, expiring, lasting, pending, waiting int
	var oldest pgtype.Timestamptz
	err := a.db.read(ctx, org, func(s *session) error {
		return s.row(countAuthMgmt, []any{bytes(org), most + 1, bound(now)}, &clients, &expiring, &lasting, &pending, &waiting, &oldest)
	})
	if err != nil && !isNoRow(err) {
		return authmgmt.Stats{}, err
	}
	return authmgmt.Stats{
		Clients: mortise.CountUpTo(clients, most), Tokens: mortise.CountUpTo(expiring+lasting, most),
		Pending: mortise.CountUpTo(pending, most), Waiting: mortise.CountUpTo(waiting, most), OldestWaiting: timeOf(oldest),
	}, nil
}

// StatsAll implements [authmgmt.Counter].
func (a *AuthMgmt) StatsAll(ctx context.Context, most int) (authmgmt.AllStats, error) {
	var waiting int
	var oldest, next pgtype.Timestamptz
	err := a.db.read(ctx, noOrg, func(s *session) error {
		return s.row(countGrants, []any{most + 1, time.Time{}}, &waiting, &oldest, &next)
	})
	if err != nil {
		return authmgmt.AllStats{}, err
	}
	return authmgmt.AllStats{Waiting: mortise.CountUpTo(waiting, most), OldestWaiting: timeOf(oldest), NextDue: timeOf(next)}, nil
}
