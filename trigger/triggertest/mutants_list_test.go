package triggertest_test

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
	"github.com/seed-6363c74e/mortise/trigger"
)

var listMutants = []broken{
	{name: "ignores the status", breaks: "store/list-by-status store/list-matches-query",
		mutate: arg(func(q *trigger.EventQuery) { q.Status = "" })},
	{name: "ignores the source", breaks: "store/list-by-source", mutate: arg(func(q *trigger.EventQuery) { q.Source = "" })},
	{name: "cuts long traces", breaks: "store/longest", mutate: out(func(e *trigger.Event) {
		e.Trace = maps.Clone(e.Trace)
		for key, value := range e.Trace {
			e.Trace[key] = value[:min(len(value), 300)]
		}
	})},
	{name: "ignores After with a key", breaks: "store/list-by-key", mutate: arg(func(q *trigger.EventQuery) {
		if q.IdempotencyKey != "" {
			q.After = ""
		}
	})},
	{name: "ignores From with a key", breaks: "store/list-by-key", mutate: arg(func(q *trigger.EventQuery) {
		if q.IdempotencyKey != "" {
			q.From = time.Time{}
		}
	})},
	{name: "takes From as exclusive", breaks: "store/list-from-to store/list-matches-query", mutate: arg(
		func(q *trigger.EventQuery) { q.From = q.From.Add(1) })},
	{name: "takes To as inclusive", breaks: "store/list-from-to store/list-matches-query", mutate: arg(func(q *trigger.EventQuery) {
		if !q.To.IsZero() {
			q.To = q.To.Add(1)
		}
	})},
	{name: "compares times by the clock on the wall", breaks: "store/list-times-are-instants", mutate: arg(func(q *trigger.EventQuery) {
		if !q.From.IsZero() {
			_, offset := q.From.Zone()
			q.From = q.From.Add(time.Duration(offset) * time.Second)
		}
	})},
	{name: "looks at no bytes", breaks: "store/list-bytes", mutate: arg(func(q *trigger.EventQuery) { q.Bytes = 0 })},

	{name: "shows unqueued events at the time itself", breaks: "store/unqueued-before-is-strict", mutate: arg(
		func(before *time.Time) { *before = before.Add(1) }, "Unqueued")},
	{name: "shows the shortest waiting first", breaks: "store/unqueued-longest-first store/unqueued-limit", mutate: around(
		func(_ *mutant, c *mutate.Call) {
			limit := int(c.In[2].Int())
			c.In[2].SetInt(1000)
			c.Go()
			all := mutate.Get[[]trigger.Event](c.Out)
			slices.Reverse(*all)
			*all = (*all)[:min(limit, len(*all))]
		}, "Unqueued")},
	{name: "shows every received event as unqueued", breaks: "store/unqueued-only-received store/unqueued-follows-update",
		mutate: replace("Unqueued", func(m *mutant, ctx context.Context, _ time.Time, _ int) ([]trigger.Event, error) {
			page, err := m.Trigger.ListEvents(ctx, "org-a", trigger.EventQuery{Status: trigger.StatusReceived, Limit: 100})
			return page.Items, err
		})},

	{name: "prunes everything", breaks: "pruner/removes-finished-events pruner/before-is-strict",
		mutate: replace("Prune", func(m *mutant, ctx context.Context, _, _ time.Time, limit int) (int, bool, error) {
			for _, org := range []string{"org-a", "org-b"} {
				page, _ := m.Trigger.ListEvents(ctx, org, trigger.EventQuery{Limit: 100})
				for _, e := range page.Items {
					_ = m.Trigger.UpdateEvent(ctx, org, e.ID, func(e *trigger.Event) error {
						e.Status, e.FinishedAt = trigger.StatusFailed, time.Unix(0, 0)
						return nil
					})
				}
			}
			return m.Trigger.Prune(ctx, time.Unix(1, 0), time.Unix(1, 0), limit)
		})},
	{name: "prunes by one time", breaks: "pruner/keeps-keys", mutate: replace("Prune",
		func(m *mutant, ctx context.Context, before, _ time.Time, limit int) (int, bool, error) {
			return m.Trigger.Prune(ctx, before, before, limit)
		})},
	{name: "prunes by the time of keys", breaks: "pruner/keeps-keys", mutate: replace("Prune",
		func(m *mutant, ctx context.Context, _, keyedBefore time.Time, limit int) (int, bool, error) {
			return m.Trigger.Prune(ctx, keyedBefore, keyedBefore, limit)
		})},
	{name: "counts events that stay for their keys", breaks: "pruner/kept-are-passed", mutate: replace("Prune",
		func(m *mutant, ctx context.Context, before, keyedBefore time.Time, limit int) (int, bool, error) {
			page, _ := m.Trigger.ListEvents(ctx, "org-a", trigger.EventQuery{Limit: 100})
			for _, e := range page.Items {
				if e.IdempotencyKey != "" && e.FinishedAt.Before(before) && !e.FinishedAt.Before(keyedBefore) {
					limit--
				}
			}
			return m.Trigger.Prune(ctx, before, keyedBefore, max(limit, 0))
		})},
	{name: "remembers the keys of pruned events", breaks: "pruner/frees-key", mutate: joinsKeys(func(_, key string) string { return key })},
}

