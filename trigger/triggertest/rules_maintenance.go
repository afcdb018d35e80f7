package triggertest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance/steptest"
	"github.com/seed-6363c74e/mortise/trigger"
)

// waiting returns a new event that has wanted a job since the moment.
func waiting(org string, since time.Duration) trigger.Event {
	e := plainEvent(org, -time.Hour)
	e.UnqueuedSince = moment(since)
	return e
}

// unqueuedRules are the rules of Unqueued.
var unqueuedRules = []rule{
	{Rule{"store/unqueued-longest-first", "Unqueued returns events of all organizations, whole ones, longest waiting first."}, needStore,
		func(t *testing.T, s *subject) {
			events := make([]trigger.Event, 4)
			for _, i := range []int{2, 0, 3, 1} {
				events[i] = waiting([]string{orgA, orgB}[i%2], time.Duration(i)*time.Microsecond)
				events[i].Context = []byte(`{"i": 1}`)
				s.create(t, events[i])
			}
			got, err := s.Store.Unqueued(t.Context(), moment(time.Hour), 100)
			require.NoError(t, err)
			inOrder(t, ids(events), ids(got), "events without a job, longest waiting first")
			for i := range got {
				sameEvent(t, events[i], got[i])
				spoil(&got[i])
				sameEvent(t, events[i], s.get(t, events[i]))
			}
		}},

	{Rule{"store/unqueued-before-is-strict", "Unqueued returns events whose UnqueuedSince is before the given time, not those at it."}, needStore,
		func(t *testing.T, s *subject) {
			s.create(t, waiting(orgA, 0))
			for _, c := range []struct {
				before time.Duration
				want   int
			}{{-time.Microsecond, 0}, {0, 0}, {time.Microsecond, 1}} {
				got, err := s.Store.Unqueued(t.Context(), moment(c.before), 100)
				require.NoError(t, err)
				require.Len(t, got, c.want, "events before %v after their UnqueuedSince", c.before)
			}
		}},

	{Rule{"store/unqueued-only-received", "Unqueued returns only events that are received and whose UnqueuedSince is set."}, needStore,
		func(t *testing.T, s *subject) {
			s.create(t, plainEvent(orgA, 0))
			for _, status := range trigger.Statuses() {
				e := waiting(orgA, 0)
				e.Status = status
				s.create(t, e)
			}
			got, err := s.Store.Unqueued(t.Context(), moment(time.Hour), 100)
			require.NoError(t, err)
			require.Len(t, got, 1,
				"events without a job: of one in each status, and a received one that has a job")
			require.Equal(t, trigger.StatusReceived, got[0].Status, "the status of an event without a job")
		}},

	{Rule{"store/unqueued-limit", "Unqueued returns at most limit events."}, needStore,
		func(t *testing.T, s *subject) {
			var want []uuid.UUID
			for i := range 5 {
				want = append(want, s.create(t, waiting(orgA, time.Duration(i)*time.Second)).ID)
			}
			for limit := 0; limit <= 6; limit++ {
				got, err := s.Store.Unqueued(t.Context(), moment(time.Hour), limit)
				require.NoError(t, err)
				inOrder(t, want[:min(limit, 5)], ids(got), "at most %d of 5 events without a job", limit)
			}
		}},

	{Rule{"store/unqueued-follows-update", "Unqueued goes by the event as it is now."}, needStore,
		func(t *testing.T, s *subject) {
			e := s.create(t, plainEvent(orgA, 0))
			for _, c := range []struct {
				status trigger.Status
				since  time.Time
				want   int
			}{
				{trigger.StatusReceived, moment(0), 1},
				{trigger.StatusReceived, time.Time{}, 0},
				{trigger.StatusReceived, moment(time.Minute), 1},
				{trigger.StatusProcessing, moment(time.Minute), 0},
				{trigger.StatusReceived, moment(time.Minute), 1},
				{trigger.StatusReceived, moment(2 * time.Hour), 0},
			} {
				s.update(t, e, func(e *trigger.Event) { e.Status, e.UnqueuedSince = c.status, c.since })
				got, err := s.Store.Unqueued(t.Context(), moment(time.Hour), 100)
				require.NoError(t, err)
				require.Len(t, got, c.want, "%s since %v", c.status, c.since)
			}
		}},
}

// finishedEvent returns a new event that ended at the moment.
func finishedEvent(org string, at time.Duration) trigger.Event {
	e := plainEvent(org, -time.Hour)
	e.Status, e.FinishedAt = trigger.StatusCompleted, moment(at)
	return e
}

// pruning is Prune with times.
func (s *subject) pruning(before, keyedBefore time.Duration) steptest.Do {
	return func(ctx context.Context, limit int) (int, bool, error) {
		return s.Store.(trigger.Pruner).Prune(ctx, moment(before), moment(keyedBefore), limit)
	}
}

