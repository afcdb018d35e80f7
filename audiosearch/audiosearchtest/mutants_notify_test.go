package audiosearchtest_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch"
)

// subscriptions are those of a mutant that does not leave them to memory.
type subscriptions struct {
	mu   sync.Mutex
	all  []*func()
	past int // how many were stopped
}

func (s *subscriptions) notify() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, wake := range s.all {
		(*wake)()
	}
}

// subscribe returns a stop that calls end with the lock held.
func (s *subscriptions) subscribe(wake *func(), end func()) (stop func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, wake)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.past++
		end()
	}
}

// without is an end for subscribe: the right one.
func (s *subscriptions) without(wake *func()) func() {
	return func() { s.all = slices.DeleteFunc(s.all, func(w *func()) bool { return w == wake }) }
}

// tells makes the mutant notify by itself: the function adds a job and calls notify when it likes.
func (m *mutant) tells(add func(notify func(), add func() error) error) {
	s := new(subscriptions)
	m.notifyJobs = func(wake func()) func() { return s.subscribe(&wake, s.without(&wake)) }
	m.addJob = func(ctx context.Context, j audiosearch.Job, at time.Time) error {
		return add(s.notify, func() error { return m.db.AddJob(ctx, j, at) })
	}
}

var notifierMutants = []broken{
	{name: "tells of no job", breaks: []string{"jobnotifier/add", "jobnotifier/wakes-every-queue"}, mutate: func(m *mutant) {
		m.notifyJobs = func(func()) func() { return func() {} }
	}},
	{name: "tells of no added job", breaks: []string{"jobnotifier/add", "jobnotifier/every-subscription"}, mutate: func(m *mutant) {
		m.tells(func(_ func(), add func() error) error { return add() })
	}},
	{name: "tells of a job before it is there", breaks: []string{"jobnotifier/add", "jobnotifier/wakes-every-queue"}, mutate: func(m *mutant) {
		m.tells(func(notify func(), add func() error) error {
			notify()
			time.Sleep(50 * time.Millisecond)
			return add()
		})
	}},
	{name: "tells the latest subscription", breaks: []string{"jobnotifier/every-subscription", "jobnotifier/stop-ends-its-own"}, mutate: func(m *mutant) {
		var latest atomic.Int64
		m.notifyJobs = func(wake func()) func() {
			mine := latest.Add(1)
			return m.db.NotifyJobs(func() {
				if mine == latest.Load() {
					wake()
				}
			})
		}
	}},
	{name: "loses subscriptions made at once", breaks: []string{"jobnotifier/every-subscription"}, mutate: func(m *mutant) {
		var all atomic.Pointer[[]func()]
		all.Store(new([]func()))
		m.db.NotifyJobs(func() {
			for _, wake := range *all.Load() {
				wake()
			}
		})
		m.notifyJobs = func(wake func()) func() {
			before := *all.Load()
			time.Sleep(time.Millisecond)
			after := append(slices.Clone(before), wake)
			all.Store(&after)
			return func() {}
		}
	}},
	{name: "tells on after stop", breaks: []string{"jobnotifier/stop"}, mutate: func(m *mutant) {
		m.notifyJobs = func(wake func()) func() {
			m.db.NotifyJobs(wake)
			return func() {}
		}
	}},
	{name: "does not wait for calls of wake in stop", breaks: []string{"jobnotifier/stop"}, mutate: func(m *mutant) {
		m.notifyJobs = func(wake func()) func() {
			return m.db.NotifyJobs(func() { time.AfterFunc(20*time.Millisecond, wake) })
		}
	}},
	{name: "stops every subscription", breaks: []string{"jobnotifier/stop-ends-its-own"}, mutate: func(m *mutant) {
		s := new(subscriptions)
		m.db.NotifyJobs(s.notify)
		m.notifyJobs = func(wake func()) func() { return s.subscribe(&wake, func() { s.all = nil }) }
	}},
	{name: "stops another subscription the second time", breaks: []string{"jobnotifier/stop-ends-its-own"}, mutate: func(m *mutant) {
		s := new(subscriptions)
		m.db.NotifyJobs(s.notify)
		m.notifyJobs = func(wake func()) func() {
			place := -1
			return s.subscribe(&wake, func() {
				if place < 0 {
					place = slices.Index(s.all, &wake)
				}
				if place < len(s.all) {
					s.all = slices.Delete(s.all, place, place+1)
				}
			})
		}
	}},
	{name: "has had enough once nobody listens", breaks: []string{"jobnotifier/subscribe-again"}, mutate: func(m *mutant) {
		s := new(subscriptions)
		m.db.NotifyJobs(func() {
			s.mu.Lock()
			over := s.past > 0
			s.mu.Unlock()
			if !over {
				s.notify()
			}
		})
		m.notifyJobs = func(wake func()) func() { return s.subscribe(&wake, s.without(&wake)) }
	}},
}
