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
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/storage/queuetest"
)

// mutant is a table, and a queue over it, whose methods can be replaced. A new one is
// faithful.
type mutant struct {
	add        func(ctx context.Context, j mortise.Job) error
	cancel     func(ctx context.Context, j mortise.Job) error
	claim      func(ctx context.Context, c mortise.Claim) ([]mortise.Lease, error)
	extend     func(ctx context.Context, l mortise.Lease, ttl time.Duration) error
	release    func(ctx context.Context, l mortise.Lease, after time.Duration) error
	remove     func(ctx context.Context, l mortise.Lease, dead bool) error
	notifyJobs func(wake func(kind string)) (stop func())
	shares     func(store any) bool
	lostJobs   func() time.Time

	enqueue    func(ctx context.Context, j mortise.Job) error
	consume    func(ctx context.Context, opts mortise.ConsumeOptions, handle mortise.Handler) error
	consumeOne func(ctx context.Context, kinds []string, handle mortise.Handler) (bool, error)

	inner *memory.Jobs        // the table without mistakes
	queue *mortise.LeaseQueue // over the mutant as a table, so it makes the mistakes of that too
	now   atomic.Pointer[func() time.Time]

	broken  atomic.Bool // makes every method of the table fail
	failure error       // as what
}

var errBroken = errors.New("disk on fire")

// newMutant returns a faithful mutant.
func newMutant(t *testing.T) *mutant {
	m := &mutant{failure: errBroken}
	m.setNow(nil)
	db, err := memory.Open(t.Context(), &memory.Options{Now: m.time})
	require.NoError(t, err)
	m.inner = db.Jobs()
	m.queue = mortise.NewLeaseQueue(m, &mortise.LeaseOptions{Poll: 10 * time.Millisecond})
	m.add, m.cancel, m.claim = m.inner.Add, m.inner.Cancel, m.inner.Claim
	m.extend, m.release, m.remove = m.inner.Extend, m.inner.Release, m.inner.Remove
	m.notifyJobs, m.shares = m.inner.NotifyJobs, m.inner.Shares
	m.lostJobs = func() time.Time { return time.Time{} }
	m.enqueue, m.consume, m.consumeOne = m.queue.Enqueue, m.queue.Consume, m.queue.ConsumeOne
	return m
}

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
	return queuetest.Backend{Leases: m, Queue: mutantQueue{m.queue, m}, SetNow: m.setNow}
}

func (m *mutant) fail() error {
	if m.broken.Load() {
		return m.failure
	}
	return nil
}

func (m *mutant) Add(ctx context.Context, j mortise.Job) error {
	if err := m.fail(); err != nil {
		return err
	}
	return m.add(ctx, j)
}

func (m *mutant) Cancel(ctx context.Context, j mortise.Job) error {
	if err := m.fail(); err != nil {
		return err
	}
	return m.cancel(ctx, j)
}

func (m *mutant) Claim(ctx context.Context, c mortise.Claim) ([]mortise.Lease, error) {
	if err := m.fail(); err != nil {
		return nil, err
	}
	return m.claim(ctx, c)
}

func (m *mutant) Extend(ctx context.Context, l mortise.Lease, ttl time.Duration) error {
	if err := m.fail(); err != nil {
		return err
	}
	return m.extend(ctx, l, ttl)
}

func (m *mutant) Release(ctx context.Context, l mortise.Lease, after time.Duration) error {
	if err := m.fail(); err != nil {
		return err
	}
	return m.release(ctx, l, after)
}

func (m *mutant) Remove(ctx context.Context, l mortise.Lease, dead bool) error {
	if err := m.fail(); err != nil {
		return err
	}
	return m.remove(ctx, l, dead)
}

func (m *mutant) NotifyJobs(wake func(kind string)) (stop func()) { return m.notifyJobs(wake) }

func (m *mutant) Shares(store any) bool { return m.shares(store) }

