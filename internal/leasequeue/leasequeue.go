// Package leasequeue runs consumers over a table of leased jobs. The domain packages wrap it, each with its own job type, so that
// a backend that is a table (memory, SQLite, a stranger's MySQL) becomes an at-least-once queue.
//
// A consumer claims due jobs for TTL, extends the lease while the handler runs, and ends the claim by the handler's verdict. A
// consumer that dies stops extending, and another one claims the job when the lease has ended.
package leasequeue

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
)

// Table is the part of a domain's Leases interface that the engine needs. L is a lease.
type Table[L any] interface {
	Claim(ctx context.Context, token uuid.UUID, now, until time.Time, limit int, except ...string) ([]L, error)
	Extend(ctx context.Context, lease L, until time.Time) error
	Release(ctx context.Context, lease L, at time.Time) error
	Remove(ctx context.Context, lease L, dead bool) error
}

// Options are the settings of New; zero fields mean the defaults.
type Options struct {
	TTL       time.Duration    // 15 s
	Heartbeat time.Duration    // TTL / 3
	Poll      time.Duration    // 500 ms
	Now       func() time.Time // time.Now
	Logger    *slog.Logger     // slog.Default()
	Lost      error            // the domain's sentinel for a lease that is no longer held

	// Subscribe makes the table call wake when a job was added, until stop is called. Nil if the table cannot.
	Subscribe func(wake func()) (stop func())
}

// Verdict ends a claim: not Done gives the job back, claimable After from now.
type Verdict struct {
	Done, Dead bool
	After      time.Duration
}

// settleTimeout bounds the writing of a verdict, which does not end with the consumer's context.
const settleTimeout = 5 * time.Second

// Engine consumes one table. Its methods are safe for concurrent use.
type Engine[L any] struct {
	table Table[L]
	opts  Options
	wake  chan struct{} // holds a token if a job may be due
	org   func(L) string
	more  chan struct{} // as wake, for consumeOthers

	mu      sync.Mutex
	nextDue time.Time // earliest moment at which a job given back here is due again; zero: unknown
}

// New returns an engine over table.
func New[L any](table Table[L], o Options) *Engine[L] {
	if o.TTL <= 0 {
		o.TTL = 15 * time.Second
	}
	if o.Heartbeat <= 0 || o.Heartbeat >= o.TTL {
		o.Heartbeat = o.TTL / 3
	}
	if o.Poll <= 0 {
		o.Poll = 500 * time.Millisecond
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return &Engine[L]{table: table, opts: o, wake: make(chan struct{}, 1), more: make(chan struct{}, 1)}
}

// Now returns the time by the engine's clock.
func (e *Engine[L]) Now() time.Time { return e.opts.Now().UTC().Truncate(time.Microsecond) }

// Wake makes an idle consumer look for jobs now.
func (e *Engine[L]) Wake() {
	signal(e.wake)
	signal(e.more)
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Consume claims and handles jobs until ctx ends, then waits for the running handlers.
func (e *Engine[L]) Consume(ctx context.Context, workers int, handle func(context.Context, L) Verdict) error {
	workers = max(workers, 1)
	free := make(chan struct{}, workers)
	for range workers {
		free <- struct{}{}
	}
	settling := make(chan struct{}, workers)
	var running sync.WaitGroup
	defer running.Wait()
	if e.opts.Subscribe != nil {
		// Before the first claim, or a job that is added just after it would wait for the next poll.
		defer e.opts.Subscribe(e.Wake)()
	}

	held := newHolders(workers)
	if e.org != nil && workers > 1 {
		running.Go(func() { e.consumeOthers(ctx, held, handle) })
	}
	failing := false
	for {
		slots := takeSlots(ctx, free)
		if slots == 0 {
			return nil
		}
		leases, until, err := e.claim(ctx, slots)
		if err != nil && ctx.Err() == nil && !failing {
			e.opts.Logger.WarnContext(ctx, "cannot claim jobs; trying on", "error", err)
		}
		failing = err != nil
		if ctx.Err() != nil {
			e.giveBack(ctx, leases)
			return nil
		}
		for range slots - len(leases) {
			free <- struct{}{}
		}
		for _, l := range leases {
			org := e.organization(l)
			held.add(org, 1)
			running.Go(func() {
				give := sync.OnceFunc(func() {
					held.add(org, -1)
					free <- struct{}{}
				})
				defer give() // whatever the handler does, runtime.Goexit included
				v, held := e.handle(ctx, l, until, handle, true)
				// The next job need not wait until the verdict on this one is written; but verdicts must not pile up either.
				settling <- struct{}{}
				defer func() { <-settling }()
				give()
				if held {
					_ = e.settle(context.WithoutCancel(ctx), l, v) // logged
				}
			})
		}
		switch {
		case len(leases) == slots: // there may be more, for an idle consumer beside this one
			e.Wake()
		case len(leases) == 0:
			if !e.idle(ctx) {
				return nil
			}
		}
	}
}

// giveBack releases what was claimed when ctx had ended already.
func (e *Engine[L]) giveBack(ctx context.Context, leases []L) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	for _, l := range leases {
		_ = e.settle(ctx, l, Verdict{}) // logged
	}
}

// takeSlots waits for a free slot and takes all that are free. It returns 0 when ctx has ended.
func takeSlots(ctx context.Context, free chan struct{}) int {
	if ctx.Err() != nil {
		return 0
	}
	select {
	case <-ctx.Done():
		return 0
	case <-free:
	}
	n := 1
	for {
		select {
		case <-free:
			n++
		default:
			return n
		}
	}
}

// idle waits until a job may be due. It returns false when ctx has ended.
func (e *Engine[L]) idle(ctx context.Context) bool {
	wait := e.opts.Poll
	e.mu.Lock()
	if !e.nextDue.IsZero() {
		wait = max(min(wait, e.nextDue.Sub(e.Now())), time.Millisecond)
	}
	e.mu.Unlock()

	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-e.wake:
	case <-timer.C:
	}
	return true
}

