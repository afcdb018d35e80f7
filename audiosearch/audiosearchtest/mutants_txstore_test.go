package audiosearchtest_test

import (
	"context"
	"errors"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// everyAdd replaces CreateRunAndAdd by a CreateRun and something after it.
func everyAdd(then func(ctx context.Context, j mortise.Job, created error) error) func(*mutant) {
	return replace("CreateRunAndAdd", func(m *mutant, ctx context.Context, r audiosearch.Run, most int, j mortise.Job) error {
		return then(ctx, j, m.db.CreateRun(context.WithoutCancel(ctx), r, most))
	})
}

// everyEnd replaces UpdateRunAndRemove by an UpdateRun and something after it.
func everyEnd(then func(ctx context.Context, l mortise.Lease, updated error) error) func(*mutant) {
	return replace("UpdateRunAndRemove", func(m *mutant, ctx context.Context, org string, id int64, update func(*audiosearch.Run) error, l mortise.Lease) error {
		return then(ctx, l, m.db.UpdateRun(context.WithoutCancel(ctx), org, id, update))
	})
}

// addIf adds the job of a run that was not created because of an error.
func addIf(reason error) func(*mutant) {
	return func(m *mutant) {
		everyAdd(func(ctx context.Context, j mortise.Job, created error) error {
			if created == nil || errors.Is(created, reason) {
				return errors.Join(created, m.jobs.Add(ctx, j))
			}
			return created
		})(m)
	}
}

var txMutants = []broken{
	{name: "adds no jobs", breaks: "txstore/create-and-add txstore/notifies txstore/durable",
		mutate: everyAdd(func(_ context.Context, _ mortise.Job, created error) error { return created })},
	{name: "adds jobs that are due at once", breaks: "txstore/create-and-add",
		mutate: replace("CreateRunAndAdd", func(m *mutant, ctx context.Context, r audiosearch.Run, most int, j mortise.Job) error {
			j.At = time.Time{}
			return m.db.CreateRunAndAdd(ctx, r, most, j)
		})},
	{name: "adds the job of a run that is there", breaks: "txstore/exists-adds-nothing", mutate: addIf(mortise.ErrExists)},
	{name: "adds the job of a run too many", breaks: "txstore/too-many-adds-nothing", mutate: addIf(audiosearch.ErrTooManyRuns)},
	{name: "adds jobs that are there", breaks: "txstore/job-is-there", mutate: func(m *mutant) {
		everyAdd(func(ctx context.Context, j mortise.Job, created error) error {
			if created != nil {
				return created
			}
			return errors.Join(m.jobs.Cancel(ctx, j), m.jobs.Add(ctx, j))
		})(m)
	}},
	{name: "minds jobs that are there", breaks: "txstore/job-is-there", mutate: func(m *mutant) {
		added := make(map[string]bool)
		m.On.CreateRunAndAdd = func(ctx context.Context, r audiosearch.Run, most int, j mortise.Job) error {
			leases, err := m.jobs.Claim(ctx, mortise.Claim{Token: [16]byte{1}, Kinds: []string{j.Kind},
				Limit: 1, TTL: time.Nanosecond})
			if err != nil || len(leases) > 0 && !added[j.ID] {
				return errors.Join(err, errBroken)
			}
			added[j.ID] = true
			return m.db.CreateRunAndAdd(ctx, r, most, j)
		}
	}},
	{name: "tells nobody", breaks: "txstore/notifies", mutate: func(m *mutant) {
		m.notifyJobs = func(func(string)) func() { return func() {} }
	}},
	{name: "stores and adds in two steps", breaks: "txstore/create-both-or-neither", mutate: func(m *mutant) {
		everyAdd(func(ctx context.Context, j mortise.Job, created error) error {
			conformance.Seam() // until all calls that are cut off are
			if created != nil {
				return created
			}
			return m.jobs.Add(ctx, j)
		})(m)
	}},

	{name: "removes no jobs", breaks: "txstore/update-and-remove txstore/update-both-or-neither",
		mutate: everyEnd(func(_ context.Context, _ mortise.Lease, updated error) error { return updated })},
	{name: "buries jobs", breaks: "txstore/update-and-remove", mutate: func(m *mutant) {
		everyEnd(func(ctx context.Context, l mortise.Lease, updated error) error {
			if updated == nil {
				_ = m.jobs.Remove(ctx, l, true)
			}
			return updated
		})(m)
	}},
	{name: "removes jobs whatever update says", breaks: "txstore/update-refused", mutate: func(m *mutant) {
		everyEnd(func(ctx context.Context, l mortise.Lease, updated error) error {
			_ = m.jobs.Remove(ctx, l, false)
			return updated
		})(m)
	}},
	{name: "minds a lost lease", breaks: "txstore/lease-lost", mutate: func(m *mutant) {
		everyEnd(func(ctx context.Context, l mortise.Lease, updated error) error {
			if updated != nil {
				return updated
			}
			return m.jobs.Remove(ctx, l, false)
		})(m)
	}},
	{name: "changes nothing without a lease", breaks: "txstore/lease-lost",
		mutate: replace("UpdateRunAndRemove", func(m *mutant, ctx context.Context, org string, id int64, update func(*audiosearch.Run) error, l mortise.Lease) error {
			if m.jobs.Extend(ctx, l, time.Hour) != nil {
				return nil
			}
			return m.db.UpdateRunAndRemove(ctx, org, id, update, l)
		})},
	{name: "changes and removes in two steps", breaks: "txstore/update-both-or-neither", mutate: func(m *mutant) {
		everyEnd(func(ctx context.Context, l mortise.Lease, updated error) error {
			conformance.Seam()
			if updated == nil {
				_ = m.jobs.Remove(ctx, l, false)
			}
			return updated
		})(m)
	}},

	{name: "shares everything", breaks: "txstore/leases-share txstore/queue-shares", mutate: func(m *mutant) {
		m.shares = func(any) bool { return true }
	}},
	{name: "shares all runs of its kind", breaks: "txstore/leases-share txstore/queue-shares", mutate: func(m *mutant) {
		m.shares = func(store any) bool { _, ok := store.(*mutant); return ok }
	}},
	{name: "shares nothing", breaks: "txstore/leases-share txstore/queue-shares", mutate: func(m *mutant) {
		m.shares = func(any) bool { return false }
	}},
}
