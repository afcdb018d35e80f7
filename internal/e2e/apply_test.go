package e2e

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/postgres"
	"github.com/seed-6363c74e/mortise/storage/sqlite"
	"github.com/seed-6363c74e/mortise/trigger"
)

// hostTable is a table of the host's, in the database of a store.
type hostTable struct {
	store trigger.Store
	name  string
}

// newHostTable makes the table.
func newHostTable(t *testing.T, store trigger.Store) hostTable {
	t.Helper()
	h := hostTable{store, "host_" + strings.ReplaceAll(uuid.NewString(), "-", "")}
	require.NoError(t, h.transact(t.Context(), func(ctx context.Context) error {
		_, err := h.exec(ctx, "CREATE TABLE "+h.name+" (event TEXT NOT NULL)")
		return err
	}))
	return h
}

func (h hostTable) transact(ctx context.Context, do func(ctx context.Context) error) error {
	return h.store.(mortise.Transactor).Transact(ctx, "acme", do)
}

// exec runs a statement in the transaction of ctx, which it names.
func (h hostTable) exec(ctx context.Context, statement string) (n int64, err error) {
	if tx, ok := sqlite.HostTx(ctx); ok {
		result, err := tx.ExecContext(ctx, statement)
		if err != nil {
			return 0, err
		}
		return result.RowsAffected()
	}
	tx, ok := postgres.HostTx(ctx)
	if !ok {
		return 0, errors.New("no transaction")
	}
	tag, err := tx.Exec(ctx, statement)
	return tag.RowsAffected(), err
}

// insert inserts a row for an event.
func (h hostTable) insert(ctx context.Context, id uuid.UUID) error {
	_, err := h.exec(ctx, "INSERT INTO "+h.name+" (event) VALUES ('"+id.String()+"')")
	return err
}

// rows returns how many rows an event has.
func (h hostTable) rows(t *testing.T, id uuid.UUID) (n int64) {
	t.Helper()
	require.NoError(t, h.transact(t.Context(), func(ctx context.Context) (err error) {
		n, err = h.exec(ctx, "UPDATE "+h.name+" SET event = event WHERE event = '"+id.String()+"'")
		return err
	}))
	return n
}

// pushes is a queue that pushes each job to Worker.Handle, as a push service does.
type pushes struct {
	handle  atomic.Pointer[func(context.Context, mortise.Delivery) mortise.Verdict]
	running sync.WaitGroup
}

func (p *pushes) Enqueue(_ context.Context, j mortise.Job) error {
	p.running.Go(func() {
		for n := 1; ; n++ {
			v := (*p.handle.Load())(context.Background(), mortise.Delivery{Job: j, Deliveries: n})
			if v.Kind != mortise.VerdictRetry {
				return
			}
			time.Sleep(v.After)
		}
	})
	return nil
}

func (p *pushes) Cancel(context.Context, mortise.Job) error { return errors.ErrUnsupported }

func (p *pushes) Consume(context.Context, mortise.ConsumeOptions, mortise.Handler) error {
	return errors.ErrUnsupported
}

// TestApplyOnEveryQueue: a row of the host's is written once for each event, by whichever queue
// its job comes, also if the transaction fails at first after the row was inserted.
func TestApplyOnEveryQueue(t *testing.T) {
	t.Parallel()
	for name, open := range queues {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			backend := open(t)
			testApply(t, backend(), func(w *trigger.Worker) (stop func()) {
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- w.Run(ctx) }()
				return func() {
					cancel()
					assert.NoError(t, <-ended)
				}
			})
		})
	}
	t.Run("pushed", func(t *testing.T) {
		t.Parallel()
		p := new(pushes)
		b := queues["SQLite"](t)()
		b.Queue = p
		testApply(t, b, func(w *trigger.Worker) (stop func()) {
			handle := w.Handle
			p.handle.Store(&handle)
			return p.running.Wait
		})
	})
}

func testApply(t *testing.T, b trigger.Backend, work func(w *trigger.Worker) (stop func())) {
	h := newHostTable(t, b.Store)
	s, err := trigger.New(b, &trigger.Options{Env: mortise.Env{Logger: slog.New(slog.DiscardHandler)}})
	require.NoError(t, err)
	w, err := trigger.NewWorker(s, func(_ context.Context, e trigger.Event) (trigger.Outcome, error) {
		return trigger.Outcome{Summary: "inserted", Apply: func(ctx context.Context) error {
			err := h.insert(ctx, e.ID)
			if e.Instructions == "fail at first" && e.Attempts == 1 {
				err = errors.Join(err, trigger.RetryAfter(errors.New("not yet"), 10*time.Millisecond))
			}
			return err
		}}, nil
	}, &trigger.WorkerOptions{Apply: true, Sweep: trigger.SweeperOptions{Every: 200 * time.Millisecond}})
	require.NoError(t, err)
	stop := work(w)
	var events []uuid.UUID
	for i := range 20 {
		e, err := s.Submit(t.Context(), "acme", "ann", trigger.Submission{Instructions: []string{"write", "fail at first"}[i%2]})
		require.NoError(t, err)
		events = append(events, e.ID)
	}
	for i, id := range events {
		require.Eventually(t, func() bool {
			e, err := s.Event(t.Context(), "acme", id)
			require.NoError(t, err)
			return e.Status == trigger.StatusCompleted && e.Attempts == 1+i%2
		}, patience, 20*time.Millisecond)
	}
	stop()
	for _, id := range events {
		assert.EqualValues(t, 1, h.rows(t, id))
	}
}
