package trigger_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/leases"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/trigger/triggertest"
)

// running is a worker that runs in a synctest bubble, where time passes when nothing else
// is to be done.
type running struct {
	service *trigger.Service
	hook    atomic.Pointer[func(op string) error] // before the calls to the backend
	stop    context.CancelFunc
	ended   chan error
}

func run(t *testing.T, o trigger.WorkerOptions, p trigger.Processor) *running {
	t.Helper()
	db, r := openMemory(t), &running{ended: make(chan error, 1)}
	faults := &triggertest.Faults{Before: func(op string) error {
		if hook := r.hook.Load(); hook != nil {
			return (*hook)(op)
		}
		return nil
	}}
	logger := slog.New(slog.DiscardHandler)
	queue := leases.New(faults.Leases(db.Jobs()), &leases.Options{Logger: logger})
	var err error
	r.service, err = trigger.New(trigger.Backend{Store: faults.Store(db.Trigger().Store), Queue: queue, Keys: db.Trigger().Keys}, &trigger.Options{Env: mortise.Env{Logger: logger}})
	require.NoError(t, err)
	w, err := trigger.NewWorker(r.service, p, &o)
	require.NoError(t, err)
	var ctx context.Context
	ctx, r.stop = context.WithCancel(t.Context())
	go func() { r.ended <- w.Run(ctx) }()
	return r
}

// end stops the worker and waits until it and all its goroutines are gone.
func (r *running) end(t *testing.T) {
	t.Helper()
	r.stop()
	require.NoError(t, <-r.ended)
	synctest.Wait()
	assert.Empty(t, ourGoroutines(), "goroutines outlive Run")
}

// ourGoroutines returns the stacks of this module's goroutines, those of tests aside.
func ourGoroutines() (left []string) {
	b := make([]byte, 1<<20)
	for g := range strings.SplitSeq(string(b[:runtime.Stack(b, true)]), "\n\n") {
		if strings.Contains(g, "mortise/") && !strings.Contains(g, "testing.tRunner") && !strings.Contains(g, "TestMain") {
			left = append(left, g)
		}
	}
	return left
}

func TestRunProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		atATime, most := 0, 0
		count := func(n int) {
			mu.Lock()
			defer mu.Unlock()
			atATime += n
			most = max(most, atATime)
		}
		r := run(t, trigger.WorkerOptions{Concurrency: 3}, func(_ context.Context, e trigger.Event) (trigger.Outcome, error) {
			count(1)
			time.Sleep(time.Minute) // four leases long
			count(-1)
			if e.Attempts == 1 && e.Instructions == "7" {
				return trigger.Outcome{}, errWork
			}
			return trigger.Outcome{}, nil
		})
		for i := range 10 {
			submit(t, r.service, fmt.Sprint(i))
		}
		time.Sleep(time.Hour)
		attempts := 0
		for e, err := range r.service.Events(t.Context(), "acme", trigger.EventQuery{}) {
			require.NoError(t, err)
			assert.Equal(t, trigger.StatusCompleted, e.Status)
			attempts += e.Attempts
		}
		assert.Equal(t, 11, attempts, "a heartbeat keeps the lease, so nothing runs twice")
		assert.Equal(t, 3, most)
		r.end(t)
	})
}

// TestNextEventBeforeTheEndIsWritten: while what came of an attempt is written, the next
// event is worked on, and never two at a time where there is one place.
func TestNextEventBeforeTheEndIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var begun, working atomic.Int64
		r := run(t, trigger.WorkerOptions{Concurrency: 1}, func(context.Context, trigger.Event) (trigger.Outcome, error) {
			begun.Add(1)
			assert.EqualValues(t, 1, working.Add(1), "attempts at a time")
			defer working.Add(-1)
			time.Sleep(time.Second)
			return trigger.Outcome{}, nil
		})
		hold := make(chan struct{})
		var held atomic.Bool
		hook := func(op string) error {
			if op == "Store.UpdateEventAndJobs" && !held.Swap(true) {
				<-hold
			}
			return nil
		}
		r.hook.Store(&hook)
		events := []trigger.Event{submit(t, r.service, "a"), submit(t, r.service, "b")}
		time.Sleep(3 * time.Second)
		assert.True(t, held.Load(), "an end is held up")
		assert.EqualValues(t, 2, begun.Load(), "the first one's end is not written yet")
		close(hold)
		time.Sleep(3 * time.Second)
		for _, e := range events {
			assert.Equal(t, trigger.StatusCompleted, get(t, r.service, e.ID).Status)
		}
		r.end(t)
	})
}

