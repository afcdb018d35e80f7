package postgres_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/postgres"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/trigger/triggertest"
)

// events is the harness of the suite of package trigger.
func events(from func(testing.TB) *database) triggertest.Harness {
	type opened struct {
		db *postgres.DB
		d  *database
	}
	bases := make(map[any]opened)
	open := func(t *testing.T, d *database) trigger.Backend {
		db := d.open(t, nil)
		b := db.Trigger()
		b.Directory = b.Store.(trigger.Organizations)
		bases[b.Store] = opened{db, d}
		return b
	}
	return triggertest.Harness{
		Open: func(t *testing.T) trigger.Backend { return open(t, from(t)) },
		Reopen: func(t *testing.T, b trigger.Backend) trigger.Backend {
			require.NoError(t, bases[b.Store].db.Close())
			return open(t, bases[b.Store].d)
		},
		Leases: func(b trigger.Backend) mortise.Leases { return bases[b.Store].db.Jobs() },
		Break:  func(t *testing.T, b trigger.Backend) (heal func()) { return bases[b.Store].d.refuse(t) },
	}
}

func TestTrigger(t *testing.T) {
	t.Parallel()
	triggertest.Run(t, events(newDatabase))
}

// TestUpdateOfOneField: the columns that hardly ever change are written if one of them has.
func TestUpdateOfOneField(t *testing.T) {
	t.Parallel()
	store := triggerStore(newDatabase(t).open(t, nil))
	at := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	for name, change := range map[string]func(e *trigger.Event){
		"Source":         func(e *trigger.Event) { e.Source = "cron" },
		"Actor":          func(e *trigger.Event) { e.Actor = "ann" },
		"Instructions":   func(e *trigger.Event) { e.Instructions = "Other." },
		"Context":        func(e *trigger.Event) { e.Context = []byte(`{"m":2}`) },
		"Collection":     func(e *trigger.Event) { e.Collection = uuid.UUID{3} },
		"IdempotencyKey": func(e *trigger.Event) { e.IdempotencyKey = "k" },
		"BodyDigest":     func(e *trigger.Event) { e.BodyDigest = [32]byte{4} },
		"Trace":          func(e *trigger.Event) { e.Trace = map[string]string{"a": "b"} },
		"SupersedeKey":   func(e *trigger.Event) { e.SupersedeKey = "k" },
		"SupersedeSince": func(e *trigger.Event) { e.SupersedeSince = at },
	} {
		e := triggerEvent("acme")
		want, _, err := store.CreateEvent(t.Context(), *e, time.Time{})
		require.NoError(t, err)
		require.NoError(t, store.UpdateEvent(t.Context(), "acme", e.ID, func(e *trigger.Event) error { change(e); return nil }), name)
		change(&want)
		got, err := store.Event(t.Context(), "acme", e.ID)
		require.NoError(t, err)
		require.Equal(t, want, got, name)
	}
}

// TestListLimits: a page holds as many events as it may, whatever limit stands in its text.
func TestListLimits(t *testing.T) {
	t.Parallel()
	ctx, d := t.Context(), newDatabase(t)
	_, err := d.pool(t).Exec(ctx, "INSERT INTO mortise.trigger_events (id, version, organization, submitted_at, attempts, generation, status, source, instructions, last_error, submitted_by)"+
		" SELECT gen_random_uuid(), 0, 'acme', now() - n / 3 * interval '1 second', 1, 0, n % 6, 'api', 'x', '', '' FROM generate_series(1, 1100) AS n")
	require.NoError(t, err)
	store := d.open(t, nil).Trigger().Store
	for _, q := range []trigger.EventQuery{{}, {Source: "api"}, {Status: trigger.StatusFailed}} {
		q.Limit = 5000
		all, err := store.ListEvents(ctx, "acme", q)
		require.NoError(t, err)
		require.Empty(t, all.Next)
		for _, limit := range []int{1, 10, 11, 12, 50, 51, 100, 101, 200, 500, 501, 1000, 1001, len(all.Items), len(all.Items) + 1} {
			q.After, q.Limit = "", limit
			for left := all.Items[:min(3*limit, len(all.Items))]; len(left) > 0; {
				page, err := store.ListEvents(ctx, "acme", q)
				require.NoError(t, err)
				n := min(limit, len(left))
				require.True(t, slices.EqualFunc(left[:n], page.Items, func(a, b trigger.Event) bool { return a.ID == b.ID }), "%+v", q)
				left, q.After = left[n:], page.Next
			}
		}
	}
}
