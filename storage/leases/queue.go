// Package leases makes a queue of a table of jobs, a [mortise.Leases], with polling,
// heartbeats and retries. It is for authors of backends. A host gets such a queue from its
// database, as db.Queue(options).
package leases

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/seed-6363c74e/mortise"
)

// Options are the settings of a Queue. The zero value means the defaults.
type Options struct {
	TTL       time.Duration // how long a claim holds without a heartbeat: 15 s
	Heartbeat time.Duration // how often a running job's lease is extended: a third of TTL
	Poll      time.Duration // how often an idle consumer looks for jobs: 500 ms
	Logger    *slog.Logger  // slog.Default()
}

// Queue is the queue over a table of leases.
//
// A consumer claims due jobs for TTL, extends the lease while the handler runs, and ends
// the claim by the handler's verdict. A consumer that dies stops extending, and another
// one claims the job when the lease has ended.
//
// Jobs added through it wake its own consumers at once, and if the table is a
// [JobNotifier], those of all queues over the same open database. Jobs added elsewhere are
// found at the next poll. An idle consumer also knows when the jobs become due that were
// enqueued for later, or are to be retried, through its queue since it began.
type Queue struct {
	leases mortise.Leases
	opts   Options

	notifier JobNotifier // the table, if it wakes the consumers itself

	mu        sync.Mutex
	consumers []*consumer
}

var (
	_ mortise.StepQueue    = (*Queue)(nil)
	_ mortise.Sharer       = (*Queue)(nil)
	_ mortise.LossReporter = (*Queue)(nil)
)

// New returns the queue over a table. Options may be nil.
func New(leases mortise.Leases, opts *Options) *Queue {
	q := &Queue{leases: leases}
	if opts != nil {
		q.opts = *opts
	}
	o := &q.opts
	if o.TTL <= 0 {
		o.TTL = 15 * time.Second
	}
	if o.Heartbeat <= 0 || o.Heartbeat >= o.TTL {
		o.Heartbeat = o.TTL / 3
	}
	if o.Poll <= 0 {
		o.Poll = 500 * time.Millisecond
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	q.notifier, _ = leases.(JobNotifier)
	return q
}

// Enqueue implements [mortise.Queue].
func (q *Queue) Enqueue(ctx context.Context, j mortise.Job) error {
	if err := j.Check(); err != nil {
		return err
	}
	if err := q.leases.Add(ctx, j); err != nil {
		return err
	}
	switch {
	case j.At.After(time.Now()):
		q.due(j.Kind, j.At)
	case q.notifier == nil: // waking a consumer a second time would cost a claim that finds nothing
		q.wake(nil, j.Kind)
	}
	return nil
}

// Cancel implements [mortise.Queue].
func (q *Queue) Cancel(ctx context.Context, j mortise.Job) error {
	if err := j.Check(); err != nil {
		return err
	}
	return q.leases.Cancel(ctx, j)
}

// Shares implements [mortise.Sharer]: it asks the table, and is false if that is not a Sharer.
func (q *Queue) Shares(store any) bool {
	s, ok := q.leases.(mortise.Sharer)
	return ok && s.Shares(store)
}

// LostJobs implements [mortise.LossReporter]: it asks the table, and is zero if that is not a
// mortise.LossReporter.
func (q *Queue) LostJobs(ctx context.Context) (time.Time, error) {
	if r, ok := q.leases.(mortise.LossReporter); ok {
		return r.LostJobs(ctx)
	}
	return time.Time{}, nil
}

// ConsumeOne implements [mortise.StepQueue]. It does not extend the lease.
func (q *Queue) ConsumeOne(ctx context.Context, kinds []string, handle mortise.Handler) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	if len(kinds) == 0 {
		return false, errNoKinds
	}
	c := &consumer{queue: q, kinds: kinds, handler: handle}
	leases, until, err := c.claim(ctx, 1)
	if err != nil || len(leases) == 0 {
		return false, err
	}
	v, _ := c.handle(ctx, leases[0], until, false)
	return true, q.settle(context.WithoutCancel(ctx), leases[0], v)
}

