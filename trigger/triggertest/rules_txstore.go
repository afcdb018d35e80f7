package triggertest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/storage/leases"
	"github.com/seed-6363c74e/mortise/trigger"
)

// foreignStore is a Store of a kind that no backend has heard of.
type foreignStore struct{ trigger.Store }

// createAndAdd is the creator that adds a job.
func (s *subject) createAndAdd(t *testing.T, e trigger.Event, keySince time.Time) (trigger.Event, bool, error) {
	return s.Store.(trigger.TxStore).CreateEventAndAdd(t.Context(), e, keySince, e.Job())
}

// claim takes all jobs that are claimable.
func (s *subject) claim(t *testing.T) []mortise.Lease {
	t.Helper()
	leases, err := s.Leases.Claim(t.Context(), mortise.Claim{
		Token: uuid.New(), Kinds: []string{trigger.JobKind}, Limit: 1000, TTL: 24 * time.Hour,
	})
	require.NoError(t, err)
	return leases
}

// hasJobs requires that the claimable jobs are those of the events, and takes them.
func (s *subject) hasJobs(t *testing.T, events ...trigger.Event) []mortise.Lease {
	t.Helper()
	want, got := make([]string, 0, len(events)), make([]string, 0, len(events))
	for i := range events {
		want = append(want, events[i].Job().String())
	}
	leases := s.claim(t)
	for _, l := range leases {
		got = append(got, l.Job.String())
	}
	require.ElementsMatch(t, want, got, "claimable jobs")
	return leases
}

