package triggertest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/trigger"
)

// someEvents returns n new events, the first one with an idempotency key.
func someEvents(org string, n int) (events []trigger.Event) {
	for i := range n {
		e := filledEvent(org)
		e.IdempotencyKey = ""
		if i == 0 {
			e = keyedEvent(org, "key", 0)
		}
		events = append(events, e)
	}
	return events
}

// jobsOf returns the jobs of events.
func jobsOf(events []trigger.Event) (jobs []mortise.Job) {
	for i := range events {
		jobs = append(jobs, events[i].Job())
	}
	return jobs
}

// hasNone requires that none of the events is there.
func (s *subject) hasNone(t *testing.T, events []trigger.Event) {
	t.Helper()
	for _, e := range events {
		_, err := s.Store.Event(t.Context(), e.Organization, e.ID)
		require.ErrorIs(t, err, mortise.ErrNotFound, "an event of a CreateEvents that failed")
	}
}

// createManyRules are the rules of CreateEvents.
var createManyRules = []rule{
	{Rule{"store/create-many", "CreateEvents stores all events, whole ones, and copies: 1,000 at a time."}, needStore,
		func(t *testing.T, s *subject) {
			for _, n := range []int{0, 1, 3, 1000} {
				events := someEvents(fmt.Sprint("org-", n), n)
				want := conformance.Each(events, func(e *trigger.Event) trigger.Event { return e.Clone() })
				require.NoError(t, s.Store.CreateEvents(t.Context(), events, nil))
				for i := range events {
					spoil(&events[i])
				}
				for i := 0; i < n; i += max(1, n/10) {
					sameEvent(t, want[i], s.get(t, want[i]))
				}
				require.Len(t, s.pages(t, fmt.Sprint("org-", n), trigger.EventQuery{Limit: mortise.MaxPageSize}), n)
			}
		}},

	{Rule{"store/create-many-all-or-none", "If an ID or an idempotency key is taken, also by another event of the call, CreateEvents stores nothing, and returns an error that is none of the sentinels."}, needStore,
		func(t *testing.T, s *subject) {
			there, other := s.create(t, keyedEvent(orgA, "there", 0)), s.create(t, plainEvent(orgB, 0))
			for what, change := range map[string]func([]trigger.Event){
				"an ID that is taken":                       func(e []trigger.Event) { e[2].ID = there.ID },
				"an ID that another organization has":       func(e []trigger.Event) { e[2].ID = other.ID },
				"a key that is taken":                       func(e []trigger.Event) { e[2].IdempotencyKey = "there" },
				"the ID of another event of the call":       func(e []trigger.Event) { e[2].ID = e[1].ID },
				"the key of another event of the call":      func(e []trigger.Event) { e[2].IdempotencyKey = "key" },
				"a key that was taken long before the call": func(e []trigger.Event) { e[2].IdempotencyKey = "there"; e[2].SubmittedAt = moment(10_000 * time.Hour) },
			} {
				events := someEvents(orgA, 3)
				change(events)
				isFailure(t, "CreateEvents with "+what, s.Store.CreateEvents(t.Context(), events, nil))
				s.hasNone(t, events[:1])
				sameEvent(t, there, s.get(t, there))
				sameEvent(t, other, s.get(t, other))
				require.Len(t, s.list(t, orgA, trigger.EventQuery{}), 1, what)
			}
		}},

	{Rule{"txstore/create-many", "CreateEvents adds the jobs that it is given, for their times, and none if it stores nothing."}, needTx,
		func(t *testing.T, s *subject) {
			events := someEvents(orgA, 3)
			jobs := jobsOf(events)
			jobs[1].At = time.Now().Add(24 * time.Hour)
			require.NoError(t, s.Store.CreateEvents(t.Context(), events, jobs))
			s.hasJobs(t, events[0], events[2])
			again := someEvents(orgA, 3) // with the same key
			isFailure(t, "CreateEvents", s.Store.CreateEvents(t.Context(), again, jobsOf(again)))
			s.hasJobs(t)
		}},

	{Rule{"txstore/create-many-both-or-neither", "CreateEvents is one transaction: all events and all jobs, or nothing, also if the call was cut off."}, needTx,
		func(t *testing.T, s *subject) {
			calls := make([][]trigger.Event, 20)
			for i := range calls {
				calls[i] = someEvents(fmt.Sprint("org-", i), 3)
			}
			conformance.CutOff(t, len(calls), func(ctx context.Context, i int) { _ = s.Store.CreateEvents(ctx, calls[i], jobsOf(calls[i])) })
			added := make(map[string]bool)
			conformance.Until(t, "all events of a call and all their jobs, or nothing of it", func() bool {
				for _, l := range s.claim(t) {
					added[l.Job.ID] = true
				}
				for i, events := range calls {
					var there []bool
					for _, e := range events {
						_, err := s.Store.Event(t.Context(), e.Organization, e.ID)
						there = append(there, err == nil, added[e.Job().ID])
					}
					if slices.Contains(there, true) && slices.Contains(there, false) || i%2 == 1 && slices.Contains(there, false) {
						return false
					}
				}
				return true
			})
		}},
}
