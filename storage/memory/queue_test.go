package memory_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/storage/queuetest"
)

func TestQueue(t *testing.T) {
	t.Parallel() // it waits most of the time
	queuetest.Run(t, queuetest.Harness{Open: func(t *testing.T) queuetest.Backend {
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
		return queuetest.Backend{Leases: db.Jobs(), Queue: db.Queue(nil), SetNow: setNow}
	}})
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
