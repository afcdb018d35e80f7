package conformance

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// race is what goroutines do at once. Each of them takes steps, one after the other.
type race struct {
	mu              sync.Mutex
	begun, finished []int // each one's latest step
	ended           []bool

	since  []int         // what had begun when somebody began to wait, latest
	atSeam int           // how many wait in Seam
	open   chan struct{} // closed to let them go on
	seen   chan struct{} // closed to let on the one that waits in look, if not nil
}

func newRace(n int) *race {
	return &race{
		begun: make([]int, n), finished: make([]int, n), ended: make([]bool, n), since: make([]int, n), open: make(chan struct{}),
	}
}

func (r *race) begin(i int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begun[i]++
}

func (r *race) finish(i int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.finished[i] = r.begun[i]
	r.letOn()
}

func (r *race) end(i int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended[i] = true
	r.letOn()
}

// past returns how many of the first n have ended, or finished a step that began since.
func (r *race) past(n int) int {
	past := 0
	for i := range n {
		if r.ended[i] || r.finished[i] > r.since[i] {
			past++
		}
	}
	return past
}

// letOn lets on those who have waited enough. The caller holds the lock.
func (r *race) letOn() {
	all := len(r.begun)
	// Who waits has finished no step since, so that nobody counts twice.
	if r.atSeam > 0 && r.atSeam+r.past(all) >= all {
		close(r.open)
		r.open, r.atSeam = make(chan struct{}), 0
	}
	if r.seen != nil && r.atSeam+r.past(all-1) >= all-1 {
		close(r.seen)
		r.seen = nil
	}
}

// wait notes that somebody begins to wait.
func (r *race) wait() { r.since = slices.Clone(r.begun) }

// look returns when all but the last one have finished a step, or cannot before this one goes on.
func (r *race) look(t *testing.T) {
	t.Helper()
	r.mu.Lock()
	seen := make(chan struct{})
	r.seen = seen
	r.wait()
	r.letOn()
	r.mu.Unlock()
	timer := time.NewTimer(stuck)
	defer timer.Stop()
	select {
	case <-seen:
	case <-timer.C:
		t.Fatal("waited in vain for those who look")
	}
}

// racing is the race that is on in the process of a mutant. Elsewhere it is nil, so that
// nothing comes between the calls of a backend that is right, and no lock of this package
// hides a data race.
var racing atomic.Pointer[race]

// stuck is how long those who race wait for each other, on a machine with other things to do too.
const stuck = 5 * time.Minute

// seamMissed is printed when nobody let a mutant on.
const seamMissed = "a mutant waited in vain to be let on"

// Seam is called by a mutant between two steps that are one in a backend that is right.
// It returns when all others that race with the caller, in [Together] or [Watch], are in
// Seam too, have ended, or have gone a whole step on: so that they come between always,
// not now and then. Without a race it returns at once.
//
// The caller holds no lock that the others need, and is one of those that race.
func Seam() {
	r := racing.Load()
	if r == nil {
		return
	}
	r.mu.Lock()
	open := r.open
	r.atSeam++
	r.wait()
	r.letOn()
	r.mu.Unlock()
	Hold(open)
}

// Hold is Seam for a mutant that knows what lets it on.
func Hold(until <-chan struct{}) {
	timer := time.NewTimer(stuck)
	defer timer.Stop()
	select {
	case <-until:
	case <-timer.C:
		fmt.Fprintln(os.Stderr, seamMissed) // a fault of the mutant, which Prove reports
	}
}

// Together calls f n times at once and waits for all of them.
func Together(n int, f func(i int)) {
	r := newRace(n)
	if impatient() {
		racing.Store(r)
		defer racing.Store(nil)
	}
	var ready, all sync.WaitGroup
	ready.Add(n)
	for i := range n {
		all.Go(func() {
			defer r.end(i)
			ready.Done()
			ready.Wait()
			f(i)
		})
	}
	all.Wait()
}

// Watch calls look again and again in some goroutines, while it calls act for each step
// from 0 on. After each step it waits until every watcher has looked, so that none misses
// what a step leaves. The first error of look ends it, and fails the test.
func Watch(t *testing.T, watchers int, look func(watcher int) error, steps int, act func(step int)) {
	t.Helper()
	r := newRace(watchers + 1)
	if impatient() {
		racing.Store(r)
		defer racing.Store(nil)
	}
	var over atomic.Bool
	var all sync.WaitGroup
	errs := make([]error, watchers)
	for i := range watchers {
		all.Go(func() {
			defer r.end(i)
			for !over.Load() && errs[i] == nil {
				r.begin(i)
				if errs[i] = look(i); errs[i] != nil {
					over.Store(true)
				}
				r.finish(i)
				runtime.Gosched() // or it keeps the one core that there may be
			}
		})
	}
	func() {
		defer all.Wait()
		defer r.end(watchers)
		defer over.Store(true)
		for step := range steps {
			if over.Load() {
				return
			}
			r.begin(watchers)
			act(step)
			r.finish(watchers)
			r.look(t)
		}
	}()
	NoErrors(t, errs)
}
