package audiosearchdb

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/internal/nightly"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/filetest"
)

const (
	heardVideos  = 40
	heardWindows = 300 // of each: all of them together fill blocks
)

func heardVideo(i int) string { return fmt.Sprint("v", i) }

// openHeard opens a database with a dataset of videos, none of them scored, if it is not
// there.
func openHeard(t *testing.T, path string, opts *file.Options) *DB {
	t.Helper()
	db, err := Open(t.Context(), path, opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	if err := db.audiosearch.CreateDataset(t.Context(), audiosearch.Dataset{Organization: "acme", ID: "d"}); err != nil {
		require.ErrorIs(t, err, mortise.ErrExists)
		return db
	}
	var videos []audiosearch.Video
	for i := range heardVideos {
		videos = append(videos, audiosearch.Video{ID: heardVideo(i), Path: "p", Metadata: metadata.Map{"n": metadata.Int(int64(i % 4))}})
	}
	require.NoError(t, db.audiosearch.PutVideos(t.Context(), "acme", "d", videos))
	return db
}

// hear scores a video: the same in every window.
func hear(ctx context.Context, db *DB, video int, score uint16) error {
	column := make([]uint16, heardWindows)
	for i := range column {
		column[i] = score
	}
	s := audiosearch.Scoring{Model: "m", Windows: heardWindows, Classes: []sound.Class{"3", "5"}}
	return db.audiosearch.PutScoring(ctx, "acme", "d", heardVideo(video), "p", s, [][]uint16{column, column})
}

// hearInParts is hear that stores the first windows in parts.
func hearInParts(ctx context.Context, db *DB, video int, score uint16) error {
	column := make([]uint16, heardWindows)
	for i := range column {
		column[i] = score
	}
	p := audiosearch.Part{Video: heardVideo(video), Path: "p", Model: "m", Digest: [32]byte{byte(score), byte(score >> 8)},
		Classes: []sound.Class{"3", "5"}}
	for _, windows := range []int{100, 50} {
		stored, err := db.audiosearch.PutPart(ctx, "acme", "d", p, [][]uint16{column[:windows], column[:windows]})
		if err != nil {
			return err
		}
		p.First = stored
	}
	s := audiosearch.Scoring{Model: "m", Windows: heardWindows, Classes: p.Classes, Digest: p.Digest}
	return db.audiosearch.PutScoring(ctx, "acme", "d", p.Video, "p", s, [][]uint16{column[p.First:], column[p.First:]})
}

// heard returns the scores of the videos. It fails if one has windows of two states, or
// not all.
func heard(t *testing.T, db *DB) map[string]uint16 {
	hits, err := db.audiosearch.Search(t.Context(), "acme", "d", audiosearch.ScoreQuery{Model: "m", Class: "5", Limit: 2 * heardVideos * heardWindows})
	if !assert.NoError(t, err) {
		return nil
	}
	scores, windows, found := make(map[string]uint16), make(map[string]int), make(map[audiosearch.Hit]bool)
	for _, h := range hits {
		if was, ok := scores[h.Video]; ok && was != h.Score {
			assert.Failf(t, "two states", "%s has windows of %d and %d", h.Video, was, h.Score)
		}
		scores[h.Video] = h.Score
		windows[h.Video]++
		assert.False(t, found[h], "a window twice")
		found[h] = true
	}
	for video, n := range windows {
		assert.Equal(t, heardWindows, n, video)
	}
	return scores
}

// TestSearchesSeeOneState: while scores are replaced and packed through one database,
// searches through it and through another one find the windows of each video, all in one
// state.
func TestSearchesSeeOneState(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	dbs := [2]*DB{openHeard(t, path, nil), openHeard(t, path, nil)}
	for i := range heardVideos {
		require.NoError(t, hear(t.Context(), dbs[0], i, 0))
	}
	ctx, stop := context.WithCancel(t.Context())
	var others sync.WaitGroup
	for range 2 {
		others.Go(func() {
			for n := 1; ctx.Err() == nil; n++ {
				assert.NoError(t, hear(context.Background(), dbs[0], rand.IntN(heardVideos), uint16(n)))
			}
		})
	}
	others.Go(func() {
		for ctx.Err() == nil {
			_, _, err := dbs[0].audiosearch.Compact(context.Background(), audiosearch.CompactOptions{}, 100_000)
			assert.NoError(t, err)
		}
	})
	var searches sync.WaitGroup
	for i := range 4 {
		searches.Go(func() {
			for range 25 {
				if scores := heard(t, dbs[i%2]); !assert.Len(t, scores, heardVideos) {
					return
				}
			}
		})
	}
	searches.Wait()
	stop()
	others.Wait()
	require.Equal(t, heard(t, dbs[0]), heard(t, dbs[1]))
}

// childFile is the environment variable of the process of TestKilledWhilePacking.
const childFile = "MORTISE_SQLITE_SOUNDS"

// TestKilledWhilePacking: a process that scores, in parts too, replaces and packs is
// killed at any moment. What is left is one of the states that it made, and no counter is
// wrong.
func TestKilledWhilePacking(t *testing.T) {
	nightly.Only(t)
	if path := os.Getenv(childFile); path != "" { // the process
		db, err := Open(t.Context(), path, nil)
		require.NoError(t, err)
		for n := uint16(1); ; n++ {
			require.NoError(t, hear(t.Context(), db, rand.IntN(heardVideos), n))
			require.NoError(t, hearInParts(t.Context(), db, rand.IntN(heardVideos), n))
			if n%8 == 0 {
				_, _, err := db.audiosearch.Compact(t.Context(), audiosearch.CompactOptions{}, 100_000)
				require.NoError(t, err)
			}
		}
	}
	t.Parallel()
	path := filepath.Join(t.TempDir(), "test.db")
	db, err := Open(t.Context(), path, nil)
	require.NoError(t, err)
	require.NoError(t, db.Close())
	openHeard(t, path, nil)
	for range 5 {
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilledWhilePacking$", "-test.count=1")
		child.Env = append(os.Environ(), childFile+"="+path)
		require.NoError(t, child.Start())
		time.Sleep(300*time.Millisecond + rand.N(500*time.Millisecond)) // a moment, whichever
		require.NoError(t, child.Process.Kill())
		_ = child.Wait()

		after, err := Open(t.Context(), path, nil)
		require.NoError(t, err)
		t.Log(len(heard(t, after)), "videos are scored")
		for more := true; more; {
			_, more, err = after.audiosearch.Compact(t.Context(), audiosearch.CompactOptions{}, 100_000)
			require.NoError(t, err)
		}
		heard(t, after)
		checkAudioTables(t, after.File)
		require.NoError(t, after.Close())
	}
}

// TestRememberedDatasets: the memory for datasets is bounded, and what is counted is what
// is there.
func TestRememberedDatasets(t *testing.T) {
	db := openHeard(t, filetest.EmptyFile(t), nil)
	tables := db.audiosearch
	remembered := func() (datasets []int64) {
		total := 0
		for e := db.audiosearch.views.order.Front(); e != nil; e = e.Next() {
			v := e.Value.(*sharedView)
			require.Equal(t, v.bytes, v.view.bytes)
			datasets, total = append(datasets, v.dataset), total+v.bytes
		}
		require.Equal(t, total, db.audiosearch.views.bytes)
		require.Len(t, db.audiosearch.views.bySeq, len(datasets))
		return datasets
	}
	look := func(dataset string) {
		t.Helper()
		_, err := tables.Search(t.Context(), "acme", dataset, audiosearch.ScoreQuery{Model: "m", Class: "5", Limit: 1})
		require.NoError(t, err)
	}
	for _, id := range []string{"e", "f"} {
		require.NoError(t, tables.CreateDataset(t.Context(), audiosearch.Dataset{Organization: "acme", ID: id}))
		require.NoError(t, tables.PutVideos(t.Context(), "acme", id, []audiosearch.Video{{ID: "v0", Path: "p"}}))
	}
	look("d")
	one := db.audiosearch.views.bytes
	require.Positive(t, one)
	look("e")
	look("f")
	look("d")
	require.Equal(t, []int64{1, 3, 2}, remembered(), "the one used last comes first")

	// What comes and goes leaves nothing.
	for i := range heardVideos {
		require.NoError(t, hear(t.Context(), db, i, 7))
	}
	look("d")
	require.Greater(t, db.audiosearch.views.bytes, one)
	for more := true; more; {
		var err error
		_, more, err = tables.Compact(t.Context(), audiosearch.CompactOptions{}, 100_000)
		require.NoError(t, err)
		look("d")
	}
	for i := range heardVideos {
		require.NoError(t, tables.DeleteVideo(t.Context(), "acme", "d", heardVideo(i)))
	}
	_, _, err := tables.Compact(t.Context(), audiosearch.CompactOptions{}, 100_000)
	require.NoError(t, err)
	look("d")
	v := db.audiosearch.views.get(1)
	require.Empty(t, v.rows)
	require.Empty(t, v.view.blocks)
	remembered()

	db.audiosearch.views.limit = 1
	for _, dataset := range []string{"e", "f"} { // known already, so they are not counted again until they change
		require.NoError(t, tables.PutVideos(t.Context(), "acme", dataset, []audiosearch.Video{{ID: "v1", Path: "p"}}))
		look(dataset)
		require.Len(t, remembered(), 1)
	}
}
