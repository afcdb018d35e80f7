package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/postgres"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/triggerdb"
	"github.com/seed-6363c74e/mortise/trigger"
)

// triggerEvent returns a new event as a service makes it.
func triggerEvent(org string) *trigger.Event {
	now := time.Now().UTC().Truncate(time.Microsecond)
	return &trigger.Event{
		ID: uuid.Must(uuid.NewV7()), Organization: org, Status: trigger.StatusReceived, Source: "api",
		Instructions: "Document the new endpoint.", SubmittedAt: now, DueAt: now,
	}
}

// triggerStore returns the store of a DB.
func triggerStore(db *postgres.DB) *triggerdb.Store { return db.Trigger().Store.(*triggerdb.Store) }

// claimTrigger claims the jobs of events that are there.
func claimTrigger(t *testing.T, db *postgres.DB) []mortise.Lease {
	t.Helper()
	leases, err := db.Jobs().Claim(t.Context(), mortise.Claim{
		Token: uuid.New(), Kinds: []string{trigger.JobKind}, Limit: 10, TTL: time.Hour,
	})
	require.NoError(t, err)
	return leases
}

// awaitLock waits until somebody waits for a lock in the database.
func (d *database) awaitLock(t *testing.T) {
	t.Helper()
	d.awaitLocks(t, 1)
}

// awaitLocks waits until so many do.
func (d *database) awaitLocks(t *testing.T, many int) {
	t.Helper()
	require.Eventually(t, func() bool {
		var n int
		err := admin(d.server, func(ctx context.Context, conn *pgx.Conn) error {
			return conn.QueryRow(ctx, "SELECT count(*) FROM pg_stat_activity WHERE datname = $1 AND wait_event_type = 'Lock'", d.name).Scan(&n)
		})
		return err == nil && n >= many
	}, time.Minute, 10*time.Millisecond)
}

// TestTriggerInTx: an order of the host's and what the service accepts for it are stored
// together or not at all, and so is the end of an attempt with what it has made.
func TestTriggerInTx(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	d := newDatabase(t)
	pool := d.pool(t)
	_, err := pool.Exec(ctx, "CREATE TABLE orders (id int PRIMARY KEY, state text NOT NULL)")
	require.NoError(t, err)
	db := d.open(t, &postgres.Options{Timeout: time.Minute})
	service, err := trigger.New(db.Trigger(), nil)
	require.NoError(t, err)
	events := func() []trigger.Event {
		page, err := service.ListEvents(ctx, "acme", trigger.EventQuery{})
		require.NoError(t, err)
		return page.Items
	}
	undone := errors.New("no money")
	for i, level := range []pgx.TxIsoLevel{pgx.ReadCommitted, pgx.RepeatableRead, pgx.Serializable} {
		within := func(do func(ctx context.Context, tx pgx.Tx) error) error {
			return pgx.BeginTxFunc(ctx, pool, pgx.TxOptions{IsoLevel: level}, func(tx pgx.Tx) error { return do(postgres.InTx(ctx, tx), tx) })
		}
		order := func(key string, fail error) error {
			return within(func(in context.Context, tx pgx.Tx) error {
				if _, err := tx.Exec(ctx, "INSERT INTO orders VALUES ($1, 'new')", i); err != nil {
					return err
				}
				first, err := service.Submit(in, "acme", "test", trigger.Submission{Instructions: "Send it.", IdempotencyKey: key})
				if err != nil {
					return err
				}
				again, err := service.Submit(in, "acme", "test", trigger.Submission{Instructions: "Send it.", IdempotencyKey: key})
				require.NoError(t, err)
				require.Equal(t, first.ID, again.ID, "the event that the transaction has stored, found by its key")
				_, err = service.Submit(in, "acme", "test", trigger.Submission{Instructions: "Send another.", IdempotencyKey: key})
				require.ErrorIs(t, err, trigger.ErrIdempotencyKeyReused, "and the transaction goes on")
				require.Len(t, events(), i, "an event came before COMMIT")
				require.Empty(t, claimTrigger(t, db), "a job came before COMMIT")
				return fail
			})
		}
		key := fmt.Sprint("order-", i)
		require.ErrorIs(t, order(key, undone), undone)
		require.Len(t, events(), i, "an event came after ROLLBACK")
		require.Empty(t, claimTrigger(t, db), "a job came after ROLLBACK")
		require.NoError(t, order(key, nil))
		require.Len(t, events(), i+1)
		leases := claimTrigger(t, db)
		require.Len(t, leases, 1)
		id := events()[0].ID
		require.Equal(t, id.String()+"-0", leases[0].Job.ID)

		sent := func(fail error) error {
			return within(func(in context.Context, tx pgx.Tx) error {
				if _, err := tx.Exec(ctx, "UPDATE orders SET state = 'sent' WHERE id = $1", i); err != nil {
					return err
				}
				complete := func(e *trigger.Event) ([]mortise.Job, error) {
					e.Status, e.FinishedAt = trigger.StatusCompleted, time.Now()
					return nil, nil
				}
				if err := triggerStore(db).UpdateEventAndJobs(in, "acme", id, complete, leases[0], false); err != nil {
					return err
				}
				return fail
			})
		}
		require.ErrorIs(t, sent(undone), undone)
		require.Equal(t, trigger.StatusReceived, events()[0].Status)
		require.NoError(t, db.Jobs().Extend(ctx, leases[0], time.Hour), "the job went in spite of ROLLBACK")
		require.NoError(t, sent(nil))
		require.Equal(t, trigger.StatusCompleted, events()[0].Status)
		require.ErrorIs(t, db.Jobs().Extend(ctx, leases[0], time.Hour), mortise.ErrLeaseLost)
	}
}