// otherMutants are those of Organizations and Keys.
var otherMutants = []broken{
	{name: "knows every organization", breaks: "organizations/unknown organizations/not-made-by-events", mutate: forgiving("Setup")},
	{name: "gives update no ID", breaks: "organizations/update-new", mutate: updating(func(c *mutate.Call) {
		(*mutate.Get[*trigger.Organization](c.In)).ID = ""
		c.Go()
	}, "UpdateOrganization")},
	{name: "never removes a collection", breaks: "organizations/update-stores-what-it-leaves", mutate: updating(func(c *mutate.Call) {
		o := *mutate.Get[*trigger.Organization](c.In)
		before := o.Clone()
		c.Go()
		for _, had := range before.Collections {
			if !slices.ContainsFunc(o.Collections, func(kept trigger.Collection) bool { return kept.ID == had.ID }) {
				o.Collections = append(o.Collections, had)
			}
		}
	}, "UpdateOrganization")},
	{name: "returns collections in disorder", breaks: "organizations/collections-by-id", mutate: out(
		func(o *trigger.Organization) { slices.Reverse(o.Collections) }, "Setup")},
	{name: "writes organizations without care",
		breaks: "organizations/update-error-changes-nothing organizations/update-concurrent organizations/reads-are-whole",
		mutate: replace("UpdateOrganization", func(m *mutant, ctx context.Context, org string, f func(*trigger.Organization) error) error {
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
		})},

	{name: "takes a digest twice", breaks: "keys/create-twice keys/create-concurrent keys/by-digest-revoked", mutate: forgiving("CreateKey")},
	{name: "knows every digest", breaks: "keys/by-digest-unknown", mutate: forgiving("KeyByDigest")},
	{name: "hides revoked keys", breaks: "keys/by-digest-revoked keys/durable", mutate: around(func(_ *mutant, c *mutate.Call) {
		if c.Go(); !mutate.Get[trigger.APIKey](c.Out).RevokedAt.IsZero() {
			*c.Err() = mortise.ErrNotFound
		}
	}, "KeyByDigest")},
	{name: "updates keys without care", breaks: "keys/update-error-changes-nothing keys/update-unknown keys/update-concurrent",
		mutate: replace("UpdateKey", func(m *mutant, ctx context.Context, _ string, id uuid.UUID, f func(*trigger.APIKey) error) error {
			for _, org := range []string{"org-a", "org-b"} {
				page, _ := m.Trigger.ListKeys(ctx, org, "", mortise.MaxPageSize)
				for _, k := range page.Items {
					if k.ID == id {
						refused := f(&k)
						conformance.Seam()
						_ = m.Trigger.UpdateKey(ctx, org, id, func(stored *trigger.APIKey) error { *stored = k; return nil })
						return refused
					}
				}
			}
			return mortise.ErrNotFound
		})},
	{name: "renames no key", breaks: "keys/update-stores-what-it-leaves", mutate: updating(func(c *mutate.Call) {
		k := *mutate.Get[*trigger.APIKey](c.In)
		name := k.Name
		c.Go()
		k.Name = name
	}, "UpdateKey")},
	{name: "lists the same keys twice", breaks: "keys/list-oldest-first keys/list-copies", mutate: func(m *mutant) {
		var kept mortise.Page[trigger.APIKey]
		m.On.ListKeys = func(ctx context.Context, org string, after mortise.Cursor, limit int) (mortise.Page[trigger.APIKey], error) {
			if kept.Items != nil {
				return kept, nil
			}
			page, err := m.Trigger.ListKeys(ctx, org, after, limit)
			kept = page
			return page, err
		}
	}},
}
