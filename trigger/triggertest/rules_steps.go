package triggertest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance/steptest"
	"github.com/seed-6363c74e/mortise/trigger"
)

// boundedSteps are the bounded steps of a Backend.
var boundedSteps = []steptest.Step[*subject]{
	{ID: "prune", Method: "Prune", Units: "finished events of all organizations", Needs: needStore | needPruner,
		Fill: func(t *testing.T, s *subject, units int) steptest.Work {
			for i := range units {
				e := finishedEvent([]string{orgA, orgB}[i%2], 0)
				if i%3 == 0 {
					e.IdempotencyKey = fmt.Sprint("key-", i)
				}
				s.create(t, e)
			}
			kept := []trigger.Event{
				s.create(t, plainEvent(orgA, 0)), s.create(t, finishedEvent(orgB, time.Hour)), s.create(t, waking(orgB, 0)),
			}
			return steptest.Work{
				Do: s.pruning(time.Hour, time.Hour), Exact: true,
				Left: func(t *testing.T) int {
					return len(s.list(t, orgA, trigger.EventQuery{})) + len(s.list(t, orgB, trigger.EventQuery{})) - len(kept)
				},
				Kept: func(t *testing.T) { s.hasEvents(t, kept) },
			}
		}},

	{ID: "remove-deleted-events", Method: "RemoveDeleted", Units: "events of an organization that is marked", Needs: needStore,
		Fill: func(t *testing.T, s *subject, units int) steptest.Work {
			var events []trigger.Event
			for i := range units {
				events = append(events, s.create(t, keyedEvent(orgA, string(rune('a'+i)), time.Duration(i)*time.Second)))
			}
			kept := []trigger.Event{s.create(t, keyedEvent(orgB, "a", 0)), s.create(t, finishedEvent(orgB, 0))}
			s.mark(t, orgA)
			return steptest.Work{
				Do: removing(s.Store, orgA),
				Left: func(t *testing.T) int {
					events = s.notFreed(t, events)
					return len(events)
				},
				Kept: func(t *testing.T) { s.hasEvents(t, kept) },
			}
		}},

	{ID: "remove-deleted-keys", Method: "RemoveDeleted", Units: "keys of an organization that is marked", Needs: needKeys,
		Fill: func(t *testing.T, s *subject, units int) steptest.Work {
			var keys []trigger.APIKey
			for i := range units {
				keys = append(keys, s.addKey(t, newKey(orgA, time.Duration(i)*time.Second)))
			}
			kept := s.addKey(t, newKey(orgB, 0))
			s.mark(t, orgA)
			return steptest.Work{
				Do: removing(s.Keys, orgA),
				Left: func(t *testing.T) int {
					var left []trigger.APIKey
					for _, k := range keys {
						k.Organization = "org-free"
						if err := s.Keys.CreateKey(t.Context(), k); err != nil {
							require.ErrorIs(t, err, mortise.ErrExists)
							left = append(left, k)
						}
					}
					keys = left
					return len(keys)
				},
				Kept: func(t *testing.T) { s.hasKey(t, kept) },
			}
		}},
}

// hasEvents requires that events are as they were.
func (s *subject) hasEvents(t *testing.T, events []trigger.Event) {
	t.Helper()
	for _, e := range events {
		sameEvent(t, e, s.get(t, e))
	}
}

func stepRules() (rules []rule) {
	for _, r := range steptest.Rules(boundedSteps) {
		rules = append(rules, rule{Rule{r.ID, r.Text}, r.Needs, r.Check})
	}
	return rules
}
