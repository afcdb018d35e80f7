package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/internal/nightly"
	"github.com/seed-6363c74e/mortise/storage/postgres"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/audiosearchdb"
)

// soundStores returns the stores of two processes, and a dataset of one video that is
// scored.
func soundStores(t *testing.T, d *database) (one, two *audiosearchdb.Store) {
	one = d.open(t, nil).AudioSearch().Store.(*audiosearchdb.Store)
	two = d.open(t, nil).AudioSearch().Store.(*audiosearchdb.Store)
	require.NoError(t, one.CreateDataset(t.Context(), audiosearch.Dataset{Organization: "acme", ID: "d"}))
	putVideo(t, one, "v", "1")
	scoring := audiosearch.Scoring{Model: "m", Window: time.Second, Hop: time.Second, Windows: 2, Classes: []sound.Class{"Bark"}}
	require.NoError(t, one.PutScoring(t.Context(), "acme", "d", "v", "v.wav", scoring, [][]uint16{{7, 9}}))
	return one, two
}

func putVideo(t *testing.T, a *audiosearchdb.Store, id, show string) {
	t.Helper()
	require.NoError(t, a.PutVideos(t.Context(), "acme", "d", []audiosearch.Video{
		{ID: id, Path: id + ".wav", Metadata: metadata.Map{"show": metadata.String(show)}}}))
}

func barks(show string) audiosearch.ScoreQuery {
	return audiosearch.ScoreQuery{Model: "m", Class: "Bark", Limit: 10, Filters: []metadata.Filter{{Key: "show", Value: show}}}
}

// TestAudioSearchProcesses: each process sees at once what another one has changed, whatever
// it remembers, and a dataset that has the ID of a deleted one is another one.
func TestAudioSearchProcesses(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	one, two := soundStores(t, newDatabase(t))
	found := func(a *audiosearchdb.Store, show string) int {
		hits, err := a.Search(ctx, "acme", "d", barks(show))
		require.NoError(t, err)
		return len(hits)
	}
	for i := range 5 {
		now, next := fmt.Sprint(i+1), fmt.Sprint(i+2)
		require.Equal(t, []int{2, 2}, []int{found(one, now), found(two, now)})
		putVideo(t, one, "v", next)
		putVideo(t, one, fmt.Sprint("other ", i), next)
		require.Equal(t, []int{0, 0, 2, 2}, []int{found(two, now), found(one, now), found(two, next), found(one, next)})
		one, two = two, one
	}
	require.NoError(t, two.DeleteVideo(ctx, "acme", "d", "v"))
	require.Zero(t, found(one, "6"))
	missing, err := one.MissingKeys(ctx, "acme", "d", []string{"show", "season"})
	require.NoError(t, err)
	require.Equal(t, []string{"season"}, missing)

	require.NoError(t, one.DeleteDataset(ctx, "acme", "d"))
	_, err = two.Search(ctx, "acme", "d", barks("6"))
	require.ErrorIs(t, err, audiosearch.ErrDatasetNotFound)
	require.NoError(t, one.CreateDataset(ctx, audiosearch.Dataset{Organization: "acme", ID: "d"}))
	missing, err = two.MissingKeys(ctx, "acme", "d", []string{"show"})
	require.NoError(t, err)
	require.Equal(t, []string{"show"}, missing)
}

// TestCatalogGoesBack: a database that knows less than a program remembers, after a failover
// to a standby that was behind, is searched as it is.
func TestCatalogGoesBack(t *testing.T) {
	t.Parallel()
	ctx, d := t.Context(), newDatabase(t)
	one, _ := soundStores(t, d)
	putVideo(t, one, "lost", "1")
	search := func() int {
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		hits, err := one.Search(ctx, "acme", "d", barks("1"))
		require.NoError(t, err)
		return len(hits)
	}
	require.Equal(t, 2, search())
	_, err := d.pool(t).Exec(ctx, "DELETE FROM mortise.audiosearch_videos WHERE id = 'lost'")
	require.NoError(t, err)
	_, err = d.pool(t).Exec(ctx, "UPDATE mortise.audiosearch_datasets SET version = version - 1")
	require.NoError(t, err)
	for range 2 {
		require.Equal(t, 2, search())
	}
	missing, err := one.MissingKeys(ctx, "acme", "d", []string{"show"})
	require.NoError(t, err)
	require.Empty(t, missing)
}

