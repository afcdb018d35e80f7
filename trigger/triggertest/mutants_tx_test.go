package triggertest_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
	"github.com/seed-6363c74e/mortise/trigger"
)

// afresh is a Reopen that loses everything.
func afresh(t *testing.T, _ trigger.Backend) trigger.Backend { return newMutant(t).backend() }

// txMutants are those of whole backends, and of a TxStore.
var txMutants = []broken{
	{name: "shares with everybody", breaks: "txstore/shares", mutate: func(m *mutant) {
		m.shares = func(any) bool { return true }
	}},
	{name: "shares with nobody", breaks: "txstore/shares", mutate: func(m *mutant) {
		m.shares = func(any) bool { return false }
	}},
	{name: "tells of no job of CreateEventAndAdd", breaks: "txstore/create-and-add-wakes", mutate: func(m *mutant) {
		var creating atomic.Bool
		m.notify = func(wake func(string)) func() {
			return m.jobs.NotifyJobs(func(kind string) {
				if !creating.Load() {
					wake(kind)
				}
			})
		}
		around(func(_ *mutant, c *mutate.Call) {
			creating.Store(true)
			defer creating.Store(false)
			c.Go()
		}, "CreateEventAndAdd")(m)
	}},
	{name: "adds a job at the event's submission", breaks: "txstore/create-and-add-later", mutate: around(func(_ *mutant, c *mutate.Call) {
		mutate.Get[mortise.Job](c.In).At = mutate.Get[trigger.Event](c.In).SubmittedAt
		c.Go()
	}, "CreateEventAndAdd")},
	{name: "adds a job in any case",
		breaks: "txstore/same-key-adds-nothing txstore/same-id-adds-nothing txstore/concurrent-one-key",
		mutate: replace("CreateEventAndAdd", func(m *mutant, ctx context.Context, e trigger.Event, since time.Time, j mortise.Job) (trigger.Event, bool, error) {
			stored, created, err := m.Trigger.CreateEvent(ctx, e, since)
			_ = m.jobs.Add(ctx, j)
			return stored, created, err
		})},
	{name: "creates without a job", breaks: "txstore/create-and-add txstore/key-before-window txstore/durable",
		mutate: replace("CreateEventAndAdd", func(m *mutant, ctx context.Context, e trigger.Event, since time.Time, _ mortise.Job) (trigger.Event, bool, error) {
			return m.Trigger.CreateEvent(ctx, e, since)
		})},
	{name: "adds a job twice with an event", breaks: "txstore/job-is-there",
		mutate: in(func(j *mortise.Job) { j.ID += "0" }, "CreateEventAndAdd")},
	{name: "ignores the context of CreateEventAndAdd", breaks: "store/ended-context", mutate: arg(
		func(ctx *context.Context) { *ctx = bg }, "CreateEventAndAdd")},
	{name: "stores and adds in two steps", breaks: "txstore/both-or-neither",
		mutate: replace("CreateEventAndAdd", func(m *mutant, ctx context.Context, e trigger.Event, since time.Time, j mortise.Job) (trigger.Event, bool, error) {
			stored, created, err := m.Trigger.CreateEvent(context.WithoutCancel(ctx), e, since)
			conformance.Seam() // until all calls that are cut off are
			if err == nil {
				err = m.jobs.Add(ctx, j)
			}
			return stored, created, err
		})},

	{name: "removes in a second step", breaks: "txstore/end-both-or-neither",
		mutate: replace("UpdateEventAndRemove", func(m *mutant, ctx context.Context, org string, id uuid.UUID, f func(*trigger.Event) error, l mortise.Lease, dead bool) error {
			if err := m.Trigger.UpdateEvent(context.WithoutCancel(ctx), org, id, f); err != nil {
				return err
			}
			conformance.Seam() // until all calls that are cut off are
			return m.jobs.Remove(ctx, l, dead)
		})},
	{name: "updates and does not remove", breaks: "txstore/update-and-remove txstore/update-and-remove-dead",
		mutate: replace("UpdateEventAndRemove", func(m *mutant, ctx context.Context, org string, id uuid.UUID, f func(*trigger.Event) error, _ mortise.Lease, _ bool) error {
			return m.Trigger.UpdateEvent(ctx, org, id, f)
		})},
	{name: "removes without a dead letter", breaks: "txstore/update-and-remove-dead", mutate: arg(
		func(dead *bool) { *dead = false }, "UpdateEventAndRemove")},
	{name: "removes although the update was refused", breaks: "txstore/refused-update-removes-nothing",
		mutate: replace("UpdateEventAndRemove", func(m *mutant, ctx context.Context, org string, id uuid.UUID, f func(*trigger.Event) error, l mortise.Lease, dead bool) error {
			err := m.Trigger.UpdateEvent(ctx, org, id, f)
			_ = m.jobs.Remove(ctx, l, dead)
			return err
		})},
	{name: "changes nothing for a lost lease", breaks: "txstore/lost-lease-updates", mutate: around(func(m *mutant, c *mutate.Call) {
		if *c.Err() = m.jobs.Extend(bg, *mutate.Get[mortise.Lease](c.In), time.Hour); *c.Err() == nil {
			c.Go()
		}
	}, "UpdateEventAndRemove")},
	{name: "removes by the nil token", breaks: "txstore/lost-lease-updates", mutate: around(func(m *mutant, c *mutate.Call) {
		c.Go()
		if l := mutate.Get[mortise.Lease](c.In); l.Token == uuid.Nil {
			_ = m.jobs.Cancel(bg, l.Job)
		}
	}, "UpdateEventAndRemove")},

	{name: "loses its data", breaks: "store/durable organizations/durable keys/durable txstore/durable counter/durable", reopen: afresh,
		mutate: func(*mutant) {}},
	{name: "ignores the context", breaks: "store/ended-context organizations/ended-context keys/ended-context", mutate: arg(
		func(ctx *context.Context) { *ctx = bg }, "CreateEvent", "Setup", "ListKeys")},
	{name: "says not found when it fails", breaks: "store/failure organizations/failure keys/failure",
		mutate: func(m *mutant) { m.failure = errors.Join(errBroken, mortise.ErrNotFound) }},
	{name: "keeps the dead jobs of what it prunes", breaks: "pruner/dead-jobs", mutate: func(m *mutant) {
		m.On.Prune = keepingDead(m, func(mortise.Job) bool { return true })
	}},
	{name: "knows generations of one digit", breaks: "pruner/dead-jobs", mutate: func(m *mutant) {
		m.On.Prune = keepingDead(m, func(j mortise.Job) bool { return len(j.ID)-strings.LastIndex(j.ID, "-") > 2 })
	}},
	{name: "prunes jobs that are held", breaks: "pruner/dead-jobs", mutate: around(func(m *mutant, c *mutate.Call) {
		for _, l := range m.leases {
			_ = m.jobs.Remove(bg, l, false)
		}
		c.Go()
	}, "Prune")},
	{name: "brings pruned events back", breaks: "pruner/durable", mutate: around(
		func(_ *mutant, c *mutate.Call) { *mutate.Get[int](c.Out) = 1 }, "Prune")},
}

