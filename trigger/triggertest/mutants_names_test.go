package triggertest_test

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
	"github.com/seed-6363c74e/mortise/trigger"
)

// nameMutants take names for the same that are not, and IDs and keys for free that are
// taken.
var nameMutants = []broken{
	{name: "runs organization and key together", breaks: "store/names-are-apart",
		mutate: joinsKeys(func(org, key string) string { return org + key })},
	{name: "puts a slash between organization and key", breaks: "store/names-are-apart", mutate: joinsKeys(
		func(org, key string) string { return org + "/" + key })},
	{name: "runs organization and source together", breaks: "store/names-are-apart", mutate: func(m *mutant) {
		var events []trigger.Event
		in(func(e *trigger.Event) { events = append(events, e.Clone()) }, "CreateEvent")(m)
		around(func(_ *mutant, c *mutate.Call) {
			c.Go()
			org, source, page := c.In[1].String(), mutate.Get[trigger.EventQuery](c.In).Source, mutate.Get[mortise.Page[trigger.Event]](c.Out)
			for _, e := range events {
				if source != "" && e.Organization != org && e.Organization+e.Source == org+source {
					page.Items = append(page.Items, e.Clone())
				}
			}
		}, "ListEvents")(m)
	}},
	{name: "cuts organizations at 254 bytes", breaks: "store/organizations-are-exact organizations/are-exact", mutate: both(
		in(func(e *trigger.Event) { cut(&e.Organization) }, "CreateEvent"),
		arg(cut, "UpdateOrganization"),
		around(func(_ *mutant, c *mutate.Call) {
			org := c.In[1].String()
			cut(mutate.Get[string](c.In))
			c.Go()
			mutate.Get[trigger.Organization](c.Out).ID = org
		}, "Setup"),
	)},
	{name: "cuts idempotency keys at 254 bytes", breaks: "store/create-key-is-exact", mutate: in(
		func(e *trigger.Event) { cut(&e.IdempotencyKey) }, "CreateEvent")},
	{name: "cuts sources at 254 bytes", breaks: "store/list-by-source", mutate: both(
		in(func(e *trigger.Event) { cut(&e.Source) }, "CreateEvent"),
		arg(func(q *trigger.EventQuery) { cut(&q.Source) }),
	)},
	{name: "cuts names of keys at 254 bytes", breaks: "keys/create-stores", mutate: in(func(k *trigger.APIKey) { cut(&k.Name) }, "CreateKey")},
	{name: "lists keys of all organizations that begin so", breaks: "keys/organizations-are-exact",
		mutate: replace("ListKeys", func(m *mutant, ctx context.Context, org string, after mortise.Cursor, limit int) (mortise.Page[trigger.APIKey], error) {
			var all mortise.Page[trigger.APIKey]
			for _, other := range []string{"acm", "acme", "acme/"} {
				if len(other) >= len(org) && other[:len(org)] == org {
					page, _ := m.Trigger.ListKeys(ctx, other, after, limit)
					all.Items = append(all.Items, page.Items...)
				}
			}
			return all, nil
		})},

	{name: "creates an ID of another organization", breaks: "store/create-same-id-elsewhere", mutate: creating(
		func(_ *mutant, c *mutate.Call, e *trigger.Event) {
			id := e.ID
			if c.Go(); *c.Err() != nil {
				e.ID = uuid.New()
				c.Go()
				mutate.Get[trigger.Event](c.Out).ID = id
			}
		})},
	{name: "takes an old key before it looks at the ID", breaks: "store/create-same-id-elsewhere store/create-id-before-key", mutate: creating(
		func(m *mutant, c *mutate.Call, e *trigger.Event) {
			if e.IdempotencyKey != "" {
				page, _ := m.Trigger.ListEvents(bg, e.Organization, trigger.EventQuery{IdempotencyKey: e.IdempotencyKey, To: *mutate.Get[time.Time](c.In), Limit: 1})
				for _, old := range page.Items {
					_ = m.Trigger.UpdateEvent(bg, old.Organization, old.ID, func(e *trigger.Event) error {
						e.IdempotencyKey = ""
						return nil
					})
				}
			}
			c.Go()
		})},
	{name: "looks for the key before the ID", breaks: "store/create-id-before-key",
		mutate: creating(func(m *mutant, c *mutate.Call, e *trigger.Event) {
			q := trigger.EventQuery{IdempotencyKey: e.IdempotencyKey, From: *mutate.Get[time.Time](c.In), Limit: 1}
			if page, _ := m.Trigger.ListEvents(bg, e.Organization, q); e.IdempotencyKey != "" && len(page.Items) > 0 {
				created(c, page.Items[0], false)
				return
			}
			c.Go()
		})},
	{name: "gives an event a key that is taken", breaks: "store/update-taken-key",
		mutate: replace("UpdateEvent", func(m *mutant, ctx context.Context, org string, id uuid.UUID, f func(*trigger.Event) error) error {
			err := m.Trigger.UpdateEvent(ctx, org, id, f)
			if err == nil || errors.Is(err, mortise.ErrNotFound) {
				return err
			}
			return m.Trigger.UpdateEvent(ctx, org, id, func(e *trigger.Event) error {
				err := f(e)
				e.IdempotencyKey = ""
				return err
			})
		})},
	{name: "says ErrExists of a key that is taken", breaks: "store/update-taken-key store/one-failure-of-many",
		mutate: replace("UpdateEvent", func(m *mutant, ctx context.Context, org string, id uuid.UUID, f func(*trigger.Event) error) error {
			var refused error
			err := m.Trigger.UpdateEvent(ctx, org, id, func(e *trigger.Event) error {
				refused = f(e)
				return refused
			})
			if err != nil && refused == nil && !errors.Is(err, mortise.ErrNotFound) {
				return mortise.ErrExists
			}
			return err
		})},
	{name: "overwrites the key with the same ID", breaks: "keys/create-same-id", mutate: around(func(m *mutant, c *mutate.Call) {
		c.Go()
		if _, unknown := m.Trigger.KeyByDigest(bg, mutate.Get[trigger.APIKey](c.In).Digest); unknown != nil {
			*c.Err() = nil
		}
	}, "CreateKey")},
	{name: "lets update rename an organization", breaks: "organizations/update-keeps-id",
		mutate: replace("UpdateOrganization", func(m *mutant, ctx context.Context, org string, f func(*trigger.Organization) error) error {
			o, err := m.Trigger.Setup(ctx, org)
			if err != nil {
				o = trigger.Organization{ID: org}
			}
			if err := f(&o); err != nil {
				return err
			}
			return m.Trigger.UpdateOrganization(ctx, o.ID, func(stored *trigger.Organization) error {
				*stored = o
				return nil
			})
		})},
}

func cut(name *string) { *name = (*name)[:min(len(*name), 254)] }

// bg is the context of what a mutant asks the backend behind it.
var bg = context.Background()

// joinsKeys gives the mutant an index of idempotency keys in which the organization and
// the key stand side by side.
func joinsKeys(join func(org, key string) string) func(*mutant) {
	return func(m *mutant) {
		var index sync.Map
		creating(func(_ *mutant, c *mutate.Call, e *trigger.Event) {
			if e.IdempotencyKey != "" {
				if other, ok := index.LoadOrStore(join(e.Organization, e.IdempotencyKey), e.Clone()); ok {
					earlier := other.(trigger.Event)
					created(c, earlier.Clone(), false)
					return
				}
			}
			c.Go()
		})(m)
	}
}
