package queuetest_test

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance/listtest"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
)

// everyDead applies change to all dead jobs that are listed.
func everyDead(change func(*mortise.DeadJob)) func(*mutant) { return out(change, "ListDead") }

// revives replaces Revive.
func revives(f func(m *mutant, ctx context.Context, j mortise.Job) error) func(*mutant) {
	return replace("Revive", f)
}

// deadMutants are the mutants of dead jobs.
var deadMutants = []broken{
	{name: "lists the dead jobs of one organization", breaks: "dead/only-dead lists/dead-jobs", mutate: func(m *mutant) {
		m.On.ListDead = func(ctx context.Context, kind string, after mortise.Cursor, limit int) (mortise.Page[mortise.DeadJob], error) {
			page, err := m.inner.ListDead(ctx, kind, after, limit)
			var some []mortise.DeadJob
			for _, d := range page.Items {
				if d.Job.Organization == "org-a" {
					some = append(some, d)
				}
			}
			page.Items = some
			return page, err
		}
	}},
	{name: "lists dead jobs of another kind", breaks: "dead/only-dead", mutate: in(func(kind *string) { *kind = "docs" }, "ListDead", "CountDead")},
	{name: "lists jobs that are done", breaks: "dead/only-dead",
		mutate: replace("Remove", func(m *mutant, ctx context.Context, l mortise.Lease, _ bool) error {
			return m.inner.Remove(ctx, l, true)
		})},
	{name: "lists only the first job that died", breaks: "dead/only-dead dead/order lists/dead-jobs", mutate: func(m *mutant) {
		var died atomic.Bool
		m.On.Remove = func(ctx context.Context, l mortise.Lease, dead bool) error {
			return m.inner.Remove(ctx, l, dead && !died.Swap(true))
		}
	}},
	{name: "lists no trace", breaks: "dead/returns-the-job", mutate: everyDead(func(d *mortise.DeadJob) { d.Job.Trace = nil })},
	{name: "lists no organization", breaks: "dead/returns-the-job dead/only-dead", mutate: everyDead(func(d *mortise.DeadJob) { d.Job.Organization = "" })},
	{name: "lists the time of a job", breaks: "dead/returns-the-job", mutate: func(m *mutant) {
		everyDead(func(d *mortise.DeadJob) { d.Job.At = m.time() })(m)
	}},
	{name: "lists no deliveries", breaks: "dead/returns-the-job", mutate: everyDead(func(d *mortise.DeadJob) { d.Deliveries = 1 })},
	{name: "lists its own traces", breaks: "dead/returns-the-job", mutate: func(m *mutant) {
		var traces records[map[string]string]
		everyDead(func(d *mortise.DeadJob) {
			if own, ok := traces.get(d.Job); ok {
				d.Job.Trace = own
			}
			traces.set(d.Job, d.Job.Trace)
		})(m)
	}},
	{name: "counts one dead job too many", breaks: "dead/count lists/dead-jobs", mutate: in(func(most *int) { *most++ }, "CountDead")},
	{name: "says that more are dead", breaks: "dead/count", mutate: out(func(n *mortise.Count) { n.More = true }, "CountDead")},
	{name: "counts all jobs of the kind", breaks: "dead/only-dead", mutate: func(m *mutant) {
		var added atomic.Int64
		everyJob(func(*mortise.Job) { added.Add(1) })(m)
		m.On.CountDead = func(_ context.Context, _ string, most int) (mortise.Count, error) {
			return mortise.CountUpTo(int(added.Load()), most), nil
		}
	}},
	{name: "numbers jobs when they die", breaks: "dead/order", mutate: func(m *mutant) {
		var died records[int64]
		var n atomic.Int64
		m.On.Remove = func(ctx context.Context, l mortise.Lease, dead bool) error {
			died.set(l.Job, n.Add(1))
			return m.inner.Remove(ctx, l, dead)
		}
		everyDead(func(d *mortise.DeadJob) { d.Number, _ = died.get(d.Job) })(m)
		out(func(p *mortise.Page[mortise.DeadJob]) {
			slices.SortFunc(p.Items, func(a, b mortise.DeadJob) int { return cmp.Compare(a.Number, b.Number) })
		}, "ListDead")(m)
	}},
	{name: "numbers from -999 on", breaks: "dead/order", mutate: everyDead(func(d *mortise.DeadJob) { d.Number -= 1000 })},
	{name: "takes any limit", breaks: "dead/limit", mutate: in(func(limit *int) { *limit = min(max(*limit, 1), mortise.MaxPageSize) }, "ListDead")},
	{name: "revives nothing", breaks: "dead/revive dead/revive-and-cancel dead/order dead/durable dead/wakes lists/dead-jobs",
		mutate: revives(func(*mutant, context.Context, mortise.Job) error { return nil })},
	{name: "goes on with the deliveries of a job that was revived", breaks: "dead/revive", mutate: func(m *mutant) {
		var before records[int]
		m.On.Revive = func(ctx context.Context, j mortise.Job) error {
			before.set(j, 4)
			return m.inner.Revive(ctx, j)
		}
		everyLease(func(l *mortise.Lease) {
			n, _ := before.get(l.Job)
			l.Deliveries += n
		})(m)
	}},
	{name: "revives without the trace", breaks: "dead/revive dead/durable", mutate: func(m *mutant) {
		var revived records[bool]
		m.On.Revive = func(ctx context.Context, j mortise.Job) error {
			revived.set(j, true)
			return m.inner.Revive(ctx, j)
		}
		everyLease(func(l *mortise.Lease) {
			if is, _ := revived.get(l.Job); is {
				l.Job.Trace = nil
			}
		})(m)
	}},
	{name: "revives for later", breaks: "dead/revive", mutate: revives(func(m *mutant, ctx context.Context, j mortise.Job) error {
		return m.revivesAt(ctx, j, m.time().Add(time.Microsecond))
	})},
	{name: "revives for the time at which a job died", breaks: "dead/revive", mutate: func(m *mutant) {
		var died records[time.Time]
		m.On.Remove = func(ctx context.Context, l mortise.Lease, dead bool) error {
			died.set(l.Job, m.time())
			return m.inner.Remove(ctx, l, dead)
		}
		m.On.Revive = func(ctx context.Context, j mortise.Job) error {
			at, _ := died.get(j)
			return m.revivesAt(ctx, j, at)
		}
	}},
	{name: "keeps a job on the list that was revived", breaks: "dead/revive dead/order", mutate: func(m *mutant) {
		var mu sync.Mutex
		kept := make(map[string]mortise.DeadJob)
		m.On.Revive = func(ctx context.Context, j mortise.Job) error {
			page, err := m.inner.ListDead(ctx, j.Kind, "", mortise.MaxPageSize)
			mu.Lock()
			defer mu.Unlock()
			for _, d := range page.Items {
				if d.Job.String() == j.String() {
					kept[j.String()] = d
				}
			}
			return errors.Join(err, m.inner.Revive(ctx, j))
		}
		m.On.ListDead = func(ctx context.Context, kind string, after mortise.Cursor, limit int) (mortise.Page[mortise.DeadJob], error) {
			page, err := m.inner.ListDead(ctx, kind, after, limit)
			mu.Lock()
			defer mu.Unlock()
			for d := range maps.Values(kept) {
				page.Items = append(page.Items, d)
			}
			return page, err
		}
	}},
	{name: "revives a job with the lease that it died with", breaks: "dead/revive-and-cancel", mutate: func(m *mutant) {
		var revived records[bool]
		m.On.Revive = func(ctx context.Context, j mortise.Job) error {
			revived.set(j, true)
			return m.inner.Revive(ctx, j)
		}
		m.On.Cancel = func(ctx context.Context, j mortise.Job) error {
			if is, _ := revived.get(j); is {
				return nil
			}
			return m.inner.Cancel(ctx, j)
		}
	}},
	{name: "revives by taking a job out and adding it", breaks: "dead/revive-others", mutate: revives(func(m *mutant, ctx context.Context, j mortise.Job) error {
		return errors.Join(m.inner.Revive(ctx, j), m.inner.Cancel(ctx, j), m.inner.Add(ctx, j))
	})},
	{name: "misses what it is to revive", breaks: "dead/revive-others", mutate: revives(func(m *mutant, ctx context.Context, j mortise.Job) error {
		before, err := m.inner.CountDead(ctx, j.Kind, mortise.MaxCount)
		if err == nil {
			err = m.inner.Revive(ctx, j)
		}
		if after, _ := m.inner.CountDead(ctx, j.Kind, mortise.MaxCount); err == nil && after == before {
			err = errors.New("there is no such dead job")
		}
		return err
	})},
	{name: "revives all dead jobs of the ID", breaks: "dead/revive-others", mutate: revives(func(m *mutant, ctx context.Context, j mortise.Job) error {
		page, err := m.inner.ListDead(ctx, "docs", "", mortise.MaxPageSize)
		for _, d := range page.Items {
			if d.Job.ID == j.ID {
				err = errors.Join(err, m.inner.Revive(ctx, d.Job))
			}
		}
		return errors.Join(err, m.inner.Revive(ctx, j))
	})},
	{name: "tells of no job that was revived", breaks: "dead/wakes", mutate: func(m *mutant) {
		var quiet atomic.Bool
		m.On.NotifyJobs = func(wake func(string)) func() {
			return m.inner.NotifyJobs(func(kind string) {
				if !quiet.Load() {
					wake(kind)
				}
			})
		}
		m.On.Revive = func(ctx context.Context, j mortise.Job) error {
			quiet.Store(true)
			defer quiet.Store(false)
			return m.inner.Revive(ctx, j)
		}
	}},
	{name: "revives although the context has ended", breaks: "dead/ended-context",
		mutate: revives(func(m *mutant, ctx context.Context, j mortise.Job) error {
			return m.inner.Revive(context.WithoutCancel(ctx), j)
		})},
	{name: "lists although the context has ended", breaks: "dead/ended-context", mutate: withoutEnd("ListDead")},
	{name: "counts although the context has ended", breaks: "dead/ended-context", mutate: withoutEnd("CountDead")},
}

// revivesAt revives a job by another clock.
func (m *mutant) revivesAt(ctx context.Context, j mortise.Job, at time.Time) error {
	now := m.time()
	m.setNow(func() time.Time { return at })
	defer m.setNow(func() time.Time { return now })
	return m.inner.Revive(ctx, j)
}

// withoutEnd makes calls go on whose context has ended.
func withoutEnd(method string) func(*mutant) {
	return func(m *mutant) {
		mutate.Arg(&m.On, func(ctx *context.Context) { *ctx = context.WithoutCancel(*ctx) }, method)
	}
}

// deadListMutants are wrong about the list of dead jobs.
func deadListMutants() (all []broken) {
	for _, m := range listtest.Mutants(&new(mutant).On, map[string]string{"ListDead": "dead-jobs"}) {
		all = append(all, broken{name: m.Name, breaks: strings.Join(m.Breaks, " "), mutate: func(of *mutant) { m.Make(&of.On) }})
	}
	return all
}
