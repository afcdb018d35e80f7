package triggertest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance/steptest"
	"github.com/seed-6363c74e/mortise/trigger"
)

// finishedEvent returns a new event that ended at the moment.
func finishedEvent(org string, at time.Duration) trigger.Event {
	e := plainEvent(org, -time.Hour)
	e.Status, e.FinishedAt = trigger.StatusCompleted, moment(at)
	return e
}

// pruning is Prune of completed events with times.
func (s *subject) pruning(before, keyedBefore time.Duration) steptest.Do {
	return s.pruningOf(trigger.StatusCompleted, before, keyedBefore)
}

func (s *subject) pruningOf(status trigger.Status, before, keyedBefore time.Duration) steptest.Do {
	return func(ctx context.Context, limit int) (int, bool, error) {
		return s.Store.(trigger.Pruner).Prune(ctx, status, moment(before), moment(keyedBefore), limit)
	}
}

// prune calls Prune of each status with one time for all events until no more is left,
// and returns how many events it removed.
func (s *subject) prune(t *testing.T, before time.Duration) int {
	t.Helper()
	return s.pruneKeyed(t, before, before)
}

// pruneKeyed is prune with a time for the events that have a key.
func (s *subject) pruneKeyed(t *testing.T, before, keyedBefore time.Duration) int {
	t.Helper()
	removed := 0
	for _, status := range trigger.Statuses() {
		removed += steptest.All(t, 10, s.pruningOf(status, before, keyedBefore))
	}
	return removed
}

// pruneRules are the rules of a Store that is a Pruner.
var pruneRules = []rule{
	{Rule{"pruner/removes-finished-events", "Prune removes events of all organizations that have ended with the status, only those, and returns how many."}, needStore | needPruner,
		func(t *testing.T, s *subject) {
			var events []trigger.Event
			for _, org := range []string{orgA, orgB} {
				for i, status := range trigger.Statuses() {
					e := finishedEvent(org, 0)
					e.Status = status
					events = append(events, s.create(t, e))
					e = finishedEvent(org, 0)
					e.Status, e.IdempotencyKey = status, fmt.Sprint("key-", i)
					events = append(events, s.create(t, e))
				}
				events = append(events, s.create(t, plainEvent(org, 0)))
			}
			for _, status := range trigger.Statuses() {
				gone := 0
				for _, e := range events {
					if e.Status == status && status.Finished() {
						gone++
					}
				}
				prune := s.pruningOf(status, time.Hour, time.Hour)
				require.Equal(t, gone, steptest.All(t, 3, prune), "%s events removed", status)
				require.Zero(t, steptest.All(t, 3, prune), "%s events removed by the same Prune again", status)
				events = slices.DeleteFunc(events, func(e trigger.Event) bool {
					if e.Status != status || !status.Finished() {
						return false
					}
					_, err := s.Store.Event(t.Context(), e.Organization, e.ID)
					require.ErrorIs(t, err, mortise.ErrNotFound, "Store.Event of a %s event that was pruned", e.Status)
					return true
				})
				for _, e := range events {
					sameEvent(t, e, s.get(t, e))
				}
				require.Len(t, s.list(t, orgA, trigger.EventQuery{}), len(events)/2, "events of an organization after Prune")
			}
		}},

	{Rule{"pruner/before-is-strict", "Prune removes events whose FinishedAt is before the given time, not events at that time."}, needStore | needPruner,
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

	{Rule{"pruner/untold-stay", "Events with a WakeAt stay, whatever their status, and do not count for the limit of Prune."}, needStore | needPruner,
		func(t *testing.T, s *subject) {
			var untold []trigger.Event
			for i := range 4 {
				e := finishedEvent(orgA, 0)
				if e.WakeAt = moment(time.Minute); i%2 == 0 {
					e.IdempotencyKey = fmt.Sprint("key-", i)
				}
				untold = append(untold, s.create(t, e))
				s.create(t, finishedEvent(orgB, time.Minute))
			}
			require.Equal(t, 4, steptest.All(t, 2, s.pruning(time.Hour, time.Hour)), "events removed: 4 of 8 have a WakeAt")
			for _, e := range untold {
				sameEvent(t, e, s.get(t, e))
				s.update(t, e, func(e *trigger.Event) { e.WakeAt = time.Time{} })
			}
			require.Equal(t, 4, s.prune(t, time.Hour), "events removed without a WakeAt")
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
