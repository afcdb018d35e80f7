package memory_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

var errNoMoney = errors.New("no money")

// glimpse is how long a test lets others try.
const glimpse = 10 * time.Millisecond

func open(t *testing.T) *memory.DB {
	t.Helper()
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	return db
}

// job returns the job that a test adds.
func job(id string) mortise.Job { return mortise.Job{Kind: "docs", Organization: "acme", ID: id} }

// jobs returns how many jobs a claim finds, and gives them back.
func jobs(ctx context.Context, t *testing.T, db *memory.DB) int {
	t.Helper()
	c := mortise.Claim{Token: uuid.New(), Kinds: []string{"docs"}, Limit: 100, TTL: time.Hour}
	leases, err := db.Jobs().Claim(ctx, c)
	require.NoError(t, err)
	for _, l := range leases {
		require.NoError(t, db.Jobs().Release(ctx, l, 0))
	}
	return len(leases)
}

// TestInTxEnds: whatever is no return of nil, with a context that has not ended, rolls back,
// and lets others write.
func TestInTxEnds(t *testing.T) {
	db := open(t)
	heard := make(chan string, 10)
	defer db.Jobs().NotifyJobs(func(kind string) { heard <- kind })()
	add := func(ctx context.Context) {
		require.NoError(t, db.Jobs().Add(ctx, job("one")))
		require.True(t, db.Trigger().Store.(mortise.HostTx).AfterCommit(ctx, func(ctx context.Context) {
			require.False(t, db.Vault().Store.(mortise.HostTx).AfterCommit(ctx, nil))
			require.NoError(t, db.Jobs().Add(ctx, job("after")))
		}))
		require.Equal(t, 1, jobs(ctx, t, db))
	}
	require.ErrorIs(t, db.InTx(t.Context(), func(ctx context.Context) error {
		add(ctx)
		return errNoMoney
	}), errNoMoney)
	require.PanicsWithValue(t, "no", func() {
		_ = db.InTx(t.Context(), func(ctx context.Context) error {
			add(ctx)
			panic("no")
		})
	})
	var ended sync.WaitGroup
	ended.Go(func() {
		_ = db.InTx(t.Context(), func(ctx context.Context) error {
			add(ctx)
			runtime.Goexit()
			return nil
		})
	})
	ended.Wait()
	outer, cancel := context.WithCancel(t.Context())
	require.ErrorIs(t, db.InTx(outer, func(ctx context.Context) error {
		add(ctx)
		cancel()
		return nil
	}), context.Canceled)
	require.ErrorIs(t, db.InTx(outer, func(context.Context) error { panic("it was called") }), context.Canceled)
	require.Zero(t, jobs(t.Context(), t, db))
	require.Empty(t, heard)

	require.NoError(t, db.InTx(t.Context(), func(ctx context.Context) error {
		add(ctx)
		require.Empty(t, heard)
		return nil
	}))
	require.Equal(t, 2, jobs(t.Context(), t, db))
	require.Len(t, heard, 2)
}

// TestInTxLate: a call under the context of a transaction that has ended is an error, and
// changes nothing.
func TestInTxLate(t *testing.T) {
	db := open(t)
	for _, end := range []error{nil, errNoMoney} {
		var late context.Context
		require.ErrorIs(t, db.InTx(t.Context(), func(ctx context.Context) error {
			late = ctx
			return end
		}), end)
		require.ErrorContains(t, db.Jobs().Add(late, job("late")), "has ended")
		_, err := db.Vault().Store.Keys(late)
		require.ErrorContains(t, err, "has ended")
		require.ErrorContains(t, db.InTx(late, func(context.Context) error { panic("it was called") }), "has ended")
		db.Vault().Store.(mortise.HostTx).AfterCommit(late, func(context.Context) { panic("it was called") })
		require.Zero(t, jobs(t.Context(), t, db))
	}
}

