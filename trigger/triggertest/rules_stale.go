package triggertest

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/trigger"
)

// queuedEvent returns a new event that has a job elsewhere: checked at a moment, and due
// at another.
func queuedEvent(org string, checked, due time.Duration) trigger.Event {
	e := plainEvent(org, 0)
	e.CheckedAt, e.DueAt = moment(checked), moment(due)
	return e
}

// stale asks for stale events and returns them by the names that they were given, in
// order.
func (s *subject) stale(t *testing.T, names map[uuid.UUID]string, checked, due time.Time, limit int) []string {
	t.Helper()
	got, err := s.Store.Stale(t.Context(), checked, due, limit)
	require.NoError(t, err)
	list := make([]string, 0, len(got))
	for _, e := range got {
		list = append(list, names[e.ID])
	}
	return list
}

// staleRules are the rules of Stale.
var staleRules = []rule{
	{Rule{"store/stale-longest-first", "Stale returns events of all organizations, whole ones, those checked longest ago first."}, needStore,
		func(t *testing.T, s *subject) {
			names := make(map[uuid.UUID]string)
			events := make([]trigger.Event, 4)
			for _, i := range []int{2, 0, 3, 1} {
				events[i] = queuedEvent([]string{orgA, orgB}[i%2], time.Duration(i)*time.Microsecond, 0)
				events[i].Context = []byte(`{"i": 1}`)
				names[events[i].ID] = string(rune('1' + i))
				s.create(t, events[i])
			}
			require.Equal(t, []string{"1", "2", "3", "4"}, s.stale(t, names, moment(time.Hour), moment(time.Hour), 100))
			got, err := s.Store.Stale(t.Context(), moment(time.Hour), moment(time.Hour), 100)
			require.NoError(t, err)
			for i := range got {
				sameEvent(t, events[i], got[i])
				spoil(&got[i])
				sameEvent(t, events[i], s.get(t, events[i]))
			}
		}},

	{Rule{"store/stale-bounds", "Stale returns events whose CheckedAt is before checked and whose DueAt is before due, not those at them."}, needStore,
		func(t *testing.T, s *subject) {
			e := s.create(t, queuedEvent(orgA, 0, time.Hour))
			for _, c := range []struct {
				checked, due time.Duration
				want         int
			}{
				{0, 2 * time.Hour, 0}, {time.Microsecond, time.Hour, 0}, {time.Microsecond, time.Hour + time.Microsecond, 1},
				{-time.Microsecond, 2 * time.Hour, 0}, {2 * time.Hour, 0, 0},
			} {
				got, err := s.Store.Stale(t.Context(), moment(c.checked), moment(c.due), 100)
				require.NoError(t, err)
				require.Len(t, got, c.want, "checked before %v, due before %v, of event %s", c.checked, c.due, e.ID)
			}
		}},

	{Rule{"store/stale-whatever-due", "With a zero due, Stale selects events whatever their DueAt."}, needStore,
		func(t *testing.T, s *subject) {
			e := s.create(t, queuedEvent(orgA, 0, 1000*time.Hour))
			names := map[uuid.UUID]string{e.ID: "due later"}
			require.Empty(t, s.stale(t, names, moment(time.Hour), moment(time.Hour), 10))
			require.Equal(t, []string{"due later"}, s.stale(t, names, moment(time.Hour), time.Time{}, 10))
		}},

	{Rule{"store/stale-zero-is-before", "A zero CheckedAt or DueAt is before every time; before the zero time is nothing."}, needStore,
		func(t *testing.T, s *subject) {
			names := make(map[uuid.UUID]string)
			add := func(name string, e trigger.Event) trigger.Event {
				names[e.ID] = name
				if tx, ok := s.Store.(trigger.TxStore); ok && e.CheckedAt.IsZero() { // as the service makes them
					_, _, err := tx.CreateEventAndAdd(t.Context(), e, window(), e.Job())
					require.NoError(t, err)
					return e
				}
				return s.create(t, e)
			}
			e := queuedEvent(orgA, 0, 0)
			e.DueAt = time.Time{}
			add("never due", e)
			e = queuedEvent(orgB, 0, time.Hour)
			e.CheckedAt = time.Time{}
			e = add("never checked", e)
			require.Equal(t, []string{"never checked", "never due"}, s.stale(t, names, moment(time.Microsecond), moment(2*time.Hour), 10))
			require.Equal(t, []string{"never checked"}, s.stale(t, names, time.Time{}.Add(time.Microsecond), moment(2*time.Hour), 10))
			require.Empty(t, s.stale(t, names, time.Time{}, time.Time{}, 10), "checked before the zero time")
			s.update(t, e, func(e *trigger.Event) { e.CheckedAt = moment(time.Minute) })
			require.Equal(t, []string{"never due"}, s.stale(t, names, moment(time.Minute), moment(2*time.Hour), 10))
		}},

	{Rule{"store/stale-only-unfinished", "Stale returns only events that are not finished and whose UnqueuedSince is not set."}, needStore,
		func(t *testing.T, s *subject) {
			names := make(map[uuid.UUID]string)
			for _, status := range trigger.Statuses() {
				e := queuedEvent(orgA, 0, 0)
				if e.Status = status; status == trigger.StatusProcessing {
					e.CheckedAt = moment(time.Microsecond)
				}
				names[e.ID] = string(status)
				s.create(t, e)
			}
			unqueued := queuedEvent(orgA, 0, 0)
			unqueued.UnqueuedSince = moment(0)
			names[s.create(t, unqueued).ID] = "not queued"
			require.Equal(t, []string{"received", "processing"}, s.stale(t, names, moment(time.Hour), moment(time.Hour), 10))
		}},

	{Rule{"store/stale-limit", "Stale returns at most limit events."}, needStore,
		func(t *testing.T, s *subject) {
			names := make(map[uuid.UUID]string)
			want := []string{"1", "2", "3", "4", "5"}
			for i, name := range want {
				names[s.create(t, queuedEvent(orgA, time.Duration(i)*time.Second, 0)).ID] = name
			}
			for limit := 1; limit <= 6; limit++ {
				require.Equal(t, want[:min(limit, 5)], s.stale(t, names, moment(time.Hour), moment(time.Hour), limit))
			}
		}},

	{Rule{"store/stale-follows-update", "Stale goes by the event as it is now."}, needStore,
		func(t *testing.T, s *subject) {
			a, b := s.create(t, queuedEvent(orgA, 0, 0)), s.create(t, queuedEvent(orgA, time.Second, 0))
			names := map[uuid.UUID]string{a.ID: "a", b.ID: "b"}
			s.update(t, a, func(e *trigger.Event) { e.CheckedAt = moment(time.Minute) })
			require.Equal(t, []string{"b", "a"}, s.stale(t, names, moment(time.Hour), moment(time.Hour), 10))
			s.update(t, b, func(e *trigger.Event) { e.Status = trigger.StatusCompleted })
			require.Equal(t, []string{"a"}, s.stale(t, names, moment(time.Hour), moment(time.Hour), 10))
			s.update(t, a, func(e *trigger.Event) { e.DueAt = moment(time.Hour) })
			require.Empty(t, s.stale(t, names, moment(time.Hour), moment(time.Hour), 10))
		}},
}
