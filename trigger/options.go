package trigger

import (
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/overdue"
	"github.com/seed-6363c74e/mortise/internal/setting"
)

// Options are the optional parts and settings of a Service. The zero value means the
// defaults, and a number below 0 is an error.
//
// A panic of a [Processor] is a failed attempt. In [Worker.Run], so is a panic of Backoff, of
// PublicError, or of a method of the Processor's error; the history then keeps the error
// before it. A panic of OnEnd, LogError, an Observer or a Tracer changes nothing. All of these are
// logged with their stack at ERROR. A panic of a Directory goes on to the caller; in a
// request, net/http recovers and logs it. Stores and queues must not panic.
type Options struct {
	mortise.Env

	IdempotencyWindow time.Duration // how long an idempotency key is remembered: 24 h
	MaxBytes          int           // most bytes of instructions and context together: 1 MiB

	// MaxWaiting is how many events of one organization may wait: for their time, for a
	// worker or for another attempt. 0: no bound. A new event beyond it is
	// [ErrTooManyWaiting]; Retry and RunNow are never refused. A process counts at least once
	// a second, and gives out a quarter of the free places between two counts: several
	// processes may exceed the bound by so much, and a place that becomes free may be refused
	// for a second.
	MaxWaiting int

	// LostAfter is when the job of an event that is not finished may be lost, and is queued
	// again: so long after it was last queued or delivered. It is 1 h, and never less than
	// 15 min. A job that is in the queue stays as it is. Where event and job are in one
	// database, no job is lost, and no job is queued again.
	LostAfter time.Duration

	// OnEnd returns jobs of the host's own kinds, at most 100, that tell of an event which has
	// ended as completed, failed or cancelled; see package storage, Jobs of a host's own. Where
	// event and job are in one database, the transaction that ends the event adds the jobs.
	// Where they are not, they are queued after it, at least once, by the process that ended
	// the event or by a [Sweeper]. A job that is in the queue stays as it is, so an ID with the
	// event's Generation tells of each end of an event that is sent back. An event that
	// was never queued ([ErrEnqueueFailed]) has no end to tell of.
	//
	// OnEnd is called while the store changes the event, perhaps more than once: it returns
	// at once, and does not call the service or its store. The job's handler may find that the
	// event is gone, deleted or pruned: the job is then done. A panic, and a job that is not
	// valid, are logged at ERROR, and hold up no end. Each Service over the store must
	// have the same OnEnd.
	OnEnd func(e Event) []mortise.Job

	// PublicError says what the history shows of the failure of an attempt, as LastError
	// of the event and last_error over HTTP. Its text is cut to 2 KiB; "" shows nothing.
	// It is asked when the failure is written, of what the Processor returned, of a panic
	// and of a timeout alike. The summary of an Outcome is shown as it is. Nil shows the
	// error's text.
	PublicError func(error) string

	// LogError returns the text that is logged for such a failure, as one line of at most
	// 1 KiB; "" leaves the text out. Nil logs the error's text.
	LogError func(error) string
}

// validate says which settings make no sense.
func (o *Options) validate() error {
	if o == nil {
		return nil
	}
	return setting.Check("trigger: Options", setting.Of("IdempotencyWindow", o.IdempotencyWindow),
		setting.Of("MaxBytes", o.MaxBytes), setting.Of("MaxWaiting", o.MaxWaiting), setting.Of("LostAfter", o.LostAfter))
}

// withDefaults returns a copy with the defaults filled in.
func (o *Options) withDefaults() Options {
	var c Options
	if o != nil {
		c = *o
	}
	setting.Default(&c.IdempotencyWindow, 24*time.Hour)
	setting.Default(&c.MaxBytes, 1<<20)
	setting.Default(&c.LostAfter, time.Hour)
	c.LostAfter = max(c.LostAfter, overdue.LeastLostAfter)
	setting.Env(&c.Env)
	return c
}
