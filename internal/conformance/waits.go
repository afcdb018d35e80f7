package conformance

import (
	"context"
	"os"
	"testing"
	"time"
)

// Moment returns a time of the suites' own calendar, well in the past. It has
// microseconds, which stores keep.
func Moment(d time.Duration) time.Time {
	return time.Date(2024, 3, 14, 15, 9, 26, 535_897_000, time.UTC).Add(d)
}

// envImpatient is set in the processes of mutants.
const envImpatient = "MORTISE_IMPATIENT"

// impatient reports whether this is the process of a mutant.
func impatient() bool { return os.Getenv(envImpatient) != "" }

const moment = 100 * time.Millisecond

// Glimpse is how long a rule looks for what must not happen. On a slow machine a rule may
// overlook it, but never sees what is not there. With a mutant it happens, which ends the
// glimpse; so there it may be long, and a slow machine overlooks nothing.
func Glimpse() time.Duration {
	if impatient() {
		return time.Minute
	}
	return moment
}

// patience is for how many moments a rule waits for what must happen: for ten seconds, and
// longer where the process gets little time to run. It only ends a test that has failed
// already. A mutant has to fail, and gets less of it, as does the cleanup of a failed test.
func patience(t *testing.T) (moments int) {
	if impatient() || t.Failed() {
		return 5
	}
	return 100
}

// wait calls look until that says that the wait is over. Each call lasts for a tick at most.
func wait(t *testing.T, what string, look func(tick <-chan time.Time) (over bool)) {
	t.Helper()
	ticker := time.NewTicker(moment)
	defer ticker.Stop()
	for range patience(t) {
		if look(ticker.C) {
			return
		}
	}
	t.Fatalf("waited in vain for %s", what)
}

// Await returns the next value of a channel.
func Await[T any](t *testing.T, from <-chan T, what string) (v T) {
	t.Helper()
	wait(t, what, func(tick <-chan time.Time) bool {
		select {
		case v = <-from:
			return true
		case <-tick:
			return false
		}
	})
	return v
}

// Send gives a channel a value as soon as somebody takes it.
func Send[T any](t *testing.T, to chan<- T, v T, what string) {
	t.Helper()
	wait(t, what, func(tick <-chan time.Time) bool {
		select {
		case to <- v:
			return true
		case <-tick:
			return false
		}
	})
}

// Until asks again and again until the answer is yes.
func Until(t *testing.T, what string, yes func() bool) {
	t.Helper()
	wait(t, what, func(tick <-chan time.Time) bool {
		for !yes() {
			select {
			case <-tick:
				return false
			case <-time.After(5 * time.Millisecond):
			}
		}
		return true
	})
}

// Nothing requires that a channel stays silent for a glimpse.
func Nothing[T any](t *testing.T, from <-chan T, what string) {
	t.Helper()
	silent(t, from, what, nil)
}

// rested holds a call of Rest.
var rested = make(chan struct{}, 1)

// Rest is called by a mutant when a consumer found nothing to do.
func Rest() {
	select {
	case rested <- struct{}{}:
	default:
	}
}

// forgetRest forgets calls of Rest.
func forgetRest() {
	select {
	case <-rested:
	default:
	}
}

// Idle requires that a channel stays silent for a moment, in which the consumer that
// feeds it comes to rest. A mutant that breaks a rule only while the consumer rests calls
// [Rest] when it does.
func Idle[T any](t *testing.T, from <-chan T, what string) {
	t.Helper()
	silent(t, from, what, rested)
}

// silent requires that a channel stays silent for a moment, or until enough has a value.
// With a mutant it waits for many short moments instead of one, so that the wait grows if
// the process gets little time to run.
func silent[T any](t *testing.T, from <-chan T, what string, enough <-chan struct{}) {
	t.Helper()
	moments, each := 1, moment
	if impatient() {
		moments, each = 500, moment/10
	}
	for range moments {
		select {
		case <-from:
			t.Fatalf("must not happen: %s", what)
		case <-enough:
			return
		case <-time.After(each):
		}
	}
}

// NoErrors fails the test for the first error in errs.
func NoErrors(t *testing.T, errs []error) {
	t.Helper()
	for i, err := range errs {
		if err != nil {
			t.Fatalf("call %d of %d: %v", i+1, len(errs), err)
		}
	}
}

// Ended returns a context that has ended.
func Ended(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}
