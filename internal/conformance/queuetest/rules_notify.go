package queuetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/conformance"
)

const needNotifier = NeedLeases | NeedJobNotifier

// Bell is a subscription to the jobs of a table.
type Bell[J Job] struct {
	s    *Subject[J]
	rung chan struct{} // holds one call of wake, as a consumer does that is to look again
	stop func()
}

// Subscribe returns a bell that is stopped at the end of the test.
func (s *Subject[J]) Subscribe(t *testing.T) *Bell[J] {
	t.Helper()
	b := &Bell[J]{s: s, rung: make(chan struct{}, 1)}
	b.stop = s.Leases.NotifyJobs(func() {
		select {
		case b.rung <- struct{}{}:
		default:
		}
	})
	t.Cleanup(b.stop)
	return b
}

// Finds does what a consumer does while a job is added: it claims whenever the bell rings, until it has the job.
func (b *Bell[J]) Finds(t *testing.T, j J, add func() error) {
	t.Helper()
	added := make(chan error, 1)
	go func() { added <- add() }()
	for range 1000 {
		conformance.Await(t, b.rung, "wake after a job was added")
		for _, l := range b.s.Claim(t, 0, time.Hour, 10) {
			if l.Job == j {
				require.NoError(t, conformance.Await(t, added, "the job to be added"))
				return
			}
		}
	}
	require.FailNow(t, "wake is called again and again", "job %s is not there", j.ID())
}

// jobNotifierRules are the rules of Leases that are a JobNotifier.
func jobNotifierRules[J Job](add string) []Rule[J] {
	return []Rule[J]{
		{Sentence{"jobnotifier/add", "wake is called after each job that " + add + " adds: a claim that follows it finds the job."}, needNotifier,
			func(t *testing.T, s *Subject[J]) {
				b := s.Subscribe(t)
				for range 3 {
					j := s.newJob()
					b.Finds(t, j, func() error { return s.Leases.Add(t.Context(), j, conformance.Moment(0)) })
				}
			}},

		{Sentence{"jobnotifier/every-subscription", "There may be any number of subscriptions, made at once too, and each hears of each job."}, needNotifier,
			func(t *testing.T, s *Subject[J]) {
				var bells [8]*Bell[J]
				conformance.Together(len(bells), func(i int) { bells[i] = s.Subscribe(t) })
				for range 3 {
					s.Add(t, s.newJob(), 0)
					for _, b := range bells {
						conformance.Await(t, b.rung, "every subscription to hear of the job")
					}
				}
			}},

		{Sentence{"jobnotifier/stop", "Once stop has returned, no call of wake is running, and none comes any more."}, needNotifier,
			func(t *testing.T, s *Subject[J]) {
				over := make(chan struct{}) // closed once stop has returned
				began, late := make(chan struct{}, 1), make(chan struct{}, 1)
				put := func(to chan struct{}) {
					select {
					case to <- struct{}{}:
					default:
					}
				}
				stop := s.Leases.NotifyJobs(func() {
					put(began)
					select {
					case <-over:
						put(late)
					// Longer than a wake should take, so that stop comes amid it.
					case <-time.After(conformance.Glimpse() / 4):
					}
				})
				added := make(chan error, 1)
				go func() { added <- s.Leases.Add(t.Context(), s.newJob(), conformance.Moment(0)) }()
				conformance.Await(t, began, "wake after a job was added")
				stop()
				close(over)
				require.NoError(t, conformance.Await(t, added, "the job to be added"))
				s.Add(t, s.newJob(), 0)
				conformance.Nothing(t, late, "wake ran after stop had returned")
			}},

		{Sentence{"jobnotifier/stop-ends-its-own", "stop ends its own subscription and no other, also if it is called more than once."}, needNotifier,
			func(t *testing.T, s *Subject[J]) {
				first, second, third := s.Subscribe(t), s.Subscribe(t), s.Subscribe(t)
				for range 3 {
					second.stop()
					s.Add(t, s.newJob(), 0)
					conformance.Await(t, first.rung, "the subscription made before the one that was stopped")
					conformance.Await(t, third.rung, "the subscription made after the one that was stopped")
				}
			}},

		{Sentence{"jobnotifier/subscribe-again", "After every subscription was stopped, a new one hears of each job."}, needNotifier,
			func(t *testing.T, s *Subject[J]) {
				for range 3 {
					b := s.Subscribe(t)
					s.Add(t, s.newJob(), 0)
					conformance.Await(t, b.rung, "the new subscription to hear of the job")
					b.stop()
				}
			}},

		{Sentence{"jobnotifier/wakes-every-queue", "A job wakes the idle consumers of every queue over the table, not only those of the queue that it was added through."}, needNotifier,
			func(t *testing.T, s *Subject[J]) {
				opts := &LeaseOptions{Poll: time.Hour} // so that only waking helps
				here, there := s.Leases.LeaseQueue(opts), s.Leases.LeaseQueue(opts)
				d := NewDiary[J](nil)
				consumeOn(t.Context(), t, here, 1, d.Handle)
				for _, q := range []Queue[J]{there, here, there} {
					conformance.Idle(t, d.News, "a delivery from an empty table")
					j := s.newJob()
					require.NoError(t, q.Enqueue(t.Context(), j))
					require.Equal(t, j, d.Next(t).Job)
				}
			}},
	}
}
