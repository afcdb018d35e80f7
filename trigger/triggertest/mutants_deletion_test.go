package triggertest_test

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
	"github.com/seed-6363c74e/mortise/trigger"
)

// remembered is what an organization had when it was marked.
type remembered struct {
	events []trigger.Event
	keys   []trigger.APIKey
	counts trigger.Counts
	record trigger.Organization
}

func (r *remembered) event(id uuid.UUID) (e trigger.Event, err error) {
	for _, e := range r.events {
		if e.ID == id {
			return e, nil
		}
	}
	return e, mortise.ErrNotFound
}

// afterMark changes what a method does when an organization has been marked.
func afterMark(method string, change func(c *mutate.Call, r *remembered)) func(*mutant) {
	return func(m *mutant) {
		var marked *remembered
		around(func(m *mutant, c *mutate.Call) {
			var r remembered
			org := c.In[1].String()
			page, _ := m.Trigger.ListEvents(bg, org, trigger.EventQuery{Limit: 1000})
			keys, _ := m.Trigger.ListKeys(bg, org, "", 1000)
			r.events, r.keys = page.Items, keys.Items
			r.counts, _ = m.Trigger.Counts(bg, org, 100)
			r.record, _ = m.Trigger.Setup(bg, org)
			if c.Go(); len(r.events)+len(r.keys)+len(r.record.Collections) > 0 {
				marked = &r
			}
		}, "MarkDeleted")(m)
		around(func(_ *mutant, c *mutate.Call) {
			if c.Go(); marked != nil {
				change(c, marked)
			}
		}, method)(m)
	}
}

// instead sets what a method returns.
func instead[T any](c *mutate.Call, result T) { *mutate.Get[T](c.Out), *c.Err() = result, nil }

// matching returns the events that a query asks for, by their keys or otherwise.
func (r *remembered) matching(c *mutate.Call, keys bool) (page mortise.Page[trigger.Event]) {
	q := mutate.Get[trigger.EventQuery](c.In)
	for _, e := range r.events {
		if q.Matches(&e) && keys == (q.IdempotencyKey != "") {
			page.Items = append(page.Items, e)
		}
	}
	return page
}

// refused calls do with what methods refuse since the organization is deleted.
func refused(do func(m *mutant, c *mutate.Call), methods ...string) func(*mutant) {
	return around(func(m *mutant, c *mutate.Call) {
		if c.Go(); errors.Is(*c.Err(), mortise.ErrDeleted) {
			do(m, c)
		}
	}, methods...)
}

// lateCreate stores an event that came too late in an attic, where its ID is taken, and
// adds its job.
func (m *mutant) lateCreate(ctx context.Context, e trigger.Event, j *mortise.Job) (trigger.Event, bool, error) {
	e.Organization += " (late)"
	_, _, err := m.Trigger.CreateEvent(ctx, e, time.Time{})
	if err == nil && j != nil {
		err = m.jobs.Add(ctx, *j)
	}
	return e, true, err
}

// looking makes a method look for the mark before it stores, and mark only then.
func looking(method string) func(*mutant) {
	return both(
		arg(func(*context.Context) { conformance.Seam() }, "MarkDeleted"), // until all have looked
		around(func(m *mutant, c *mutate.Call) {
			e := mutate.Get[trigger.Event](c.In)
			_, _, unmarked := m.Trigger.RemoveDeleted(bg, e.Organization, 0)
			conformance.Seam() // all have looked
			conformance.Seam() // and the mark is made
			if c.Go(); errors.Is(*c.Err(), mortise.ErrDeleted) && unmarked != nil {
				stored, isNew, err := m.lateCreate(bg, *e, mutate.Get[mortise.Job](c.In))
				created(c, stored, isNew)
				*c.Err() = err
			}
		}, method),
	)
}

const hidesEvents, hidesKeys, hidesOrganization = "deletion/hides-events", "deletion/hides-keys", "deletion/hides-organization"

