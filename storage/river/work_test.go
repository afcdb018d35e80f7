package river_test

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	riverqueue "github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/river"
)

var done = mortise.Verdict{Kind: mortise.VerdictDone}

// patience is how long a test waits for what must come.
const patience = 3 * time.Minute

// consume runs a consumer until the test ends, or until stop is called.
func consume(t *testing.T, q *river.Queue, opts mortise.ConsumeOptions, handle mortise.Handler) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- q.Consume(ctx, opts, handle) }()
	stop = func() {
		cancel()
		require.NoError(t, await(t, ended))
		ended <- nil
	}
	t.Cleanup(stop)
	return stop
}

func await[T any](t *testing.T, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(patience):
		t.Fatal("it does not come")
	}
	return v
}

// rows returns what River's UI shows of the jobs.
func (d *database) rows(t *testing.T) []*rivertype.JobRow {
	t.Helper()
	client, err := riverqueue.NewClient(riverpgxv5.New(d.pool(t)), &riverqueue.Config{Schema: "mortise_river"})
	require.NoError(t, err)
	list, err := client.JobList(t.Context(), riverqueue.NewJobListParams())
	require.NoError(t, err)
	return list.Jobs
}

// River never rescues a job whose worker has no timeout.
func TestRescue(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	q := d.queue(t, &river.Options{RescueAfter: 2 * time.Second})
	j := job("order")
	require.NoError(t, q.Enqueue(t.Context(), j))
	// A worker that has died: its job was handed out long ago.
	require.NoError(t, exec(d.server, d.name, "UPDATE mortise_river.river_job SET state = 'running', attempt = 1,"+
		" attempted_at = now() - interval '1 minute', attempted_by = '{gone}'"))
	came := make(chan mortise.Delivery, 10)
	consume(t, q, mortise.ConsumeOptions{Kinds: []string{"order"}}, func(_ context.Context, d mortise.Delivery) mortise.Verdict {
		came <- d
		return done
	})
	again := await(t, came)
	require.Equal(t, j.String(), again.Job.String())
	require.Equal(t, 2, again.Deliveries)
}

func TestHandlerThatTakesTooLong(t *testing.T) {
	t.Parallel()
	q := newDatabase(t).queue(t, &river.Options{RescueAfter: time.Second})
	require.NoError(t, q.Enqueue(t.Context(), job("order")))
	causes := make(chan error, 10)
	consume(t, q, mortise.ConsumeOptions{Kinds: []string{"order"}}, func(ctx context.Context, d mortise.Delivery) mortise.Verdict {
		if d.Deliveries == 1 {
			<-ctx.Done()
			causes <- context.Cause(ctx)
			return mortise.Verdict{Kind: mortise.VerdictDead} // which does not count
		}
		causes <- nil
		return done
	})
	require.ErrorIs(t, await(t, causes), mortise.ErrLeaseLost)
	require.NoError(t, await(t, causes), "the job comes again")

	err := q.Consume(t.Context(), mortise.ConsumeOptions{Kinds: []string{"order"}, MaxHandle: time.Second}, nil)
	require.ErrorContains(t, err, "RescueAfter")
}

// A handler may end its goroutine or panic, and the job comes again.
func TestHandlerThatFails(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(){"Goexit": runtime.Goexit, "panic": func() { panic("the secret") }} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDatabase(t)
			q := d.queue(t, nil)
			require.NoError(t, q.Enqueue(t.Context(), job("order")))
			came := make(chan mortise.Delivery, 10)
			stop := consume(t, q, mortise.ConsumeOptions{Kinds: []string{"order"}}, func(_ context.Context, d mortise.Delivery) mortise.Verdict {
				came <- d
				if d.Deliveries == 1 {
					fail()
				}
				return done
			})
			for n := range 2 {
				require.Equal(t, n+1, await(t, came).Deliveries)
			}
			stop()
			row := d.rows(t)[0]
			require.Equal(t, rivertype.JobStateCompleted, row.State)
			require.Len(t, row.Errors, 1)
			text, err := json.Marshal(row)
			require.NoError(t, err)
			require.NotContains(t, string(text), "the secret")
		})
	}
}

// A consumer of two kinds that has one worker gives back what it cannot handle, and that does
// not count as a delivery.
func TestGivenBack(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	q := d.queue(t, nil)
	kinds := []string{"order", "letter"}
	for _, kind := range kinds {
		require.NoError(t, q.Enqueue(t.Context(), job(kind)))
	}
	came, let := make(chan mortise.Delivery, 10), make(chan struct{})
	consume(t, q, mortise.ConsumeOptions{Kinds: kinds}, func(_ context.Context, d mortise.Delivery) mortise.Verdict {
		came <- d
		<-let
		return done
	})
	first := await(t, came)
	require.Eventually(t, func() bool {
		for _, row := range d.rows(t) {
			if strings.Contains(string(row.Metadata), "returned") {
				return true
			}
		}
		return false
	}, patience, 50*time.Millisecond)
	require.Empty(t, came)
	close(let)
	second := await(t, came)
	require.NotEqual(t, first.Job.Kind, second.Job.Kind)
	require.Equal(t, 1, second.Deliveries)
}

