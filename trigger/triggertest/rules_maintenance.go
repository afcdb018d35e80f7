package triggertest

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/trigger"
)

// waking returns a new event with a WakeAt.
func waking(org string, at time.Duration) trigger.Event {
	e := plainEvent(org, -time.Hour)
	e.WakeAt = moment(at)
	return e
}

// overdue asks for overdue events.
func (s *subject) overdue(t *testing.T, before time.Time, limit int) []trigger.Event {
	t.Helper()
	got, err := s.Store.Overdue(t.Context(), before, limit)
	require.NoError(t, err)
	return got
}

// overdueRules are the rules of Overdue.
var overdueRules = []rule{
	{Rule{"store/overdue-earliest-first", "Overdue returns events of all organizations, whole ones, the earliest WakeAt first."}, needStore,
		func(t *testing.T, s *subject) {
			events := make([]trigger.Event, 4)
			for _, i := range []int{2, 0, 3, 1} {
				events[i] = filledEvent([]string{orgA, orgB}[i%2])
				events[i].IdempotencyKey = fmt.Sprint("key-", i)
				events[i].WakeAt = moment(time.Duration(i) * time.Microsecond)
				s.create(t, events[i])
			}
			got := s.overdue(t, moment(time.Hour), 100)
			inOrder(t, ids(events), ids(got), "overdue events, the earliest first")
			for i := range got {
				sameEvent(t, events[i], got[i])
				spoil(&got[i])
				sameEvent(t, events[i], s.get(t, events[i]))
			}
		}},

	{Rule{"store/overdue-before-is-strict", "Overdue returns events whose WakeAt is before the given time, not events at that time."}, needStore,
		func(t *testing.T, s *subject) {
			s.create(t, waking(orgA, 0))
			for _, c := range []struct {
				before time.Duration
				want   int
			}{{-time.Microsecond, 0}, {0, 0}, {time.Microsecond, 1}} {
				require.Len(t, s.overdue(t, moment(c.before), 100), c.want, "events before %v after their WakeAt", c.before)
			}
		}},

	{Rule{"store/overdue-whatever-status", "Overdue returns events whatever their Status and DueAt, and none whose WakeAt is zero."}, needStore,
		func(t *testing.T, s *subject) {
			var want []uuid.UUID
			for i, status := range trigger.Statuses() {
				s.create(t, eventIn(status, orgA, 0))
				e := eventIn(status, orgA, 0)
				e.WakeAt = moment(time.Duration(i) * time.Second)
				want = append(want, s.create(t, e).ID)
			}
			inOrder(t, want, ids(s.overdue(t, moment(time.Hour), 100)), "overdue events, one of each status")
		}},

	{Rule{"store/overdue-limit", "Overdue returns at most limit events."}, needStore,
		func(t *testing.T, s *subject) {
			var want []uuid.UUID
			for i := range 5 {
				want = append(want, s.create(t, waking(orgA, time.Duration(i)*time.Second)).ID)
			}
			for limit := 0; limit <= 6; limit++ {
				inOrder(t, want[:min(limit, 5)], ids(s.overdue(t, moment(time.Hour), limit)), "at most %d of 5 overdue events", limit)
			}
		}},

	{Rule{"store/overdue-follows-update", "Overdue goes by the event as it is now."}, needStore,
		func(t *testing.T, s *subject) {
			e, other := s.create(t, plainEvent(orgA, 0)), s.create(t, waking(orgB, time.Second))
			for _, c := range []struct {
				at   time.Time
				want []uuid.UUID
			}{
				{moment(0), []uuid.UUID{e.ID, other.ID}},
				{time.Time{}, []uuid.UUID{other.ID}},
				{moment(time.Minute), []uuid.UUID{other.ID, e.ID}},
				{moment(2 * time.Hour), []uuid.UUID{other.ID}},
			} {
				s.update(t, e, func(e *trigger.Event) { e.WakeAt = c.at })
				inOrder(t, c.want, ids(s.overdue(t, moment(time.Hour), 100)), "overdue events with a WakeAt of %v", c.at)
			}
		}},
}

// progressRules are the rules of Progress.
var progressRules = []rule{
	{Rule{"store/progress", "Progress returns status and generation of the events as they are now, of any organizations, and leaves out unknown ones."}, needStore,
		func(t *testing.T, s *subject) {
			want := make(map[uuid.UUID]trigger.Progress)
			asked := []uuid.UUID{uuid.New()}
			for i, status := range trigger.Statuses() {
				e := s.create(t, plainEvent([]string{orgA, orgB}[i%2], 0))
				s.update(t, e, func(e *trigger.Event) { e.Status, e.Generation = status, i })
				want[e.ID] = trigger.Progress{Status: status, Generation: i}
				asked = append(asked, e.ID)
			}
			s.create(t, plainEvent(orgA, 0))
			asked = append(asked, asked[1])
			for len(asked) < 1000 {
				asked = append(asked, uuid.New())
			}
			got, err := s.Store.Progress(t.Context(), asked)
			require.NoError(t, err)
			require.Equal(t, want, got)
			got, err = s.Store.Progress(t.Context(), nil)
			require.NoError(t, err)
			require.Empty(t, got, "the progress of no events")
		}},
}

// allRules say which events AllEvents returns; listtest has the rules of their order.
var allRules = []rule{
	{Rule{"store/all-events", "AllEvents returns the events of all organizations that AllQuery.Matches selects, whole ones, and copies."}, needStore,
		func(t *testing.T, s *subject) {
			var events []trigger.Event
			for i := range 24 {
				e := filledEvent([]string{orgA, orgB}[i%2])
				e.IdempotencyKey = []string{"", fmt.Sprint("key-", i)}[i/2%2]
				e.Status = trigger.Statuses()[i%6]
				e.DueAt, e.FinishedAt = moment(time.Duration(i)*time.Microsecond), moment(time.Duration(i)*time.Microsecond)
				if i >= 18 {
					e.DueAt, e.FinishedAt = time.Time{}, time.Time{}
				}
				events = append(events, s.create(t, e))
			}
			for _, q := range []trigger.AllQuery{
				{Status: trigger.StatusReceived}, {Status: trigger.StatusProcessing}, {Status: trigger.StatusFailed},
				{Status: trigger.StatusReceived, DueBefore: moment(6 * time.Microsecond)},
				{Status: trigger.StatusProcessing, DueBefore: moment(8 * time.Microsecond)},
				{Status: trigger.StatusFailed, DueBefore: moment(0)},
			} {
				want := make(map[uuid.UUID]trigger.Event)
				for i := range events {
					if q.Matches(&events[i]) {
						want[events[i].ID] = events[i]
					}
				}
				require.NotEmpty(t, want)
				q.Limit = mortise.MaxPageSize
				page, err := s.Store.AllEvents(t.Context(), q)
				require.NoError(t, err)
				require.Empty(t, page.Next, "Next is set after the last page")
				require.Len(t, page.Items, len(want), "events by %+v", q)
				for i := range page.Items {
					sameEvent(t, want[page.Items[i].ID], page.Items[i])
					e := page.Items[i].Clone()
					spoil(&page.Items[i])
					sameEvent(t, e, s.get(t, e))
				}
				q.Bytes = 1
				page, err = s.Store.AllEvents(t.Context(), q)
				require.NoError(t, err)
				require.Len(t, page.Items, 1, "events of a page of one byte")
				require.Equal(t, len(want) == 1, page.Next == "", "whether a page of one byte is the last one")
			}
		}},
}