// TestTriggerMarkWaits: who creates in a transaction that is not committed holds up another
// process that marks the organization, so that nothing comes behind its last step.
func TestTriggerMarkWaits(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	d := newDatabase(t)
	opts := &postgres.Options{Timeout: time.Minute}
	one, other := d.open(t, opts), d.open(t, opts)
	store, e := triggerStore(other), triggerEvent("acme")
	marked := make(chan error, 1)
	require.NoError(t, pgx.BeginFunc(ctx, d.pool(t), func(tx pgx.Tx) error {
		_, created, err := triggerStore(one).CreateEventAndAdd(postgres.InTx(ctx, tx), *e, time.Time{}, e.Job())
		if err != nil {
			return err
		}
		require.True(t, created)
		go func() {
			_, err := store.MarkDeleted(ctx, "acme", time.Now())
			marked <- err
		}()
		d.awaitLock(t)
		return nil
	}))
	require.NoError(t, <-marked)
	for more := true; more; {
		var err error
		_, more, err = store.RemoveDeleted(ctx, "acme", 1)
		require.NoError(t, err)
	}
	require.Empty(t, claimTrigger(t, one))
	e.Organization = "other"
	_, created, err := triggerStore(one).CreateEvent(ctx, *e, time.Time{})
	require.NoError(t, err)
	require.True(t, created, "an event of the deleted organization is left")
}

// TestTriggerUpdateConflict: an update beside that of another process is not lost, and
// neither is its end of the job.
func TestTriggerUpdateConflict(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	d := newDatabase(t)
	one, other := d.open(t, nil), d.open(t, nil)
	e := triggerEvent("acme")
	_, _, err := triggerStore(one).CreateEventAndAdd(ctx, *e, time.Time{}, e.Job())
	require.NoError(t, err)
	lease := claimTrigger(t, one)[0]
	calls := 0
	end := func(stored *trigger.Event) ([]mortise.Job, error) {
		if calls++; calls == 1 { // while it runs, nothing is locked
			require.NoError(t, triggerStore(other).UpdateEvent(ctx, "acme", e.ID, func(e *trigger.Event) error {
				e.Attempts += 10
				return nil
			}))
		}
		stored.Attempts++
		stored.Status, stored.FinishedAt = trigger.StatusCompleted, time.Now()
		return nil, nil
	}
	require.NoError(t, triggerStore(one).UpdateEventAndJobs(ctx, "acme", e.ID, end, lease, false))
	require.Equal(t, 2, calls)
	stored, err := triggerStore(other).Event(ctx, "acme", e.ID)
	require.NoError(t, err)
	require.Equal(t, 11, stored.Attempts)
	require.ErrorIs(t, one.Jobs().Extend(ctx, lease, time.Hour), mortise.ErrLeaseLost)
}

// TestTriggerEndBesideExtend: the job goes with the end of its attempt also if somebody
// extends the lease at that moment.
func TestTriggerEndBesideExtend(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	d := newDatabase(t)
	db := d.open(t, &postgres.Options{Timeout: time.Minute})
	e := triggerEvent("acme")
	_, _, err := triggerStore(db).CreateEventAndAdd(ctx, *e, time.Time{}, e.Job())
	require.NoError(t, err)
	lease := claimTrigger(t, db)[0]
	ended := make(chan error, 1)
	require.NoError(t, pgx.BeginFunc(ctx, d.pool(t), func(tx pgx.Tx) error {
		if err := db.Jobs().Extend(postgres.InTx(ctx, tx), lease, 2*time.Hour); err != nil {
			return err
		}
		go func() {
			ended <- triggerStore(db).UpdateEventAndJobs(ctx, "acme", e.ID, func(e *trigger.Event) ([]mortise.Job, error) {
				e.Status, e.FinishedAt = trigger.StatusCompleted, time.Now()
				return nil, nil
			}, lease, false)
		}()
		d.awaitLock(t)
		return nil
	}))
	require.NoError(t, <-ended)
	require.ErrorIs(t, db.Jobs().Extend(ctx, lease, time.Hour), mortise.ErrLeaseLost)
	stored, err := triggerStore(db).Event(ctx, "acme", e.ID)
	require.NoError(t, err)
	require.Equal(t, trigger.StatusCompleted, stored.Status)
}
