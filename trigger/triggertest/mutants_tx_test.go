package triggertest_test

import (
	"context"
	"errors"
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

	{name: "removes in a second step", breaks: "txstore/end-both-or-neither", mutate: apart(func(m *mutant, ctx context.Context, err error, jobs []mortise.Job, l mortise.Lease, dead bool) error {
		conformance.Seam() // until all calls that are cut off are
		if err == nil {
			err = m.addAll(bg, jobs)
		}
		return errors.Join(err, m.jobs.Remove(ctx, l, dead))
	})},
	{name: "adds in a second step", breaks: "txstore/end-both-or-neither", mutate: apart(func(m *mutant, ctx context.Context, err error, jobs []mortise.Job, l mortise.Lease, dead bool) error {
		conformance.Seam()
		if err == nil {
			_ = m.jobs.Remove(bg, l, dead)
			err = m.addAll(ctx, jobs)
		}
		return err
	})},
	{name: "updates and does not remove", breaks: "txstore/update-and-jobs txstore/update-and-jobs-dead", mutate: apart(func(m *mutant, ctx context.Context, err error, jobs []mortise.Job, _ mortise.Lease, _ bool) error {
		if err == nil {
			err = m.addAll(ctx, jobs)
		}
		return err
	})},
	{name: "adds no jobs with an update", breaks: "txstore/update-and-jobs-adds", mutate: apart(func(m *mutant, ctx context.Context, err error, _ []mortise.Job, l mortise.Lease, dead bool) error {
		if err == nil {
			_ = m.jobs.Remove(ctx, l, dead)
		}
		return err
	})},
	{name: "adds jobs without their times", breaks: "txstore/update-and-jobs-adds", mutate: apart(func(m *mutant, ctx context.Context, err error, jobs []mortise.Job, l mortise.Lease, dead bool) error {
		if err == nil {
			_ = m.jobs.Remove(ctx, l, dead)
			for i := range jobs {
				jobs[i].At = time.Time{}
			}
			err = m.addAll(ctx, jobs)
		}
		return err
	})},
	{name: "adds jobs although the update was refused", breaks: "txstore/refused-update-removes-nothing", mutate: apart(func(m *mutant, ctx context.Context, err error, jobs []mortise.Job, l mortise.Lease, dead bool) error {
		if err == nil {
			_ = m.jobs.Remove(ctx, l, dead)
		}
		return errors.Join(err, m.addAll(ctx, jobs))
	})},
	{name: "removes without a dead letter", breaks: "txstore/update-and-jobs-dead", mutate: arg(
		func(dead *bool) { *dead = false }, "UpdateEventAndJobs")},
	{name: "removes although the update was refused", breaks: "txstore/refused-update-removes-nothing", mutate: apart(func(m *mutant, ctx context.Context, err error, jobs []mortise.Job, l mortise.Lease, dead bool) error {
		_ = m.jobs.Remove(ctx, l, dead)
		if err == nil {
			err = m.addAll(ctx, jobs)
		}
		return err
	})},
	{name: "changes nothing for a lost lease", breaks: "txstore/lost-lease-updates", mutate: around(func(m *mutant, c *mutate.Call) {
		if *c.Err() = m.jobs.Extend(bg, *mutate.Get[mortise.Lease](c.In), time.Hour); *c.Err() == nil {
			c.Go()
		}
	}, "UpdateEventAndJobs")},
	{name: "removes by the nil token", breaks: "txstore/lost-lease-updates", mutate: around(func(m *mutant, c *mutate.Call) {
		c.Go()
		if l := mutate.Get[mortise.Lease](c.In); l.Token == uuid.Nil {
			_ = m.jobs.Cancel(bg, l.Job)
		}
	}, "UpdateEventAndJobs")},

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
func keepingDead(m *mutant, keep func(mortise.Job) bool) func(context.Context, trigger.Status, time.Time, time.Time, int) (int, bool, error) {
	return func(ctx context.Context, status trigger.Status, before, keyedBefore time.Time, limit int) (int, bool, error) {
		n, more, err := m.Trigger.Prune(ctx, status, before, keyedBefore, limit)
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

// apart makes a mutant whose UpdateEventAndJobs updates the event first, and then has do end
// the lease and add the jobs, which come also from an update that is refused.
func apart(do func(m *mutant, ctx context.Context, err error, jobs []mortise.Job, l mortise.Lease, dead bool) error) func(*mutant) {
	return replace("UpdateEventAndJobs", func(
		m *mutant, ctx context.Context, org string, id uuid.UUID, f func(*trigger.Event) ([]mortise.Job, error), l mortise.Lease, dead bool,
	) error {
		var jobs []mortise.Job
		err := m.Trigger.UpdateEvent(context.WithoutCancel(ctx), org, id, func(e *trigger.Event) (err error) {
			jobs, err = f(e)
			return err
		})
		return do(m, ctx, err, jobs, l, dead)
	})
}

// addAll adds jobs.
func (m *mutant) addAll(ctx context.Context, jobs []mortise.Job) (err error) {
	for _, j := range jobs {
		err = errors.Join(err, m.jobs.Add(ctx, j))
	}
	return err
}
