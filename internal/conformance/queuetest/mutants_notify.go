package queuetest

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// subscriptions are those of a mutant that does not leave them to its table.
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

// notifierMistakes are those of tables that are a JobNotifier.
func notifierMistakes[J Job]() []Mistake[J] {
	return []Mistake[J]{
		{"tells of no job", []string{"jobnotifier/add", "jobnotifier/every-subscription", "jobnotifier/wakes-every-queue"}, func(m *Mutant[J]) {
			m.restAtNothing()
			m.NotifyJobs = func(func()) func() { return func() {} }
		}},
		{"tells of a job before it is there", []string{"jobnotifier/add", "jobnotifier/wakes-every-queue"}, func(m *Mutant[J]) {
			s := new(subscriptions)
			m.NotifyJobs = func(wake func()) func() { return s.subscribe(&wake, s.without(&wake)) }
			var mu sync.Mutex
			var told chan struct{} // closed by a claim that began after notify
			m.Claim = func(ctx context.Context, token uuid.UUID, now, until time.Time, limit int, except ...string) ([]Lease[J], error) {
				mu.Lock()
				mine := told
				told = nil
				mu.Unlock()
				leases, err := m.leases.Claim(ctx, token, now, until, limit, except...)
				if mine != nil {
					close(mine)
				}
				return leases, err
			}
			m.restAtNothing()
			m.Add = func(ctx context.Context, j J, at time.Time) error {
				mu.Lock()
				s.notify()
				claimed := make(chan struct{})
				told = claimed
				mu.Unlock()
				conformance.Hold(claimed)
				return m.leases.Add(ctx, j, at)
			}
		}},
		{"tells the latest subscription", []string{"jobnotifier/every-subscription", "jobnotifier/stop-ends-its-own"}, func(m *Mutant[J]) {
			var latest atomic.Int64
			m.NotifyJobs = func(wake func()) func() {
				mine := latest.Add(1)
				return m.leases.NotifyJobs(func() {
					if mine == latest.Load() {
						wake()
					}
				})
			}
		}},
		{"loses subscriptions made at once", []string{"jobnotifier/every-subscription"}, func(m *Mutant[J]) {
			var all atomic.Pointer[[]func()]
			all.Store(new([]func()))
			m.leases.NotifyJobs(func() {
				for _, wake := range *all.Load() {
					wake()
				}
			})
			m.NotifyJobs = func(wake func()) func() {
				before := *all.Load()
				conformance.Seam()
				after := append(slices.Clone(before), wake)
				all.Store(&after)
				return func() {}
			}
		}},
		{"tells on after stop", []string{"jobnotifier/stop"}, func(m *Mutant[J]) {
			m.NotifyJobs = func(wake func()) func() {
				m.leases.NotifyJobs(wake)
				return func() {}
			}
		}},
		{"does not wait for calls of wake in stop", []string{"jobnotifier/stop"}, func(m *Mutant[J]) {
			m.NotifyJobs = func(wake func()) func() {
				return m.leases.NotifyJobs(func() { go wake() })
			}
		}},
		{"stops every subscription", []string{"jobnotifier/stop-ends-its-own"}, func(m *Mutant[J]) {
			s := new(subscriptions)
			m.leases.NotifyJobs(s.notify)
			m.NotifyJobs = func(wake func()) func() { return s.subscribe(&wake, func() { s.all = nil }) }
		}},
		{"stops another subscription the second time", []string{"jobnotifier/stop-ends-its-own"}, func(m *Mutant[J]) {
			s := new(subscriptions)
			m.leases.NotifyJobs(s.notify)
			m.NotifyJobs = func(wake func()) func() {
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
		{"has had enough once nobody listens", []string{"jobnotifier/subscribe-again"}, func(m *Mutant[J]) {
			s := new(subscriptions)
			m.leases.NotifyJobs(func() {
				s.mu.Lock()
				over := s.past > 0
				s.mu.Unlock()
				if !over {
					s.notify()
				}
			})
			m.NotifyJobs = func(wake func()) func() { return s.subscribe(&wake, s.without(&wake)) }
		}},
	}
}