// prune calls Prune with one time for all events until no more is left, and returns how
// many events it removed.
func (s *subject) prune(t *testing.T, before time.Duration) int {
	t.Helper()
	return s.pruneKeyed(t, before, before)
}

// pruneKeyed is prune with a time for the events that have a key.
func (s *subject) pruneKeyed(t *testing.T, before, keyedBefore time.Duration) int {
	t.Helper()
	return steptest.All(t, 10, s.pruning(before, keyedBefore))
}

// pruneRules are the rules of a Store that is a Pruner.
var pruneRules = []rule{
	{Rule{"pruner/removes-finished-events", "Prune removes finished events of all organizations, only those, and returns how many."}, needStore | needPruner,
		func(t *testing.T, s *subject) {
			var kept, gone []trigger.Event
			for _, org := range []string{orgA, orgB} {
				for _, status := range trigger.Statuses() {
					e := finishedEvent(org, 0)
					if e.Status = status; status.Finished() {
						gone = append(gone, s.create(t, e))
					} else {
						kept = append(kept, s.create(t, e))
					}
				}
				kept = append(kept, s.create(t, plainEvent(org, 0)))
			}
			require.Equal(t, len(gone), s.prune(t, time.Hour), "events removed")
			require.Zero(t, s.prune(t, time.Hour), "events removed by the same Prune again")
			for _, e := range gone {
				_, err := s.Store.Event(t.Context(), e.Organization, e.ID)
				require.ErrorIs(t, err, mortise.ErrNotFound, "Store.Event of a %s event that was pruned", e.Status)
			}
			for _, e := range kept {
				sameEvent(t, e, s.get(t, e))
			}
			require.Len(t, s.list(t, orgA, trigger.EventQuery{}), len(kept)/2,
				"events of an organization after Prune")
		}},

	{Rule{"pruner/before-is-strict", "Prune removes events whose FinishedAt is before the given time, not those at it."}, needStore | needPruner,
		func(t *testing.T, s *subject) {
			e := s.create(t, finishedEvent(orgA, 0))
			require.Zero(t, s.prune(t, -time.Microsecond),
				"events removed that finished a microsecond after the time")
			require.Zero(t, s.prune(t, 0), "events removed that finished at the time itself")
			sameEvent(t, e, s.get(t, e))
			require.Equal(t, 1, s.prune(t, time.Microsecond),
				"events removed that finished a microsecond before the time")
		}},

	{Rule{"pruner/keeps-keys", "Prune goes by keyedBefore for events with an idempotency key, and by the other time for events without one."}, needStore | needPruner,
		func(t *testing.T, s *subject) {
			keyed := finishedEvent(orgA, 0)
			keyed.IdempotencyKey = "key"
			s.create(t, keyed)
			require.Zero(t, s.pruneKeyed(t, time.Hour, 0),
				"events removed: the only one has a key, and finished at keyedBefore")
			sameEvent(t, keyed, s.get(t, keyed))
			plain := s.create(t, finishedEvent(orgA, 0))
			require.Equal(t, 1, s.pruneKeyed(t, 0, time.Microsecond),
				"events removed: one with a key finished before keyedBefore, and one without at the other time")
			sameEvent(t, plain, s.get(t, plain))

			s.create(t, keyed)
			s.update(t, keyed, func(e *trigger.Event) { e.IdempotencyKey = "" })
			require.Equal(t, 2, s.pruneKeyed(t, time.Hour, 0), "events removed: one has lost its key, the other had none")
		}},

	{Rule{"pruner/kept-are-passed", "Events that stay for their keys do not count for the limit of Prune."}, needStore | needPruner,
		func(t *testing.T, s *subject) {
			for i := range 5 {
				e := finishedEvent(orgA, time.Duration(i)*time.Second)
				e.IdempotencyKey = fmt.Sprint("key-", i)
				s.create(t, e)
			}
			for range 3 {
				s.create(t, finishedEvent(orgA, time.Minute))
			}
			require.Equal(t, 3, steptest.All(t, 2, s.pruning(time.Hour, 0)), "events removed with limit 2 of 3 behind 5 that stay")
			require.Equal(t, 5, steptest.All(t, 2, s.pruning(time.Hour, time.Hour)), "events removed, once 5 need not stay")
		}},

	{Rule{"pruner/frees-key", "A pruned event has no idempotency key any more."}, needStore | needPruner,
		func(t *testing.T, s *subject) {
			e := finishedEvent(orgA, 0)
			e.IdempotencyKey = "key"
			s.create(t, e)
			require.Equal(t, 1, s.prune(t, time.Hour), "events removed")
			require.Empty(t, s.list(t, orgA, trigger.EventQuery{IdempotencyKey: "key"}),
				"events with the key of a pruned one")
			s.create(t, keyedEvent(orgA, "key", 0))
		}},
}
