package audiosearch

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise/internal/leasequeue"
)

// Lease is a job held by one consumer until a time.
type Lease struct {
	Job        Job
	Token      uuid.UUID // of the Claim that gave the lease: together with the job's ID it says who holds it
	Deliveries int       // how often the job has been claimed, this time included
}

// Leases is a table of jobs: what a backend implements to become a queue by way of [LeaseQueue]. Each job is claimable from a time on; a
// claim holds it until another time, after which anybody may claim it. Times come from the caller.
//
// All methods are safe for concurrent use, by several processes too if the backend is shared. Extend, Release and Remove act only for the
// present holder: if the job was released, claimed again with another token, or is gone, they change nothing and return [ErrLeaseLost]. A
// lease whose end has passed is still held until somebody else claims it.
//
// These methods take no organization: they serve the queue, which is maintenance.
type Leases interface {
	// AddJob stores a job, claimable from the given time on. A job whose ID is there is left as it is: no error.
	AddJob(ctx context.Context, j Job, at time.Time) error

	// Claim takes at most limit jobs that are claimable at now, that is, at now or before
	// it, and holds them until the given time, which is after now. No job is in two
	// claims at once.
	//
	// Organizations take turns, one job each, and the turns go on from one claim to the
	// next. So an organization with one job waits for at most one job of each other
	// organization, even if one of those has 10,000. The jobs of the organizations in
	// except are not taken.
	//
	// Of the jobs of an organization, those claimable for the longest time come first.
	// Among equals, those added or released first come first, so that a job that is given
	// back at once holds up no other.
	Claim(ctx context.Context, token uuid.UUID, now, until time.Time, limit int, except ...string) ([]Lease, error)

	// Extend moves the end of a lease.
	Extend(ctx context.Context, l Lease, until time.Time) error

	// Release gives the job back, claimable from the given time on.
	Release(ctx context.Context, l Lease, at time.Time) error

	// Remove ends the job.
	Remove(ctx context.Context, l Lease) error
}

// JobNotifier is a Leases table that tells its own process when jobs are added. [LeaseQueue] makes use of it: a job wakes the idle consumers
// of every queue over the table, not only those of the queue that it was added through.
type JobNotifier interface {
	Leases

	// NotifyJobs makes the table call wake after each job that AddJob adds, once the job can be claimed, until stop is called. That holds for
	// the jobs added through any value of the same open database. A job that was there already, or is given back by Release, need not be told.
	//
	// wake may be called from any goroutine, by several at once, more than once for a job, and for no reason. It returns at once, and calls
	// neither the table nor stop. stop may be called more than once; once it has returned, no call of wake is running, and none comes any more.
	NotifyJobs(wake func()) (stop func())
}

// LeaseOptions are the settings of [LeaseQueue]. The zero value means the defaults.
type LeaseOptions struct {
	TTL       time.Duration    // how long a claim holds without a heartbeat: 15 s
	Heartbeat time.Duration    // how often a running job's lease is extended: a third of TTL
	Poll      time.Duration    // how often an idle consumer looks for jobs added by other processes: 500 ms
	Now       func() time.Time // time.Now
	Logger    *slog.Logger     // slog.Default()
}

// LeaseQueue makes a queue of a table of leases: a [StepQueue]. Jobs added through it wake its own consumers at once, and if leases is a
// [JobNotifier], those of all queues over the same open database. Jobs added elsewhere are found at the next poll.
func LeaseQueue(leases Leases, opts *LeaseOptions) Queue {
	var o LeaseOptions
	if opts != nil {
		o = *opts
	}
	settings := leasequeue.Options{
		TTL: o.TTL, Heartbeat: o.Heartbeat, Poll: o.Poll, Now: o.Now, Logger: o.Logger, Lost: ErrLeaseLost,
	}
	notifier, notified := leases.(JobNotifier)
	if notified {
		settings.Subscribe = notifier.NotifyJobs
	}
	engine := leasequeue.New[Lease](noDeadLetters{leases}, settings).Share(func(l Lease) string { return l.Job.Organization })
	return &leaseQueue{leases: leases, engine: engine, notified: notified}
}

// noDeadLetters fits a table to the engine: a run that ended badly says so itself.
type noDeadLetters struct{ Leases }

func (t noDeadLetters) Remove(ctx context.Context, l Lease, _ bool) error {
	return t.Leases.Remove(ctx, l)
}

type leaseQueue struct {
	leases Leases
	engine *leasequeue.Engine[Lease]

	notified bool // the table wakes the consumers itself
}

var _ StepQueue = (*leaseQueue)(nil)

func (q *leaseQueue) Enqueue(ctx context.Context, j Job) error {
	if err := q.leases.AddJob(ctx, j, q.engine.Now()); err != nil {
		return err
	}
	if !q.notified {
		q.engine.Wake()
	}
	return nil
}

func (q *leaseQueue) Consume(ctx context.Context, workers int, handle func(context.Context, Delivery) Verdict) error {
	return q.engine.Consume(ctx, workers, leaseHandler(handle))
}

func (q *leaseQueue) ConsumeOne(ctx context.Context, handle func(context.Context, Delivery) Verdict) (bool, error) {
	return q.engine.ConsumeOne(ctx, leaseHandler(handle))
}

func leaseHandler(handle func(context.Context, Delivery) Verdict) func(context.Context, Lease) leasequeue.Verdict {
	return func(ctx context.Context, l Lease) leasequeue.Verdict {
		v := handle(ctx, Delivery{Job: l.Job, Deliveries: l.Deliveries})
		return leasequeue.Verdict{Done: v.Done, After: v.After}
	}
}
