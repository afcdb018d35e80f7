package queuetest_test

import (
	"context"
	"errors"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
)

// records is what a mutant remembers of the jobs, by their names.
type records[T any] struct {
	mu  sync.Mutex
	all map[string]T
}

func (r *records[T]) set(j mortise.Job, v T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all == nil {
		r.all = make(map[string]T)
	}
	r.all[j.String()] = v
}

func (r *records[T]) get(j mortise.Job) (v T, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, ok = r.all[j.String()]
	return v, ok
}

// addMutants are those of Add, and of what a job is.
var addMutants = []broken{
	{name: "forgets the organization of a job", breaks: "leases/returns-the-job queue/delivers",
		mutate: everyLease(func(l *mortise.Lease) { l.Job.Organization = "" })},
	{name: "forgets the trace of a job", breaks: "leases/returns-the-job queue/trace",
		mutate: everyJob(func(j *mortise.Job) { j.Trace = nil })},
	{name: "hands out the time of a job", breaks: "leases/returns-the-job queue/delivers",
		mutate: everyLease(func(l *mortise.Lease) { l.Job.At = time.Unix(1, 0) })},
	{name: "keeps the trace of its caller", breaks: "leases/own-copies", mutate: func(m *mutant) {
		var traces records[map[string]string]
		everyJob(func(j *mortise.Job) { traces.set(*j, j.Trace) })(m)
		everyLease(func(l *mortise.Lease) { l.Job.Trace, _ = traces.get(l.Job) })(m)
	}},
	{name: "hands out its own trace", breaks: "leases/own-copies", mutate: func(m *mutant) {
		var traces records[map[string]string]
		everyLease(func(l *mortise.Lease) {
			if own, ok := traces.get(l.Job); ok {
				l.Job.Trace = own
			}
			traces.set(l.Job, l.Job.Trace)
		})(m)
	}},
	{name: "takes the trace of a job that is added again", breaks: "leases/add-keeps-the-rest", mutate: func(m *mutant) {
		var traces records[map[string]string]
		everyJob(func(j *mortise.Job) { traces.set(*j, maps.Clone(j.Trace)) })(m)
		everyLease(func(l *mortise.Lease) {
			trace, _ := traces.get(l.Job)
			l.Job.Trace = maps.Clone(trace)
		})(m)
	}},
	{name: "reads the clock on the wall", breaks: "leases/add-time", mutate: everyJob(func(j *mortise.Job) {
		if !j.At.IsZero() {
			_, east := j.At.Zone()
			j.At = j.At.Add(time.Duration(east) * time.Second)
		}
	})},
	{name: "ignores the time of Add",
		breaks: "leases/add-time leases/claim-order leases/claim-order-of-a-batch queue/at queue/enqueue-keeps-at",
		mutate: everyJob(func(j *mortise.Job) { j.At = time.Unix(1, 0) })},
	{name: "takes a zero At for a time long ago", breaks: "leases/add-now", mutate: everyJob(func(j *mortise.Job) {
		if j.At.IsZero() {
			j.At = time.Unix(1, 0)
		}
	})},
	{name: "has another clock for Add", breaks: "leases/add-now", mutate: everyJob(func(j *mortise.Job) {
		if j.At.IsZero() {
			j.At = time.Now()
		}
	})},
	{name: "takes an At that has passed for now", breaks: "leases/claim-order", mutate: func(m *mutant) {
		everyJob(func(j *mortise.Job) {
			if j.At.Before(m.time()) {
				j.At = time.Time{}
			}
		})(m)
	}},
	{name: "adds a job anew", breaks: "leases/add-twice leases/add-while-leased leases/add-dead leases/add-concurrent",
		mutate: replace("Add", func(m *mutant, ctx context.Context, j mortise.Job) error {
			_ = m.inner.Add(ctx, j)
			j.ID = uuid.NewString()
			return m.inner.Add(ctx, j)
		})},
	{name: "moves a job that is added again", breaks: "leases/add-twice leases/add-keeps-the-rest queue/enqueue-keeps-at",
		mutate: replace("Add", func(m *mutant, ctx context.Context, j mortise.Job) error {
			_ = m.inner.Cancel(ctx, j)
			return m.inner.Add(ctx, j)
		})},
	{name: "adds jobs whose context has ended", breaks: "leases/ended-context queue/ended-context",
		mutate: replace("Add", func(m *mutant, ctx context.Context, j mortise.Job) error {
			return m.inner.Add(context.WithoutCancel(ctx), j)
		})},
}

