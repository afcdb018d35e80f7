package triggertest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/trigger"
)

// pages returns all of the query's events, page by page, and checks each page's size and
// end.
func (s *subject) pages(t *testing.T, org string, q trigger.EventQuery) []trigger.Event {
	t.Helper()
	var all []trigger.Event
	for range 10_000 {
		page, err := s.Store.ListEvents(t.Context(), org, q)
		require.NoError(t, err)
		require.LessOrEqual(t, len(page.Items), q.Limit, "events of a page")
		all = append(all, page.Items...)
		if page.Next.IsZero() {
			return all
		}
		require.NotEmpty(t, page.Items, "an empty page that is not the last one")
		q.After = page.Next
	}
	require.FailNow(t, "paging does not end")
	return nil
}

// pageRules say how a listing is cut into pages.
var pageRules = []rule{
	{Rule{"store/list-pages", "Paging neither repeats nor skips an event, whatever the limit; a page holds at most Limit events."}, needStore,
		func(t *testing.T, s *subject) {
			const n = 24
			for i := range n {
				s.create(t, plainEvent(orgA, time.Duration(i/4)*time.Hour))
			}
			want := ids(s.list(t, orgA, trigger.EventQuery{}))
			require.Len(t, want, n, "events on one page of %d", mortise.MaxPageSize)
			for _, limit := range []int{1, 2, 3, 4, 5, 7, n - 1, n, n + 1, mortise.MaxPageSize} {
				inOrder(t, want, ids(s.pages(t, orgA, trigger.EventQuery{Limit: limit})),
					"events in pages of %d", limit)
			}
		}},

	{Rule{
		"store/list-bytes",
		"A page ends with the event by which the Size of its events comes to Bytes, and each has one event at least.",
	}, needStore,
		func(t *testing.T, s *subject) {
			for i, part := range []func(*trigger.Event, string){
				func(e *trigger.Event, text string) { e.Instructions = text },
				func(e *trigger.Event, text string) { e.Context = []byte(`"` + text[2:] + `"`) },
				func(e *trigger.Event, text string) { e.LastError = text },
				func(e *trigger.Event, text string) { e.Outcome = &trigger.Outcome{Summary: text} },
				func(e *trigger.Event, text string) { e.Outcome = &trigger.Outcome{Data: []byte(`"` + text[2:] + `"`)} },
			} {
				for _, size := range []int{40, 4000} { // characters of two bytes
					e := plainEvent(orgA, time.Duration(i)*time.Hour)
					part(&e, strings.Repeat("é", size))
					s.create(t, e)
				}
			}
			all := s.list(t, orgA, trigger.EventQuery{})
			for _, q := range []trigger.EventQuery{
				{Bytes: 1}, {Bytes: 100}, {Bytes: 8000}, {Bytes: 9000, Limit: 2}, {Bytes: 20_000}, {Bytes: 1 << 20}, {Bytes: -1},
			} {
				if q.Limit == 0 {
					q.Limit = mortise.MaxPageSize
				}
				left := all
				for len(left) > 0 {
					page, err := s.Store.ListEvents(t.Context(), orgA, q)
					require.NoError(t, err)
					n := 0
					for size := 0; n < min(q.Limit, len(left)) && (q.Bytes <= 0 || size < q.Bytes); n++ {
						size += left[n].Size()
					}
					inOrder(t, ids(left[:n]), ids(page.Items), "events of a page with %+v", q)
					left = left[n:]
					require.Equal(t, len(left) == 0, page.Next.IsZero(), "whether it is the last page with %+v", q)
					q.After = page.Next
				}
			}
		}},

	{Rule{
		"store/list-limit-zero",
		"Limit 0 selects nothing: the page is empty and its Next is zero.",
	}, needStore,
		func(t *testing.T, s *subject) {
			s.create(t, keyedEvent(orgA, "key", 0))
			for _, q := range []trigger.EventQuery{
				{}, {IdempotencyKey: "key"}, {Status: trigger.StatusReceived},
			} {
				page, err := s.Store.ListEvents(t.Context(), orgA, q)
				require.NoError(t, err)
				require.Empty(t, page.Items, "events on a page of Limit 0")
				require.True(t, page.Next.IsZero(), "Next is set after a page of Limit 0")
			}
		}},

	{Rule{"store/list-next-is-zero-at-the-end", "Page.Next is zero if this is the last page, a full one included."}, needStore,
		func(t *testing.T, s *subject) {
			for i := range 6 {
				e := plainEvent(orgA, time.Duration(i)*time.Hour)
				e.Status = []trigger.Status{trigger.StatusFailed, trigger.StatusCompleted}[i%2]
				s.create(t, e)
			}
			for _, c := range []struct {
				q    trigger.EventQuery
				more bool
			}{
				{trigger.EventQuery{Limit: 5}, true},
				{trigger.EventQuery{Limit: 6}, false},
				{trigger.EventQuery{Limit: 7}, false},
				{trigger.EventQuery{Limit: 2, Status: trigger.StatusFailed}, true},
				{trigger.EventQuery{Limit: 3, Status: trigger.StatusFailed}, false},
				{trigger.EventQuery{Limit: 3, Status: trigger.StatusCompleted}, false},
				{trigger.EventQuery{Limit: 2, From: moment(4 * time.Hour)}, false},
			} {
				page, err := s.Store.ListEvents(t.Context(), orgA, c.q)
				require.NoError(t, err)
				require.Equal(t, c.more, !page.Next.IsZero(), "whether a page follows with %+v", c.q)
			}
		}},

	{Rule{"store/list-pages-while-events-arrive", "A position stays where it is while other events arrive, so that paging neither repeats nor skips one."}, needStore,
		func(t *testing.T, s *subject) {
			for i := range 10 {
				s.create(t, plainEvent(orgA, time.Duration(i/3)*time.Hour))
			}
			want := ids(s.list(t, orgA, trigger.EventQuery{}))
			var got []uuid.UUID
			q := trigger.EventQuery{Limit: 3}
			for turn := 0; ; turn++ {
				require.Less(t, turn, 100, "paging does not end")
				page, err := s.Store.ListEvents(t.Context(), orgA, q)
				require.NoError(t, err)
				got = append(got, ids(page.Items)...)
				if page.Next.IsZero() {
					break
				}
				q.After = page.Next
				s.create(t, plainEvent(orgA, 10*time.Hour))
				s.create(t, plainEvent(orgB, 0))
			}
			inOrder(t, want, got, "events in pages of 3, while others arrive")
		}},

	{Rule{"store/list-pages-while-events-change", "A position stays where it is when its event changes."}, needStore,
		func(t *testing.T, s *subject) {
			for i := range 6 {
				s.create(t, plainEvent(orgA, time.Duration(i/2)*time.Hour))
			}
			want := s.list(t, orgA, trigger.EventQuery{})
			q := trigger.EventQuery{Status: trigger.StatusReceived, Limit: 2}
			first, err := s.Store.ListEvents(t.Context(), orgA, q)
			require.NoError(t, err)
			for _, e := range first.Items {
				s.update(t, e, func(e *trigger.Event) { e.Status = trigger.StatusCompleted })
			}
			q.After = first.Next
			got := slices.Concat(ids(first.Items), ids(s.pages(t, orgA, q)))
			inOrder(t, ids(want), got,
				"received events in pages of 2, while those of the first page are completed")
		}},
}