// What River's UI shows names the work.
func TestArguments(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	q := d.queue(t, nil)
	require.NoError(t, q.Enqueue(t.Context(), mortise.Job{Kind: "order", Organization: "Ärzte & Co", ID: "42",
		Trace: map[string]string{"traceparent": "00-1"}}))
	require.NoError(t, q.Enqueue(t.Context(), mortise.Job{Kind: "a--b", Organization: "=", ID: "43"}))
	rows := d.rows(t)
	require.Len(t, rows, 2)
	require.Equal(t, "mortise", rows[0].Kind)
	require.Equal(t, "order", rows[0].Queue)
	require.JSONEq(t, `{"kind": "order", "organization": "Ärzte & Co", "id": "42", "trace": "traceparent=00-1"}`, string(rows[0].EncodedArgs))
	require.JSONEq(t, `{"kind": "a--b", "organization": "=", "id": "43"}`, string(rows[1].EncodedArgs))
	require.Equal(t, river.QueueName("a--b"), rows[1].Queue)
}

func TestQueueName(t *testing.T) {
	t.Parallel()
	require.Equal(t, "trigger", river.QueueName("trigger"))
	names := make(map[string]string)
	for _, kind := range []string{"a", "a-", "-a", "_", "a--b", "a_-b", strings.Repeat("-", 64), strings.Repeat("a", 64), "kind-1", river.QueueName("a-")} {
		name := river.QueueName(kind)
		require.Empty(t, names[name], "%q and %q", names[name], kind)
		names[name] = kind
	}
}

// A job that was added in a transaction of the host's is there once that is committed.
func TestEnqueueTx(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	q, pool := d.queue(t, nil), d.pool(t)
	came := make(chan mortise.Job, 10)
	consume(t, q, mortise.ConsumeOptions{Kinds: []string{"order"}}, func(_ context.Context, d mortise.Delivery) mortise.Verdict {
		came <- d.Job
		return done
	})
	kept, second, undone := job("order"), job("order"), job("order")
	rollback := errors.New("rollback")
	require.ErrorIs(t, pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		require.NoError(t, q.EnqueueTx(t.Context(), tx, undone))
		return rollback
	}), rollback)
	require.NoError(t, pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		require.Error(t, q.EnqueueTx(t.Context(), tx, mortise.Job{}))
		require.NoError(t, q.EnqueueTx(t.Context(), tx, kept))
		require.NoError(t, q.EnqueueManyTx(t.Context(), tx, nil))
		require.Error(t, q.EnqueueManyTx(t.Context(), tx, []mortise.Job{{}}))
		require.NoError(t, q.EnqueueManyTx(t.Context(), tx, []mortise.Job{second, kept, second})) // one is there, one comes twice
		return q.EnqueueTx(t.Context(), tx, kept)                                                 // is there
	}))
	require.ElementsMatch(t, []string{kept.String(), second.String()}, []string{await(t, came).String(), await(t, came).String()})
	require.Len(t, d.rows(t), 2)
}

func TestNewOverDoesNotConsume(t *testing.T) {
	t.Parallel()
	client, err := riverqueue.NewClient(riverpgxv5.New(newDatabase(t).pool(t)), &riverqueue.Config{})
	require.NoError(t, err)
	q, err := river.NewOver(client, nil)
	require.NoError(t, err)
	err = q.Consume(t.Context(), mortise.ConsumeOptions{Kinds: []string{"order"}}, nil)
	require.ErrorIs(t, err, errors.ErrUnsupported)
	require.ErrorContains(t, err, "run a Sweeper in place of the Worker")
}

// TestAdvice: the errors of what was forgotten say what to do.
func TestAdvice(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	pool := d.pool(t)
	q, err := river.New(pool, &river.Options{Schema: "forgotten"})
	require.NoError(t, err)
	require.ErrorContains(t, q.Enqueue(t.Context(), job("order")), "by river.Migrate")
	require.ErrorContains(t, pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		return q.EnqueueManyTx(t.Context(), tx, []mortise.Job{job("order")})
	}), "by river.Migrate")

	client, err := riverqueue.NewClient(riverpgxv5.New(pool), &riverqueue.Config{Workers: riverqueue.NewWorkers()})
	require.NoError(t, err)
	over, err := river.NewOver(client, nil)
	require.NoError(t, err)
	require.ErrorContains(t, over.Enqueue(t.Context(), job("order")), "add that of river.NewWorker")

	config := pool.Config()
	config.MaxConns = 1
	one, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(one.Close)
	require.ErrorContains(t, river.Migrate(t.Context(), one, nil), "two connections or more")
}