// TestAudioSearchRoom: however many processes create runs, no more pass than there is room
// for.
func TestAudioSearchRoom(t *testing.T) {
	t.Parallel()
	one, two := soundStores(t, newDatabase(t))
	const room = 5
	var created, refused atomic.Int64
	var all sync.WaitGroup
	for i := range 40 {
		store := []*audiosearchdb.Store{one, two}[i%2]
		all.Go(func() {
			r := audiosearch.Run{ID: int64(i) + 1, Organization: "acme", State: audiosearch.StatePending, CreatedAt: time.Now()}
			switch err := store.CreateRun(t.Context(), r, room); {
			case err == nil:
				created.Add(1)
			case errors.Is(err, audiosearch.ErrTooManyRuns):
				refused.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	all.Wait()
	require.Equal(t, []int64{room, 40 - room}, []int64{created.Load(), refused.Load()})
}

// TestAudioSearchInTx: what a host rolls back nobody sees, also not by what a process
// remembers.
func TestAudioSearchInTx(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	d := newDatabase(t)
	pool := d.pool(t)
	one, two := soundStores(t, d)
	undone := errors.New("no money")
	for i, level := range []pgx.TxIsoLevel{pgx.ReadCommitted, pgx.RepeatableRead, pgx.Serializable} {
		id := fmt.Sprint("host ", i)
		within := func(end error) error {
			return pgx.BeginTxFunc(ctx, pool, pgx.TxOptions{IsoLevel: level}, func(tx pgx.Tx) error {
				inside := postgres.InTx(ctx, tx)
				v := audiosearch.Video{ID: id, Path: "x.wav", Metadata: metadata.Map{id: metadata.Int(1)}}
				if err := one.PutVideos(inside, "acme", "d", []audiosearch.Video{v}); err != nil {
					return err
				}
				scoring := audiosearch.Scoring{Model: "of " + id, Windows: 1, Classes: []sound.Class{sound.Class(id)}}
				if err := one.PutScoring(inside, "acme", "d", id, "x.wav", scoring, [][]uint16{{5}}); err != nil {
					return err
				}
				q := audiosearch.ScoreQuery{Model: scoring.Model, Class: sound.Class(id), Limit: 10, Filters: []metadata.Filter{{Key: id, Value: "1"}}}
				hits, err := one.Search(inside, "acme", "d", q)
				require.NoError(t, err)
				require.Equal(t, []audiosearch.Hit{{Video: id, Score: 5}}, hits, "its own rows")
				return end
			})
		}
		missing := func() (n int) {
			for _, a := range []*audiosearchdb.Store{one, two} {
				keys, err := a.MissingKeys(ctx, "acme", "d", []string{id})
				require.NoError(t, err)
				n += len(keys)
			}
			return n
		}
		require.ErrorIs(t, within(undone), undone)
		require.Equal(t, 2, missing(), level)
		require.NoError(t, within(nil))
		require.Zero(t, missing(), level)
		scorings, err := two.Scorings(ctx, "acme", "d", "of "+id, []string{id})
		require.NoError(t, err)
		require.Equal(t, []sound.Class{sound.Class(id)}, scorings[id].Classes)
	}
}

// TestAudioSearchLargeCatalog: what does not fit into Options.Timeout is read in several calls.
func TestAudioSearchLargeCatalog(t *testing.T) {
	nightly.Only(t)
	t.Parallel()
	ctx := t.Context()
	d := newDatabase(t)
	soundStores(t, d)
	pool := d.pool(t)
	// As if there had been so many calls, of 100 videos each, with 3 KB of metadata.
	puts := 400
	for _, statement := range []string{
		"INSERT INTO mortise.audiosearch_videos (dataset, id, changed, path, metadata) SELECT d.seq, 'v' || n, 2 + n / 100, 'x.wav'," +
			" '{\"text\":\"' || repeat('a', 3000) || '\",\"batch ' || n / 100 || '\":1}'" +
			fmt.Sprintf(" FROM mortise.audiosearch_datasets AS d, generate_series(0, %d) AS n", 100*puts-1),
		fmt.Sprintf("UPDATE mortise.audiosearch_datasets SET version = %d", puts+1),
	} {
		_, err := pool.Exec(ctx, statement)
		require.NoError(t, err)
	}
	hurried := d.open(t, &postgres.Options{Timeout: 100 * time.Millisecond}).AudioSearch().Store
	calls := 0
	require.Eventually(t, func() bool {
		calls++
		none := fmt.Sprint("batch ", puts)
		missing, err := hurried.MissingKeys(ctx, "acme", "d", []string{"batch 0", fmt.Sprint("batch ", puts-1), none})
		return err == nil && assert.Equal(t, []string{none}, missing)
	}, 2*time.Minute, time.Millisecond)
	t.Logf("%d calls", calls)
}
