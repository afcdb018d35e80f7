package memory

import (
	"context"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
)

// Stats implements [authmgmt.Counter].
func (a *AuthMgmt) Stats(ctx context.Context, org string, now time.Time, most int) (authmgmt.Stats, error) {
	db, err := a.db.read(ctx)
	if err != nil {
		return authmgmt.Stats{}, err
	}
	defer db.end()
	t := &db.authmgmt
	if t.isDeleted(org) {
		return authmgmt.Stats{}, nil
	}
	stats := authmgmt.Stats{Clients: mortise.CountUpTo(len(t.clientList[org]), most)}
	tokens, pending, waiting := 0, 0, 0
	for _, k := range t.tokenList[org] {
		if k.RevokedAt.IsZero() && (k.ExpiresAt.IsZero() || now.Before(k.ExpiresAt)) {
			tokens++
		}
	}
	for _, i := range t.inviteList[org] {
		switch {
		case i.State(now) == authmgmt.InvitationPending:
			pending++
		case waits(i):
			waiting++
			stats.OldestWaiting = sooner(stats.OldestWaiting, i.AcceptedAt)
		}
	}
	stats.Tokens = mortise.CountUpTo(tokens, most)
	stats.Pending = mortise.CountUpTo(pending, most)
	stats.Waiting = mortise.CountUpTo(waiting, most)
	return stats, nil
}

// StatsAll implements [authmgmt.Counter].
func (a *AuthMgmt) StatsAll(ctx context.Context, most int) (authmgmt.AllStats, error) {
	db, err := a.db.read(ctx)
	if err != nil {
		return authmgmt.AllStats{}, err
	}
	defer db.end()
	var open authmgmt.AllStats
	waiting := 0
	for _, i := range db.authmgmt.invitations {
		if !waits(i) || db.authmgmt.isDeleted(i.Organization) {
			continue
		}
		waiting++
		open.OldestWaiting = sooner(open.OldestWaiting, i.AcceptedAt)
		if !i.AwaitsPerson {
			open.NextDue = sooner(open.NextDue, i.GrantDue)
		}
	}
	open.Waiting = mortise.CountUpTo(waiting, most)
	return open, nil
}

// waits reports whether an invitation is accepted and not granted yet.
func waits(i *authmgmt.Invitation) bool { return !i.AcceptedAt.IsZero() && i.GrantedAt.IsZero() }

// sooner returns the earlier one of two times, of which those that are zero are none.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