// cancelMutants are those of Cancel.
var cancelMutants = []broken{
	{name: "cancels nothing", breaks: "leases/cancel leases/cancel-one leases/durable queue/cancel queue/cancel-one",
		mutate: replace("Cancel", func(*mutant, context.Context, mortise.Job) error { return nil })},
	{name: "cancels only what is due", breaks: "leases/cancel queue/cancel", mutate: func(m *mutant) {
		var times records[time.Time]
		everyJob(func(j *mortise.Job) { times.set(*j, j.At) })(m)
		m.On.Cancel = func(ctx context.Context, j mortise.Job) error {
			if at, _ := times.get(j); at.After(m.time()) {
				return nil
			}
			return m.inner.Cancel(ctx, j)
		}
	}},
	{name: "cancels for ever", breaks: "leases/cancel queue/cancel", mutate: func(m *mutant) {
		var over records[bool]
		m.On.Cancel = func(ctx context.Context, j mortise.Job) error {
			over.set(j, true)
			return m.inner.Cancel(ctx, j)
		}
		m.On.Add = func(ctx context.Context, j mortise.Job) error {
			if _, ok := over.get(j); ok {
				return nil
			}
			return m.inner.Add(ctx, j)
		}
	}},
	{name: "cancels held jobs", breaks: "leases/cancel-held queue/cancel-held", mutate: func(m *mutant) {
		var held records[mortise.Lease]
		everyLease(func(l *mortise.Lease) { held.set(l.Job, *l) })(m)
		m.On.Cancel = func(ctx context.Context, j mortise.Job) error {
			if l, ok := held.get(j); ok {
				_ = m.inner.Remove(ctx, l, false)
			}
			return m.inner.Cancel(ctx, j)
		}
	}},
	{name: "cancels jobs whose lease has ended", breaks: "leases/cancel-held", mutate: func(m *mutant) {
		var held records[mortise.Lease]
		var ends records[time.Time]
		everyLease(func(l *mortise.Lease) {
			held.set(l.Job, *l)
			ends.set(l.Job, m.time().Add(30*time.Minute))
		})(m)
		m.On.Cancel = func(ctx context.Context, j mortise.Job) error {
			if end, ok := ends.get(j); ok && end.Before(m.time()) {
				l, _ := held.get(j)
				_ = m.inner.Remove(ctx, l, false)
			}
			return m.inner.Cancel(ctx, j)
		}
	}},
	{name: "cancels dead letters", breaks: "leases/cancel-dead", mutate: func(m *mutant) {
		var dead records[bool]
		m.On.Remove = func(ctx context.Context, l mortise.Lease, isDead bool) error {
			dead.set(l.Job, isDead)
			return m.inner.Remove(ctx, l, false)
		}
		m.On.Add = func(ctx context.Context, j mortise.Job) error {
			if isDead, _ := dead.get(j); isDead {
				return nil
			}
			return m.inner.Add(ctx, j)
		}
		m.On.Cancel = func(ctx context.Context, j mortise.Job) error {
			dead.set(j, false)
			return m.inner.Cancel(ctx, j)
		}
	}},
	{name: "misses what it is to cancel", breaks: "leases/cancel-dead queue/cancel-held", mutate: func(m *mutant) {
		var known records[bool]
		everyJob(func(j *mortise.Job) { known.set(*j, true) })(m)
		m.On.Cancel = func(ctx context.Context, j mortise.Job) error {
			if _, ok := known.get(j); !ok {
				return errors.New("there is no such job")
			}
			return m.inner.Cancel(ctx, j)
		}
	}},
	{name: "cancels jobs although the context has ended", breaks: "leases/ended-context queue/ended-context",
		mutate: replace("Cancel", func(m *mutant, ctx context.Context, j mortise.Job) error {
			return m.inner.Cancel(context.WithoutCancel(ctx), j)
		})},
}

// alikes are what mutants take for all of a job's names: too little to tell two apart.
var alikes = map[string]func(j mortise.Job) string{
	"ignores the kind":         func(j mortise.Job) string { return j.Organization + "/" + j.ID },
	"ignores the organization": func(j mortise.Job) string { return j.Kind + "/" + j.ID },
	"ignores the ID": func(j mortise.Job) string {
		return j.Kind + "/" + j.Organization
	},
	"runs the names together": func(j mortise.Job) string {
		return j.Kind + j.Organization + j.ID
	},
	"joins the names": func(j mortise.Job) string {
		return j.Kind + "_" + j.Organization + "_" + j.ID
	},
	"folds the case": func(j mortise.Job) string { return strings.ToLower(j.String()) },
	"ignores spaces at the end": func(j mortise.Job) string {
		return j.Kind + strings.TrimSpace(j.Organization) + "/" + j.ID
	},
	"composes letters with accents": func(j mortise.Job) string {
		return j.Kind + strings.ReplaceAll(j.Organization, "e\u0301", "\u00e9") + "/" + j.ID
	},
	"cuts long kinds": func(j mortise.Job) string {
		return cut(j.Kind, 63) + j.Organization + "/" + j.ID
	},
	"cuts long organizations": func(j mortise.Job) string {
		return j.Kind + cut(j.Organization, 254) + "/" + j.ID
	},
	"cuts long IDs": func(j mortise.Job) string {
		return j.Kind + j.Organization + "/" + cut(j.ID, 254)
	},
	"joins kind and ID": func(j mortise.Job) string {
		return j.Organization + "/" + j.Kind + "-" + j.ID
	},
	"keeps a byte of a number": func(j mortise.Job) string {
		return strings.ReplaceAll(j.String(), "x-256", "x-0")
	},
}

func cut(s string, to int) string { return s[:min(to, len(s))] }

// alikeMutants take different jobs for one.
func alikeMutants() (all []broken) {
	for name, key := range alikes {
		add := broken{name: name + " in Add",
			breaks: "leases/distinct-jobs", mutate: func(m *mutant) {
				var mu sync.Mutex
				first := make(map[string]string)
				m.On.Add = func(ctx context.Context, j mortise.Job) error {
					mu.Lock()
					if first[key(j)] == "" {
						first[key(j)] = j.String()
					}
					other := first[key(j)] != j.String()
					mu.Unlock()
					if other {
						return nil
					}
					return m.inner.Add(ctx, j)
				}
			}}
		cancel := broken{name: name + " in Cancel",
			breaks: "leases/cancel-one", mutate: func(m *mutant) {
				var added []mortise.Job
				everyJob(func(j *mortise.Job) { added = append(added, *j) })(m)
				m.On.Cancel = func(ctx context.Context, j mortise.Job) error {
					for _, other := range added {
						if key(other) == key(j) {
							_ = m.inner.Cancel(ctx, other)
						}
					}
					return nil
				}
			}}
		if name == "ignores the kind" { // the queue makes its table's mistakes, but a test waits for each
			add.breaks += " queue/distinct-jobs"
			cancel.breaks += " queue/cancel-one"
		}
		all = append(all, add, cancel)
	}
	return all
}
