package triggertest_test

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/trigger"
)

var listMutants = []broken{
	{name: "lists oldest first", breaks: []string{"store/list-newest-first", "store/list-equal-times-by-id", "store/list-matches-query"}, mutate: func(m *mutant) {
		m.everyPage(func(_ *trigger.EventQuery, page *mortise.Page[trigger.Event]) { page.Items = reversed(page.Items) })
	}},
	{name: "lists every organization", breaks: []string{"store/list-of-organization", "store/list-empty"}, mutate: func(m *mutant) {
		m.everyQuery(func(org *string, _ *trigger.EventQuery) { *org = "org-a" })
	}},
	{name: "ignores the status", breaks: []string{"store/list-by-status", "store/list-matches-query"}, mutate: func(m *mutant) {
		m.everyQuery(func(_ *string, q *trigger.EventQuery) { q.Status = "" })
	}},
	{name: "ignores the source", breaks: []string{"store/list-by-source"}, mutate: func(m *mutant) {
		m.everyQuery(func(_ *string, q *trigger.EventQuery) { q.Source = "" })
	}},
	{name: "ignores From with a key", breaks: []string{"store/list-by-key"}, mutate: func(m *mutant) {
		m.everyQuery(func(_ *string, q *trigger.EventQuery) {
			if q.IdempotencyKey != "" {
				q.From = time.Time{}
			}
		})
	}},
	{name: "takes From as exclusive", breaks: []string{"store/list-from-to", "store/list-matches-query"}, mutate: func(m *mutant) {
		m.everyQuery(func(_ *string, q *trigger.EventQuery) { q.From = q.From.Add(1) })
	}},
	{name: "takes To as inclusive", breaks: []string{"store/list-from-to", "store/list-matches-query"}, mutate: func(m *mutant) {
		m.everyQuery(func(_ *string, q *trigger.EventQuery) {
			if !q.To.IsZero() {
				q.To = q.To.Add(1)
			}
		})
	}},
	{name: "compares times by the clock on the wall", breaks: []string{"store/list-times-are-instants"}, mutate: func(m *mutant) {
		m.everyQuery(func(_ *string, q *trigger.EventQuery) {
			if !q.From.IsZero() {
				_, offset := q.From.Zone()
				q.From = q.From.Add(time.Duration(offset) * time.Second)
			}
		})
	}},
	{name: "repeats events of equal times", breaks: []string{"store/list-pages", "store/list-matches-query"}, mutate: func(m *mutant) {
		m.everyQuery(func(_ *string, q *trigger.EventQuery) {
			if !q.After.IsZero() {
				q.After.ID = uuid.Max
			}
		})
	}},
	{name: "skips events of equal times", breaks: []string{"store/list-pages", "store/list-matches-query"}, mutate: func(m *mutant) {
		m.everyQuery(func(_ *string, q *trigger.EventQuery) { q.After.ID = uuid.Nil })
	}},
	{name: "has one more empty page", breaks: []string{"store/list-next-is-zero-at-the-end"}, mutate: func(m *mutant) {
		m.everyPage(func(q *trigger.EventQuery, page *mortise.Page[trigger.Event]) {
			if n := len(page.Items); n == q.Limit && n > 0 {
				page.Next = page.Items[n-1].Position()
			}
		})
	}},
	{name: "exceeds the limit", breaks: []string{"store/list-pages"}, mutate: func(m *mutant) {
		m.everyQuery(func(_ *string, q *trigger.EventQuery) { q.Limit++ })
	}},
	{name: "pages by number", mutate: func(m *mutant) {
		m.list = func(ctx context.Context, org string, q trigger.EventQuery) (mortise.Page[trigger.Event], error) {
			limit, skip := q.Limit, 0
			if !q.After.IsZero() {
				skip = int(q.After.At.Unix())
			}
			q.After, q.Limit = mortise.Position{}, trigger.MaxPageSize
			page, err := m.Trigger.ListEvents(ctx, org, q)
			all := page.Items[min(skip, len(page.Items)):]
			page.Items = all[:min(limit, len(all))]
			if len(all) > limit {
				page.Next = mortise.Position{At: time.Unix(int64(skip+limit), 0)}
			}
			return page, err
		}
	}, breaks: []string{"store/list-pages-while-events-arrive", "store/list-pages-while-events-change"}},

	{name: "shows unqueued events at the time itself", breaks: []string{"store/unqueued-before-is-strict"}, mutate: func(m *mutant) {
		m.unqueued = func(ctx context.Context, before time.Time, limit int) ([]trigger.Event, error) {
			return m.Trigger.Unqueued(ctx, before.Add(1), limit)
		}
	}},
	{name: "shows the shortest waiting first", breaks: []string{"store/unqueued-longest-first", "store/unqueued-limit"}, mutate: func(m *mutant) {
		m.unqueued = func(ctx context.Context, before time.Time, limit int) ([]trigger.Event, error) {
			all, err := m.Trigger.Unqueued(ctx, before, 1000)
			all = reversed(all)
			return all[:min(limit, len(all))], err
		}
	}},
	{name: "shows every received event as unqueued", breaks: []string{"store/unqueued-only-received", "store/unqueued-follows-update"}, mutate: func(m *mutant) {
		m.unqueued = func(ctx context.Context, _ time.Time, _ int) ([]trigger.Event, error) {
			page, err := m.Trigger.ListEvents(ctx, "org-a", trigger.EventQuery{Status: trigger.StatusReceived, Limit: 100})
			return page.Items, err
		}
	}},

	{name: "prunes everything", breaks: []string{"pruner/removes-finished-events", "pruner/before-is-strict"}, mutate: func(m *mutant) {
		m.prune = func(ctx context.Context, _ time.Time, limit int) (int, error) {
			for _, org := range []string{"org-a", "org-b"} {
				page, _ := m.Trigger.ListEvents(ctx, org, trigger.EventQuery{Limit: 100})
				for _, e := range page.Items {
					_ = m.Trigger.UpdateEvent(ctx, org, e.ID, func(e *trigger.Event) error {
						e.Status, e.FinishedAt = trigger.StatusFailed, time.Unix(0, 0)
						return nil
					})
				}
			}
			return m.Trigger.Prune(ctx, time.Unix(1, 0), limit)
		}
	}},
	{name: "prunes without limit", breaks: []string{"pruner/limit"}, mutate: func(m *mutant) {
		m.prune = func(ctx context.Context, before time.Time, _ int) (int, error) {
			return m.Trigger.Prune(ctx, before, 1000)
		}
	}},
	{name: "remembers the keys of pruned events", breaks: []string{"pruner/frees-key"}, mutate: func(m *mutant) {
		used := make(map[string]trigger.Event)
		m.create = func(ctx context.Context, e trigger.Event, since time.Time) (trigger.Event, bool, error) {
			if old, ok := used[e.IdempotencyKey]; ok {
				return old, false, nil
			}
			used[e.IdempotencyKey] = e
			return m.Trigger.CreateEvent(ctx, e, since)
		}
	}},
}