// deletionMutants are wrong about marks.
var deletionMutants = []broken{
	{name: "gets events of a deleted organization", breaks: hidesEvents, mutate: afterMark("Event", func(c *mutate.Call, r *remembered) {
		*mutate.Get[trigger.Event](c.Out), *c.Err() = r.event(*mutate.Get[uuid.UUID](c.In))
	})},
	{name: "updates events of a deleted organization", breaks: hidesEvents, mutate: afterMark("UpdateEvent", func(c *mutate.Call, _ *remembered) {
		c.Update()
		*c.Err() = nil
	})},
	{name: "ends events of a deleted organization", breaks: hidesEvents, mutate: afterMark(
		"UpdateEventAndJobs", func(c *mutate.Call, _ *remembered) { c.Update() })},
	{name: "lists events of a deleted organization", breaks: hidesEvents, mutate: afterMark(
		"ListEvents", func(c *mutate.Call, r *remembered) { instead(c, r.matching(c, false)) })},
	{name: "finds idempotency keys of a deleted organization", breaks: hidesEvents, mutate: afterMark(
		"ListEvents", func(c *mutate.Call, r *remembered) { instead(c, r.matching(c, true)) })},
	{name: "sweeps events of a deleted organization", breaks: hidesEvents, mutate: afterMark(
		"Overdue", func(c *mutate.Call, r *remembered) { instead(c, r.events[:1]) })},
	{name: "tells the progress of a deleted organization", breaks: hidesEvents, mutate: afterMark(
		"Progress", func(c *mutate.Call, r *remembered) {
			instead(c, map[uuid.UUID]trigger.Progress{r.events[0].ID: {Status: trigger.StatusReceived}})
		})},
	{name: "lists events of a deleted organization among all", breaks: hidesEvents, mutate: afterMark(
		"AllEvents", func(c *mutate.Call, r *remembered) { instead(c, mortise.Page[trigger.Event]{Items: r.events[:1]}) })},
	{name: "counts events of a deleted organization", breaks: hidesEvents, mutate: afterMark(
		"Counts", func(c *mutate.Call, r *remembered) { instead(c, r.counts) })},
	{name: "answers with an event of a deleted organization", breaks: "deletion/refuses-events", mutate: afterMark(
		"CreateEvent", func(c *mutate.Call, r *remembered) {
			if earlier, err := r.event(mutate.Get[trigger.Event](c.In).ID); err == nil {
				created(c, earlier, false)
			}
		})},
	{name: "stores events in a deleted organization", breaks: "deletion/refuses-events deletion/mark-stays deletion/durable", mutate: refused(
		func(m *mutant, c *mutate.Call) {
			if stored, isNew, err := m.lateCreate(bg, *mutate.Get[trigger.Event](c.In), nil); err == nil {
				created(c, stored, isNew)
			}
		}, "CreateEvent")},
	{name: "stores what it refuses", breaks: "deletion/refuses-events", mutate: refused(func(m *mutant, c *mutate.Call) {
		_, _, _ = m.lateCreate(bg, *mutate.Get[trigger.Event](c.In), nil)
	}, "CreateEventAndAdd")},
	{name: "adds jobs in a deleted organization", breaks: "deletion/adds-no-job", mutate: refused(func(m *mutant, c *mutate.Call) {
		_ = m.jobs.Add(bg, *mutate.Get[mortise.Job](c.In))
	}, "CreateEventAndAdd")},
	{name: "verifies keys of a deleted organization", breaks: hidesKeys, mutate: afterMark(
		"KeyByDigest", func(c *mutate.Call, r *remembered) { instead(c, r.keys[0]) })},
	{name: "updates keys of a deleted organization", breaks: hidesKeys, mutate: afterMark("UpdateKey", func(c *mutate.Call, _ *remembered) {
		c.Update()
		*c.Err() = nil
	})},
	{name: "lists keys of a deleted organization", breaks: hidesKeys, mutate: afterMark("ListKeys", func(c *mutate.Call, r *remembered) {
		if *mutate.Get[mortise.Cursor](c.In) != "" {
			instead(c, mortise.Page[trigger.APIKey]{Items: r.keys})
		}
	})},
	{name: "says that a key of a deleted organization exists", breaks: "deletion/refuses-keys", mutate: afterMark(
		"CreateKey", func(c *mutate.Call, r *remembered) {
			if mutate.Get[trigger.APIKey](c.In).ID == r.keys[0].ID {
				*c.Err() = mortise.ErrExists
			}
		})},
	{name: "stores keys that it refuses", breaks: "deletion/refuses-keys", mutate: refused(func(m *mutant, c *mutate.Call) {
		k := *mutate.Get[trigger.APIKey](c.In)
		k.Organization += " (late)"
		_ = m.Trigger.CreateKey(bg, k)
	}, "CreateKey")},
	{name: "reads a deleted organization", breaks: hidesOrganization, mutate: afterMark(
		"Setup", func(c *mutate.Call, r *remembered) { instead(c, r.record) })},
	{name: "updates a deleted organization", breaks: hidesOrganization, mutate: afterMark(
		"UpdateOrganization", func(c *mutate.Call, _ *remembered) { c.Update() })},
	{name: "makes a deleted organization anew", breaks: hidesOrganization, mutate: refused(
		func(_ *mutant, c *mutate.Call) { *c.Err() = nil }, "UpdateOrganization")},
	{name: "marks again", breaks: "deletion/first-time-stays deletion/durable", mutate: around(func(_ *mutant, c *mutate.Call) {
		c.Go()
		*mutate.Get[time.Time](c.Out) = *mutate.Get[time.Time](c.In)
	}, "MarkDeleted")},
	{name: "marks by the second", breaks: "deletion/first-time-stays",
		mutate: arg(func(at *time.Time) { *at = at.Truncate(time.Second) }, "MarkDeleted")},
	{name: "marks only what it knows", breaks: "deletion/first-time-stays deletion/adds-no-job",
		mutate: around(func(m *mutant, c *mutate.Call) {
			if page, _ := m.Trigger.ListEvents(bg, c.In[1].String(), trigger.EventQuery{Limit: 1}); len(page.Items) > 0 {
				c.Go()
			}
		}, "MarkDeleted")},
	{name: "marks when it removes", breaks: "deletion/not-marked", mutate: around(func(m *mutant, c *mutate.Call) {
		if *mutate.Get[int](c.In) > 0 {
			_, _ = m.Trigger.MarkDeleted(bg, c.In[1].String(), time.Unix(0, 0).UTC())
		}
		c.Go()
	}, "RemoveDeleted")},
	{name: "refuses a limit of 0", breaks: "deletion/not-marked steps/remove-deleted-events", mutate: around(func(_ *mutant, c *mutate.Call) {
		if c.Go(); *mutate.Get[int](c.In) == 0 {
			*c.Err() = mortise.ErrNotFound
		}
	}, "RemoveDeleted")},
	{name: "marks whoever has left", breaks: "deletion/ended-context", mutate: arg(func(ctx *context.Context) { *ctx = bg }, "MarkDeleted")},
	{name: "steps for whoever has left", breaks: "deletion/ended-context",
		mutate: arg(func(ctx *context.Context) { *ctx = bg }, "RemoveDeleted")},
}

