package queuetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
)

// optionalRules are those of a Sharer and a LossReporter, as far as they can be tried
// without a domain and without a loss.
var optionalRules = []rule{
	{Rule{"sharer/strangers", "Shares is false for what is no store of the same database."},
		needSharer, func(t *testing.T, s *subject) {
			for _, sharer := range are[mortise.Sharer](s) {
				for _, stranger := range []any{nil, struct{}{}, new(int)} {
					require.False(t, sharer.Shares(stranger), "%T shares with %T", sharer, stranger)
				}
			}
		}},

	{Rule{"lossreporter/steady", "LostJobs returns the same time, which has passed, as long as " +
		"no job is lost."},
		needQueue | needLossReporter, func(t *testing.T, s *subject) {
			for _, reporter := range are[mortise.LossReporter](s) {
				first, err := reporter.LostJobs(t.Context())
				require.NoError(t, err)
				soon := time.Now().Add(time.Minute) // the clocks of two machines
				require.True(t, first.Before(soon), "jobs were lost at %v", first)
				s.enqueue(t, newJob())
				s.passed(t)
				again, err := reporter.LostJobs(t.Context())
				require.NoError(t, err)
				require.True(t, first.Equal(again), "%T: %v, then %v", reporter, first, again)
			}
		}},
}
