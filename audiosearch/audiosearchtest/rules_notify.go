package audiosearchtest

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
)

const needNotifier = needLeases | needJobNotifier

// bell is a subscription to the jobs of a table. rung holds one call of wake, as a consumer does that is to look again.
type bell struct {
	rung chan struct{}
	stop func()
}

// subscribe returns a bell that is stopped at the end of the test.
func (s *subject) subscribe(t *testing.T) *bell {
	t.Helper()
	b := &bell{rung: make(chan struct{}, 1)}
	b.stop = s.Leases.(audiosearch.JobNotifier).NotifyJobs(func() {
		select {
		case b.rung <- struct{}{}:
		default:
		}
	})
	t.Cleanup(b.stop)
	return b
}

// finds does what a consumer does while a job is added: it claims whenever the bell rings, until it has the job.
func (b *bell) finds(t *testing.T, s *subject, j audiosearch.Job, add func() error) {
	t.Helper()
	added := make(chan error, 1)
	go func() { added <- add() }()
	for range 1000 {
		await(t, b.rung, "wake after a job was added")
		for _, l := range s.claim(t, 0, time.Hour, 10) {
			if l.Job == j {
				require.NoError(t, await(t, added, "the job to be added"))
				return
			}
		}
	}
	require.FailNow(t, "wake is called again and again", "job %s is not there", j.ID())
}

// jobNotifierRules are the rules of Leases that are a JobNotifier.
var jobNotifierRules = []rule{
	{Rule{"jobnotifier/add", "wake is called after each job that AddJob adds: a claim that follows it finds the job."}, needNotifier,
		func(t *testing.T, s *subject) {
			b := s.subscribe(t)
			for range 3 {
				j := newJob()
				b.finds(t, s, j, func() error { return s.Leases.AddJob(t.Context(), j, moment(0)) })
			}
		}},

	{Rule{"jobnotifier/every-subscription", "There may be any number of subscriptions, made at once too, and each hears of each job."}, needNotifier,
		func(t *testing.T, s *subject) {
			var bells [8]*bell
			together(len(bells), func(i int) { bells[i] = s.subscribe(t) })
			for range 3 {
				s.add(t, newJob(), 0)
				for _, b := range bells {
					await(t, b.rung, "every subscription to hear of the job")
				}
			}
		}},

	{Rule{"jobnotifier/stop", "Once stop has returned, no call of wake is running, and none comes any more."}, needNotifier,
		func(t *testing.T, s *subject) {
			var stopped atomic.Bool
			began, late := make(chan struct{}, 1), make(chan struct{}, 1)
			put := func(to chan struct{}) {
				select {
				case to <- struct{}{}:
				default:
				}
			}
			stop := s.Leases.(audiosearch.JobNotifier).NotifyJobs(func() {
				put(began)
				time.Sleep(glimpse / 4) // longer than a wake should take, so that stop comes amid it
				if stopped.Load() {
					put(late)
				}
			})
			added := make(chan error, 1)
			go func() { added <- s.Leases.AddJob(t.Context(), newJob(), moment(0)) }()
			await(t, began, "wake after a job was added")
			stop()
			stopped.Store(true)
			require.NoError(t, await(t, added, "the job to be added"))
			s.add(t, newJob(), 0)
			nothing(t, late, "wake ran after stop had returned")
		}},

	{Rule{"jobnotifier/stop-ends-its-own", "stop ends its own subscription and no other, also if it is called more than once."}, needNotifier,
		func(t *testing.T, s *subject) {
			first, second, third := s.subscribe(t), s.subscribe(t), s.subscribe(t)
			for range 3 {
				second.stop()
				s.add(t, newJob(), 0)
				await(t, first.rung, "the subscription made before the one that was stopped")
				await(t, third.rung, "the subscription made after the one that was stopped")
			}
		}},

	{Rule{"jobnotifier/subscribe-again", "After every subscription was stopped, a new one hears of each job."}, needNotifier,
		func(t *testing.T, s *subject) {
			for range 3 {
				b := s.subscribe(t)
				s.add(t, newJob(), 0)
				await(t, b.rung, "the new subscription to hear of the job")
				b.stop()
			}
		}},

	{Rule{"jobnotifier/wakes-every-queue", "A job wakes the idle consumers of every queue over the table, not only those of the queue that it was added through."}, needNotifier,
		func(t *testing.T, s *subject) {
			opts := &audiosearch.LeaseOptions{Poll: time.Hour} // so that only waking helps
			here, there := audiosearch.LeaseQueue(s.Leases, opts), audiosearch.LeaseQueue(s.Leases, opts)
			d := newDiary(nil)
			consumeOn(t.Context(), t, here, 1, d.handle)
			for _, q := range []audiosearch.Queue{there, here, there} {
				nothing(t, d.news, "a delivery from an empty table")
				j := newJob()
				require.NoError(t, q.Enqueue(t.Context(), j))
				require.Equal(t, j, d.next(t).Job)
			}
		}},
}