// deletionStepMutants are wrong about what is removed.
var deletionStepMutants = []broken{
	{name: "removes everything at once", breaks: "deletion/removes-keys deletion/removes-jobs", mutate: arg(
		func(limit *int) { *limit *= 1000 }, "RemoveDeleted")},
	{name: "ends too early",
		breaks: "deletion/removes-events deletion/removes-keys deletion/removes-jobs",
		mutate: out(func(more *bool) { *more = false }, "RemoveDeleted")},
	{name: "leaves the jobs of deleted events", breaks: "deletion/removes-jobs",
		mutate: replace("RemoveDeleted", func(m *mutant, ctx context.Context, org string, limit int) (int, bool, error) {
			n, more, err := m.Trigger.RemoveDeleted(ctx, org, limit)
			if err == nil && !more {
				for _, l := range m.leases { // of those that were claimed, the first of them held
					_ = m.jobs.Add(ctx, l.Job)
				}
			}
			return n, more, err
		})},
	{name: "deletes by the beginning of a name", breaks: "deletion/others-alone",
		mutate: replace("Event", func(m *mutant, ctx context.Context, org string, id uuid.UUID) (trigger.Event, error) {
			for n := range org {
				if _, _, err := m.Trigger.RemoveDeleted(ctx, org[:n], 0); n > 0 && err == nil {
					return trigger.Event{}, mortise.ErrNotFound
				}
			}
			return m.Trigger.Event(ctx, org, id)
		})},
	{name: "deletes whatever the case", breaks: "deletion/others-alone", mutate: around(func(m *mutant, c *mutate.Call) {
		_, _ = m.Trigger.MarkDeleted(bg, strings.ToUpper(c.In[1].String()), *mutate.Get[time.Time](c.In))
		c.Go()
	}, "MarkDeleted")},
	{name: "removes jobs of other organizations with the same ID", breaks: "deletion/others-alone",
		mutate: replace("RemoveDeleted", func(m *mutant, ctx context.Context, org string, limit int) (int, bool, error) {
			m.mu.Lock()
			for _, j := range m.added {
				if j.Organization != org {
					_ = m.jobs.Cancel(ctx, j)
				}
			}
			m.mu.Unlock()
			return m.Trigger.RemoveDeleted(ctx, org, limit)
		})},
	{name: "forgets the mark at the end", breaks: "deletion/mark-stays deletion/first-time-stays deletion/durable", mutate: func(m *mutant) {
		gone := make(map[string]bool)
		m.On.RemoveDeleted = func(ctx context.Context, org string, limit int) (int, bool, error) {
			n, more, err := m.Trigger.RemoveDeleted(ctx, org, limit)
			if gone[org] {
				return 0, false, mortise.ErrNotFound
			}
			gone[org] = err == nil && !more && limit > 0
			return n, more, err
		}
		m.On.MarkDeleted = func(ctx context.Context, org string, at time.Time) (time.Time, error) {
			since, err := m.Trigger.MarkDeleted(ctx, org, at)
			if gone[org] {
				return at, err
			}
			return since, err
		}
		m.On.CreateEvent = func(ctx context.Context, e trigger.Event, since time.Time) (trigger.Event, bool, error) {
			if gone[e.Organization] {
				return m.lateCreate(ctx, e, nil)
			}
			return m.Trigger.CreateEvent(ctx, e, since)
		}
	}},
	{name: "fails beside another step", breaks: "steps/remove-deleted-events-at-once", mutate: func(m *mutant) {
		busy := make(chan struct{}, 1)
		m.On.RemoveDeleted = func(ctx context.Context, org string, limit int) (int, bool, error) {
			select {
			case busy <- struct{}{}:
				defer func() { <-busy }()
			default:
				return 0, false, errors.New("somebody else is at it")
			}
			conformance.Seam()
			return m.Trigger.RemoveDeleted(ctx, org, limit)
		}
	}},
	{name: "looks for the mark before it stores", breaks: "deletion/create-race", mutate: looking("CreateEvent")},
	{name: "looks for the mark before it stores event and job", breaks: "deletion/create-race", mutate: looking("CreateEventAndAdd")},
}
