package triggertest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/internal/conformance/queuetest"
	"github.com/seed-6363c74e/mortise/trigger"
)

// createAndEnqueue is the creator that enqueues a job.
func (s *subject) createAndEnqueue(t *testing.T, e trigger.Event, keySince time.Time) (trigger.Event, bool, error) {
	return s.Queue.(trigger.TxQueue).CreateAndEnqueue(t.Context(), e, keySince, e.Job())
}

const needTxQ = needStore | needQueue | needTxQueue

// txQueueRules are the rules of a Queue that is a TxQueue.
var txQueueRules = []rule{
	{Rule{"txqueue/shares", "Shares reports whether the Store keeps its events where the queue keeps its jobs."}, needTxQ,
		func(t *testing.T, s *subject) {
			tx := s.Queue.(trigger.TxQueue)
			require.True(t, tx.Shares(s.Store), "with the Store of the same backend")
			require.False(t, tx.Shares(s.h.Open(t).Store), "with the Store of another one")
			require.False(t, tx.Shares(foreignStore{}), "with a Store of a kind that it does not know")
		}},

	{Rule{"txqueue/create-and-enqueue", "CreateAndEnqueue does Store.Create and, if that created the event, Queue.Enqueue."}, needTxQ,
		func(t *testing.T, s *subject) {
			d := queuetest.NewDiary[trigger.Job](nil)
			s.jobs().Consume(t, 1, d.Handle)
			for range 3 {
				// So that an idle consumer has to be woken.
				conformance.Idle(t, d.News, "a delivery from an empty queue")
				e := plainEvent(orgA, 0)
				stored, created, err := s.createAndEnqueue(t, e, window())
				require.NoError(t, err)
				require.True(t, created)
				sameEvent(t, e, stored)
				require.Equal(t, e.Job(), d.Next(t).Job)
				sameEvent(t, e, s.get(t, e))
			}
		}},

	{Rule{"txqueue/same-key-enqueues-nothing", "CreateAndEnqueue finds an event with the same idempotency key as Store.Create does, and enqueues nothing then."}, needTxQ,
		func(t *testing.T, s *subject) {
			keyFinds(t, s, s.createAndEnqueue, moment(0))
			s.delivered(t, 1)
		}},

	{Rule{"txqueue/same-id-enqueues-nothing", "CreateAndEnqueue of an event whose ID is there returns that one and enqueues nothing."}, needTxQ,
		func(t *testing.T, s *subject) {
			first := s.create(t, plainEvent(orgA, 0))
			second := first
			second.Instructions = "something else"
			stored, created, err := s.createAndEnqueue(t, second, window())
			require.NoError(t, err)
			require.False(t, created)
			sameEvent(t, first, stored)
			s.delivered(t, 0)
		}},

	{Rule{"txqueue/key-before-window", "An event with the same key submitted before keySince loses its key by CreateAndEnqueue too; its job stays."}, needTxQ,
		func(t *testing.T, s *subject) {
			keyIsTaken(t, s, s.createAndEnqueue)
			s.delivered(t, 2)
		}},

	{Rule{"txqueue/job-is-there", "A job that is in the queue is not added a second time by CreateAndEnqueue; the event is created."}, needTxQ,
		func(t *testing.T, s *subject) {
			e := plainEvent(orgA, 0)
			s.jobs().Enqueue(t, e.Job())
			_, created, err := s.createAndEnqueue(t, e, window())
			require.NoError(t, err)
			require.True(t, created)
			sameEvent(t, e, s.get(t, e))
			s.delivered(t, 1)
		}},

	{Rule{"txqueue/concurrent-one-key", "Of many CreateAndEnqueue at once with one key, one creates its event and enqueues its job."}, needTxQ,
		func(t *testing.T, s *subject) {
			winner := keyIsWonOnce(t, s, s.createAndEnqueue)
			require.Equal(t, winner.Job(), s.delivered(t, 1)[0])
		}},

	{Rule{"txqueue/both-or-neither", "CreateAndEnqueue is one transaction: event and job, both or neither, also if the call was cut off."}, needTxQ,
		func(t *testing.T, s *subject) {
			const n = 40
			events := make([]trigger.Event, n)
			for i := range events {
				events[i] = plainEvent(orgA, 0)
			}
			var cutOff sync.WaitGroup
			cutOff.Add(n / 2)
			conformance.Together(n+1, func(i int) {
				// A mutant in Seam waits for this one to end: when all are cancelled.
				if i == n {
					cutOff.Wait()
					return
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if i%2 == 0 {
					go func() {
						defer cutOff.Done()
						cancel()
					}()
				}
				// Whether a call that was cut off took effect is unknown; what counts is that event and job agree.
				_, _, _ = s.Queue.(trigger.TxQueue).CreateAndEnqueue(ctx, events[i], window(), events[i].Job())
			})
			d := queuetest.NewDiary[trigger.Job](nil)
			s.jobs().Consume(t, 4, d.Handle)
			conformance.Until(t, "every event to have its job, and every job its event", func() bool {
				for i, e := range events {
					_, err := s.Store.Get(t.Context(), orgA, e.ID)
					if err != nil {
						require.ErrorIs(t, err, trigger.ErrNotFound)
					}
					if came, _ := d.Count(e.Job()); (err == nil) != (came > 0) || err != nil && i%2 == 1 {
						return false
					}
				}
				return true
			})
		}},
}

// delivered requires that the queue holds that many jobs, each once and of an event that is stored, and returns them.
func (s *subject) delivered(t *testing.T, n int) []trigger.Job {
	t.Helper()
	var got []trigger.Job
	for _, d := range s.jobs().Passed(t).Seen() {
		got = append(got, d.Job)
		_, err := s.Store.Get(t.Context(), d.Job.Organization, d.Job.EventID)
		require.NoError(t, err, "the event of job %s", d.Job.ID())
	}
	require.Len(t, got, n, "jobs in the queue")
	seen := make(map[uuid.UUID]bool)
	for _, j := range got {
		require.False(t, seen[j.EventID], "job %s came twice", j.ID())
		seen[j.EventID] = true
	}
	return got
}
