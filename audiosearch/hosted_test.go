package audiosearch_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/storage/memory"
)

// hostedStore knows the transactions of a host's, and notes under which one scores are
// stored. It takes one call at a time in each, as a pgx.Tx does.
type hostedStore struct {
	audiosearch.Store
	mu     sync.Mutex
	stored map[string]int // by the transaction
	busy   atomic.Int64   // calls in a transaction
	most   atomic.Int64   // of them at a time
}

// hostsTx is the key of the name of a transaction.
type hostsTx struct{}

func txOf(ctx context.Context) string {
	name, _ := ctx.Value(hostsTx{}).(string)
	return name
}

func (s *hostedStore) AfterCommit(ctx context.Context, _ func(context.Context)) bool {
	return txOf(ctx) != ""
}

func (s *hostedStore) PutScoring(
	ctx context.Context, org, dataset, video, path string, scoring audiosearch.Scoring, scores [][]uint16,
) error {
	s.mu.Lock()
	s.stored[txOf(ctx)]++
	s.mu.Unlock()
	return s.Store.PutScoring(ctx, org, dataset, video, path, scoring, scores)
}

// TestScoringInTheHostsTransaction: what a caller has scored in a transaction of the host's
// is stored in that, one video after the other, and nobody else's is: neither who comes
// while it goes on, nor who was there before.
func TestScoringInTheHostsTransaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, err := memory.Open(t.Context(), nil)
		require.NoError(t, err)
		store := &hostedStore{Store: db.AudioSearch().Store, stored: make(map[string]int)}
		r := newRigOn(t, db, store, func(o *audiosearch.Options, _ *audiosearch.WorkerOptions) { o.Ingesting = 8 })
		r.video("a", 3000, nil, nil)
		r.video("b", 3000, nil, nil)
		release := make(chan struct{})
		hold := func(ctx context.Context) error {
			if txOf(ctx) != "" {
				store.most.Store(max(store.most.Load(), store.busy.Add(1)))
				defer store.busy.Add(-1)
			}
			select {
			case <-release:
			case <-ctx.Done():
			}
			return ctx.Err()
		}
		r.scorer.hook.Store(&hold)

		var all sync.WaitGroup
		came := make(map[string]audiosearch.Ingested)
		for _, tx := range []string{"one", "", "two"} {
			all.Go(func() {
				in, err := r.Ingest(context.WithValue(t.Context(), hostsTx{}, tx), org, "", "d")
				assert.NoError(t, err)
				store.mu.Lock()
				defer store.mu.Unlock()
				came[tx] = in
			})
			synctest.Wait() // it scores
		}
		close(release)
		all.Wait()
		for tx, in := range came {
			assert.Equal(t, 2, in.Scored+in.Unchanged, "%q", tx)
			assert.Equal(t, in.Scored, store.stored[tx], "%q has scored %d, and stored %v", tx, in.Scored, store.stored)
			assert.Positive(t, in.Scored, "%q", tx)
		}
		assert.LessOrEqual(t, store.most.Load(), int64(2), "one at a time in each of the two transactions")
	})
}
