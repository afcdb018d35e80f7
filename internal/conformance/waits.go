package conformance

import (
	"context"
	"os"
	"sync"
	"testing"
	"time"
)

// Moment returns a time of the suites' own calendar, well in the past. It has microseconds, which stores keep.
func Moment(d time.Duration) time.Time {
	return time.Date(2024, 3, 14, 15, 9, 26, 535_897_000, time.UTC).Add(d)
}

// Glimpse is how long a rule looks for what must not happen. A slow machine can make it overlook that, never invent it.
const Glimpse = 100 * time.Millisecond

// envImpatient is set in the processes of mutants.
const envImpatient = "MORTISE_IMPATIENT"

// patience is how long a rule waits for what must happen. It only ends a test that has failed already. A mutant has to fail, and gets less
// of it.
func patience() time.Duration {
	if os.Getenv(envImpatient) != "" {
		return 2 * time.Second
	}
	return 30 * time.Second
}

// Await returns the next value of a channel.
func Await[T any](t *testing.T, from <-chan T, what string) T {
	t.Helper()
	timer := time.NewTimer(patience())
	defer timer.Stop()
	select {
	case v := <-from:
		return v
	case <-timer.C:
		t.Fatalf("waited in vain for %s", what)
		panic("unreachable")
	}
}

// Send gives a channel a value as soon as somebody takes it.
func Send[T any](t *testing.T, to chan<- T, v T, what string) {
	t.Helper()
	timer := time.NewTimer(patience())
	defer timer.Stop()
	select {
	case to <- v:
	case <-timer.C:
		t.Fatalf("waited in vain for %s", what)
	}
}

// Until asks again and again until the answer is yes.
func Until(t *testing.T, what string, yes func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience())
	defer cancel()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for !yes() {
		select {
		case <-ctx.Done():
			t.Fatalf("waited in vain for %s", what)
		case <-ticker.C:
		}
	}
}

// Nothing requires that a channel stays silent for a glimpse.
func Nothing[T any](t *testing.T, from <-chan T, what string) {
	t.Helper()
	timer := time.NewTimer(Glimpse)
	defer timer.Stop()
	select {
	case <-from:
		t.Fatalf("must not happen: %s", what)
	case <-timer.C:
	}
}

// Together calls f n times at once and waits for all of them.
func Together(n int, f func(i int)) {
	var ready, all sync.WaitGroup
	ready.Add(n)
	for i := range n {
		all.Go(func() {
			ready.Done()
			ready.Wait()
			f(i)
		})
	}
	all.Wait()
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
