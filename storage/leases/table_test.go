package leases_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/leases"
	"github.com/seed-6363c74e/mortise/storage/memory"
)

var errTable = errors.New("the table fails")

// table is a table whose methods fail as they are told to, and that counts their calls.
type table struct {
	inner *memory.Jobs

	mu     sync.Mutex
	calls  []string
	claims []string         // the first kind of each claim
	fail   map[string]error // by method
	left   map[string]bool  // the jobs that are there and not dead, by ID
	dead   []string         // their IDs
	stolen map[string]bool  // the jobs whose present lease is taken for lost, by ID
}

// newTable returns a table with jobs of the kind "docs" and the organization "acme".
func newTable(t *testing.T, ids ...string) *table {
	t.Helper()
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	tb := &table{inner: db.Jobs(), fail: make(map[string]error)}
	tb.left, tb.stolen = make(map[string]bool), make(map[string]bool)
	for _, id := range ids {
		tb.put(t, docs(id))
	}
	return tb
}

func docs(id string) mortise.Job { return mortise.Job{Kind: "docs", Organization: "acme", ID: id} }

// put adds a job as another process would.
func (tb *table) put(t *testing.T, j mortise.Job) {
	t.Helper()
	require.NoError(t, tb.Add(t.Context(), j))
}

// set makes a method fail, or not.
func (tb *table) set(method string, err error) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	tb.fail[method] = err
}

// steal gives a job to somebody else.
func (tb *table) steal(id string) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	tb.stolen[id] = true
}

func (tb *table) count(method string) (n int) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	for _, call := range tb.calls {
		if call == method {
			n++
		}
	}
	return n
}

// claimsOf returns how often a consumer of the kind has claimed.
func (tb *table) claimsOf(kind string) (n int) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	for _, claimed := range tb.claims {
		if claimed == kind {
			n++
		}
	}
	return n
}

func (tb *table) jobs() int {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	return len(tb.left)
}

// call notes a call, and returns how it is to fail.
func (tb *table) call(ctx context.Context, method string) error {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	tb.calls = append(tb.calls, method)
	return errors.Join(ctx.Err(), tb.fail[method])
}

func (tb *table) Add(ctx context.Context, j mortise.Job) error {
	if err := tb.call(ctx, "Add"); err != nil {
		return err
	}
	tb.mu.Lock()
	defer tb.mu.Unlock()
	tb.left[j.ID] = true
	return tb.inner.Add(ctx, j)
}

func (tb *table) Cancel(ctx context.Context, j mortise.Job) error {
	if err := tb.call(ctx, "Cancel"); err != nil {
		return err
	}
	return tb.inner.Cancel(ctx, j)
}

func (tb *table) Claim(ctx context.Context, c mortise.Claim) ([]mortise.Lease, error) {
	if err := tb.call(ctx, "Claim"); err != nil {
		return nil, err
	}
	tb.mu.Lock()
	defer tb.mu.Unlock()
	tb.claims = append(tb.claims, c.Kinds[0])
	leases, err := tb.inner.Claim(ctx, c)
	for _, l := range leases {
		delete(tb.stolen, l.Job.ID)
	}
	return leases, err
}

// held is call for those who hold a job.
func (tb *table) held(ctx context.Context, method string, l mortise.Lease) error {
	err := tb.call(ctx, method)
	tb.mu.Lock()
	defer tb.mu.Unlock()
	if err == nil && tb.stolen[l.Job.ID] {
		return mortise.ErrLeaseLost
	}
	return err
}

func (tb *table) Extend(ctx context.Context, l mortise.Lease, ttl time.Duration) error {
	if err := tb.held(ctx, "Extend", l); err != nil {
		return err
	}
	return tb.inner.Extend(ctx, l, ttl)
}

func (tb *table) Release(ctx context.Context, l mortise.Lease, after time.Duration) error {
	if err := tb.held(ctx, "Release", l); err != nil {
		return err
	}
	return tb.inner.Release(ctx, l, after)
}

func (tb *table) Remove(ctx context.Context, l mortise.Lease, dead bool) error {
	if err := tb.held(ctx, "Remove", l); err != nil {
		return err
	}
	err := tb.inner.Remove(ctx, l, dead)
	tb.mu.Lock()
	defer tb.mu.Unlock()
	if err == nil {
		delete(tb.left, l.Job.ID)
		if dead {
			tb.dead = append(tb.dead, l.Job.ID)
		}
	}
	return err
}

// notifier is a table that is a JobNotifier.
type notifier struct {
	*table
	stops sync.Mutex
	open  int // subscriptions that were not stopped
}

func (n *notifier) NotifyJobs(wake func(kind string)) (stop func()) {
	count := func(by int) {
		n.stops.Lock()
		defer n.stops.Unlock()
		n.open += by
	}
	count(1)
	end := n.inner.NotifyJobs(wake)
	return func() {
		count(-1)
		end()
	}
}

// quiet returns options without a log.
func quiet() *leases.Options {
	return &leases.Options{Logger: slog.New(slog.DiscardHandler)}
}

// consumption is a running Consume.
type consumption struct {
	t      *testing.T
	cancel context.CancelFunc
	ended  chan error
}

// consume runs Consume for jobs of the kinds, "docs" if there are none.
func consume(t *testing.T, q mortise.Queue, workers int, handle mortise.Handler,
	kinds ...string) *consumption {
	t.Helper()
	if len(kinds) == 0 {
		kinds = []string{"docs"}
	}
	ctx, cancel := context.WithCancel(t.Context())
	c := &consumption{t, cancel, make(chan error, 1)}
	go func() {
		c.ended <- q.Consume(ctx, mortise.ConsumeOptions{Kinds: kinds, Workers: workers}, handle)
	}()
	return c
}

// stop ends it, and waits.
func (c *consumption) stop() {
	c.t.Helper()
	c.cancel()
	require.NoError(c.t, <-c.ended)
}

// pass lets time pass, and everything that is due then be done.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// list is a list of what happened, for several goroutines.
type list[T any] struct {
	mu  sync.Mutex
	all []T
}

func (l *list[T]) add(v T) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, v)
	return len(l.all)
}

func (l *list[T]) get() []T {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.all)
}

// most counts how many there are at a time.
type most struct {
	mu        sync.Mutex
	now, most int
}

func (m *most) enter() (leave func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now++
	m.most = max(m.most, m.now)
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.now--
	}
}

func (m *most) get() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.most
}

var (
	done = mortise.Verdict{Kind: mortise.VerdictDone}
	dead = mortise.Verdict{Kind: mortise.VerdictDead}
)

// always returns a handler with one verdict.
func always(v mortise.Verdict) mortise.Handler {
	return func(context.Context, mortise.Delivery) mortise.Verdict { return v }
}
