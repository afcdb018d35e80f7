package conformance

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
)

// race is what goroutines do at once. Each of them takes steps, one after the other.
type race struct {
	mu              sync.Mutex
	begun, finished []int // each one's latest step
	ended           []bool

	since  []int         // begun as it was when somebody last began to wait
	atSeam int           // how many wait in Seam
	open   chan struct{} // closed to let them go on
	seen   chan struct{} // closed to let the one in look go on; nil: nobody is there
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

// letOn lets those go on who have waited enough. The caller holds the lock.
func (r *race) letOn() {
	all := len(r.begun)
	// Whoever waits has finished no step since, so nobody is counted twice.
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

// look returns when each but the last one has finished a step, or waits in Seam.
func (r *race) look() {
	r.mu.Lock()
	seen := make(chan struct{})
	r.seen = seen
	r.wait()
	r.letOn()
	r.mu.Unlock()
	<-seen
}

// racing is the race that is on in the process of a mutant. Elsewhere it is nil, and Seam
// does nothing: the lock that it takes could hide a data race.
var racing atomic.Pointer[race]

// holding is how many wait in [Hold].
var holding atomic.Int64

// seamMissed is printed when a mutant waits there until its rule is given up.
const seamMissed = "a mutant waited in vain to go on"

// Seam is called by a mutant between two steps that are one step in a faithful backend. It
// returns when each of the others that race with the caller, in [Together] or [Watch], is
// in Seam too, has ended, or has finished a whole step. So the others always come between,
// and not only now and then. Without a race it returns at once.
//
// The caller is one of those that race, and holds no lock that the others need.
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

// Hold is Seam for a mutant that knows what it has to wait for.
func Hold(until <-chan struct{}) {
	holding.Add(1)
	defer holding.Add(-1)
	<-until
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
// from 0 on. After each step it waits until every watcher has looked, so that all of them
// see what the step left. The first error of look ends it and fails the test.
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
				runtime.Gosched() // there may be one core only
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
			r.look()
		}
	}()
	NoErrors(t, errs)
}

// CutOff makes n calls at once, n being even, and ends the contexts of every second one
// meanwhile, of the first to begin with. Whether such a call took effect is unknown, and it
// may come late: a backend may still be finishing the transaction of a caller that has gone.
func CutOff(t *testing.T, n int, call func(ctx context.Context, i int)) {
	t.Helper()
	var cut sync.WaitGroup
	cut.Add(n / 2)
	Together(n+1, func(i int) {
		// A mutant in Seam waits for this one to end: when all are cancelled.
		if i == n {
			cut.Wait()
			return
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if i%2 == 0 {
			go func() {
				defer cut.Done()
				cancel()
			}()
		}
		call(ctx, i)
	})
}
