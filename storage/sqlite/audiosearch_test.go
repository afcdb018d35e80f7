package sqlite_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/audiosearchtest"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/storage/sqlite"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/audiosearchdb"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/filetest"
)

// sounds is the harness of the domain's suites, with something done to each database.
func sounds(each ...func(*sqlite.DB)) audiosearchtest.Harness {
	files := make(map[any]*opened)
	open := func(t *testing.T, path string) audiosearchtest.Backend {
		db := openAt(t, path, &sqlite.Options{BusyTimeout: 50 * time.Millisecond})
		for _, do := range each {
			do(db)
		}
		tables := db.AudioSearch().Store.(*audiosearchdb.Store)
		files[tables] = &opened{db, path}
		return audiosearchtest.Backend{
			Datasets: tables, Catalog: tables, Scores: tables, Parts: tables, Models: tables,
			Runs: tables, Results: tables, Counter: tables, Deletion: tables,
			Leases: db.Jobs(), Queue: db.Queue(nil),
		}
	}
	return audiosearchtest.Harness{
		Open: func(t *testing.T) audiosearchtest.Backend { return open(t, filetest.EmptyFile(t)) },
		Reopen: func(t *testing.T, b audiosearchtest.Backend) audiosearchtest.Backend {
			require.NoError(t, files[b.Datasets].db.Close())
			return open(t, files[b.Datasets].path)
		},
		Break: func(t *testing.T, b audiosearchtest.Backend) (heal func()) {
			return lockFile(t, files[b.Datasets].path)
		},
	}
}

func TestAudioSearch(t *testing.T) {
	t.Parallel()
	audiosearchtest.Run(t, sounds())
}

func TestAudioSearchModel(t *testing.T) {
	t.Parallel()
	audiosearchtest.RunModel(t, sounds(), &audiosearchtest.ModelOptions{Sequences: 5})
}

// TestPacked: scores that Compact has packed are found. So the plans of its statements are
// looked at, too.
func TestPacked(t *testing.T) {
	t.Parallel()
	s, ctx := openAt(t, filetest.EmptyFile(t), nil).AudioSearch().Store, t.Context()
	require.NoError(t, s.CreateDataset(ctx, audiosearch.Dataset{Organization: "acme", ID: "d"}))
	var videos []audiosearch.Video
	for i := range 600 {
		videos = append(videos, audiosearch.Video{ID: fmt.Sprint("v", i), Path: "p"})
	}
	require.NoError(t, s.PutVideos(ctx, "acme", "d", videos))
	for i, v := range videos {
		scoring := audiosearch.Scoring{Model: "m", Windows: 1, Classes: []sound.Class{"dog"}}
		require.NoError(t, s.PutScoring(ctx, "acme", "d", v.ID, v.Path, scoring, [][]uint16{{uint16(i)}}))
	}
	packed := 0
	for more := true; more; {
		var n int
		var err error
		n, more, err = s.(audiosearch.Pruner).Compact(ctx, audiosearch.CompactOptions{}, 1000)
		require.NoError(t, err)
		packed += n
	}
	require.NotZero(t, packed)
	hits, err := s.Search(ctx, "acme", "d", audiosearch.ScoreQuery{Model: "m", Class: "dog", Limit: 1})
	require.NoError(t, err)
	require.Len(t, hits, 1)
	require.Equal(t, "v599", hits[0].Video)
}
