package e2e

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/jetstream"
	"github.com/seed-6363c74e/mortise/storage/postgres"
	"github.com/seed-6363c74e/mortise/storage/river"
	"github.com/seed-6363c74e/mortise/storage/sqlite"
	"github.com/seed-6363c74e/mortise/trigger"
)

// queues opens each kind of queue with a store: open returns the backend of one process.
var queues = map[string]func(t *testing.T) (open func() trigger.Backend){
	"SQLite": func(t *testing.T) func() trigger.Backend {
		path := filepath.Join(t.TempDir(), "events.db")
		return func() trigger.Backend {
			db, err := sqlite.Open(t.Context(), path, nil)
			require.NoError(t, err)
			t.Cleanup(func() { assert.NoError(t, db.Close()) })
			return db.Trigger()
		}
	},
	"PostgreSQL": func(t *testing.T) func() trigger.Backend {
		pool := sharedWithRiver(t)
		return func() trigger.Backend { return postgresBackend(t, pool, nil) }
	},
	"River": func(t *testing.T) func() trigger.Backend {
		pool := sharedWithRiver(t)
		return func() trigger.Backend {
			queue, err := river.New(pool, &river.Options{Tx: postgres.HostTx, Logger: slog.New(slog.DiscardHandler)})
			require.NoError(t, err)
			return postgresBackend(t, pool, &postgres.Options{Queue: queue})
		}
	},
	"JetStream": func(t *testing.T) func() trigger.Backend {
		pool, n := sharedWithRiver(t), startNATS(t)
		return func() trigger.Backend {
			conn, err := nats.Connect(n.url)
			require.NoError(t, err)
			t.Cleanup(conn.Close)
			js, err := natsjs.New(conn)
			require.NoError(t, err)
			queue, err := jetstream.New(t.Context(), js, nil)
			require.NoError(t, err)
			b := postgresBackend(t, pool, nil)
			b.Queue = queue
			return b
		}
	},
}

func postgresBackend(t *testing.T, pool *pgxpool.Pool, opts *postgres.Options) trigger.Backend {
	t.Helper()
	db, err := postgres.New(t.Context(), pool, opts)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, db.Close()) })
	return db.Trigger()
}

// TestActionsOnEveryQueue: an event is cancelled while it runs and while it waits, is run
// before its time, and waits for its time, whatever hands out its job. The actions come from
// another process than the one that runs the events.
func TestActionsOnEveryQueue(t *testing.T) {
	t.Parallel()
	for name, open := range queues {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testActions(t, open(t))
		})
	}
}

func testActions(t *testing.T, open func() trigger.Backend) {
	quiet := &trigger.Options{Env: mortise.Env{Logger: slog.New(slog.DiscardHandler)}}
	here, err := trigger.New(open(), quiet)
	require.NoError(t, err)
	there, err := trigger.New(open(), quiet)
	require.NoError(t, err)

	type attempt struct {
		event trigger.Event
		at    time.Time
		ctx   context.Context
	}
	begun := make(chan attempt, 100)
	worker, err := trigger.NewWorker(there, func(ctx context.Context, e trigger.Event) (trigger.Outcome, error) {
		begun <- attempt{e, time.Now(), ctx}
		switch {
		case e.Instructions == "wait for the end":
			<-ctx.Done()
			return trigger.Outcome{}, context.Cause(ctx)
		case e.Instructions == "fail at first" && e.Attempts == 1:
			return trigger.Outcome{}, trigger.RetryAfter(errors.New("not yet"), time.Hour)
		}
		return trigger.Outcome{}, nil
	}, &trigger.WorkerOptions{Sweep: trigger.SweeperOptions{Every: 200 * time.Millisecond}})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(ctx) }()
	defer func() {
		stop()
		assert.NoError(t, <-ended)
	}()

	submit := func(instructions string, wait time.Duration) trigger.Event {
		t.Helper()
		sub := trigger.Submission{Instructions: instructions}
		if wait > 0 {
			sub.NotBefore = time.Now().Add(wait)
		}
		e, err := here.Submit(t.Context(), "acme", "ann", sub)
		require.NoError(t, err)
		return e
	}
	begins := func(e trigger.Event) attempt {
		t.Helper()
		select {
		case a := <-begun:
			require.Equal(t, e.ID, a.event.ID, "%q began instead of %q", a.event.Instructions, e.Instructions)
			return a
		case <-time.After(patience):
			require.FailNow(t, "the event does not begin", e.Instructions)
			panic("unreachable")
		}
	}
	is := func(id uuid.UUID, status trigger.Status) trigger.Event {
		t.Helper()
		var e trigger.Event
		require.Eventually(t, func() bool {
			var err error
			e, err = here.Event(t.Context(), "acme", id)
			require.NoError(t, err)
			return e.Status == status
		}, patience, 20*time.Millisecond, "status %s", status)
		return e
	}
	act := func(action func(context.Context, string, mortise.Actor, uuid.UUID) (trigger.Event, error), e trigger.Event) {
		t.Helper()
		_, err := action(t.Context(), "acme", "ann", e.ID)
		require.NoError(t, err)
	}

	running := submit("wait for the end", 0)
	attemptOf := begins(running)
	act(here.Cancel, running)
	select {
	case <-attemptOf.ctx.Done():
		require.ErrorIs(t, context.Cause(attemptOf.ctx), trigger.ErrCancelled)
	case <-time.After(patience):
		require.FailNow(t, "the attempt goes on")
	}

	soon := submit("soon", 2*time.Second)
	assert.False(t, begins(soon).at.Before(soon.DueAt), "it began before its time")
	is(soon.ID, trigger.StatusCompleted)

	for _, wait := range []time.Duration{30 * time.Second, time.Hour} { // queued, and not queued yet where the queue is apart
		never := submit("never", wait)
		act(here.Cancel, never)
		is(never.ID, trigger.StatusCancelled)
		early := submit("early", wait)
		act(here.RunNow, early)
		begins(early)
		is(early.ID, trigger.StatusCompleted)
		act(here.Retry, never)
		begins(never)
		is(never.ID, trigger.StatusCompleted)
	}

	fails := submit("fail at first", 0)
	begins(fails)
	is(fails.ID, trigger.StatusReceived)
	act(here.RunNow, fails)
	begins(fails)
	e := is(fails.ID, trigger.StatusCompleted)
	assert.Equal(t, 2, e.Attempts)
	assert.Len(t, e.AttemptsLog(), 2)

	e = is(running.ID, trigger.StatusCancelled)
	assert.Equal(t, 1, e.Attempts)
	assert.Empty(t, begun)
}