// keepingDead returns a Prune after which some of the dead jobs are there still.
func keepingDead(m *mutant, keep func(mortise.Job) bool) func(context.Context, time.Time, time.Time, int) (int, bool, error) {
	return func(ctx context.Context, before, keyedBefore time.Time, limit int) (int, bool, error) {
		n, more, err := m.Trigger.Prune(ctx, before, keyedBefore, limit)
		for _, j := range m.added {
			if keep(j) {
				_ = m.jobs.Add(ctx, j)
			}
		}
		again, _ := m.jobs.Claim(ctx, mortise.Claim{Token: uuid.New(), Kinds: []string{trigger.JobKind}, Limit: 100, TTL: time.Hour})
		for _, l := range again {
			_ = m.jobs.Remove(ctx, l, true)
		}
		return n, more, err
	}
}

// changeStale returns a mutant whose Stale asks for all, and then selects by itself.
func changeStale(change func(events []trigger.Event, checked, due time.Time, limit int) []trigger.Event) func(*mutant) {
	return replace("Stale", func(m *mutant, ctx context.Context, checked, due time.Time, limit int) ([]trigger.Event, error) {
		all, err := m.Trigger.Stale(ctx, time.Now(), time.Time{}, 1000)
		return change(all, checked, due, limit), err
	})
}

// staleBy selects events as a faithful Stale does, by comparisons of its own.
func staleBy(checked, due func(event, bound time.Time) bool) func([]trigger.Event, time.Time, time.Time, int) []trigger.Event {
	return func(events []trigger.Event, c, d time.Time, limit int) []trigger.Event {
		events = slices.DeleteFunc(events, func(e trigger.Event) bool { return !checked(e.CheckedAt, c) || !due(e.DueAt, d) })
		return events[:min(limit, len(events))]
	}
}

func before(event, bound time.Time) bool       { return event.Before(bound) }
func orWhatever(event, bound time.Time) bool   { return bound.IsZero() || event.Before(bound) }
func notAfter(event, bound time.Time) bool     { return !event.After(bound) }
func whatever(time.Time, time.Time) bool       { return true }
func setAndBefore(event, bound time.Time) bool { return !event.IsZero() && event.Before(bound) }

var staleMutants = []broken{
	{name: "stale: includes the bound of CheckedAt", breaks: "store/stale-bounds", mutate: changeStale(staleBy(notAfter, orWhatever))},
	{name: "stale: includes the bound of DueAt", breaks: "store/stale-bounds", mutate: changeStale(staleBy(before, notAfter))},
	{name: "stale: ignores DueAt", breaks: "store/stale-bounds store/stale-whatever-due store/stale-follows-update",
		mutate: changeStale(staleBy(before, whatever))},
	{name: "stale: takes a zero due by its word", breaks: "store/stale-whatever-due", mutate: changeStale(staleBy(before, before))},
	{name: "stale: leaves out what was never checked", breaks: "store/stale-zero-is-before",
		mutate: changeStale(staleBy(setAndBefore, orWhatever))},
	{name: "stale: newest first", breaks: "store/stale-longest-first store/stale-limit store/stale-follows-update",
		mutate: changeStale(func(events []trigger.Event, c, d time.Time, limit int) []trigger.Event {
			slices.Reverse(events)
			return staleBy(before, orWhatever)(events, c, d, limit)
		})},
	{name: "stale: of one organization", breaks: "store/stale-longest-first",
		mutate: changeStale(func(events []trigger.Event, c, d time.Time, limit int) []trigger.Event {
			events = slices.DeleteFunc(events, func(e trigger.Event) bool { return e.Organization != "org-a" })
			return staleBy(before, orWhatever)(events, c, d, limit)
		})},
	{name: "stale: without a limit", breaks: "store/stale-limit",
		mutate: changeStale(func(events []trigger.Event, c, d time.Time, _ int) []trigger.Event {
			return staleBy(before, orWhatever)(events, c, d, len(events))
		})},
	{name: "stale: only received ones", breaks: "store/stale-only-unfinished",
		mutate: changeStale(func(events []trigger.Event, c, d time.Time, limit int) []trigger.Event {
			events = slices.DeleteFunc(events, func(e trigger.Event) bool { return e.Status != trigger.StatusReceived })
			return staleBy(before, orWhatever)(events, c, d, limit)
		})},
}
