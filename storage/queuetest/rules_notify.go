package queuetest

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/storage/leases"
)

const needNotifier = needLeases | needJobNotifier

// bell is a subscription to the jobs of a table.
type bell struct {
	s    *subject
	rung chan struct{} // holds one call of wake, as a consumer does that is to look again
	stop func()

	mu    sync.Mutex
	kinds []string // that wake was called with
}

// subscribe returns a bell that is stopped at the end of the test.
func (s *subject) subscribe(t *testing.T) *bell {
	t.Helper()
	b := &bell{s: s, rung: make(chan struct{}, 1)}
	b.stop = s.Leases.(leases.JobNotifier).NotifyJobs(func(kind string) {
		b.mu.Lock()
		b.kinds = append(b.kinds, kind)
		b.mu.Unlock()
		put(b.rung)
	})
	t.Cleanup(b.stop)
	return b
}

func put(to chan struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}

// finds acts as a consumer while a job is added, or revived: it claims whenever the bell
// rings for its kind, until it has the job.
func (b *bell) finds(t *testing.T, j mortise.Job, add func(context.Context, mortise.Job) error) {
	t.Helper()
	added := make(chan error, 1)
	go func() { added <- add(t.Context(), j) }()
	for range 1000 {
		conformance.Await(t, b.rung, "wake after a job was added")
		b.mu.Lock()
		told := slices.Contains(b.kinds, j.Kind)
		b.kinds = nil
		b.mu.Unlock()
		if !told {
			continue
		}
		leases, err := b.s.Leases.Claim(t.Context(),
			mortise.Claim{Token: uuid.New(), Kinds: []string{j.Kind}, Limit: 10, TTL: time.Hour})
		require.NoError(t, err)
		if slices.Contains(leased(leases), j.String()) {
			require.NoError(t, conformance.Await(t, added, "the job to be added"))
			return
		}
	}
	require.FailNow(t, "wake is called again and again", "job %s is not there", j)
}

// addNow adds a job that nobody knows.
func (s *subject) addNow(t *testing.T) {
	t.Helper()
	require.NoError(t, s.Leases.Add(t.Context(), newJob()))
}

// notifierRules are the rules of Leases that are a JobNotifier.
var notifierRules = []rule{
	{Rule{"jobnotifier/add", "wake is called with the job's kind after each job that is added: " +
		"a claim that follows it finds the job."},
		needNotifier, func(t *testing.T, s *subject) {
			b := s.subscribe(t)
			for _, kind := range []string{kindA, kindB, kindB, kindA} {
				b.finds(t, jobOf(kind, orgA), s.Leases.Add)
			}
		}},

	{Rule{"jobnotifier/every-subscription", "There may be any number of subscriptions, made at " +
		"once too, and each hears of each job."},
		needNotifier, func(t *testing.T, s *subject) {
			var bells [8]*bell
			conformance.Together(len(bells), func(i int) { bells[i] = s.subscribe(t) })
			for range 3 {
				s.addNow(t)
				for _, b := range bells {
					conformance.Await(t, b.rung, "every subscription to hear of the job")
				}
			}
		}},

	{Rule{"jobnotifier/stop", "Once stop has returned, no call of wake is running, and none " +
		"comes any more."},
		needNotifier, func(t *testing.T, s *subject) {
			over := make(chan struct{}) // closed once stop has returned
			began, late := make(chan struct{}, 1), make(chan struct{}, 1)
			stop := s.Leases.(leases.JobNotifier).NotifyJobs(func(string) {
				put(began)
				select {
				case <-over:
					put(late)
				// Longer than a wake should take, so that stop comes amid it.
				case <-time.After(conformance.Glimpse() / 4):
				}
			})
			added := make(chan error, 1)
			go func() { added <- s.Leases.Add(t.Context(), newJob()) }()
			conformance.Await(t, began, "wake after a job was added")
			stop()
			close(over)
			require.NoError(t, conformance.Await(t, added, "the job to be added"))
			s.addNow(t)
			conformance.Nothing(t, late, "wake ran after stop had returned")
		}},

	{Rule{"jobnotifier/stop-ends-its-own", "stop ends its own subscription and no other, also " +
		"if it is called more than once."},
		needNotifier, func(t *testing.T, s *subject) {
			first, second, third := s.subscribe(t), s.subscribe(t), s.subscribe(t)
			for range 3 {
				second.stop()
				s.addNow(t)
				conformance.Await(t, first.rung, "the subscription made before the one that was stopped")
				conformance.Await(t, third.rung, "the subscription made after the one that was stopped")
			}
		}},

	{Rule{"jobnotifier/subscribe-again", "After every subscription was stopped, a new one " +
		"hears of each job."},
		needNotifier, func(t *testing.T, s *subject) {
			for range 3 {
				b := s.subscribe(t)
				s.addNow(t)
				conformance.Await(t, b.rung, "the new subscription to hear of the job")
				b.stop()
			}
		}},

	{Rule{"jobnotifier/wakes-every-queue", "A job wakes the idle consumers of every queue over " +
		"the table that take its kind, not only those of the queue that it was added through."},
		needNotifier, func(t *testing.T, s *subject) {
			opts := &leases.Options{Poll: time.Hour} // so that only waking helps
			here, there := leases.New(s.Leases, opts), leases.New(s.Leases, opts)
			ofA, ofB := newDiary(nil), newDiary(nil)
			consumeOn(t.Context(), t, here, 1, ofA.handle, kindA)
			consumeOn(t.Context(), t, here, 1, ofB.handle, kindB)
			for _, q := range []mortise.Queue{there, here, there} {
				conformance.Idle(t, ofA.news, "a delivery from an empty table")
				a, b := jobOf(kindA, orgA), jobOf(kindB, orgA)
				require.NoError(t, q.Enqueue(t.Context(), b))
				ofB.expect(t, b)
				require.NoError(t, q.Enqueue(t.Context(), a))
				ofA.expect(t, a)
			}
		}},
}
