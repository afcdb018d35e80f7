package trigger

import (
	"time"

	"github.com/seed-6363c74e/mortise/internal/lostjobs"
	"github.com/seed-6363c74e/mortise/internal/setting"
)

// WorkerOptions are the settings of a Worker. The zero value means the defaults,
// and a number below 0 is an error, unless the setting says that it means none.
type WorkerOptions struct {
	Concurrency int           // attempts at a time: 4, and sometimes 1 more (see [Queue])
	MaxAttempts int           // attempts before an event fails: 10
	Timeout     time.Duration // of one attempt: 10 min

	// Drain is how long running attempts may go on after Run's context ended: 25 s. Grace
	// is how long a Processor may ignore the end of its context before it is left behind:
	// 5 s. Below 0 is none.
	Drain, Grace time.Duration

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

	// After is how long an event must have been without a job: 30 s, well over the time
	// that a Submit takes.
	After time.Duration

	// LostAfter is when the job of an event that is not finished may be lost, and is
	// added again: so long after the event was due and its job was last known to be
	// queued. It is 1 h, and never less than 15 min. That of a Worker's sweeper is never
	// less than the time that an attempt can take (its Timeout, Grace and the writing of
	// its end) plus 15 min: with the defaults, somewhat over 25 min. Where event and job
	// stand in one database, no job is lost, and nobody looks.
	LostAfter time.Duration

	// Retention is how long a finished event stays in the history; 0 keeps it for ever. One
	// with an idempotency key stays for [Options].IdempotencyWindow at least. The store
	// must be a [Pruner].
	Retention time.Duration
}

func (o *SweeperOptions) validate() error {
	if o == nil {
		return nil
	}
	return setting.Check("trigger: SweeperOptions", setting.Of("Every", o.Every), setting.Of("After", o.After),
		setting.Of("LostAfter", o.LostAfter), setting.Of("Retention", o.Retention))
}

func (o *SweeperOptions) withDefaults() SweeperOptions {
	var c SweeperOptions
	if o != nil {
		c = *o
	}
	setting.Default(&c.Every, 15*time.Second)
	setting.Default(&c.After, 30*time.Second)
	setting.Default(&c.LostAfter, time.Hour)
	c.LostAfter = max(c.LostAfter, lostjobs.Tolerance)
	return c
}
