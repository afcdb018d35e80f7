package trigger_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/leases"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/trigger/triggertest"
)

// blindQueue does not know organizations apart.
type blindQueue struct{ mortise.Queue }

func (q blindQueue) Consume(ctx context.Context, o mortise.ConsumeOptions, h mortise.Handler) error {
	o.PerOrganization = 0
	return q.Queue.Consume(ctx, o, h)
}

// TestPerOrganization: an organization has no more attempts running than it may have, on any
// queue, and an event that waits for its turn counts no attempt.
func TestPerOrganization(t *testing.T) {
	for name, blind := range map[string]bool{"leases": false, "a queue that does not know organizations apart": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db := openMemory(t)
				b := db.Trigger()
				if blind {
					b.Queue = blindQueue{db.Queue(nil)}
				}
				s, err := trigger.New(b, &trigger.Options{Env: mortise.Env{Logger: slog.New(slog.DiscardHandler)}})
				require.NoError(t, err)
				var mu sync.Mutex
				running, most := make(map[string]int), make(map[string]int)
				w, err := trigger.NewWorker(s, func(_ context.Context, e trigger.Event) (trigger.Outcome, error) {
					mu.Lock()
					running[e.Organization]++
					most[e.Organization] = max(most[e.Organization], running[e.Organization])
					mu.Unlock()
					time.Sleep(time.Minute)
					mu.Lock()
					defer mu.Unlock()
					running[e.Organization]--
					return trigger.Outcome{}, nil
				}, &trigger.WorkerOptions{Concurrency: 8, PerOrganization: 2})
				require.NoError(t, err)
				for range 10 {
					submit(t, s, "a")
				}
				ctx, stop := context.WithCancel(t.Context())
				ended := make(chan error)
				go func() { ended <- w.Run(ctx) }()
				time.Sleep(10 * time.Second)
				_, err = s.Submit(t.Context(), "other", "", trigger.Submission{Instructions: "a"})
				require.NoError(t, err)
				time.Sleep(time.Second)
				mu.Lock()
				assert.Equal(t, map[string]int{"acme": 2, "other": 1}, running)
				mu.Unlock()
				time.Sleep(30 * time.Minute)
				for e, err := range s.Events(t.Context(), "acme", trigger.EventQuery{}) {
					require.NoError(t, err)
					assert.Equal(t, trigger.StatusCompleted, e.Status)
					assert.Equal(t, 1, e.Attempts)
				}
				assert.Equal(t, 2, most["acme"])
				stop()
				require.NoError(t, <-ended)
			})
		})
	}
}

// TestMaxWaiting: an organization may have so many events that wait, exactly so in one process,
// and may submit again once a worker has taken one.
func TestMaxWaiting(t *testing.T) {
	f := triggertest.New(t, &triggertest.Options{Service: trigger.Options{MaxWaiting: 10}})
	try := func(org string, want error) {
		t.Helper()
		_, err := f.Submit(t.Context(), org, "", trigger.Submission{Instructions: "a"})
		require.ErrorIs(t, err, want)
	}
	for range 10 {
		try("acme", nil)
	}
	for range 3 {
		try("acme", trigger.ErrTooManyWaiting)
		try("other", nil)
	}
	f.Drain(t.Context())
	f.Advance(time.Second)
	for range 10 {
		try("acme", nil)
	}
	try("acme", trigger.ErrTooManyWaiting)

	f.Advance(time.Hour)
	f.Break(triggertest.StorePart)
	try("acme", mortise.ErrUnavailable)
}

// TestMaxWaitingAtOnce: however many calls there are at a time, four processes exceed the
// bound by little.
func TestMaxWaitingAtOnce(t *testing.T) {
	db := openMemory(t)
	var wg sync.WaitGroup
	for range 4 {
		s, err := trigger.New(db.Trigger(), &trigger.Options{MaxWaiting: 100})
		require.NoError(t, err)
		for range 8 {
			wg.Go(func() {
				for range 20 {
					_, _ = s.Submit(t.Context(), "acme", "", trigger.Submission{Instructions: "a"})
				}
			})
		}
	}
	wg.Wait()
	counts, err := db.Trigger().Store.Counts(t.Context(), "acme", 1000)
	require.NoError(t, err)
	// A count may miss or see twice the events of the 8 calls of its process, and each of the
	// other 3 processes may have a quarter left to give out.
	assert.GreaterOrEqual(t, counts.Waiting.N, 100-8)
	assert.LessOrEqual(t, counts.Waiting.N, 100+3*25)
}

// slowStore takes a while to count, and longer to store an event.
type slowStore struct{ trigger.Store }

func (s slowStore) Counts(ctx context.Context, org string, most int) (trigger.Counts, error) {
	c, err := s.Store.Counts(ctx, org, most)
	time.Sleep(5 * time.Millisecond)
	return c, err
}

