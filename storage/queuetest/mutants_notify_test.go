package queuetest_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// subscriptions are those of a mutant that does not leave them to its table.
type subscriptions struct {
	mu   sync.Mutex
	all  []*func(kind string)
	past int // how many were stopped
}

func (s *subscriptions) notify(kind string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, wake := range s.all {
		(*wake)(kind)
	}
}

// subscribe returns a stop that calls end with the lock held.
func (s *subscriptions) subscribe(wake *func(kind string), end func()) (stop func()) {
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
func (s *subscriptions) without(wake *func(kind string)) func() {
	return func() {
		s.all = slices.DeleteFunc(s.all, func(w *func(kind string)) bool { return w == wake })
	}
}

// notifierMutants are those of tables that are a JobNotifier.
var notifierMutants = []broken{
	{name: "tells of no job", breaks: "jobnotifier/add jobnotifier/every-subscription jobnotifier/wakes-every-queue", mutate: func(m *mutant) {
		restAtNothing(m)
		m.On.NotifyJobs = func(func(string)) func() { return func() {} }
	}},
	{name: "tells another kind", breaks: "jobnotifier/add jobnotifier/wakes-every-queue", mutate: func(m *mutant) {
		restAtNothing(m)
		m.On.NotifyJobs = func(wake func(string)) func() {
			return m.inner.NotifyJobs(func(string) { wake("another") })
		}
	}},
	{name: "tells of a job before it is there", breaks: "jobnotifier/add jobnotifier/wakes-every-queue", mutate: func(m *mutant) {
		s := new(subscriptions)
		m.On.NotifyJobs = func(wake func(string)) func() { return s.subscribe(&wake, s.without(&wake)) }
		var mu sync.Mutex
		told := make(map[string]chan struct{}) // closed by a claim of the kind that began after notify
		m.On.Claim = func(ctx context.Context, c mortise.Claim) ([]mortise.Lease, error) {
			mu.Lock()
			mine := told[c.Kinds[0]]
			delete(told, c.Kinds[0])
			mu.Unlock()
			leases, err := m.inner.Claim(ctx, c)
			if mine != nil {
				close(mine)
			}
			return leases, err
		}
		restAtNothing(m)
		m.On.Add = func(ctx context.Context, j mortise.Job) error {
			claimed := make(chan struct{})
			mu.Lock()
			s.notify(j.Kind)
			told[j.Kind] = claimed
			mu.Unlock()
			conformance.Hold(claimed)
			return m.inner.Add(ctx, j)
		}
	}},
	{name: "tells the latest subscription", breaks: "jobnotifier/every-subscription jobnotifier/stop-ends-its-own", mutate: func(m *mutant) {
		var latest atomic.Int64
		m.On.NotifyJobs = func(wake func(string)) func() {
			mine := latest.Add(1)
			return m.inner.NotifyJobs(func(kind string) {
				if mine == latest.Load() {
					wake(kind)
				}
			})
		}
	}},
	{name: "loses subscriptions made at once", breaks: "jobnotifier/every-subscription", mutate: func(m *mutant) {
		var all atomic.Pointer[[]func(string)]
		all.Store(new([]func(string)))
		m.inner.NotifyJobs(func(kind string) {
			for _, wake := range *all.Load() {
				wake(kind)
			}
		})
		m.On.NotifyJobs = func(wake func(string)) func() {
			before := *all.Load()
			conformance.Seam()
			after := append(slices.Clone(before), wake)
			all.Store(&after)
			return func() {}
		}
	}},
	{name: "tells on after stop", breaks: "jobnotifier/stop", mutate: replace("NotifyJobs", func(m *mutant, wake func(string)) func() {
		m.inner.NotifyJobs(wake)
		return func() {}
	})},
	{name: "does not wait for calls of wake in stop", breaks: "jobnotifier/stop",
		mutate: replace("NotifyJobs", func(m *mutant, wake func(string)) func() {
			return m.inner.NotifyJobs(func(kind string) { go wake(kind) })
		})},
	{name: "stops every subscription", breaks: "jobnotifier/stop-ends-its-own", mutate: func(m *mutant) {
		s := new(subscriptions)
		m.inner.NotifyJobs(s.notify)
		m.On.NotifyJobs = func(wake func(string)) func() {
			return s.subscribe(&wake, func() { s.all = nil })
		}
	}},
	{name: "stops another subscription the second time", breaks: "jobnotifier/stop-ends-its-own", mutate: func(m *mutant) {
		s := new(subscriptions)
		m.inner.NotifyJobs(s.notify)
		m.On.NotifyJobs = func(wake func(string)) func() {
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
	{name: "has had enough once nobody listens", breaks: "jobnotifier/subscribe-again", mutate: func(m *mutant) {
		s := new(subscriptions)
		m.inner.NotifyJobs(func(kind string) {
			s.mu.Lock()
			over := s.past > 0
			s.mu.Unlock()
			if !over {
				s.notify(kind)
			}
		})
		m.On.NotifyJobs = func(wake func(string)) func() { return s.subscribe(&wake, s.without(&wake)) }
	}},
}
