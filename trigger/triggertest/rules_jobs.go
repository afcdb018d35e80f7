package triggertest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/conformance/queuetest"
	"github.com/seed-6363c74e/mortise/trigger"
)

// jobRules are the rules of Leases and Queue that only this domain has.
var jobRules = []rule{
	{Rule{"leases/generations-are-jobs", "A job's ID is event and generation: each generation is a job of its own."}, needLeases,
		func(t *testing.T, s *subject) {
			q := s.jobs()
			first := q.Add(t, q.NewJob(orgA), 0)
			second := q.Add(t, q.Sibling(first), time.Second)
			l := q.ClaimOne(t, 0, time.Hour)
			require.Equal(t, first, l.Job)
			l = q.ClaimOne(t, time.Second, time.Hour)
			require.Equal(t, second, l.Job)
			require.NoError(t, q.Leases.Remove(t.Context(), l, false))
			require.Equal(t, first, q.ClaimOne(t, time.Hour, 2*time.Hour).Job)
		}},

	{Rule{"jobnotifier/create-and-add", "wake is called after each job that CreateAndAdd adds: a claim that follows it finds the job."}, needJobNotifier | needTx,
		func(t *testing.T, s *subject) {
			b := s.jobs().Subscribe(t)
			for range 3 {
				e := plainEvent(orgA, 0)
				b.Finds(t, e.Job(), func() error {
					_, _, err := s.createAndAdd(t, e, window())
					return err
				})
			}
		}},

	{Rule{"queue/generations-are-jobs", "A job's ID is event and generation: each generation is delivered."}, needQueue,
		func(t *testing.T, s *subject) {
			q := s.jobs()
			first := q.Enqueue(t, q.NewJob(orgA))
			second := q.Enqueue(t, q.Sibling(first))
			d := queuetest.NewDiary[trigger.Job](nil)
			q.Consume(t, 1, d.Handle)
			require.ElementsMatch(t, []trigger.Job{first, second}, []trigger.Job{d.Next(t).Job, d.Next(t).Job})
		}},
}
