package audiosearch

import (
	"time"

	"github.com/seed-6363c74e/mortise/internal/setting"
)

// WorkerOptions are the settings of a Worker. The zero value means the defaults,
// and a number below 0 is an error, unless the setting says that it means none.
type WorkerOptions struct {
	Concurrency int // runs at a time: 4, and sometimes 1 more (see [Queue])
	MaxAttempts int // attempts before a run is given up: 8

	// Drain is how long running attempts may go on after Run's context ended: 5 s; below
	// 0: none. What they have scored stays.
	Drain time.Duration

	// Watch is how often a running attempt writes how far it is, and looks whether it is
	// to be cancelled: 1 s.
	Watch time.Duration

	// Backoff is the wait after attempt n (1, 2, ...) failed. The default is 1 s, doubled
	// with each attempt, at most 1 min, less a random part of up to a half. Less than 0 is
	// the default, and more than a day is a day.
	Backoff func(attempt int) time.Duration

	Sweep SweeperOptions // of the sweeper that runs beside the worker
}

func (o *WorkerOptions) validate() error {
	if o == nil {
		return nil
	}
	return setting.Check("audiosearch: WorkerOptions",
		setting.Of("Concurrency", o.Concurrency), setting.Of("MaxAttempts", o.MaxAttempts), setting.Of("Watch", o.Watch))
}

func (o *WorkerOptions) withDefaults() WorkerOptions {
	var c WorkerOptions
	if o != nil {
		c = *o
	}
	setting.Default(&c.Concurrency, 4)
	setting.Default(&c.MaxAttempts, 8)
	setting.DefaultOrNone(&c.Drain, 5*time.Second)
	setting.Default(&c.Watch, time.Second)
	if c.Backoff == nil {
		c.Backoff = defaultBackoff
	}
	return c
}

// SweeperOptions are the settings of a Sweeper. The zero value means the defaults,
// and a number below 0 is an error.
type SweeperOptions struct {
	Every time.Duration // how often it looks, and has the store tidied up: 15 s

	// Retention is how long a finished run is kept; 0: for ever. The store must be a
	// [Pruner].
	Retention time.Duration

	// KeepReplaced is how long the scores by a model are kept after another one took its
	// place in a dataset; 0: for ever. The store must be a [Pruner].
	KeepReplaced time.Duration
}

func (o *SweeperOptions) validate() error {
	if o == nil {
		return nil
	}
	return setting.Check("audiosearch: SweeperOptions", setting.Of("Every", o.Every),
		setting.Of("Retention", o.Retention), setting.Of("KeepReplaced", o.KeepReplaced))
}

func (o *SweeperOptions) withDefaults() SweeperOptions {
	var c SweeperOptions
	if o != nil {
		c = *o
	}
	setting.Default(&c.Every, 15*time.Second)
	return c
}
