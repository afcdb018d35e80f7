package triggertest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance/listtest"
	"github.com/seed-6363c74e/mortise/trigger"
)

// lists are all lists of package trigger.
var lists = []listtest.List[*subject]{
	listOfEvents("events", "events", trigger.EventQuery{}),
	listOfEvents("received-events", "received events", trigger.EventQuery{Status: trigger.StatusReceived}),
	listOfEvents("events-of-source", "events of a source", trigger.EventQuery{Source: "api"}),
	listOfAll("overdue-events", "received events", trigger.StatusReceived, func(e *trigger.Event, at time.Time) { e.DueAt = at }),
	listOfAll("failed-events", "failed events", trigger.StatusFailed, func(e *trigger.Event, at time.Time) { e.FinishedAt = at }),
	{ID: "keys", Method: "ListKeys", Items: "API keys", Needs: needKeys, Open: func(_ *testing.T, s *subject, org string) listtest.Opened {
		key := func(i listtest.Item) trigger.APIKey {
			k := newKey(org, 0)
			k.ID, k.CreatedAt = listtest.UUID(org, i.N), i.At()
			return k
		}
		return listtest.Opened{
			Position: func(i listtest.Item) mortise.Position {
				k := key(i)
				return k.Position()
			},
			Add: func(t *testing.T, items ...listtest.Item) {
				for _, i := range items {
					s.addKey(t, key(i))
				}
			},
			Page: listtest.Of(func(ctx context.Context, after mortise.Cursor, limit int) (mortise.Page[trigger.APIKey], error) {
				return s.Keys.ListKeys(ctx, org, after, limit)
			}, (*trigger.APIKey).Position),
		}
	}},
}

// listOfEvents is the list of what a query selects: of received events. An event goes from
// a list of received events when it fails.
func listOfEvents(id, what string, q trigger.EventQuery) listtest.List[*subject] {
	return listtest.List[*subject]{ID: id, Method: "ListEvents", Items: what, Needs: needStore, Newest: true, Open: func(_ *testing.T, s *subject, org string) listtest.Opened {
		event := func(i listtest.Item) trigger.Event {
			e := plainEvent(org, 0)
			e.ID, e.SubmittedAt = listtest.UUID(org, i.N), i.At()
			return e
		}
		list := listtest.Opened{
			Position: func(i listtest.Item) mortise.Position {
				e := event(i)
				return e.Position()
			},
			Add: func(t *testing.T, items ...listtest.Item) {
				for _, i := range items {
					s.create(t, event(i))
				}
			},
			Page: listtest.Of(func(ctx context.Context, after mortise.Cursor, limit int) (mortise.Page[trigger.Event], error) {
				q := q // parallel tests share the list
				q.After, q.Limit = after, limit
				return s.Store.ListEvents(ctx, org, q)
			}, (*trigger.Event).Position),
		}
		if q.Status != "" {
			list.Remove = func(t *testing.T, i listtest.Item) {
				require.NoError(t, s.Store.UpdateEvent(t.Context(), org, event(i).ID, func(e *trigger.Event) error {
					e.Status = trigger.StatusFailed
					return nil
				}))
			}
		}
		return list
	}}
}

// listOfAll is the list of the events of all organizations with a status. Every third one has
// an idempotency key.
func listOfAll(id, what string, status trigger.Status, put func(e *trigger.Event, at time.Time)) listtest.List[*subject] {
	return listtest.List[*subject]{ID: id, Method: "AllEvents", Items: what, Needs: needStore, Newest: status.Finished(), Shared: true, Open: func(_ *testing.T, s *subject, _ string) listtest.Opened {
		q := trigger.AllQuery{Status: status}
		event := func(i listtest.Item) trigger.Event {
			e := plainEvent([]string{orgA, orgB}[i.N&1], 0)
			if e.ID, e.Status = listtest.UUID(orgA, i.N), status; i.N%3 == 0 {
				e.IdempotencyKey = fmt.Sprint("key-", i.N)
			}
			put(&e, i.At())
			return e
		}
		return listtest.Opened{
			Position: func(i listtest.Item) mortise.Position {
				e := event(i)
				return q.Position(&e)
			},
			Add: func(t *testing.T, items ...listtest.Item) {
				for _, i := range items {
					s.create(t, event(i))
				}
			},
			Remove: func(t *testing.T, i listtest.Item) {
				e := event(i)
				require.NoError(t, s.Store.UpdateEvent(t.Context(), e.Organization, e.ID, func(e *trigger.Event) error {
					e.Status = trigger.StatusCompleted
					return nil
				}))
			},
			Page: listtest.Of(func(ctx context.Context, after mortise.Cursor, limit int) (mortise.Page[trigger.Event], error) {
				q := q // parallel tests share the list
				q.After, q.Limit = after, limit
				return s.Store.AllEvents(ctx, q)
			}, q.Position),
		}
	}}
}

func listsRules() (rules []rule) {
	for _, r := range listtest.Rules(lists) {
		rules = append(rules, rule{Rule{r.ID, r.Text}, r.Needs, r.Check})
	}
	return rules
}