// txStoreRules are the rules of CreateEventAndAdd, and of what a TxStore shares with its
// queue.
var txStoreRules = []rule{
	{Rule{"txstore/shares", "Shares says whether the store adds and removes jobs of the queue."}, needTx | needSharer,
		func(t *testing.T, s *subject) {
			q := s.Queue.(mortise.Sharer)
			require.True(t, q.Shares(s.Store), "with the Store of the same backend")
			require.False(t, q.Shares(s.h.Open(t).Store), "with the Store of another one")
			require.False(t, q.Shares(foreignStore{s.Store}), "with a Store of a kind that it does not know")
			require.False(t, q.Shares(nil), "with no Store")
		}},

	{Rule{"txstore/create-and-add", "CreateEventAndAdd does Store.CreateEvent and, if that created the event, adds the job as it is given."}, needTx,
		func(t *testing.T, s *subject) {
			e := filledEvent(orgA)
			want := e.Clone()
			stored, created, err := s.createAndAdd(t, e, window())
			require.NoError(t, err)
			require.True(t, created)
			spoil(&e)
			sameEvent(t, want, stored)
			spoil(&stored)
			sameEvent(t, want, s.get(t, want))
			l := s.hasJobs(t, want)[0]
			require.Equal(t, want.Trace, l.Job.Trace)
			require.Equal(t, 1, l.Deliveries)
		}},

	{Rule{"txstore/create-and-add-later", "A job that CreateEventAndAdd adds is not claimable before its At."}, needTx,
		func(t *testing.T, s *subject) {
			e := plainEvent(orgA, 0) // submitted long ago
			j := e.Job()
			j.At = time.Now().Add(24 * time.Hour)
			_, created, err := s.Store.(trigger.TxStore).CreateEventAndAdd(t.Context(), e, window(), j)
			require.NoError(t, err)
			require.True(t, created)
			s.hasJobs(t)
		}},

	{Rule{"txstore/create-and-add-wakes", "A job that CreateEventAndAdd adds is told of as one that Leases.Add adds."}, needTx | needJobNotifier,
		func(t *testing.T, s *subject) {
			kinds := make(chan string, 100)
			stop := s.Leases.(leases.JobNotifier).NotifyJobs(func(kind string) {
				select {
				case kinds <- kind:
				default:
				}
			})
			defer stop()
			e := plainEvent(orgA, 0)
			_, _, err := s.createAndAdd(t, e, window())
			require.NoError(t, err)
			for conformance.Await(t, kinds, "the notice of a job of this kind") != trigger.JobKind {
			}
			s.hasJobs(t, e)
		}},

	{Rule{"txstore/same-key-adds-nothing", "CreateEventAndAdd finds an event with the same idempotency key as Store.CreateEvent does, and adds no job then."}, needTx,
		func(t *testing.T, s *subject) {
			keyFinds(t, s, s.createAndAdd, moment(0))
			leases := s.claim(t)
			require.Len(t, leases, 1)
			id, err := uuid.Parse(leases[0].Job.ID[:36])
			require.NoError(t, err)
			require.Equal(t, moment(0), s.get(t, trigger.Event{Organization: orgA, ID: id}).SubmittedAt.UTC())
		}},

	{Rule{"txstore/same-id-adds-nothing", "CreateEventAndAdd of an event whose ID is there returns that one and adds no job."}, needTx,
		func(t *testing.T, s *subject) {
			first := s.create(t, plainEvent(orgA, 0))
			second := first
			second.Instructions = "something else"
			stored, created, err := s.createAndAdd(t, second, window())
			require.NoError(t, err)
			require.False(t, created)
			sameEvent(t, first, stored)
			s.hasJobs(t)
		}},

	{Rule{"txstore/key-before-window", "An event with the same key submitted before keySince loses its key by CreateEventAndAdd too; its job stays."}, needTx,
		func(t *testing.T, s *subject) {
			keyIsTaken(t, s, s.createAndAdd)
			require.Len(t, s.claim(t), 2)
		}},

	{Rule{"txstore/job-is-there", "A job that is there is left as it is by CreateEventAndAdd; the event is created."}, needTx,
		func(t *testing.T, s *subject) {
			e := plainEvent(orgA, 0)
			j := e.Job()
			j.At = time.Now().Add(24 * time.Hour)
			require.NoError(t, s.Leases.Add(t.Context(), j))
			_, created, err := s.createAndAdd(t, e, window())
			require.NoError(t, err)
			require.True(t, created)
			sameEvent(t, e, s.get(t, e))
			s.hasJobs(t)
		}},

	{Rule{"txstore/concurrent-one-key", "Of many CreateEventAndAdd at once with one key, one creates its event and adds its job."}, needTx,
		func(t *testing.T, s *subject) { s.hasJobs(t, keyIsWonOnce(t, s, s.createAndAdd)) }},

	{Rule{"txstore/both-or-neither", "CreateEventAndAdd is one transaction: whoever sees the job sees the event, also if the call was cut off."}, needTx,
		func(t *testing.T, s *subject) {
			events := make([]trigger.Event, 40)
			for i := range events {
				events[i] = plainEvent(orgA, 0)
			}
			conformance.CutOff(t, len(events), func(ctx context.Context, i int) {
				// Whether a call that was cut off took effect is unknown; what counts is
				// that event and job agree.
				_, _, _ = s.Store.(trigger.TxStore).CreateEventAndAdd(ctx, events[i], window(), events[i].Job())
			})
			// A backend may still be finishing the transaction of a caller that has gone,
			// so what is not there yet may come.
			added := make(map[string]bool)
			conformance.Until(t, "every event to have its job, and every job its event", func() bool {
				for _, l := range s.claim(t) {
					added[l.Job.ID] = true
				}
				for i, e := range events {
					_, err := s.Store.Event(t.Context(), orgA, e.ID)
					if err != nil {
						require.ErrorIs(t, err, mortise.ErrNotFound)
					}
					if (err == nil) != added[e.Job().ID] || err != nil && i%2 == 1 {
						return false
					}
				}
				return true
			})
		}},
}

// heldEvent is an event whose job is held.
type heldEvent struct {
	event trigger.Event
	lease mortise.Lease
}

// held creates an event with a job, and claims that.
func (s *subject) held(t *testing.T, org string) heldEvent {
	t.Helper()
	e := plainEvent(org, 0)
	_, created, err := s.createAndAdd(t, e, window())
	require.NoError(t, err)
	require.True(t, created)
	for _, l := range s.claim(t) {
		if l.Job.ID == e.Job().ID {
			return heldEvent{e, l}
		}
	}
	require.FailNow(t, "the job of a new event is not claimable")
	return heldEvent{}
}

// errRefused is an update function's own.
var errRefused = errors.New("refused")

func fail(e *trigger.Event) error {
	e.Status, e.FinishedAt = trigger.StatusFailed, moment(time.Minute)
	return nil
}

// withJobs is an update that returns jobs.
func withJobs(update func(*trigger.Event) error, jobs ...mortise.Job) func(*trigger.Event) ([]mortise.Job, error) {
	return func(e *trigger.Event) ([]mortise.Job, error) { return jobs, update(e) }
}

