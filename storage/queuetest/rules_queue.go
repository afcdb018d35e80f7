package queuetest

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/storage/leases"
)

// queueRules say which jobs a Queue delivers, and when.
var queueRules = []rule{
	{Rule{"queue/delivers", "Consume hands out the jobs that were enqueued, with a zero At."},
		needQueue, func(t *testing.T, s *subject) {
			want := make(map[string]bool)
			for range 10 {
				want[s.enqueue(t, jobOf(kindA, "the \u00c4rzte")).String()] = true
				want[s.enqueueAt(t, time.Now().Add(-time.Hour)).String()] = true
			}
			d := newDiary(nil)
			s.consume(t, 4, d.handle)
			for len(want) > 0 {
				got := d.next(t)
				require.True(t, want[got.Job.String()], "not enqueued, or here twice: %+v", got)
				require.Equal(t, 1, got.Deliveries)
				require.True(t, got.Job.At.IsZero(), "the At of a delivery: %v", got.Job.At)
				delete(want, got.Job.String())
			}
		}},

	{Rule{"queue/trace", "The trace of a job comes with it as it was added."},
		needQueue, func(t *testing.T, s *subject) {
			d := newDiary(nil)
			s.consume(t, 1, d.handle)
			j := s.enqueue(t, traced())
			sameJob(t, j, d.next(t).Job)
			j = s.enqueue(t, newJob())
			sameJob(t, j, d.next(t).Job)
		}},

	{Rule{"queue/delivers-while-idle", "A job enqueued while the consumer is idle is delivered."},
		needQueue, func(t *testing.T, s *subject) {
			d := newDiary(nil)
			s.consume(t, 2, d.handle)
			for range 3 {
				conformance.Idle(t, d.news, "a delivery from an empty queue")
				d.expect(t, s.enqueue(t, newJob()))
			}
		}},

	{Rule{"queue/invalid-job", "Enqueue and Cancel of a job that is not valid return an error, " +
		"and it does not come."},
		needQueue, func(t *testing.T, s *subject) {
			for _, spoil := range []func(*mortise.Job){
				func(j *mortise.Job) { j.Kind = "" },
				func(j *mortise.Job) { j.Kind = "Docs" },
				func(j *mortise.Job) { j.Organization = "" },
				func(j *mortise.Job) { j.Organization = strings.Repeat("x", 256) },
				func(j *mortise.Job) { j.ID = "" },
				func(j *mortise.Job) { j.ID = "a/b" },
				func(j *mortise.Job) { j.Trace = map[string]string{"tracestate": strings.Repeat("x", 1024)} },
			} {
				j := newJob()
				spoil(&j)
				require.Error(t, s.Queue.Enqueue(t.Context(), j), "Enqueue of %s", j)
				require.Error(t, s.Queue.Cancel(t.Context(), j), "Cancel of %s", j)
			}
			require.Empty(t, s.passed(t).seen())
		}},

	{Rule{"queue/at", "A job is not delivered before its At, and one whose At has passed comes " +
		"at once."},
		needQueue, func(t *testing.T, s *subject) {
			wait := 3 * conformance.Glimpse()
			begun := time.Now()
			later := s.enqueueAt(t, begun.Add(wait))
			past := s.enqueueAt(t, begun.Add(-time.Hour))
			d := newDiary(nil)
			s.consume(t, 1, d.handle)
			d.expect(t, past)
			d.expect(t, later)
			// A tenth less, for clocks of two machines and times cut to microseconds or
			// milliseconds.
			require.GreaterOrEqual(t, time.Since(begun), wait*9/10, "time until the delivery")
		}},

	{Rule{"queue/enqueue-twice", "Enqueue is idempotent: a job that is in the queue is not " +
		"added a second time."},
		needQueue, func(t *testing.T, s *subject) {
			j := newJob()
			var errs [8]error
			conformance.Together(len(errs), func(i int) { errs[i] = s.Queue.Enqueue(t.Context(), j) })
			conformance.NoErrors(t, errs[:])
			s.enqueue(t, j)
			_, first := s.passed(t).count(j)
			require.Equal(t, 1, first, "how often the job came as a new one")
			s.isOver(t, j)
		}},

	{Rule{"queue/enqueue-keeps-at", "A job that is in the queue is left as it is by Enqueue, " +
		"its At included."},
		needQueue, func(t *testing.T, s *subject) {
			j := s.enqueueAt(t, time.Now().Add(noTime.After))
			s.enqueue(t, j)
			s.isOver(t, j)
		}},

	{Rule{"queue/enqueue-while-running", "A job that is being handled is in the queue: " +
		"enqueued again, it is not added a second time."},
		needQueue, func(t *testing.T, s *subject) {
			j := s.enqueue(t, newJob())
			var failed atomic.Value
			d := newDiary(func(ctx context.Context, d mortise.Delivery) mortise.Verdict {
				if err := s.Queue.Enqueue(ctx, d.Job); err != nil {
					failed.Store(err)
				}
				return done
			})
			c := s.consume(t, 1, d.handle)
			d.expect(t, j)
			c.stop(t)
			require.Nil(t, failed.Load(), "Enqueue of the running job")
			s.isOver(t, j)
		}},

	{Rule{"queue/enqueued-by-others", "Jobs that another queue over the same table adds are " +
		"found by an idle consumer at its next poll."},
		needLeases, func(t *testing.T, s *subject) {
			opts := &leases.Options{Poll: 10 * time.Millisecond}
			plain := struct{ mortise.Leases }{s.Leases} // no JobNotifier, so that only polling helps
			here, there := leases.New(plain, opts), leases.New(plain, opts)
			d := newDiary(nil)
			consumeOn(t.Context(), t, here, 1, d.handle)
			for range 3 {
				conformance.Idle(t, d.news, "a delivery from an empty table")
				j := newJob()
				require.NoError(t, there.Enqueue(t.Context(), j))
				d.expect(t, j)
			}
		}},

	{Rule{"queue/turns", "Organizations are served in turn: one with one job does not wait for " +
		"all jobs of another one."},
		needQueue, func(t *testing.T, s *subject) {
			const many = 30
			for range many {
				s.enqueue(t, jobOf(kindA, orgA))
			}
			one := s.enqueue(t, jobOf(kindA, orgB))
			d := newDiary(nil)
			s.consume(t, 1, d.handle)
			before := 0
			for d.next(t).Job.String() != one.String() {
				before++
			}
			require.Less(t, before, many/2, "jobs of the other organization before it")
		}},

	{Rule{"queue/beside", "While one organization has all workers, of which there are two or " +
		"more, one job of another organization is handed out besides them."},
		needQueue, func(t *testing.T, s *subject) {
			for range 4 {
				s.enqueue(t, jobOf(kindA, orgA))
			}
			g := newGate(t)
			s.consume(t, 2, g.handle)
			g.arrival("a job for the first worker")
			g.arrival("a job for the second worker")
			conformance.Nothing(t, g.inside, "a third job of that organization")
			one := s.enqueue(t, jobOf(kindA, orgB))
			require.Equal(t, one.String(), g.arrival("the other organization's job").String())
			for range 5 {
				g.let()
			}
		}},
}