func (m *mutant) LostJobs(context.Context) (time.Time, error) { return m.lostJobs(), m.fail() }

// mutantQueue is the mutant's queue.
type mutantQueue struct {
	*mortise.LeaseQueue
	m *mutant
}

func (q mutantQueue) Enqueue(ctx context.Context, j mortise.Job) error {
	return q.m.enqueue(ctx, j)
}

func (q mutantQueue) Consume(ctx context.Context, opts mortise.ConsumeOptions,
	handle mortise.Handler) error {
	return q.m.consume(ctx, opts, handle)
}

func (q mutantQueue) ConsumeOne(ctx context.Context, kinds []string,
	handle mortise.Handler) (bool, error) {
	return q.m.consumeOne(ctx, kinds, handle)
}

// noCancel is a queue that cannot cancel jobs.
type noCancel struct{ *mortise.LeaseQueue }

func (noCancel) Cancel(context.Context, mortise.Job) error { return errors.ErrUnsupported }

// everyLease applies change to all leases that Claim returns.
func (m *mutant) everyLease(change func(*mortise.Lease)) {
	m.claim = func(ctx context.Context, c mortise.Claim) ([]mortise.Lease, error) {
		leases, err := m.inner.Claim(ctx, c)
		for i := range leases {
			change(&leases[i])
		}
		return leases, err
	}
}

// everyClaim applies change to all claims.
func (m *mutant) everyClaim(change func(*mortise.Claim)) {
	m.claim = func(ctx context.Context, c mortise.Claim) ([]mortise.Lease, error) {
		change(&c)
		return m.inner.Claim(ctx, c)
	}
}

// everyJob applies change to all jobs that are added.
func (m *mutant) everyJob(change func(*mortise.Job)) {
	m.add = func(ctx context.Context, j mortise.Job) error {
		change(&j)
		return m.inner.Add(ctx, j)
	}
}

// idleKind is the kind of jobs that a rule's consumer waits for when it is to be idle.
const idleKind = "docs"

// restAtNothing tells [conformance.Idle] of each claim by that consumer that finds nothing.
func (m *mutant) restAtNothing() {
	claim := m.claim
	m.claim = func(ctx context.Context, c mortise.Claim) ([]mortise.Lease, error) {
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
func (m *mutant) everyDelivery(between func(d *delivery) mortise.Verdict) {
	wrap := func(consuming context.Context, handle mortise.Handler) mortise.Handler {
		return func(ctx context.Context, d mortise.Delivery) mortise.Verdict {
			return between(&delivery{d, ctx, consuming, handle})
		}
	}
	m.consume = func(ctx context.Context, o mortise.ConsumeOptions, handle mortise.Handler) error {
		return m.queue.Consume(ctx, o, wrap(ctx, handle))
	}
	m.consumeOne = func(ctx context.Context, kinds []string, handle mortise.Handler) (bool, error) {
		return m.queue.ConsumeOne(ctx, kinds, wrap(ctx, handle))
	}
}

// ordered claims all jobs that it can, orders them, and gives back what is over the limit.
func (m *mutant) ordered(order func(all []mortise.Lease)) {
	m.claim = func(ctx context.Context, c mortise.Claim) ([]mortise.Lease, error) {
		limit := c.Limit
		c.Limit = 100
		all, err := m.inner.Claim(ctx, c)
		order(all)
		limit = min(limit, len(all))
		for _, l := range all[limit:] {
			err = errors.Join(err, m.inner.Release(ctx, l, 0))
		}
		return all[:limit], err
	}
}

// beginAnew makes the turns of some claims begin with the first organization by name.
func (m *mutant) beginAnew(which func(mortise.Claim) bool) {
	m.ordered(func(all []mortise.Lease) {
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
	})
	anew := m.claim
	m.claim = func(ctx context.Context, c mortise.Claim) ([]mortise.Lease, error) {
		if which(c) {
			return anew(ctx, c)
		}
		return m.inner.Claim(ctx, c)
	}
}
