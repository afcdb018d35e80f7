package queuetest

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// claimOne claims a job.
func (s *subject) claimOne(ctx context.Context, kind string) error {
	_, err := s.Leases.Claim(ctx,
		mortise.Claim{Token: uuid.New(), Kinds: []string{kind}, Limit: 1, TTL: time.Hour})
	return err
}

// allFail calls every method of the table, with a lease of it, and requires that each is a
// failure. Only Remove would change for how long the job is held.
func (s *subject) allFail(ctx context.Context, t *testing.T, l mortise.Lease) {
	t.Helper()
	far := newJob()
	far.At = conformance.Moment(1000 * time.Hour)
	isFailure(t, "Claim", s.claimOne(ctx, kindB))
	isFailure(t, "Add", s.Leases.Add(ctx, far))
	isFailure(t, "Cancel", s.Leases.Cancel(ctx, newJob()))
	isFailure(t, "Extend", s.Leases.Extend(ctx, l, 2*time.Hour))
	isFailure(t, "Release", s.Leases.Release(ctx, l, 2*time.Hour))
	isFailure(t, "Remove", s.Leases.Remove(ctx, l, false))
	isFailure(t, "Remove as dead", s.Leases.Remove(ctx, l, true))
	l.Token = uuid.New()
	isFailure(t, "Extend of a lost lease", s.Leases.Extend(ctx, l, 2*time.Hour))
}

// outageRules say what a context that has ended and a failure of the backend look like from
// outside.
var outageRules = []rule{
	{Rule{"leases/ended-context", "A call whose context has ended returns an error that is not " +
		"ErrLeaseLost, and does nothing."},
		needTable, func(t *testing.T, s *subject) {
			waiting := s.add(t, newJob(), time.Hour)
			j, l := s.addAndTake(t, 0, 2*time.Hour)
			s.allFail(conformance.Ended(t), t, l)
			ended := conformance.Ended(t)
			isFailure(t, "Cancel", s.Leases.Cancel(ended, waiting))
			s.at(time.Hour)
			isFailure(t, "Claim", s.claimOne(ended, kindA))
			s.take(t, waiting, time.Hour, 3000*time.Hour)
			s.none(t, 2*time.Hour-time.Microsecond)
			require.Equal(t, 2, s.take(t, j, 2*time.Hour, 3000*time.Hour).Deliveries)
			s.none(t, 2000*time.Hour)
		}},

	{Rule{"leases/failure", "While the backend fails, every call returns an error that is not " +
		"ErrLeaseLost, nothing is lost, and afterwards all is as before."},
		needTable | needBreak, func(t *testing.T, s *subject) {
			waiting := s.add(t, newJob(), time.Hour)
			held, l := s.addAndTake(t, 0, 2*time.Hour)
			heal := s.breakIt(t)
			s.allFail(t.Context(), t, l)
			heal()
			s.take(t, waiting, time.Hour, 4*time.Hour)
			// Extend may have taken effect although it failed; the calls wrote the same end.
			s.remove(t, s.take(t, held, 3*time.Hour, 4*time.Hour), false)
		}},

	{Rule{"queue/ended-context", "Enqueue and Cancel with a context that has ended return an " +
		"error; Consume returns nil and hands out nothing."},
		needQueue, func(t *testing.T, s *subject) {
			ended := conformance.Ended(t)
			isFailure(t, "Enqueue", s.Queue.Enqueue(ended, newJob()))
			isFailure(t, "Cancel", s.Queue.Cancel(ended, newJob()))
			s.enqueue(t, newJob())
			handed := false
			opts := mortise.ConsumeOptions{Kinds: []string{kindA}, Workers: 1}
			err := s.Queue.Consume(ended, opts, func(context.Context, mortise.Delivery) mortise.Verdict {
				handed = true
				return done
			})
			require.NoError(t, err)
			require.False(t, handed, "a job was handed out")
		}},

	{Rule{"queue/failure", "While the backend fails, Enqueue returns an error; Consume waits a " +
		"passing failure out, and no job is lost."},
		needQueue | needBreak, func(t *testing.T, s *subject) {
			before := s.enqueue(t, newJob())
			heal := s.breakIt(t)
			d := newDiary(nil)
			c := s.consume(t, 1, d.handle)
			isFailure(t, "Enqueue", s.Queue.Enqueue(t.Context(), newJob()))
			conformance.Nothing(t, c.ended, "Consume returned instead of waiting the failure out")
			heal()
			d.reach(t, before)
			d.reach(t, s.enqueue(t, newJob()))
			c.stop(t)
		}},
}