// ConsumeOne claims one job and handles it on the caller's goroutine, without a heartbeat.
func (e *Engine[L]) ConsumeOne(ctx context.Context, handle func(context.Context, L) Verdict) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	leases, until, err := e.claim(ctx, 1)
	if err != nil || len(leases) == 0 {
		return false, err
	}
	v, _ := e.handle(ctx, leases[0], until, handle, false)
	return true, e.settle(context.WithoutCancel(ctx), leases[0], v)
}

// claim returns leases and their end.
func (e *Engine[L]) claim(ctx context.Context, limit int, except ...string) ([]L, time.Time, error) {
	now := e.Now()
	e.mu.Lock()
	if !e.nextDue.After(now) {
		e.nextDue = time.Time{}
	}
	e.mu.Unlock()
	// A claim that was cut off halfway would hold its jobs until the lease ends, so it does not end with ctx.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	until := now.Add(e.opts.TTL)
	leases, err := e.table.Claim(ctx, uuid.New(), now, until, limit, except...)
	return leases, until, err
}

// handle calls the handler with one lease, which ends at until. held is false if the lease was lost meanwhile: then the verdict does
// not count.
func (e *Engine[L]) handle(ctx context.Context, l L, until time.Time, handle func(context.Context, L) Verdict, heartbeat bool) (v Verdict, held bool) {
	holding, lose := context.WithCancelCause(context.WithoutCancel(ctx))
	defer lose(nil)
	var beating sync.WaitGroup
	handling, handled := context.WithCancel(holding)
	defer handled()
	if heartbeat {
		beating.Go(func() { e.beat(handling, l, until, lose) })
	}
	v = handle(holding, l)
	handled()
	beating.Wait()
	return v, holding.Err() == nil
}

// beat extends the lease until ctx, which ends with the handler, is over. It calls lose when the lease is lost, or may be.
func (e *Engine[L]) beat(ctx context.Context, l L, until time.Time, lose context.CancelCauseFunc) {
	ticker := time.NewTicker(e.opts.Heartbeat)
	defer ticker.Stop()
	margin := min(e.opts.TTL/10, time.Second) // so that the handler hears of it before somebody else can claim the job
	end := time.NewTimer(until.Sub(e.Now()) - margin)
	defer end.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-end.C:
			lose(e.opts.Lost)
			return
		case <-ticker.C:
		}
		now := e.Now()
		extending, cancel := context.WithTimeout(ctx, min(e.opts.Heartbeat, settleTimeout))
		err := e.table.Extend(extending, l, now.Add(e.opts.TTL))
		cancel()
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			until = now.Add(e.opts.TTL)
			end.Reset(until.Sub(e.Now()) - margin)
		case errors.Is(err, e.opts.Lost):
			lose(e.opts.Lost)
			return
		}
	}
}

// settle applies a verdict. If it cannot be written, the lease ends by itself and the job comes again.
func (e *Engine[L]) settle(ctx context.Context, l L, v Verdict) error {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	var err error
	if v.Done {
		err = e.table.Remove(ctx, l, v.Dead)
	} else {
		at := e.Now().Add(max(v.After, 0)).Truncate(time.Microsecond)
		if err = e.table.Release(ctx, l, at); err == nil {
			e.due(at)
		}
	}
	if err != nil && !errors.Is(err, e.opts.Lost) {
		e.opts.Logger.WarnContext(ctx, "cannot end a lease; the job will come again", "error", err)
		return err
	}
	return nil
}

// due notes when a job given back is claimable, and wakes a consumer that waits for longer than that.
func (e *Engine[L]) due(at time.Time) {
	e.mu.Lock()
	sooner := e.nextDue.IsZero() || at.Before(e.nextDue)
	if sooner {
		e.nextDue = at
	}
	e.mu.Unlock()
	if sooner {
		e.Wake()
	}
}
