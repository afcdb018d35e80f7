package triggertest

import (
	"strings"
	"testing"
	"time"

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
		if page.Next == "" {
			return all
		}
		require.NotEmpty(t, page.Items, "an empty page that is not the last one")
		q.After = page.Next
	}
	require.FailNow(t, "paging does not end")
	return nil
}

// pageRules say how bytes bound a page; listtest has the other rules of pages.
var pageRules = []rule{
	{Rule{
		"store/list-bytes",
		"A page ends with the event by which the Size of its events comes to Bytes, or before, and each has one event at least.",
	}, needStore,
		func(t *testing.T, s *subject) {
			for i, part := range []func(*trigger.Event, string){
				func(e *trigger.Event, text string) { e.Instructions = text },
				func(e *trigger.Event, text string) { e.Context = []byte(`"` + text[2:] + `"`) },
				func(e *trigger.Event, text string) { e.LastError = text },
				func(e *trigger.Event, text string) { e.Outcome = &trigger.Outcome{Summary: text} },
				func(e *trigger.Event, text string) { e.Failures = []trigger.Attempt{{Number: 1, Error: text}} },
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
					most := 0
					for size := 0; most < min(q.Limit, len(left)) && (q.Bytes <= 0 || size < q.Bytes); most++ {
						size += left[most].Size()
					}
					n := len(page.Items)
					require.NotZero(t, n, "events of a page with %+v", q)
					require.LessOrEqual(t, n, most, "events of a page with %+v", q)
					inOrder(t, ids(left[:n]), ids(page.Items), "events of a page with %+v", q)
					left = left[n:]
					require.Equal(t, len(left) == 0, page.Next == "", "whether it is the last page with %+v", q)
					q.After = page.Next
				}
			}
		}},
}