// TestInTxOthers: others read what was committed before, and what they write waits for the end
// of the transaction, or of their context.
func TestInTxOthers(t *testing.T) {
	db := open(t)
	store := db.AudioSearch().Store
	d := audiosearch.Dataset{Organization: "acme", ID: "d", CreatedAt: time.Now()}
	require.NoError(t, store.CreateDataset(t.Context(), d))
	short, cancel := context.WithTimeout(t.Context(), glimpse)
	defer cancel()
	var other sync.WaitGroup
	require.NoError(t, db.InTx(t.Context(), func(ctx context.Context) error {
		require.NoError(t, store.DeleteDataset(ctx, "acme", "d"))
		require.NoError(t, store.CreateDataset(ctx, d))
		_, err := store.Dataset(t.Context(), "acme", "d")
		require.NoError(t, err)
		require.ErrorIs(t, db.Jobs().Add(short, job("never")), context.DeadlineExceeded)
		require.ErrorIs(t, store.PutVideos(short, "acme", "d", nil), context.DeadlineExceeded)
		require.ErrorIs(t, db.InTx(short, func(context.Context) error { panic("it was called") }), context.DeadlineExceeded)
		for range 4 {
			other.Go(func() {
				require.NoError(t, store.PutVideos(t.Context(), "acme", "d", []audiosearch.Video{{ID: uuid.NewString()}}))
			})
			other.Go(func() {
				require.NoError(t, db.InTx(t.Context(), func(ctx context.Context) error {
					return store.PutVideos(ctx, "acme", "d", []audiosearch.Video{{ID: uuid.NewString()}})
				}))
			})
		}
		time.Sleep(glimpse)
		videos, err := store.ListVideos(ctx, "acme", "d", "", 10)
		require.NoError(t, err)
		require.Empty(t, videos.Items)
		return nil
	}))
	other.Wait()
	videos, err := store.ListVideos(t.Context(), "acme", "d", "", 10)
	require.NoError(t, err)
	require.Len(t, videos.Items, 8)
}

// TestInTxWithin: a transaction within one on the same database is refused, and one on another
// database is of its own. A call within another call is refused.
func TestInTxWithin(t *testing.T) {
	db, elsewhere := open(t), open(t)
	require.ErrorIs(t, db.InTx(t.Context(), func(ctx context.Context) error {
		require.ErrorContains(t, db.InTx(ctx, func(context.Context) error { panic("it was called") }), "InTx within InTx")
		require.NoError(t, elsewhere.InTx(ctx, func(ctx context.Context) error {
			require.NoError(t, db.Jobs().Add(ctx, job("too")))
			return elsewhere.Jobs().Add(ctx, job("elsewhere"))
		}))
		require.Equal(t, 1, jobs(ctx, t, db))
		require.NoError(t, db.AuthMgmt().Store.(*memory.AuthMgmt).UpdateKeyChecks(ctx, func(noted [][32]byte) ([][32]byte, error) {
			require.ErrorContains(t, db.Jobs().Add(ctx, job("within")), "within another call")
			return noted, nil
		}))
		return errNoMoney
	}), errNoMoney)
	require.Zero(t, jobs(t.Context(), t, db))
	require.Equal(t, 1, jobs(t.Context(), t, elsewhere))
}

