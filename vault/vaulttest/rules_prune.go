package vaulttest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/vault"
)

// prunes requires that PruneAudit removes so many events.
func prunes(t *testing.T, s *subject, want int, before time.Duration, limit int) {
	t.Helper()
	n, err := s.Store.PruneAudit(t.Context(), moment(before), limit)
	require.NoError(t, err, "PruneAudit")
	require.Equal(t, want, n, "events that were removed")
}

// pruneRules are the rules of PruneAudit.
var pruneRules = []rule{
	{Rule{"audit/prune", "PruneAudit removes events with At before the given time, and no others, and nothing else."}, 0,
		func(t *testing.T, s *subject) {
			v := s.customers(t)
			s.adds(t, v, row("t1", email, "ann", 1))
			early, at := filledEvent(orgA, "early"), filledEvent(orgA, "at")
			early.At, at.At = moment(time.Hour-time.Microsecond), moment(time.Hour)
			s.record(t, early, at)
			prunes(t, s, 1, -999*time.Hour, 10) // the vault's
			prunes(t, s, 1, time.Hour, 10)
			s.noEvent(t, early)
			s.hasEvent(t, at)
			prunes(t, s, 0, time.Hour, 10)
			s.hasVault(t, v)
			s.hasRow(t, v, row("t1", email, "ann", 1))
		}},

	{Rule{"audit/prune-limit", "PruneAudit removes at most limit events, of all organizations, and returns how many."}, 0,
		func(t *testing.T, s *subject) {
			for i := range 7 {
				s.record(t, newEvent([]string{orgA, orgB}[i%2], vault.KindDeleted, "x", 0))
			}
			left := 7
			for _, want := range []int{3, 3, 1, 0} {
				prunes(t, s, want, time.Hour, 3)
				left -= want
				require.Equal(t, left, len(s.trail(t, orgA))+len(s.trail(t, orgB)), "events that are left")
			}
		}},
}
