package trigger

import (
	"time"

	"github.com/seed-6363c74e/mortise/internal/setting"
)

// WorkerOptions are the settings of a Worker. The zero value means the defaults,
// and a number below 0 is an error, unless the setting says that it means none.
type WorkerOptions struct {
	Concurrency int           // attempts at a time: 4, and sometimes 1 more (see [Queue])
	MaxAttempts int           // attempts before an event fails: 10
	Timeout     time.Duration // of one attempt: 10 min

	// PerOrganization is how many attempts of one organization run at a time in this
	// process. 0: no bound. Its other events wait in the queue, and count no attempt for it.
	// A queue that does not know organizations apart hands them out all the same: then they
	// are given back, for up to 30 s at a time.
	PerOrganization int

	// Drain is how long running attempts may go on after Run's context ended: 25 s. Grace
	// is how long a Processor may ignore the end of its context before it is left behind:
	// 5 s. Below 0 is none.
	Drain, Grace time.Duration

	// Apply says that the Processor may return an [Outcome] with Apply, for which the
	// service's store must be a [mortise.Transactor]. Without it such an outcome is a
	// permanent failure.
	Apply bool

	// Backoff is the wait after attempt n (1, 2, ...) failed. The default is 1 s, doubled
	// with each attempt, at most 10 min, less a random part of up to a half, so that
	// events that failed together do not come back together. Less than 0 is the default,
	// and more than a day is a day.
	Backoff func(attempt int) time.Duration

	Sweep SweeperOptions // of the sweeper that runs beside the worker
}

func (o *WorkerOptions) validate() error {
	if o == nil {
		return nil
	}
	return setting.Check("trigger: WorkerOptions", setting.Of("Concurrency", o.Concurrency),
		setting.Of("PerOrganization", o.PerOrganization),
		setting.Of("MaxAttempts", o.MaxAttempts), setting.Of("Timeout", o.Timeout))
}

func (o *WorkerOptions) withDefaults() WorkerOptions {
	var c WorkerOptions
	if o != nil {
		c = *o
	}
	setting.Default(&c.Concurrency, 4)
	setting.Default(&c.MaxAttempts, 10)
	setting.Default(&c.Timeout, 10*time.Minute)
	setting.DefaultOrNone(&c.Drain, 25*time.Second)
	setting.DefaultOrNone(&c.Grace, 5*time.Second)
	if c.Backoff == nil {
		c.Backoff = defaultBackoff
	}
	return c
}

// SweeperOptions are the settings of a Sweeper. The zero value means the defaults,
// and a number below 0 is an error.
type SweeperOptions struct {
	Every time.Duration // how often it looks: 15 s

	// Retention is how long events that have ended stay in the history. One with an
	// idempotency key stays for [Options].IdempotencyWindow at least. The store must be a
	// [Pruner].
	Retention Retention
}

// Retention is how long events stay in the history after their end, by the way in which they
// ended. 0 keeps them for ever.
type Retention struct {
	Completed time.Duration
	Failed    time.Duration // dead letters
	Cancelled time.Duration // superseded events included
}

// of returns the time for a status.
func (r Retention) of(s Status) time.Duration {
	switch s {
	case StatusCompleted:
		return r.Completed
	case StatusFailed:
		return r.Failed
	case StatusCancelled, StatusSuperseded:
		return r.Cancelled
	}
	return 0
}

func (o *SweeperOptions) validate() error {
	if o == nil {
		return nil
	}
	return setting.Check("trigger: SweeperOptions", setting.Of("Every", o.Every), setting.Of("Retention.Completed", o.Retention.Completed),
		setting.Of("Retention.Failed", o.Retention.Failed), setting.Of("Retention.Cancelled", o.Retention.Cancelled))
}

func (o *SweeperOptions) withDefaults() SweeperOptions {
	var c SweeperOptions
	if o != nil {
		c = *o
	}
	setting.Default(&c.Every, 15*time.Second)
	return c
}