// TestInTxSearch: a search in a transaction finds what it has stored and removed, and searches
// of others find what was there before, also after a rollback.
func TestInTxSearch(t *testing.T) {
	db := open(t)
	store := db.AudioSearch().Store
	require.NoError(t, store.CreateDataset(t.Context(), audiosearch.Dataset{Organization: "acme", ID: "d", CreatedAt: time.Now()}))
	put := func(ctx context.Context, id string, scores ...uint16) {
		v := audiosearch.Video{ID: id, Path: "p", Metadata: metadata.Map{"camera": metadata.String("north")}}
		require.NoError(t, store.PutVideos(ctx, "acme", "d", []audiosearch.Video{v}))
		s := audiosearch.Scoring{Model: "m", Window: time.Second, Hop: time.Second, Windows: len(scores), Classes: []sound.Class{"0"}}
		require.NoError(t, store.PutScoring(ctx, "acme", "d", id, "p", s, [][]uint16{scores}))
	}
	found := func(ctx context.Context) (hits []audiosearch.Hit) {
		filters := []metadata.Filter{{Key: "camera", Value: "north"}}
		hits, err := store.Search(ctx, "acme", "d", audiosearch.ScoreQuery{Model: "m", Class: "0", Limit: 10, Filters: filters})
		require.NoError(t, err)
		return hits
	}
	put(t.Context(), "a", 7, 5)
	put(t.Context(), "b", 6)
	before := []audiosearch.Hit{{Video: "a", Score: 7}, {Video: "b", Score: 6}, {Video: "a", Window: 1, Score: 5}}
	within := []audiosearch.Hit{{Video: "c", Score: 9}, {Video: "a", Score: 7}, {Video: "a", Window: 1, Score: 5}}
	for _, end := range []error{errNoMoney, nil} {
		require.ErrorIs(t, db.InTx(t.Context(), func(ctx context.Context) error {
			require.NoError(t, store.DeleteVideo(ctx, "acme", "d", "b"))
			put(ctx, "c", 9)
			require.Equal(t, within, found(ctx))
			require.Equal(t, before, found(t.Context()))
			return end
		}), end)
		if end != nil {
			require.Equal(t, before, found(t.Context()))
		}
	}
	require.Equal(t, within, found(t.Context()))
}

// TestInTxRollsBackAdditions: what is added to something that was there before is not left in
// it, also where the same addition once more would change nothing.
func TestInTxRollsBackAdditions(t *testing.T) {
	db := open(t)
	vaults, sounds := db.Vault().Store, db.AudioSearch().Store
	undo := func(do func(ctx context.Context) error) {
		require.ErrorIs(t, db.InTx(t.Context(), func(ctx context.Context) error {
			require.NoError(t, do(ctx))
			return errNoMoney
		}), errNoMoney)
	}
	_, err := vaults.RegisterKey(t.Context(), keyring.Key{Purpose: keyring.SealKey, Version: 1})
	require.NoError(t, err)
	undo(func(ctx context.Context) error { return vaults.RetireKey(ctx, keyring.SealKey, 1, 0) })
	keys, err := vaults.Keys(t.Context())
	require.NoError(t, err)
	require.False(t, keys[0].Retired)

	undo(func(ctx context.Context) error {
		_, err := sounds.ModelOrder(ctx, "family", "first")
		return err
	})
	place, err := sounds.ModelOrder(t.Context(), "family", "second")
	require.NoError(t, err)
	require.EqualValues(t, 1, place)

	require.NoError(t, sounds.CreateDataset(t.Context(), audiosearch.Dataset{Organization: "acme", ID: "d", CreatedAt: time.Now()}))
	videos := []audiosearch.Video{{ID: "a", Path: "p"}, {ID: "b", Path: "p"}}
	require.NoError(t, sounds.PutVideos(t.Context(), "acme", "d", videos))
	part := audiosearch.Part{Video: "a", Path: "p", Model: "m", Window: time.Second, Hop: time.Second, Classes: []sound.Class{"0"}}
	put := func(ctx context.Context, first int) error {
		part.First = first
		_, err := sounds.PutPart(ctx, "acme", "d", part, [][]uint16{{7}})
		return err
	}
	require.NoError(t, put(t.Context(), 0))
	undo(func(ctx context.Context) error { return put(ctx, 1) })
	stored, err := sounds.Parts(t.Context(), "acme", "d", part)
	require.NoError(t, err)
	require.Equal(t, 1, stored)

	run := audiosearch.Run{ID: 1, Organization: "acme", State: audiosearch.StateRunning, Query: audiosearch.Query{Dataset: "d"}}
	require.NoError(t, sounds.CreateRun(t.Context(), run, 10))
	set := uuid.New()
	require.NoError(t, sounds.PutResultVideos(t.Context(), "acme", 1, set, videos[:1]))
	undo(func(ctx context.Context) error { return sounds.PutResultVideos(ctx, "acme", 1, set, videos[1:]) })
	require.Error(t, sounds.PutResults(t.Context(), "acme", 1, set, []audiosearch.Result{{VideoID: "b"}}))
}