// otherMutants are those of Organizations and Keys.
var otherMutants = []broken{
	{name: "knows every organization", breaks: []string{"organizations/unknown", "organizations/not-made-by-events"}, mutate: func(m *mutant) {
		m.organization = func(ctx context.Context, org string) (trigger.Organization, error) {
			o, _ := m.Trigger.Setup(ctx, org)
			return o, nil
		}
	}},
	{name: "gives update no ID", breaks: []string{"organizations/update-new"}, mutate: func(m *mutant) {
		m.updateOrganization = func(ctx context.Context, org string, f func(*trigger.Organization) error) error {
			return m.Trigger.UpdateOrganization(ctx, org, func(o *trigger.Organization) error {
				o.ID = ""
				return f(o)
			})
		}
	}},
	{name: "never removes a collection", breaks: []string{"organizations/update-stores-what-it-leaves"}, mutate: func(m *mutant) {
		m.updateOrganization = func(ctx context.Context, org string, f func(*trigger.Organization) error) error {
			return m.Trigger.UpdateOrganization(ctx, org, func(o *trigger.Organization) error {
				before := o.Clone()
				err := f(o)
				for _, c := range before.Collections {
					if !slices.ContainsFunc(o.Collections, func(kept trigger.Collection) bool { return kept.ID == c.ID }) {
						o.Collections = append(o.Collections, c)
					}
				}
				return err
			})
		}
	}},
	{name: "returns collections in disorder", breaks: []string{"organizations/collections-by-id"}, mutate: func(m *mutant) {
		m.organization = func(ctx context.Context, org string) (trigger.Organization, error) {
			o, err := m.Trigger.Setup(ctx, org)
			slices.Reverse(o.Collections)
			return o, err
		}
	}},
	{name: "writes organizations without care", mutate: func(m *mutant) {
		m.updateOrganization = func(ctx context.Context, org string, f func(*trigger.Organization) error) error {
			o, err := m.Trigger.Setup(ctx, org)
			if err != nil {
				o = trigger.Organization{ID: org}
			}
			refused := f(&o)
			ready := o.Clone()
			_ = m.Trigger.UpdateOrganization(ctx, org, func(stored *trigger.Organization) error { stored.SetupComplete = o.SetupComplete; return nil })
			conformance.Seam()
			_ = m.Trigger.UpdateOrganization(ctx, org, func(stored *trigger.Organization) error { *stored = ready; return nil })
			return refused
		}
	}, breaks: []string{"organizations/update-error-changes-nothing", "organizations/update-concurrent", "organizations/reads-are-whole"}},
	{name: "returns aliases of organizations", breaks: []string{"organizations/copies"}, mutate: func(m *mutant) {
		kept := make(map[string]trigger.Organization)
		m.organization = func(ctx context.Context, org string) (trigger.Organization, error) {
			if o, ok := kept[org]; ok {
				return o, nil
			}
			o, err := m.Trigger.Setup(ctx, org)
			kept[org] = o
			return o, err
		}
	}},

	{name: "forgets the name of a key", breaks: []string{"keys/create-stores"}, mutate: func(m *mutant) {
		m.createKey = func(ctx context.Context, k trigger.APIKey) error {
			k.Name = ""
			return m.Trigger.CreateKey(ctx, k)
		}
	}},
	{name: "takes a digest twice", breaks: []string{"keys/create-twice", "keys/create-concurrent", "keys/by-digest-revoked"}, mutate: func(m *mutant) {
		m.createKey = func(ctx context.Context, k trigger.APIKey) error {
			_ = m.Trigger.CreateKey(ctx, k)
			return nil
		}
	}},
	{name: "knows every digest", breaks: []string{"keys/by-digest-unknown"}, mutate: func(m *mutant) {
		m.keyByDigest = func(ctx context.Context, digest [32]byte) (trigger.APIKey, error) {
			k, _ := m.Trigger.KeyByDigest(ctx, digest)
			return k, nil
		}
	}},
	{name: "hides revoked keys", breaks: []string{"keys/by-digest-revoked", "keys/durable"}, mutate: func(m *mutant) {
		m.keyByDigest = func(ctx context.Context, digest [32]byte) (trigger.APIKey, error) {
			k, err := m.Trigger.KeyByDigest(ctx, digest)
			if err == nil && !k.RevokedAt.IsZero() {
				return trigger.APIKey{}, trigger.ErrNotFound
			}
			return k, err
		}
	}},
	{name: "updates keys without care", mutate: func(m *mutant) {
		m.updateKey = func(ctx context.Context, _ string, id uuid.UUID, f func(*trigger.APIKey) error) error {
			for _, org := range []string{"org-a", "org-b"} {
				page, _ := m.Trigger.ListKeys(ctx, org, trigger.KeyQuery{Limit: trigger.MaxPageSize})
				for _, k := range page.Items {
					if k.ID == id {
						refused := f(&k)
						conformance.Seam()
						_ = m.Trigger.UpdateKey(ctx, org, id, func(stored *trigger.APIKey) error { *stored = k; return nil })
						return refused
					}
				}
			}
			return trigger.ErrNotFound
		}
	}, breaks: []string{"keys/update-error-changes-nothing", "keys/update-unknown", "keys/update-concurrent"}},
	{name: "renames no key", breaks: []string{"keys/update-stores-what-it-leaves"}, mutate: func(m *mutant) {
		m.updateKey = func(ctx context.Context, org string, id uuid.UUID, f func(*trigger.APIKey) error) error {
			return m.Trigger.UpdateKey(ctx, org, id, func(k *trigger.APIKey) error {
				name := k.Name
				err := f(k)
				k.Name = name
				return err
			})
		}
	}},
	{name: "lists keys newest first, and the same slice twice", breaks: []string{"keys/list-oldest-first", "keys/list-copies"}, mutate: func(m *mutant) {
		var kept mortise.Page[trigger.APIKey]
		m.listKeys = func(ctx context.Context, org string, q trigger.KeyQuery) (mortise.Page[trigger.APIKey], error) {
			if kept.Items != nil {
				return kept, nil
			}
			page, err := m.Trigger.ListKeys(ctx, org, q)
			slices.Reverse(page.Items)
			kept = page
			return page, err
		}
	}},
}
