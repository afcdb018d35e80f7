package postgres_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/leases"
	"github.com/seed-6363c74e/mortise/storage/postgres"
)

// TestReviveInTx: a job that is revived in a host's transaction is claimable, and consumers are
// woken, once that is committed, and not at all if it is rolled back.
func TestReviveInTx(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	pool, db := d.pool(t), d.open(t, nil)
	jobs := db.Jobs()
	j := mortise.Job{Kind: "order", Organization: "acme", ID: "1"}
	claim := func() []mortise.Lease {
		found, err := jobs.Claim(t.Context(), mortise.Claim{Token: uuid.New(), Kinds: []string{j.Kind}, Limit: 10, TTL: time.Minute})
		require.NoError(t, err)
		return found
	}
	dead := func(ctx context.Context) int {
		n, err := jobs.CountDead(ctx, j.Kind, 10)
		require.NoError(t, err)
		page, err := jobs.ListDead(ctx, j.Kind, "", 10)
		require.NoError(t, err)
		require.Len(t, page.Items, n.N)
		return n.N
	}
	require.NoError(t, jobs.Add(t.Context(), j))
	require.NoError(t, jobs.Remove(t.Context(), claim()[0], true))
	woken := make(chan string, 10)
	defer jobs.(leases.JobNotifier).NotifyJobs(func(kind string) { woken <- kind })()
	d.awaitListen(t)

	for _, undone := range []error{errors.New("no money"), nil} {
		require.ErrorIs(t, pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
			within := postgres.InTx(t.Context(), tx)
			require.NoError(t, jobs.Revive(within, j))
			require.Zero(t, dead(within), "dead jobs, as the transaction sees them")
			require.Equal(t, 1, dead(t.Context()), "dead jobs, as others see them")
			return undone
		}), undone)
		if undone != nil {
			require.Equal(t, 1, dead(t.Context()))
			require.Empty(t, claim())
			require.Empty(t, woken)
		}
	}
	select {
	case kind := <-woken:
		require.Equal(t, j.Kind, kind)
	case <-time.After(time.Minute):
		t.Fatal("nobody was told of the job")
	}
	require.Len(t, claim(), 1)
	require.Zero(t, dead(t.Context()))
}
