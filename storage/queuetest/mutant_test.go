package queuetest_test

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
	"github.com/seed-6363c74e/mortise/storage/leases"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/storage/queuetest"
)

// mutant is a table, and a queue over it, whose methods can be replaced. A new one is
// faithful.
type mutant struct {
	On    methods
	inner *memory.Jobs  // the table without mistakes
	queue *leases.Queue // over the mutant as a table, so it makes the mistakes of that too
	now   atomic.Pointer[func() time.Time]

	broken  atomic.Bool // makes every method of the table fail
	failure error       // as what
}

// methods are those of the table, and of the queue.
type methods struct {
	Add        func(ctx context.Context, j mortise.Job) error
	Cancel     func(ctx context.Context, j mortise.Job) error
	Claim      func(ctx context.Context, c mortise.Claim) ([]mortise.Lease, error)
	Extend     func(ctx context.Context, l mortise.Lease, ttl time.Duration) error
	Release    func(ctx context.Context, l mortise.Lease, after time.Duration) error
	Remove     func(ctx context.Context, l mortise.Lease, dead bool) error
	NotifyJobs func(wake func(kind string)) (stop func())
	ListDead   func(ctx context.Context, kind string, after mortise.Cursor, limit int) (mortise.Page[mortise.DeadJob], error)
	CountDead  func(ctx context.Context, kind string, most int) (mortise.Count, error)
	Revive     func(ctx context.Context, j mortise.Job) error
	Shares     func(store any) bool
	LostJobs   func(ctx context.Context) (time.Time, error)

	Enqueue    func(ctx context.Context, j mortise.Job) error
	Consume    func(ctx context.Context, opts mortise.ConsumeOptions, handle mortise.Handler) error
	ConsumeOne func(ctx context.Context, kinds []string, handle mortise.Handler) (bool, error)
}

var errBroken = errors.New("disk on fire")

// newMutant returns a faithful mutant.
func newMutant(t *testing.T) *mutant {
	m := &mutant{failure: errBroken}
	m.setNow(nil)
	db, err := memory.Open(t.Context(), &memory.Options{Now: m.time})
	require.NoError(t, err)
	m.inner = db.Jobs()
	m.queue = leases.New(m, &leases.Options{Poll: 10 * time.Millisecond})
	mutate.Fill(&m.On, m.inner, append(tableMethods, "NotifyJobs", "Shares")...)
	mutate.Fill(&m.On, m.queue, "Enqueue", "Consume", "ConsumeOne")
	m.On.LostJobs = func(context.Context) (time.Time, error) { return time.Time{}, nil }
	return m
}

// tableMethods are those that fail when the table does.
var tableMethods = []string{"Add", "Cancel", "Claim", "Extend", "Release", "Remove", "ListDead", "CountDead", "Revive"}

// time returns the time by the clock of the table.
func (m *mutant) time() time.Time { return (*m.now.Load())() }

// setNow sets the clock of the table.
func (m *mutant) setNow(now func() time.Time) {
	if now == nil {
		now = time.Now
	}
	m.now.Store(&now)
}

// backend returns the mutant as what the suite takes.
func (m *mutant) backend() queuetest.Backend {
	mutate.Around(&m.On, func(c *mutate.Call) {
		if m.broken.Load() {
			*c.Err() = m.failure
			return
		}
		c.Go()
	}, append(tableMethods, "LostJobs")...)
	return queuetest.Backend{Leases: m, Queue: mutantQueue{m.queue, m}, SetNow: m.setNow}
}

func (m *mutant) Add(ctx context.Context, j mortise.Job) error    { return m.On.Add(ctx, j) }
func (m *mutant) Cancel(ctx context.Context, j mortise.Job) error { return m.On.Cancel(ctx, j) }
func (m *mutant) Claim(ctx context.Context, c mortise.Claim) ([]mortise.Lease, error) {
	return m.On.Claim(ctx, c)
}

func (m *mutant) Extend(ctx context.Context, l mortise.Lease, ttl time.Duration) error {
	return m.On.Extend(ctx, l, ttl)
}

func (m *mutant) Release(ctx context.Context, l mortise.Lease, after time.Duration) error {
	return m.On.Release(ctx, l, after)
}

func (m *mutant) Remove(ctx context.Context, l mortise.Lease, dead bool) error {
	return m.On.Remove(ctx, l, dead)
}

func (m *mutant) ListDead(ctx context.Context, kind string, after mortise.Cursor, limit int) (mortise.Page[mortise.DeadJob], error) {
	return m.On.ListDead(ctx, kind, after, limit)
}

func (m *mutant) CountDead(ctx context.Context, kind string, most int) (mortise.Count, error) {
	return m.On.CountDead(ctx, kind, most)
}

func (m *mutant) Revive(ctx context.Context, j mortise.Job) error { return m.On.Revive(ctx, j) }

func (m *mutant) NotifyJobs(wake func(kind string)) (stop func()) { return m.On.NotifyJobs(wake) }
func (m *mutant) Shares(store any) bool                           { return m.On.Shares(store) }
func (m *mutant) LostJobs(ctx context.Context) (time.Time, error) { return m.On.LostJobs(ctx) }

