package queuetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// deadLetterRules are the rules of domains whose queues keep dead letters.
func deadLetterRules[J Job](add string) []Rule[J] {
	return []Rule[J]{
		{Sentence{"leases/add-dead", "A job whose ID is there as a dead one is left as it is by " + add + ": no error, and no Claim returns it."}, NeedLeases,
			func(t *testing.T, s *Subject[J]) {
				j := s.Add(t, s.newJob(), 0)
				require.NoError(t, s.Leases.Remove(t.Context(), s.ClaimOne(t, 0, time.Minute), true))
				s.Add(t, j, 0)
				s.ClaimNone(t, time.Hour)
			}},

		{Sentence{"leases/remove-dead", "If dead is true, the job is kept as a dead letter that no Claim returns."}, NeedLeases,
			func(t *testing.T, s *Subject[J]) {
				other := s.Add(t, s.newJob(), time.Second)
				s.Add(t, s.newJob(), 0)
				require.NoError(t, s.Leases.Remove(t.Context(), s.ClaimOne(t, 0, time.Minute), true))
				require.Equal(t, other, s.ClaimOne(t, time.Hour, 2*time.Hour).Job)
				s.ClaimNone(t, time.Hour)
			}},

		{Sentence{"queue/dead", "A job whose verdict is dead is never delivered again."}, NeedQueue,
			func(t *testing.T, s *Subject[J]) { endsBy(t, s, dead) }},
	}
}
