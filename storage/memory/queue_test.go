package memory_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/leases"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/storage/queuetest"
)

func TestQueue(t *testing.T) {
	t.Parallel() // it waits most of the time
	queuetest.Run(t, queues(func(db *memory.DB) mortise.Leases { return db.Jobs() }))
}

// TestQueueInTx: each call is made in a transaction, after one in another that is rolled back.
func TestQueueInTx(t *testing.T) {
	t.Parallel()
	queuetest.Run(t, queues(func(db *memory.DB) mortise.Leases { return jobsInTx{db.Jobs(), db} }))
}

func queues(table func(*memory.DB) mortise.Leases) queuetest.Harness {
	return queuetest.Harness{Open: func(t *testing.T) queuetest.Backend {
		var now atomic.Pointer[func() time.Time]
		setNow := func(f func() time.Time) {
			if f == nil {
				f = time.Now
			}
			now.Store(&f)
		}
		setNow(nil)
		opts := &memory.Options{Now: func() time.Time { return (*now.Load())() }}
		db, err := memory.Open(t.Context(), opts)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		return queuetest.Backend{Leases: table(db), Queue: leases.New(table(db), nil), SetNow: setNow}
	}}
}

// jobsInTx is the table of jobs of TestQueueInTx.
type jobsInTx struct {
	*memory.Jobs
	db *memory.DB
}

func (j jobsInTx) twice(ctx context.Context, do func(ctx context.Context) error) (failed error) {
	_ = j.db.InTx(ctx, func(ctx context.Context) error { return errors.Join(do(ctx), errNoMoney) })
	err := j.db.InTx(ctx, func(ctx context.Context) error {
		failed = do(ctx)
		return nil
	})
	return cmp.Or(failed, err)
}

func (j jobsInTx) Add(ctx context.Context, job mortise.Job) error {
	return j.twice(ctx, func(ctx context.Context) error { return j.Jobs.Add(ctx, job) })
}

func (j jobsInTx) Cancel(ctx context.Context, job mortise.Job) error {
	return j.twice(ctx, func(ctx context.Context) error { return j.Jobs.Cancel(ctx, job) })
}

func (j jobsInTx) Claim(ctx context.Context, c mortise.Claim) (claimed []mortise.Lease, err error) {
	err = j.twice(ctx, func(ctx context.Context) (err error) {
		claimed, err = j.Jobs.Claim(ctx, c)
		return err
	})
	return claimed, err
}

func (j jobsInTx) Extend(ctx context.Context, l mortise.Lease, ttl time.Duration) error {
	return j.twice(ctx, func(ctx context.Context) error { return j.Jobs.Extend(ctx, l, ttl) })
}

func (j jobsInTx) Release(ctx context.Context, l mortise.Lease, after time.Duration) error {
	return j.twice(ctx, func(ctx context.Context) error { return j.Jobs.Release(ctx, l, after) })
}

func (j jobsInTx) Remove(ctx context.Context, l mortise.Lease, dead bool) error {
	return j.twice(ctx, func(ctx context.Context) error { return j.Jobs.Remove(ctx, l, dead) })
}

func (j jobsInTx) ListDead(ctx context.Context, kind string, after mortise.Cursor, limit int) (page mortise.Page[mortise.DeadJob], err error) {
	err = j.twice(ctx, func(ctx context.Context) (err error) {
		page, err = j.Jobs.ListDead(ctx, kind, after, limit)
		return err
	})
	return page, err
}

func (j jobsInTx) CountDead(ctx context.Context, kind string, most int) (n mortise.Count, err error) {
	err = j.twice(ctx, func(ctx context.Context) (err error) {
		n, err = j.Jobs.CountDead(ctx, kind, most)
		return err
	})
	return n, err
}

func (j jobsInTx) Revive(ctx context.Context, job mortise.Job) error {
	return j.twice(ctx, func(ctx context.Context) error { return j.Jobs.Revive(ctx, job) })
}

// TestTurnBehindManyJobs: the one job of an organization has its turn in the next claim,
// although 10,000 of another one have been waiting for longer.
func TestTurnBehindManyJobs(t *testing.T) {
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	for i := range 10_000 {
		j := mortise.Job{Kind: "docs", Organization: "acme", ID: fmt.Sprint("job-", i)}
		require.NoError(t, db.Jobs().Add(t.Context(), j))
	}
	one := mortise.Job{Kind: "docs", Organization: "other", ID: "one"}
	require.NoError(t, db.Jobs().Add(t.Context(), one))
	c := mortise.Claim{Token: uuid.New(), Kinds: []string{"docs"}, Limit: 3, TTL: time.Hour}
	leases, err := db.Jobs().Claim(t.Context(), c)
	require.NoError(t, err)
	var ids []string
	for _, l := range leases {
		ids = append(ids, l.Job.ID)
	}
	require.ElementsMatch(t, []string{"job-0", "job-1", "one"}, ids)
}

// TestReleaseKeepsMicroseconds: a job that is given back is due at a microsecond, as the
// DueAt of its event.
func TestReleaseKeepsMicroseconds(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 999, time.UTC)
	db, err := memory.Open(t.Context(), &memory.Options{Now: func() time.Time { return now }})
	require.NoError(t, err)
	claim := func() []mortise.Lease {
		held, err := db.Jobs().Claim(t.Context(), mortise.Claim{Token: uuid.New(), Kinds: []string{"k"}, Limit: 1, TTL: time.Minute})
		require.NoError(t, err)
		return held
	}
	require.NoError(t, db.Jobs().Add(t.Context(), mortise.Job{Kind: "k", Organization: "acme", ID: "a"}))
	held := claim()
	require.Len(t, held, 1)
	require.NoError(t, db.Jobs().Release(t.Context(), held[0], time.Second))
	now = now.Truncate(time.Microsecond).Add(time.Second)
	require.Len(t, claim(), 1)
}
