package triggertest_test

import (
	"context"
	"errors"
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

	{name: "shows overdue events at the time itself", breaks: "store/overdue-before-is-strict", mutate: arg(
		func(before *time.Time) { *before = before.Add(1) }, "Overdue")},
	{name: "shows the latest overdue event first", breaks: "store/overdue-earliest-first store/overdue-limit store/overdue-follows-update", mutate: around(
		func(_ *mutant, c *mutate.Call) {
			limit := int(c.In[2].Int())
			c.In[2].SetInt(1000)
			c.Go()
			all := mutate.Get[[]trigger.Event](c.Out)
			slices.Reverse(*all)
			*all = (*all)[:min(limit, len(*all))]
		}, "Overdue")},
	{name: "shows overdue events without a limit", breaks: "store/overdue-limit", mutate: arg(func(limit *int) { *limit = 1000 }, "Overdue")},
	{name: "shows overdue events of one organization", breaks: "store/overdue-earliest-first", mutate: overdueOnly(
		func(e *trigger.Event) bool { return e.Organization == "org-a" })},
	{name: "shows unfinished overdue events only", breaks: "store/overdue-whatever-status", mutate: overdueOnly(
		func(e *trigger.Event) bool { return !e.Status.Finished() })},
	{name: "shows events that never wake as overdue", breaks: "store/overdue-whatever-status store/overdue-follows-update", mutate: around(
		func(m *mutant, c *mutate.Call) {
			c.Go()
			all := mutate.Get[[]trigger.Event](c.Out)
			page, _ := m.Trigger.ListEvents(bg, "org-a", trigger.EventQuery{Limit: 100})
			for _, e := range page.Items {
				if e.WakeAt.IsZero() {
					*all = append(*all, e)
				}
			}
		}, "Overdue")},

	{name: "forgets the generation of progress", breaks: "store/progress", mutate: progressOf(func(p *trigger.Progress) { p.Generation = 0 })},
	{name: "says of all progress that an attempt runs", breaks: "store/progress", mutate: progressOf(func(p *trigger.Progress) { p.Status = trigger.StatusProcessing })},
	{name: "knows the progress of 100 events", breaks: "store/progress", mutate: arg(func(ids *[]uuid.UUID) { *ids = (*ids)[min(len(*ids), 100):] }, "Progress")},

	{name: "shows all that are due of all events", breaks: "store/all-events", mutate: arg(func(q *trigger.AllQuery) { q.DueBefore = time.Time{} }, "AllEvents")},
	{name: "asks failed ones of all events for their due time", breaks: "store/all-events", mutate: around(func(_ *mutant, c *mutate.Call) {
		if q := mutate.Get[trigger.AllQuery](c.In); q.Status == trigger.StatusFailed && !q.DueBefore.IsZero() {
			q.Status = trigger.StatusReceived
		}
		c.Go()
	}, "AllEvents")},
	{name: "looks at no bytes of all events", breaks: "store/all-events", mutate: arg(func(q *trigger.AllQuery) { q.Bytes = 0 }, "AllEvents")},
	{name: "leaves out keyed ones of all events", breaks: "store/all-events lists/failed-events lists/overdue-events", mutate: allOnly(
		func(e *trigger.Event) bool { return e.IdempotencyKey == "" })},
	{name: "shows one organization of all events", breaks: "store/all-events lists/failed-events lists/overdue-events", mutate: allOnly(
		func(e *trigger.Event) bool { return e.Organization == "org-a" })},

	{name: "stores many one after the other", breaks: "store/create-many-all-or-none", mutate: replace("CreateEvents", func(m *mutant, ctx context.Context, events []trigger.Event, jobs []mortise.Job) error {
		for i := range events {
			if err := m.Trigger.CreateEvents(ctx, events[i:i+1], jobs[min(i, len(jobs)):min(i+1, len(jobs))]); err != nil {
				return err
			}
		}
		return nil
	})},
	{name: "takes the key of an old event for many", breaks: "store/create-many-all-or-none", mutate: replace("CreateEvents", func(m *mutant, ctx context.Context, events []trigger.Event, jobs []mortise.Job) error {
		for _, e := range events {
			page, _ := m.Trigger.ListEvents(ctx, e.Organization, trigger.EventQuery{IdempotencyKey: e.IdempotencyKey, Limit: 1})
			if e.IdempotencyKey != "" && len(page.Items) > 0 && page.Items[0].SubmittedAt.Before(e.SubmittedAt) {
				_ = m.Trigger.UpdateEvent(ctx, e.Organization, page.Items[0].ID, func(e *trigger.Event) error {
					e.IdempotencyKey = ""
					return nil
				})
			}
		}
		return m.Trigger.CreateEvents(ctx, events, jobs)
	})},
	{name: "says that many exist", breaks: "store/create-many-all-or-none", mutate: errs(func(err error) error {
		if err != nil {
			return errors.Join(err, mortise.ErrExists)
		}
		return nil
	}, "CreateEvents")},
	{name: "forgets the last of many", breaks: "store/create-many", mutate: arg(func(events *[]trigger.Event) {
		*events = (*events)[:max(len(*events)-1, 0)]
	}, "CreateEvents")},
	{name: "adds no jobs of many", breaks: "txstore/create-many txstore/create-many-both-or-neither", mutate: arg(func(jobs *[]mortise.Job) { *jobs = nil }, "CreateEvents")},
	{name: "adds the jobs of many without their times", breaks: "txstore/create-many", mutate: arg(func(jobs *[]mortise.Job) {
		*jobs = slices.Clone(*jobs)
		for i := range *jobs {
			(*jobs)[i].At = time.Time{}
		}
	}, "CreateEvents")},
	{name: "adds the jobs of many in a second step", breaks: "txstore/create-many-both-or-neither", mutate: replace("CreateEvents", func(m *mutant, ctx context.Context, events []trigger.Event, jobs []mortise.Job) error {
		err := m.Trigger.CreateEvents(context.WithoutCancel(ctx), events, nil)
		conformance.Seam()
		if err == nil {
			err = m.addAll(ctx, jobs)
		}
		return err
	})},
	{name: "stores many in a deleted organization", breaks: "deletion/refuses-events", mutate: forgiving("CreateEvents")},

	{name: "prunes whatever the status", breaks: "pruner/removes-finished-events", mutate: around(func(m *mutant, c *mutate.Call) {
		c.Go()
		for _, status := range trigger.Statuses() {
			if status.Finished() {
				_, _, _ = m.Trigger.Prune(bg, status, *mutate.Get[time.Time](c.In), *mutate.Get[time.Time](c.In), 1)
			}
		}
	}, "Prune")},
	{name: "prunes everything", breaks: "pruner/removes-finished-events pruner/before-is-strict",
		mutate: replace("Prune", func(m *mutant, ctx context.Context, status trigger.Status, _, _ time.Time, limit int) (int, bool, error) {
			for _, org := range []string{"org-a", "org-b"} {
				page, _ := m.Trigger.ListEvents(ctx, org, trigger.EventQuery{Limit: 100})
				for _, e := range page.Items {
					_ = m.Trigger.UpdateEvent(ctx, org, e.ID, func(e *trigger.Event) error {
						e.Status, e.FinishedAt = status, time.Unix(0, 0)
						return nil
					})
				}
			}
			return m.Trigger.Prune(ctx, status, time.Unix(1, 0), time.Unix(1, 0), limit)
		})},
	{name: "prunes events whose end is not told", breaks: "pruner/untold-stay",
		mutate: replace("Prune", func(m *mutant, ctx context.Context, status trigger.Status, before, keyedBefore time.Time, limit int) (int, bool, error) {
			untold, _ := m.Trigger.Overdue(bg, time.Now(), 1000)
			for _, e := range untold {
				_ = m.Trigger.UpdateEvent(bg, e.Organization, e.ID, func(e *trigger.Event) error { e.WakeAt = time.Time{}; return nil })
			}
			return m.Trigger.Prune(ctx, status, before, keyedBefore, limit)
		})},
	{name: "prunes by one time", breaks: "pruner/keeps-keys", mutate: replace("Prune",
		func(m *mutant, ctx context.Context, status trigger.Status, before, _ time.Time, limit int) (int, bool, error) {
			return m.Trigger.Prune(ctx, status, before, before, limit)
		})},
	{name: "prunes by the time of keys", breaks: "pruner/keeps-keys", mutate: replace("Prune",
		func(m *mutant, ctx context.Context, status trigger.Status, _, keyedBefore time.Time, limit int) (int, bool, error) {
			return m.Trigger.Prune(ctx, status, keyedBefore, keyedBefore, limit)
		})},
	{name: "counts events that stay for their keys", breaks: "pruner/kept-are-passed", mutate: replace("Prune",
		func(m *mutant, ctx context.Context, status trigger.Status, before, keyedBefore time.Time, limit int) (int, bool, error) {
			page, _ := m.Trigger.ListEvents(ctx, "org-a", trigger.EventQuery{Limit: 100})
			for _, e := range page.Items {
				if e.IdempotencyKey != "" && e.FinishedAt.Before(before) && !e.FinishedAt.Before(keyedBefore) {
					limit--
				}
			}
			return m.Trigger.Prune(ctx, status, before, keyedBefore, max(limit, 0))
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

// overdueOnly makes a mutant whose Overdue shows some events only.
func overdueOnly(is func(*trigger.Event) bool) func(*mutant) {
	return out(func(all *[]trigger.Event) {
		*all = slices.DeleteFunc(*all, func(e trigger.Event) bool { return !is(&e) })
	}, "Overdue")
}

// allOnly is overdueOnly for AllEvents.
func allOnly(is func(*trigger.Event) bool) func(*mutant) {
	return out(func(page *mortise.Page[trigger.Event]) {
		page.Items = slices.DeleteFunc(page.Items, func(e trigger.Event) bool { return !is(&e) })
	}, "AllEvents")
}

// progressOf makes a mutant whose Progress is wrong.
func progressOf(change func(*trigger.Progress)) func(*mutant) {
	return out(func(found *map[uuid.UUID]trigger.Progress) {
		for id, p := range *found {
			change(&p)
			(*found)[id] = p
		}
	}, "Progress")
}