// errNoKinds refuses what would take nothing for ever.
var errNoKinds = errors.New("mortise: a consumer needs the kinds of jobs that it takes")

// Consume implements [mortise.Queue].
func (q *Queue) Consume(ctx context.Context, opts mortise.ConsumeOptions, handle mortise.Handler) error {
	if len(opts.Kinds) == 0 {
		return errNoKinds
	}
	c := &consumer{queue: q, kinds: slices.Clone(opts.Kinds), handler: handle,
		woken: make(chan struct{}, 1), more: make(chan struct{}, 1), held: newHolders(max(opts.Workers, 1), opts.PerOrganization)}
	q.mu.Lock()
	q.consumers = append(q.consumers, c)
	q.mu.Unlock()
	defer func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.consumers = slices.DeleteFunc(q.consumers, func(other *consumer) bool { return other == c })
	}()
	if q.notifier != nil {
		// Before the first claim, or a job that is added just after it would wait for the
		// next poll.
		defer q.notifier.NotifyJobs(c.added)()
	}
	return c.consume(ctx)
}

// wake makes idle consumers of any of the kinds look for jobs now, but not the one that
// asks for it.
func (q *Queue) wake(not *consumer, kinds ...string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, c := range q.consumers {
		if c != not && slices.ContainsFunc(kinds, c.takes) {
			c.wake()
		}
	}
}

// due tells the consumers when a job is due.
func (q *Queue) due(kind string, at time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, c := range q.consumers {
		if c.takes(kind) {
			c.due(at)
		}
	}
}

// settleTimeout bounds the writing of a verdict, which does not end with the consumer's context.
const settleTimeout = 5 * time.Second

// settle applies a verdict. If it cannot be written, the lease ends by itself and the job
// comes again.
func (q *Queue) settle(ctx context.Context, l mortise.Lease, v mortise.Verdict) error {
	if v.Kind == mortise.VerdictEnded {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	var err error
	switch v.Kind {
	case mortise.VerdictDone, mortise.VerdictDead:
		err = q.leases.Remove(ctx, l, v.Kind == mortise.VerdictDead)
	default:
		after := max(v.After, 0)
		if err = q.leases.Release(ctx, l, after); err == nil {
			q.due(l.Job.Kind, time.Now().Add(after))
		}
	}
	if err != nil && !errors.Is(err, mortise.ErrLeaseLost) {
		q.opts.Logger.WarnContext(ctx, "cannot end a lease; the job will come again", "job", l.Job.String(), "error", err)
		return err
	}
	return nil
}

// nextBeat returns when to extend a lease again after a time; or, if that comes first, when
// it is taken for lost, so that the handler hears of it before somebody else can claim the
// job.
func (q *Queue) nextBeat(after, until time.Time) time.Time {
	beat, end := after.Add(q.opts.Heartbeat), until.Add(-min(q.opts.TTL/10, time.Second))
	if end.Before(beat) {
		return end
	}
	return beat
}

// beat extends the lease, at once and then time and again, until ctx ends, with the handler.
// It calls lose when the lease is lost, or may be.
func (q *Queue) beat(ctx context.Context, l mortise.Lease, until time.Time, lose context.CancelCauseFunc) {
	for {
		now := time.Now()
		next := q.nextBeat(now, until)
		if !next.After(now) {
			lose(mortise.ErrLeaseLost)
			return
		}
		// No longer than until the lease is taken for lost, if the table does not answer.
		extending, cancel := context.WithTimeout(ctx, min(next.Sub(now), settleTimeout))
		err := q.leases.Extend(extending, l, q.opts.TTL)
		cancel()
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			until = now.Add(q.opts.TTL)
		case errors.Is(err, mortise.ErrLeaseLost):
			lose(mortise.ErrLeaseLost)
			return
		}
		timer := time.NewTimer(time.Until(q.nextBeat(now, until)))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}
