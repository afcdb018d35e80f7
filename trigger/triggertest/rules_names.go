package triggertest

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/trigger"
)

// exactNames are names that are not the same, though a collation may think so. The last
// ones have 255 bytes, and differ at the end.
var exactNames = []string{
	"acme", "ACME", "acme ", " acme", "acm", "acme/", "acm_", "acm%", "acm\u00e9", "acme\u0301",
	"a'c\"m\\e",
	longName + "1", longName + "2",
}

var longName = strings.Repeat("n", 254)

// nameRules say which names are the same.
var nameRules = []rule{
	{Rule{"store/organizations-are-exact", "Organizations are the same if every byte is."}, needStore,
		func(t *testing.T, s *subject) {
			events := make(map[string]trigger.Event)
			for _, org := range exactNames {
				events[org] = s.create(t, keyedEvent(org, "key", 0))
			}
			for _, org := range exactNames {
				sameEvent(t, events[org], s.get(t, events[org]))
				page, err := s.Store.ListEvents(t.Context(), org, trigger.EventQuery{Limit: 100})
				require.NoError(t, err)
				inOrder(t, []uuid.UUID{events[org].ID}, ids(page.Items), "events of %q", org)
				for _, other := range exactNames {
					if other != org {
						_, err := s.Store.Event(t.Context(), other, events[org].ID)
						require.ErrorIs(t, err, mortise.ErrNotFound, "%q reads an event of %q", other, org)
					}
				}
			}
		}},

	{Rule{"store/create-key-is-exact", "Keys are the same if every byte is."}, needStore,
		func(t *testing.T, s *subject) {
			keys := []string{
				"key", "Key", "KEY", "key%", "key_", "ke", "key1", "'key'", `k\ey`,
				longName + "1", longName + "2",
			}
			events := make(map[string]trigger.Event)
			for _, key := range keys {
				events[key] = s.create(t, keyedEvent(orgA, key, 0))
			}
			for _, key := range keys {
				found := s.list(t, orgA, trigger.EventQuery{IdempotencyKey: key})
				inOrder(t, []uuid.UUID{events[key].ID}, ids(found), "events with the key %q", key)
			}
		}},

	{Rule{
		"store/names-are-apart",
		"An organization, an idempotency key and a source are names of their own: it " +
			"does not matter what they read like when one is put after the other.",
	}, needStore,
		func(t *testing.T, s *subject) {
			events := make(map[[2]string]trigger.Event)
			for _, pair := range conformance.Joined() {
				e := keyedEvent(pair[0], pair[1], 0)
				e.Source = pair[1]
				events[pair] = s.create(t, e)
			}
			for pair, e := range events {
				for _, q := range []trigger.EventQuery{
					{Source: e.Source},
					{IdempotencyKey: e.IdempotencyKey, Source: e.Source},
					{Source: e.Source, Status: e.Status, From: moment(0), To: moment(time.Second)},
				} {
					inOrder(t, ids(selected(values(events), pair[0], q)), ids(s.list(t, pair[0], q)),
						"events of organization %q with key and source %q", pair[0], pair[1])
				}
			}
		}},

	{Rule{
		"keys/organizations-are-exact",
		"Organizations are the same if every byte is, for API keys too.",
	}, needKeys,
		func(t *testing.T, s *subject) {
			keys := make(map[string]trigger.APIKey)
			for _, org := range exactNames {
				keys[org] = s.addKey(t, newKey(org, 0))
			}
			for _, org := range exactNames {
				listed := s.keys(t, org)
				require.Len(t, listed, 1, "keys of %q", org)
				sameKey(t, keys[org], listed[0])
			}
		}},
}

// values returns the events of a map.
func values[K comparable](events map[K]trigger.Event) []trigger.Event {
	list := make([]trigger.Event, 0, len(events))
	for _, e := range events {
		list = append(list, e)
	}
	return list
}