func (s slowStore) CreateEvent(ctx context.Context, e trigger.Event, keySince time.Time) (trigger.Event, bool, error) {
	time.Sleep(100 * time.Millisecond)
	return s.Store.CreateEvent(ctx, e, keySince)
}

// TestMaxWaitingTogether: submissions that come together do not pass the bound of the one
// process that there is, whether a count sees the others or not.
func TestMaxWaitingTogether(t *testing.T) {
	db := openMemory(t)
	s, err := trigger.New(trigger.Backend{Store: slowStore{db.Trigger().Store}, Queue: struct{ mortise.Queue }{db.Queue(nil)}},
		&trigger.Options{MaxWaiting: 10, Env: mortise.Env{Logger: slog.New(slog.DiscardHandler)}})
	require.NoError(t, err)
	var g sync.WaitGroup
	var accepted atomic.Int64
	for range 200 {
		g.Go(func() {
			_, err := s.Submit(context.Background(), "acme", "", trigger.Submission{Instructions: "a"})
			if err == nil {
				accepted.Add(1)
			} else if !errors.Is(err, trigger.ErrTooManyWaiting) {
				t.Error(err)
			}
		})
	}
	g.Wait()
	assert.LessOrEqual(t, accepted.Load(), int64(10), "accepted, of a process alone")
}

// slowWrites takes a while to write.
type slowWrites struct{ trigger.Store }

func (s slowWrites) UpdateEvent(ctx context.Context, org string, id uuid.UUID, update func(*trigger.Event) error) error {
	time.Sleep(2 * time.Millisecond)
	return s.Store.UpdateEvent(ctx, org, id, update)
}

// TestPlaceIsFreeBeforeTheSlot: the next job of an organization begins when the one
// before is done. It is not claimed, refused a place and put off.
func TestPlaceIsFreeBeforeTheSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := openMemory(t)
		s, err := trigger.New(trigger.Backend{Store: slowWrites{db.Trigger().Store}, Queue: db.Queue(&leases.Options{})},
			&trigger.Options{Env: mortise.Env{Logger: slog.New(slog.DiscardHandler)}})
		require.NoError(t, err)
		var ran atomic.Int64
		w, err := trigger.NewWorker(s, func(context.Context, trigger.Event) (trigger.Outcome, error) {
			ran.Add(1)
			return trigger.Outcome{}, nil
		}, &trigger.WorkerOptions{PerOrganization: 1, Concurrency: 4})
		require.NoError(t, err)
		const events = 20
		for range events {
			submit(t, s, "a")
		}
		began := time.Now()
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- w.Run(ctx) }()
		for ran.Load() < events {
			time.Sleep(time.Millisecond)
		}
		took := time.Since(began)
		stop()
		require.NoError(t, <-done)
		assert.Less(t, took, time.Second, "for %d attempts of 4 ms", events)
	})
}

// TestSecondJobWithoutAPlace: a second job of an event that runs waits until its attempt must
// be over (TestSecondJob), also without a free place.
func TestSecondJobWithoutAPlace(t *testing.T) {
	db := openMemory(t)
	s, err := trigger.New(trigger.Backend{Store: db.Trigger().Store, Queue: struct{ mortise.Queue }{db.Queue(nil)}},
		&trigger.Options{Env: mortise.Env{Logger: slog.New(slog.DiscardHandler)}})
	require.NoError(t, err)
	begun, end := make(chan string, 10), map[string]chan bool{"a": make(chan bool), "b": make(chan bool)}
	w, err := trigger.NewWorker(s, func(_ context.Context, e trigger.Event) (trigger.Outcome, error) {
		begun <- e.Instructions
		<-end[e.Instructions]
		return trigger.Outcome{}, nil
	}, &trigger.WorkerOptions{PerOrganization: 2})
	require.NoError(t, err)
	a, b := submit(t, s, "a"), submit(t, s, "b")
	verdicts := map[string]chan mortise.Verdict{"a": make(chan mortise.Verdict, 9), "b": make(chan mortise.Verdict, 9)}
	handle := func(e trigger.Event, deliveries int) {
		verdicts[e.Instructions] <- w.Handle(context.Background(), mortise.Delivery{Job: e.Job(), Deliveries: deliveries})
	}
	go handle(a, 1)
	require.Equal(t, "a", <-begun)
	go handle(b, 1)
	require.Equal(t, "b", <-begun)
	handle(a, 1) // a duplicate; all places are taken
	v := <-verdicts["a"]
	require.Greater(t, v.After, 5*time.Minute, "until the attempt must be over")
	end["b"] <- true
	<-verdicts["b"]
	end["a"] <- true
	<-verdicts["a"]
	assert.Len(t, func() []trigger.Attempt { e := get(t, s, a.ID); return e.AttemptsLog() }(), 1)
}
