package authmgmttest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/internal/conformance/steptest"
)

// pruner returns the store as what it is.
func (s *subject) pruner() authmgmt.Pruner { return s.Store.(authmgmt.Pruner) }

// before is a method of Pruner, with a time.
func before(prune func(context.Context, time.Time, int) (int, bool, error), at time.Duration) steptest.Do {
	return func(ctx context.Context, limit int) (int, bool, error) { return prune(ctx, moment(at), limit) }
}

// prunes requires that a method removes so many rows, in all its steps.
func prunes(t *testing.T, want int, prune func(context.Context, time.Time, int) (int, bool, error), at time.Duration) {
	t.Helper()
	require.Equal(t, want, steptest.All(t, 10, before(prune, at)), "removed")
}

// pruneRules are the rules of Pruner.
var pruneRules = slices.Concat(pruneAuditRules(), []rule{
	{Rule{"pruner/tokens", "PruneTokens removes tokens with an ExpiresAt that is set and before the given time, revoked or not, and no others."}, needStore | needPruner,
		func(t *testing.T, s *subject) {
			c := s.addClient(t, newClient(orgA, "build", 0))
			early, at, client, revoked := newToken(orgA, 0), newToken(orgA, 0), clientToken(c, 0, 0), newToken(orgA, 0)
			early.ExpiresAt, at.ExpiresAt = moment(time.Hour-time.Microsecond), moment(time.Hour)
			client.ExpiresAt, revoked.ExpiresAt, revoked.RevokedAt = early.ExpiresAt, at.ExpiresAt, moment(0)
			for _, k := range []authmgmt.Token{early, at, client, revoked} {
				s.addToken(t, k)
			}
			prunes(t, 2, s.pruner().PruneTokens, time.Hour)
			s.noToken(t, early)
			s.noToken(t, client)
			s.hasToken(t, at)
			s.hasToken(t, revoked)
			prunes(t, 2, s.pruner().PruneTokens, time.Hour+time.Microsecond)
			s.noToken(t, revoked)
			s.hasClient(t, c)
		}},

	{Rule{"pruner/tokens-that-never-expire", "PruneTokens leaves tokens that never expire, so that what was revoked cannot be imported again."}, needStore | needPruner,
		func(t *testing.T, s *subject) {
			valid, revoked := s.addToken(t, newToken(orgA, 0)), newToken(orgA, 0)
			revoked.RevokedAt = moment(time.Microsecond)
			s.addToken(t, revoked)
			prunes(t, 0, s.pruner().PruneTokens, 1000*day)
			s.hasToken(t, valid)
			s.hasToken(t, revoked)
			s.refusesToken(t, revoked, mortise.ErrExists)
		}},

	{Rule{"pruner/tokens-are-forgotten", "A token that PruneTokens removed is not stored any more: its ID and its digest are free."}, needStore | needPruner,
		func(t *testing.T, s *subject) {
			k := newToken(orgA, 0)
			k.ExpiresAt = moment(0)
			s.addToken(t, k)
			prunes(t, 1, s.pruner().PruneTokens, time.Hour)
			s.hasToken(t, s.addToken(t, k))
		}},

	{Rule{"pruner/invitations", "PruneInvitations removes invitations that ended before the given time: cancelled, granted, or neither accepted nor cancelled and expired."}, needStore | needPruner,
		func(t *testing.T, s *subject) {
			for _, early := range []bool{true, false} {
				end := moment(2 * day)
				if early {
					end = end.Add(-time.Microsecond)
				}
				expired, cancelled, granted := newInvitation(orgA, fmt.Sprint("expired", early), 0), newInvitation(orgA, fmt.Sprint("cancelled", early), 0),
					newInvitation(orgA, fmt.Sprint("granted", early), 0)
				expired.ExpiresAt = end
				cancelled.CancelledAt = end // later than it would have expired
				granted.AcceptedAt, granted.GrantedAt = moment(0), end
				for _, i := range []authmgmt.Invitation{expired, cancelled, granted} {
					require.True(t, end.Equal(i.EndedAt()))
					s.addInvitation(t, i)
				}
			}
			prunes(t, 3, s.pruner().PruneInvitations, 2*day)
			for _, id := range []string{"expired", "cancelled", "granted"} {
				s.noInvitation(t, orgA, id+"true")
				_, err := s.Store.Invitation(t.Context(), orgA, id+"false")
				require.NoError(t, err, id)
			}
			prunes(t, 0, s.pruner().PruneInvitations, 2*day)
			prunes(t, 3, s.pruner().PruneInvitations, 2*day+time.Microsecond)
		}},

	{Rule{"pruner/invitations-not-granted", "PruneInvitations leaves invitations that are accepted and not granted yet, and pending ones, however old."}, needStore | needPruner,
		func(t *testing.T, s *subject) {
			accepted, pending, awaits := acceptedInvitation(orgA, "accepted", 0), newInvitation(orgA, "pending", 0), acceptedInvitation(orgA, "awaits", 0)
			pending.ExpiresAt = moment(1000 * day)
			awaits.AwaitsPerson, awaits.CancelledAt = true, moment(0)
			for _, i := range []authmgmt.Invitation{accepted, pending, awaits} {
				s.addInvitation(t, i)
			}
			prunes(t, 0, s.pruner().PruneInvitations, 1000*day)
			for _, i := range []authmgmt.Invitation{accepted, pending, awaits} {
				s.hasInvitation(t, i)
			}
		}},

	{Rule{"pruner/invitations-are-forgotten", "An invitation that PruneInvitations removed is not there any more: its ID is free."}, needStore | needPruner,
		func(t *testing.T, s *subject) {
			s.addInvitation(t, newInvitation(orgA, "ann", -10*day))
			prunes(t, 1, s.pruner().PruneInvitations, 0)
			require.Zero(t, len(s.listInvitations(t, orgA, time.Time{})))
			s.hasInvitation(t, s.addInvitation(t, newInvitation(orgA, "ann", 0)))
		}},
})
