package postgres_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/postgres"
	"github.com/seed-6363c74e/mortise/trigger"
)

// TestTriggerExecMode: every statement works in the modes in which pgx goes by the Go types
// of the arguments, as behind an old PgBouncer.
func TestTriggerExecMode(t *testing.T) {
	t.Parallel()
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeExec, pgx.QueryExecModeDescribeExec} {
		d := newDatabase(t)
		config, err := pgxpool.ParseConfig(d.server.DSN(d.name))
		require.NoError(t, err)
		config.ConnConfig.DefaultQueryExecMode = mode
		ctx := t.Context()
		pool, err := pgxpool.NewWithConfig(ctx, config)
		require.NoError(t, err)
		t.Cleanup(func() { closePool(t, pool) })
		db, err := postgres.New(ctx, pool, &postgres.Options{Timeout: time.Minute})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		store, later := triggerStore(db), time.Now().Add(time.Hour)

		e := triggerEvent("acme")
		e.IdempotencyKey, e.Collection, e.Trace = "key", uuid.New(), map[string]string{"traceparent": "00"}
		for _, created := range []bool{true, false} {
			_, is, err := store.CreateEventAndAdd(ctx, *e, time.Time{}, e.Job())
			require.NoError(t, err)
			require.Equal(t, created, is)
		}
		waking := triggerEvent("acme")
		waking.WakeAt, waking.DueAt, waking.SupersedeKey, waking.SupersededBy = waking.SubmittedAt, waking.SubmittedAt, "key", uuid.New()
		waking.Failures = []trigger.Attempt{{Number: 1, Error: "no"}}
		_, _, err = store.CreateEvent(ctx, *waking, time.Time{})
		require.NoError(t, err)
		found, err := store.Overdue(ctx, later, 10)
		require.NoError(t, err)
		require.Len(t, found, 1)
		far, err := store.Progress(ctx, []uuid.UUID{e.ID, waking.ID, uuid.New()})
		require.NoError(t, err)
		require.Len(t, far, 2)
		for n, status := range []trigger.Status{trigger.StatusFailed, trigger.StatusReceived} {
			page, err := store.AllEvents(ctx, trigger.AllQuery{Status: status, Limit: 1, DueBefore: later})
			require.NoError(t, err)
			require.Len(t, page.Items, n)
		}
		for n, q := range map[int]trigger.EventQuery{2: {Limit: 10}, 0: {Limit: 10, Source: "host"}, 1: {Limit: 10, IdempotencyKey: "key", Source: "api"}} {
			page, err := store.ListEvents(ctx, "acme", q)
			require.NoError(t, err)
			require.Len(t, page.Items, n)
		}
		counts, err := store.Counts(ctx, "acme", 10)
		require.NoError(t, err)
		require.Equal(t, mortise.CountUpTo(2, 10), counts.Waiting)
		_, err = store.Backlog(ctx, 10)
		require.NoError(t, err)

		require.NoError(t, store.UpdateEvent(ctx, "acme", e.ID, func(e *trigger.Event) error { e.IdempotencyKey = "other"; return nil }))
		end := func(e *trigger.Event) ([]mortise.Job, error) {
			e.Status, e.FinishedAt = trigger.StatusFailed, time.Now()
			return nil, nil
		}
		require.NoError(t, store.UpdateEventAndJobs(ctx, "acme", e.ID, end, claimTrigger(t, db)[0], true))
		removed, _, err := store.Prune(ctx, trigger.StatusFailed, later, later, 10)
		require.NoError(t, err)
		require.Equal(t, 1, removed)

		require.NoError(t, store.UpdateOrganization(ctx, "acme", func(o *trigger.Organization) error { o.SetCollection(uuid.New(), true); return nil }))
		o, err := store.Setup(ctx, "acme")
		require.NoError(t, err)
		require.Len(t, o.Collections, 1)
		k := trigger.APIKey{ID: uuid.New(), Organization: "acme", Digest: [32]byte{1}, CreatedAt: time.Now()}
		require.NoError(t, store.CreateKey(ctx, k))
		require.NoError(t, store.UpdateKey(ctx, "acme", k.ID, func(k *trigger.APIKey) error { k.Name = "name"; return nil }))
		k, err = store.KeyByDigest(ctx, k.Digest)
		require.NoError(t, err)
		require.Equal(t, "name", k.Name)
		keys, err := store.ListKeys(ctx, "acme", "", 10)
		require.NoError(t, err)
		require.Len(t, keys.Items, 1)

		_, err = store.MarkDeleted(ctx, "acme", time.Now())
		require.NoError(t, err)
		_, more, err := store.RemoveDeleted(ctx, "acme", 100)
		require.NoError(t, err)
		require.False(t, more)
		_, _, err = store.CreateEvent(ctx, *e, time.Time{})
		require.ErrorIs(t, err, mortise.ErrDeleted)
	}
}