// mutantQueue is the mutant's queue.
type mutantQueue struct {
	*leases.Queue
	m *mutant
}

func (q mutantQueue) Enqueue(ctx context.Context, j mortise.Job) error { return q.m.On.Enqueue(ctx, j) }

func (q mutantQueue) Consume(ctx context.Context, opts mortise.ConsumeOptions, handle mortise.Handler) error {
	return q.m.On.Consume(ctx, opts, handle)
}

func (q mutantQueue) ConsumeOne(ctx context.Context, kinds []string, handle mortise.Handler) (bool, error) {
	return q.m.On.ConsumeOne(ctx, kinds, handle)
}

// noCancel is a queue that cannot cancel jobs.
type noCancel struct{ *leases.Queue }

func (noCancel) Cancel(context.Context, mortise.Job) error { return errors.ErrUnsupported }

// in, out and replace are those of package mutate, as a whole mutation.
func in[T any](change func(*T), methods ...string) func(*mutant) {
	return func(m *mutant) { mutate.In(&m.On, change, methods...) }
}

func out[T any](change func(*T), methods ...string) func(*mutant) {
	return func(m *mutant) { mutate.Out(&m.On, change, methods...) }
}

func replace(method string, f any) func(*mutant) {
	return func(m *mutant) { mutate.Replace(&m.On, method, m, f) }
}

// everyLease applies change to all leases that Claim returns, everyClaim to all claims,
// everyJob to all jobs that are added, and everyHolder to the leases of holders.
func everyLease(change func(*mortise.Lease)) func(*mutant) { return out(change, "Claim") }
func everyClaim(change func(*mortise.Claim)) func(*mutant) { return in(change, "Claim") }
func everyJob(change func(*mortise.Job)) func(*mutant)     { return in(change, "Add") }
func everyHolder(change func(*mortise.Lease)) func(*mutant) {
	return in(change, "Extend", "Release", "Remove")
}

// idleKind is the kind of jobs that a rule's consumer waits for when it is to be idle.
const idleKind = "docs"

// restAtNothing tells [conformance.Idle] of each claim by that consumer that finds nothing.
func restAtNothing(m *mutant) {
	claim := m.On.Claim
	m.On.Claim = func(ctx context.Context, c mortise.Claim) ([]mortise.Lease, error) {
		leases, err := claim(ctx, c)
		if err == nil && len(leases) == 0 && slices.Contains(c.Kinds, idleKind) {
			conformance.Rest()
		}
		return leases, err
	}
}

// delivery is a call of a handler, by a queue without mistakes.
type delivery struct {
	mortise.Delivery
	ctx       context.Context // of the call
	consuming context.Context // of Consume
	handle    mortise.Handler // of the rule
}

// everyDelivery stands between the queue and the handlers.
func everyDelivery(between func(d *delivery) mortise.Verdict) func(*mutant) {
	return func(m *mutant) {
		wrap := func(consuming context.Context, handle mortise.Handler) mortise.Handler {
			return func(ctx context.Context, d mortise.Delivery) mortise.Verdict {
				return between(&delivery{d, ctx, consuming, handle})
			}
		}
		m.On.Consume = func(ctx context.Context, o mortise.ConsumeOptions, handle mortise.Handler) error {
			return m.queue.Consume(ctx, o, wrap(ctx, handle))
		}
		m.On.ConsumeOne = func(ctx context.Context, kinds []string, handle mortise.Handler) (bool, error) {
			return m.queue.ConsumeOne(ctx, kinds, wrap(ctx, handle))
		}
	}
}

// ordered claims all jobs that it can, orders them, and gives back what is over the limit.
func ordered(order func(all []mortise.Lease)) func(*mutant) {
	return replace("Claim", func(m *mutant, ctx context.Context, c mortise.Claim) ([]mortise.Lease, error) {
		limit := c.Limit
		c.Limit = 100
		all, err := m.inner.Claim(ctx, c)
		order(all)
		limit = min(limit, len(all))
		for _, l := range all[limit:] {
			err = errors.Join(err, m.inner.Release(ctx, l, 0))
		}
		return all[:limit], err
	})
}

// beginAnew makes the turns of some claims begin with the first organization by name.
func beginAnew(which func(mortise.Claim) bool) func(*mutant) {
	return func(m *mutant) {
		ordered(func(all []mortise.Lease) {
			turns := make(map[string]int)
			turn := make(map[string]int) // of each job
			for _, l := range all {
				turn[l.Job.String()] = turns[l.Job.Organization]
				turns[l.Job.Organization]++
			}
			slices.SortFunc(all, func(a, b mortise.Lease) int {
				return cmp.Or(cmp.Compare(turn[a.Job.String()], turn[b.Job.String()]),
					strings.Compare(a.Job.Organization, b.Job.Organization))
			})
		})(m)
		anew := m.On.Claim
		m.On.Claim = func(ctx context.Context, c mortise.Claim) ([]mortise.Lease, error) {
			if which(c) {
				return anew(ctx, c)
			}
			return m.inner.Claim(ctx, c)
		}
	}
}
