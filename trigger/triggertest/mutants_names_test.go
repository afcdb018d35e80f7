package triggertest_test

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/trigger"
)

// nameMutants take names for the same that are not, and IDs and keys for free that are
// taken.
var nameMutants = []broken{
	{name: "runs organization and key together", mutate: func(m *mutant) {
		joinsKeys(m, "")
	}, breaks: []string{"store/names-are-apart"}},
	{name: "puts a slash between organization and key", mutate: func(m *mutant) {
		joinsKeys(m, "/")
	}, breaks: []string{"store/names-are-apart"}},
	{name: "puts U+0000 between organization and key", mutate: func(m *mutant) {
		joinsKeys(m, "\x00")
	}, breaks: []string{"store/names-are-apart"}},
	{name: "runs organization and source together", mutate: func(m *mutant) {
		var events []trigger.Event
		m.create = func(
			ctx context.Context, e trigger.Event, since time.Time,
		) (trigger.Event, bool, error) {
			events = append(events, e.Clone())
			return m.Trigger.CreateEvent(ctx, e, since)
		}
		m.list = func(ctx context.Context, org string, q trigger.EventQuery) (mortise.Page[trigger.Event], error) {
			page, err := m.Trigger.ListEvents(ctx, org, q)
			for _, e := range events {
				if q.Source != "" && e.Organization != org && e.Organization+e.Source == org+q.Source {
					page.Items = append(page.Items, e.Clone())
				}
			}
			return page, err
		}
	}, breaks: []string{"store/names-are-apart"}},
	{name: "cuts organizations at 254 bytes", mutate: func(m *mutant) {
		m.create = func(
			ctx context.Context, e trigger.Event, since time.Time,
		) (trigger.Event, bool, error) {
			e.Organization = cut(e.Organization)
			return m.Trigger.CreateEvent(ctx, e, since)
		}
		m.updateOrganization = func(
			ctx context.Context, org string, f func(*trigger.Organization) error,
		) error {
			return m.Trigger.UpdateOrganization(ctx, cut(org), f)
		}
		m.organization = func(ctx context.Context, org string) (trigger.Organization, error) {
			o, err := m.Trigger.Setup(ctx, cut(org))
			o.ID = org
			return o, err
		}
	}, breaks: []string{"store/organizations-are-exact", "organizations/are-exact"}},
	{name: "cuts idempotency keys at 254 bytes", mutate: func(m *mutant) {
		m.create = func(
			ctx context.Context, e trigger.Event, since time.Time,
		) (trigger.Event, bool, error) {
			e.IdempotencyKey = cut(e.IdempotencyKey)
			return m.Trigger.CreateEvent(ctx, e, since)
		}
	}, breaks: []string{"store/create-key-is-exact"}},
	{name: "cuts sources at 254 bytes", mutate: func(m *mutant) {
		m.create = func(
			ctx context.Context, e trigger.Event, since time.Time,
		) (trigger.Event, bool, error) {
			e.Source = cut(e.Source)
			return m.Trigger.CreateEvent(ctx, e, since)
		}
		m.everyQuery(func(_ *string, q *trigger.EventQuery) { q.Source = cut(q.Source) })
	}, breaks: []string{"store/list-by-source"}},
	{name: "cuts names of keys at 254 bytes", mutate: func(m *mutant) {
		m.createKey = func(ctx context.Context, k trigger.APIKey) error {
			k.Name = cut(k.Name)
			return m.Trigger.CreateKey(ctx, k)
		}
	}, breaks: []string{"keys/create-stores"}},
	{name: "lists keys of all organizations that begin so", mutate: func(m *mutant) {
		m.listKeys = func(ctx context.Context, org string, q trigger.KeyQuery) (mortise.Page[trigger.APIKey], error) {
			var all mortise.Page[trigger.APIKey]
			for _, other := range []string{"acm", "acme", "acme/"} {
				if len(other) >= len(org) && other[:len(org)] == org {
					page, _ := m.Trigger.ListKeys(ctx, other, q)
					all.Items = append(all.Items, page.Items...)
				}
			}
			return all, nil
		}
	}, breaks: []string{"keys/organizations-are-exact"}},

	{name: "creates an ID of another organization", mutate: func(m *mutant) {
		m.create = func(
			ctx context.Context, e trigger.Event, since time.Time,
		) (trigger.Event, bool, error) {
			id := e.ID
			stored, created, err := m.Trigger.CreateEvent(ctx, e, since)
			if err != nil {
				e.ID = uuid.New()
				stored, created, err = m.Trigger.CreateEvent(ctx, e, since)
				stored.ID = id
			}
			return stored, created, err
		}
	}, breaks: []string{"store/create-same-id-elsewhere"}},
	{name: "takes an old key before it looks at the ID", mutate: func(m *mutant) {
		m.create = func(
			ctx context.Context, e trigger.Event, since time.Time,
		) (trigger.Event, bool, error) {
			q := trigger.EventQuery{IdempotencyKey: e.IdempotencyKey, To: since, Limit: 1}
			page, _ := m.Trigger.ListEvents(ctx, e.Organization, q)
			for _, old := range page.Items {
				if e.IdempotencyKey != "" {
					_ = m.Trigger.UpdateEvent(ctx, old.Organization, old.ID, func(e *trigger.Event) error {
						e.IdempotencyKey = ""
						return nil
					})
				}
			}
			return m.Trigger.CreateEvent(ctx, e, since)
		}
	}, breaks: []string{"store/create-same-id-elsewhere", "store/create-id-before-key"}},
	{name: "looks for the key before the ID", mutate: func(m *mutant) {
		m.create = func(
			ctx context.Context, e trigger.Event, since time.Time,
		) (trigger.Event, bool, error) {
			q := trigger.EventQuery{IdempotencyKey: e.IdempotencyKey, From: since, Limit: 1}
			page, _ := m.Trigger.ListEvents(ctx, e.Organization, q)
			if e.IdempotencyKey != "" && len(page.Items) > 0 {
				return page.Items[0], false, nil
			}
			return m.Trigger.CreateEvent(ctx, e, since)
		}
	}, breaks: []string{"store/create-id-before-key"}},
	{name: "gives an event a key that is taken", mutate: func(m *mutant) {
		m.update = func(
			ctx context.Context, org string, id uuid.UUID, f func(*trigger.Event) error,
		) error {
			err := m.Trigger.UpdateEvent(ctx, org, id, f)
			if err == nil || errors.Is(err, trigger.ErrNotFound) {
				return err
			}
			return m.Trigger.UpdateEvent(ctx, org, id, func(e *trigger.Event) error {
				err := f(e)
				e.IdempotencyKey = ""
				return err
			})
		}
	}, breaks: []string{"store/update-taken-key"}},
	{name: "says ErrExists of a key that is taken", mutate: func(m *mutant) {
		m.update = func(
			ctx context.Context, org string, id uuid.UUID, f func(*trigger.Event) error,
		) error {
			var refused error
			err := m.Trigger.UpdateEvent(ctx, org, id, func(e *trigger.Event) error {
				refused = f(e)
				return refused
			})
			if err != nil && refused == nil && !errors.Is(err, trigger.ErrNotFound) {
				return trigger.ErrExists
			}
			return err
		}
	}, breaks: []string{"store/update-taken-key", "store/one-failure-of-many"}},
	{name: "takes limit 0 for no limit", mutate: func(m *mutant) {
		m.everyQuery(func(_ *string, q *trigger.EventQuery) {
			if q.Limit == 0 {
				q.Limit = 1000
			}
		})
	}, breaks: []string{"store/list-limit-zero"}},

	{name: "overwrites the key with the same ID", mutate: func(m *mutant) {
		m.createKey = func(ctx context.Context, k trigger.APIKey) error {
			err := m.Trigger.CreateKey(ctx, k)
			if _, unknown := m.Trigger.KeyByDigest(ctx, k.Digest); unknown != nil {
				return nil
			}
			return err
		}
	}, breaks: []string{"keys/create-same-id"}},
	{name: "lets update rename an organization", mutate: func(m *mutant) {
		m.updateOrganization = func(
			ctx context.Context, org string, f func(*trigger.Organization) error,
		) error {
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
		}
	}, breaks: []string{"organizations/update-keeps-id"}},
}

func cut(name string) string { return name[:min(len(name), 254)] }

// joinsKeys gives the mutant an index of idempotency keys in which the organization and
// the key stand side by side.
func joinsKeys(m *mutant, separator string) {
	var index sync.Map
	m.create = func(
		ctx context.Context, e trigger.Event, since time.Time,
	) (trigger.Event, bool, error) {
		if e.IdempotencyKey == "" {
			return m.Trigger.CreateEvent(ctx, e, since)
		}
		other, ok := index.LoadOrStore(e.Organization+separator+e.IdempotencyKey, e.Clone())
		if ok {
			return other.(trigger.Event).Clone(), false, nil
		}
		return m.Trigger.CreateEvent(ctx, e, since)
	}
}