func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cause error
		r := run(t, trigger.WorkerOptions{Timeout: time.Minute, MaxAttempts: 1}, func(ctx context.Context, _ trigger.Event) (trigger.Outcome, error) {
			<-ctx.Done()
			cause = context.Cause(ctx)
			return trigger.Outcome{}, ctx.Err()
		})
		e := submit(t, r.service, "a")
		time.Sleep(time.Minute + time.Second)
		failed := get(t, r.service, e.ID)
		assert.Equal(t, trigger.StatusFailed, failed.Status, "a timeout counts")
		assert.Contains(t, failed.LastError, trigger.ErrTimeout.Error(), "context deadline exceeded says nothing")
		require.ErrorIs(t, cause, trigger.ErrTimeout)
		assert.Equal(t, time.Minute, failed.FinishedAt.Sub(failed.StartedAt))
		r.end(t)
	})
}

func TestStubbornProcessorIsLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		r := run(t, trigger.WorkerOptions{Concurrency: 1, Timeout: time.Minute, Grace: 5 * time.Second, MaxAttempts: 1},
			func(_ context.Context, e trigger.Event) (trigger.Outcome, error) {
				if e.Instructions == "stubborn" {
					<-release
				}
				return trigger.Outcome{}, nil
			})
		stubborn := submit(t, r.service, "stubborn")
		good := submit(t, r.service, "good")
		time.Sleep(time.Minute + 4*time.Second)
		assert.Equal(t, trigger.StatusReceived, get(t, r.service, good.ID).Status)
		time.Sleep(2 * time.Second)
		assert.Equal(t, trigger.StatusCompleted, get(t, r.service, good.ID).Status, "its place is free")
		failed := get(t, r.service, stubborn.ID)
		assert.Equal(t, trigger.StatusFailed, failed.Status)
		assert.Contains(t, failed.LastError, "did not stop")
		close(release)
		r.end(t)
		assert.Equal(t, trigger.StatusFailed, get(t, r.service, stubborn.ID).Status, "what it returned is not looked at")
	})
}

func TestGoexitIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := run(t, trigger.WorkerOptions{Concurrency: 1}, func(_ context.Context, e trigger.Event) (trigger.Outcome, error) {
			if e.Attempts == 1 {
				runtime.Goexit()
			}
			return trigger.Outcome{}, nil
		})
		e := submit(t, r.service, "a")
		time.Sleep(time.Minute)
		done := get(t, r.service, e.ID)
		assert.Equal(t, trigger.StatusCompleted, done.Status)
		assert.Equal(t, 2, done.Attempts)
		assert.Contains(t, done.LastError, "ended its goroutine")
		r.end(t)
	})
}

func TestDrainLetsAttemptsFinish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := run(t, trigger.WorkerOptions{Concurrency: 1, Drain: 20 * time.Second}, func(ctx context.Context, _ trigger.Event) (trigger.Outcome, error) {
			time.Sleep(19 * time.Second)
			return trigger.Outcome{}, ctx.Err()
		})
		e, waiting := submit(t, r.service, "a"), submit(t, r.service, "b")
		synctest.Wait()
		began := time.Now()
		r.end(t)
		assert.Equal(t, 19*time.Second, time.Since(began), "Run waits for it, and no longer")
		assert.Equal(t, trigger.StatusCompleted, get(t, r.service, e.ID).Status)
		assert.Zero(t, get(t, r.service, waiting.ID).Attempts, "nothing begins any more")
	})
}

// A Drain below 0 is none: what runs is cut off when Run's context ends.
func TestNoDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := run(t, trigger.WorkerOptions{Drain: -1}, func(ctx context.Context, _ trigger.Event) (trigger.Outcome, error) {
			<-ctx.Done()
			return trigger.Outcome{}, ctx.Err()
		})
		e := submit(t, r.service, "a")
		synctest.Wait()
		began := time.Now()
		r.end(t)
		assert.Zero(t, time.Since(began))
		assert.Equal(t, trigger.StatusReceived, get(t, r.service, e.ID).Status)
	})
}

func TestShutdownDoesNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cause error
		var observed []mortise.Kind
		p := func(ctx context.Context, _ trigger.Event) (trigger.Outcome, error) {
			<-ctx.Done()
			cause = context.Cause(ctx)
			return trigger.Outcome{}, ctx.Err()
		}
		db := openMemory(t)
		s, err := trigger.New(trigger.Backend{Store: db.Trigger().Store, Queue: db.Queue(nil)}, &trigger.Options{Env: mortise.Env{Observer: func(_ context.Context, o mortise.Observation) {
			observed = append(observed, o.Kind)
		}}})
		require.NoError(t, err)
		w, err := trigger.NewWorker(s, p, &trigger.WorkerOptions{MaxAttempts: 1, Drain: 20 * time.Second})
		require.NoError(t, err)
		e := submit(t, s, "a")
		for range 3 {
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- w.Run(ctx) }()
			synctest.Wait()
			stop()
			began := time.Now()
			require.NoError(t, <-ended)
			assert.Equal(t, 20*time.Second, time.Since(began))
			require.ErrorIs(t, cause, trigger.ErrShutdown)
			now := get(t, s, e.ID)
			assert.Equal(t, trigger.StatusReceived, now.Status)
			assert.Zero(t, now.Attempts)
			assert.Empty(t, now.LastError)
		}
		found, err := db.Jobs().Claim(t.Context(), mortise.Claim{Token: [16]byte{1}, Kinds: []string{trigger.JobKind}, Limit: 1, TTL: time.Second})
		require.NoError(t, err)
		assert.Len(t, found, 1, "another worker can have it at once")
		assert.NotContains(t, observed, mortise.KindFailed)
		assert.Contains(t, observed, mortise.KindRetrying)
		synctest.Wait()
		assert.Empty(t, ourGoroutines())
	})
}

func TestPermanentErrorAtShutdownCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := run(t, trigger.WorkerOptions{Drain: time.Second}, func(ctx context.Context, _ trigger.Event) (trigger.Outcome, error) {
			<-ctx.Done()
			return trigger.Outcome{}, trigger.Permanent(errWork)
		})
		e := submit(t, r.service, "a")
		synctest.Wait()
		r.end(t)
		assert.Equal(t, trigger.StatusFailed, get(t, r.service, e.ID).Status)
	})
}

func TestLostLeaseEndsTheAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var causes []error
		r := run(t, trigger.WorkerOptions{Concurrency: 1}, func(ctx context.Context, e trigger.Event) (trigger.Outcome, error) {
			select {
			case <-ctx.Done():
				causes = append(causes, context.Cause(ctx))
				return trigger.Outcome{}, ctx.Err()
			case <-time.After(time.Minute):
				return trigger.Outcome{}, nil
			}
		})
		outage, heal := triggertest.Outage()
		extend := triggertest.On(outage, "Leases.Extend")
		r.hook.Store(&extend)
		e := submit(t, r.service, "a")
		time.Sleep(20 * time.Second)
		synctest.Wait()
		require.Len(t, causes, 1, "a lease that cannot be extended until its end is lost")
		require.ErrorIs(t, causes[0], mortise.ErrLeaseLost)
		heal()
		time.Sleep(2 * time.Minute)
		done := get(t, r.service, e.ID)
		assert.Equal(t, trigger.StatusCompleted, done.Status)
		assert.Equal(t, 2, done.Attempts)
		r.end(t)
	})
}

func TestWorkerOutlivesAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := run(t, trigger.WorkerOptions{}, func(context.Context, trigger.Event) (trigger.Outcome, error) { return trigger.Outcome{}, nil })
		e := submit(t, r.service, "a")
		outage, heal := triggertest.Outage()
		r.hook.Store(&outage)
		time.Sleep(time.Hour)
		heal()
		time.Sleep(time.Minute)
		assert.Equal(t, trigger.StatusCompleted, get(t, r.service, e.ID).Status)
		r.end(t)
	})
}

// deadQueue is a queue that cannot go on.
type deadQueue struct{ mortise.Queue }

var errDead = errors.New("the queue is dead")

func (deadQueue) Consume(context.Context, mortise.ConsumeOptions, mortise.Handler) error {
	return errDead
}

func TestRunEndsWithItsQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := openMemory(t)
		s, err := trigger.New(trigger.Backend{Store: db.Trigger().Store, Queue: deadQueue{db.Queue(nil)}}, nil)
		require.NoError(t, err)
		w, err := trigger.NewWorker(s, returning(nil), nil)
		require.NoError(t, err)
		require.ErrorIs(t, w.Run(t.Context()), errDead)
		synctest.Wait()
		assert.Empty(t, ourGoroutines(), "the sweeper ends too")
	})
}

func TestRunSweeps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := run(t, trigger.WorkerOptions{}, func(context.Context, trigger.Event) (trigger.Outcome, error) { return trigger.Outcome{}, nil })
		synctest.Wait() // the first sweep is over
		_, key, err := r.service.IssueKey(t.Context(), "acme", "", "")
		require.NoError(t, err)
		_, err = r.service.VerifyKey(t.Context(), key.Reveal())
		require.NoError(t, err)
		synctest.Wait()
		used := time.Now().UTC()
		r.end(t)
		k, err := r.service.FindKey(t.Context(), key.Reveal())
		require.NoError(t, err)
		assert.Equal(t, used, k.LastUsedAt, "written when Run ends at the latest")
	})
}