// endBy calls UpdateEventAndJobs.
func (s *subject) endBy(ctx context.Context, h heldEvent, update func(*trigger.Event) error, dead bool, jobs ...mortise.Job) error {
	return s.Store.(trigger.TxStore).UpdateEventAndJobs(ctx, h.event.Organization, h.event.ID, withJobs(update, jobs...), h.lease, dead)
}

// isHeld requires that the job is held by the lease still.
func (s *subject) isHeld(t *testing.T, l mortise.Lease) {
	t.Helper()
	require.NoError(t, s.Leases.Extend(t.Context(), l, 24*time.Hour), "Extend of a lease that holds its job")
}

// txEndRules are the rules of UpdateEventAndJobs.
var txEndRules = []rule{
	{Rule{"txstore/update-and-jobs", "UpdateEventAndJobs changes the event and removes the job that the lease holds."}, needTx,
		func(t *testing.T, s *subject) {
			h, other := s.held(t, orgA), s.held(t, orgA)
			require.NoError(t, s.endBy(t.Context(), h, fail, false))
			want := h.event
			_ = fail(&want)
			sameEvent(t, want, s.get(t, want))
			sameEvent(t, other.event, s.get(t, other.event))
			require.ErrorIs(t, s.Leases.Extend(t.Context(), h.lease, time.Hour), mortise.ErrLeaseLost, "Extend of what was removed")
			s.isHeld(t, other.lease)
			require.NoError(t, s.Leases.Add(t.Context(), h.event.Job()))
			s.hasJobs(t, h.event)
		}},

	{Rule{"txstore/update-and-jobs-adds", "UpdateEventAndJobs adds the jobs that update returns, for their times, also where no lease holds a job; a job that is there is left as it is."}, needTx,
		func(t *testing.T, s *subject) {
			h, bare := s.held(t, orgA), heldEvent{event: s.create(t, plainEvent(orgB, 0))}
			next, later, there := h.event, h.event, h.event
			next.Generation, later.Generation, there.Generation = 1, 2, 3
			next.Trace = map[string]string{"traceparent": "00-1"}
			at := later.Job()
			at.At = time.Now().Add(24 * time.Hour)
			alsoThere := there.Job()
			alsoThere.At = at.At
			require.NoError(t, s.Leases.Add(t.Context(), there.Job()))
			require.NoError(t, s.endBy(t.Context(), h, fail, true, next.Job(), at, alsoThere, bare.event.Job()))
			for _, l := range s.hasJobs(t, next, there, bare.event) {
				if l.Job.ID == next.Job().ID {
					require.Equal(t, next.Trace, l.Job.Trace)
				}
				require.NoError(t, s.Leases.Remove(t.Context(), l, false))
			}
			require.NoError(t, s.Leases.Cancel(t.Context(), at))
			require.NoError(t, s.Leases.Add(t.Context(), later.Job()))
			s.hasJobs(t, later)
			require.NoError(t, s.endBy(t.Context(), bare, fail, false, bare.event.Job()), "without a lease")
			require.Equal(t, trigger.StatusFailed, s.get(t, bare.event).Status)
			s.hasJobs(t, bare.event)
		}},

	{Rule{"txstore/update-and-jobs-dead", "If dead is true, UpdateEventAndJobs keeps the job as a dead letter."}, needTx,
		func(t *testing.T, s *subject) {
			h := s.held(t, orgA)
			require.NoError(t, s.endBy(t.Context(), h, fail, true))
			require.ErrorIs(t, s.Leases.Extend(t.Context(), h.lease, time.Hour), mortise.ErrLeaseLost)
			require.NoError(t, s.Leases.Add(t.Context(), h.event.Job()), "Add of a job that is there, dead")
			s.hasJobs(t)
		}},

	{Rule{"txstore/refused-update-removes-nothing", "If update returns an error, or the event is not there, UpdateEventAndJobs returns that, removes nothing and adds nothing."}, needTx,
		func(t *testing.T, s *subject) {
			h, other := s.held(t, orgA), plainEvent(orgA, 0)
			require.ErrorIs(t, s.endBy(t.Context(), h, func(e *trigger.Event) error { _ = fail(e); return errRefused }, false, other.Job()), errRefused)
			sameEvent(t, h.event, s.get(t, h.event))
			s.isHeld(t, h.lease)
			elsewhere := h
			elsewhere.event.Organization = orgB
			require.ErrorIs(t, s.endBy(t.Context(), elsewhere, fail, false), mortise.ErrNotFound, "another organization's event")
			elsewhere.event = plainEvent(orgA, 0)
			require.ErrorIs(t, s.endBy(t.Context(), elsewhere, fail, false, other.Job()), mortise.ErrNotFound, "an unknown event")
			s.isHeld(t, h.lease)
			s.hasJobs(t)
		}},

	{Rule{"txstore/lost-lease-updates", "That the lease is lost is not an error of UpdateEventAndJobs: the event is changed, and the job stays with its holder."}, needTx,
		func(t *testing.T, s *subject) {
			h := s.held(t, orgA)
			old := h
			old.lease.Token = uuid.New()
			require.NoError(t, s.endBy(t.Context(), old, fail, false))
			require.Equal(t, trigger.StatusFailed, s.get(t, h.event).Status)
			s.isHeld(t, h.lease)
			old.lease.Token = uuid.Nil
			require.NoError(t, s.endBy(t.Context(), old, fail, true), "a lease with the token uuid.Nil")
			s.isHeld(t, h.lease)
			require.NoError(t, s.Leases.Release(t.Context(), h.lease, 0))
			require.NoError(t, s.endBy(t.Context(), old, fail, false), "a lease with the token uuid.Nil, of a job that nobody holds")
			s.hasJobs(t, h.event)
		}},

	{Rule{"txstore/end-both-or-neither", "UpdateEventAndJobs is one transaction: the event is changed if and only if the job is gone and the others are added, also if the call was cut off."}, needTx,
		func(t *testing.T, s *subject) {
			held := make([]heldEvent, 40)
			for i := range held {
				held[i] = s.held(t, orgA)
			}
			next := func(h heldEvent) mortise.Job {
				h.event.Generation++
				return h.event.Job()
			}
			conformance.CutOff(t, len(held), func(ctx context.Context, i int) { _ = s.endBy(ctx, held[i], fail, false, next(held[i])) })
			added := make(map[string]bool)
			conformance.Until(t, "every failed event to be without its job and with the next, and every other one the other way round", func() bool {
				for _, l := range s.claim(t) {
					added[l.Job.ID] = true
				}
				return !slices.ContainsFunc(held, func(h heldEvent) bool {
					failed := s.get(t, h.event).Status == trigger.StatusFailed
					err := s.Leases.Extend(t.Context(), h.lease, 24*time.Hour)
					if err != nil {
						require.ErrorIs(t, err, mortise.ErrLeaseLost)
					}
					return failed != (err != nil) || failed != added[next(h).ID]
				})
			})
		}},

	{Rule{"pruner/dead-jobs", "The dead jobs of an event that Prune removes go with it, of all its generations, and no others."}, needTx | needPruner,
		func(t *testing.T, s *subject) {
			e := plainEvent(orgA, 0)
			e.Generation = 257
			e.Status, e.FinishedAt = trigger.StatusFailed, moment(0)
			s.create(t, e)
			kept := s.held(t, orgA)
			require.NoError(t, s.endBy(t.Context(), kept, fail, true))
			s.update(t, kept.event, func(e *trigger.Event) { e.FinishedAt = moment(2 * time.Hour) })
			var dead []mortise.Job
			for _, generation := range []int{0, 1, 25, 256, 257} {
				e.Generation = generation
				dead = append(dead, e.Job())
				require.NoError(t, s.Leases.Add(t.Context(), e.Job()))
			}
			for _, l := range s.claim(t) {
				require.NoError(t, s.Leases.Remove(t.Context(), l, true))
			}
			e.Generation = 2
			require.NoError(t, s.Leases.Add(t.Context(), e.Job()))
			alive := s.hasJobs(t, e)[0]

			require.Equal(t, 1, s.prune(t, time.Hour))
			s.isHeld(t, alive)
			var again []string
			for _, j := range append(dead, kept.event.Job()) {
				require.NoError(t, s.Leases.Add(t.Context(), j))
			}
			for _, l := range s.claim(t) {
				again = append(again, l.Job.ID)
			}
			var want []string
			for _, j := range dead {
				want = append(want, j.ID)
			}
			require.ElementsMatch(t, want, again, "jobs that could be added anew")
		}},
}
