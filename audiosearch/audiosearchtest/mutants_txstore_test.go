package audiosearchtest_test

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
)

// everyAdd replaces CreateRunAndAdd by a CreateRun and something after it.
func everyAdd(then func(ctx context.Context, j mortise.Job, created error) error) func(*mutant) {
	return replace("CreateRunAndAdd", func(m *mutant, ctx context.Context, r audiosearch.Run, most int, j mortise.Job) error {
		return then(ctx, j, m.db.CreateRun(context.WithoutCancel(ctx), r, most))
	})
}

// everyEnd replaces UpdateRunAndJobs by an UpdateRun and something after it. The jobs
// come also from an update that is refused.
func everyEnd(then func(m *mutant, ctx context.Context, jobs []mortise.Job, l mortise.Lease, updated error) error) func(*mutant) {
	return replace("UpdateRunAndJobs", func(m *mutant, ctx context.Context, org string, id int64, update func(*audiosearch.Run) ([]mortise.Job, error), l mortise.Lease) error {
		var jobs []mortise.Job
		updated := m.db.UpdateRun(context.WithoutCancel(ctx), org, id, func(r *audiosearch.Run) (err error) {
			jobs, err = update(r)
			return err
		})
		return then(m, ctx, jobs, l, updated)
	})
}

// addAll adds jobs.
func (m *mutant) addAll(ctx context.Context, jobs []mortise.Job) (err error) {
	for _, j := range jobs {
		err = errors.Join(err, m.jobs.Add(ctx, j))
	}
	return err
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

	{name: "removes no jobs", breaks: "txstore/update-and-jobs txstore/update-both-or-neither",
		mutate: everyEnd(func(m *mutant, ctx context.Context, jobs []mortise.Job, _ mortise.Lease, updated error) error {
			if updated == nil {
				_ = m.addAll(ctx, jobs)
			}
			return updated
		})},
	{name: "buries jobs", breaks: "txstore/update-and-jobs", mutate: everyEnd(func(m *mutant, ctx context.Context, jobs []mortise.Job, l mortise.Lease, updated error) error {
		if updated == nil {
			_ = errors.Join(m.jobs.Remove(ctx, l, true), m.addAll(ctx, jobs))
		}
		return updated
	})},
	{name: "removes jobs whatever update says", breaks: "txstore/update-refused", mutate: everyEnd(func(m *mutant, ctx context.Context, jobs []mortise.Job, l mortise.Lease, updated error) error {
		_ = m.jobs.Remove(ctx, l, false)
		if updated == nil {
			_ = m.addAll(ctx, jobs)
		}
		return updated
	})},
	{name: "adds jobs whatever update says", breaks: "txstore/update-refused", mutate: everyEnd(func(m *mutant, ctx context.Context, jobs []mortise.Job, l mortise.Lease, updated error) error {
		if updated == nil {
			_ = m.jobs.Remove(ctx, l, false)
		}
		_ = m.addAll(ctx, jobs)
		return updated
	})},
	{name: "adds no jobs of updates", breaks: "txstore/update-and-jobs-adds", mutate: everyEnd(func(m *mutant, ctx context.Context, _ []mortise.Job, l mortise.Lease, updated error) error {
		if updated == nil {
			_ = m.jobs.Remove(ctx, l, false)
		}
		return updated
	})},
	{name: "adds the jobs of updates at once", breaks: "txstore/update-and-jobs-adds", mutate: everyEnd(func(m *mutant, ctx context.Context, jobs []mortise.Job, l mortise.Lease, updated error) error {
		if updated == nil {
			for i := range jobs {
				jobs[i].At = time.Time{}
			}
			_ = errors.Join(m.jobs.Remove(ctx, l, false), m.addAll(ctx, jobs))
		}
		return updated
	})},
	{name: "minds a lost lease", breaks: "txstore/lease-lost", mutate: everyEnd(func(m *mutant, ctx context.Context, jobs []mortise.Job, l mortise.Lease, updated error) error {
		if updated != nil {
			return updated
		}
		return errors.Join(m.jobs.Remove(ctx, l, false), m.addAll(ctx, jobs))
	})},
	{name: "changes nothing without a lease", breaks: "txstore/lease-lost txstore/update-and-jobs-adds",
		mutate: replace("UpdateRunAndJobs", func(m *mutant, ctx context.Context, org string, id int64, update func(*audiosearch.Run) ([]mortise.Job, error), l mortise.Lease) error {
			if m.jobs.Extend(ctx, l, time.Hour) != nil {
				return nil
			}
			return m.db.UpdateRunAndJobs(ctx, org, id, update, l)
		})},
	{name: "removes by the nil token", breaks: "txstore/lease-lost", mutate: around(func(m *mutant, c *mutate.Call) {
		c.Go()
		if l := mutate.Get[mortise.Lease](c.In); l.Token == uuid.Nil {
			_ = m.jobs.Cancel(bg, l.Job)
		}
	}, "UpdateRunAndJobs")},
	{name: "changes and removes in two steps", breaks: "txstore/update-both-or-neither", mutate: everyEnd(func(m *mutant, ctx context.Context, jobs []mortise.Job, l mortise.Lease, updated error) error {
		conformance.Seam()
		if updated == nil {
			_ = errors.Join(m.addAll(bg, jobs), m.jobs.Remove(ctx, l, false))
		}
		return updated
	})},
	{name: "changes and adds in two steps", breaks: "txstore/update-both-or-neither", mutate: everyEnd(func(m *mutant, ctx context.Context, jobs []mortise.Job, l mortise.Lease, updated error) error {
		conformance.Seam()
		if updated == nil {
			_ = errors.Join(m.jobs.Remove(bg, l, false), m.addAll(ctx, jobs))
		}
		return updated
	})},

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
