package audiosearchdb

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/filetest"
)

// TestChangesAreCut: the list of a dataset's changes does not grow without end. Who
// remembers what was before it begins reads everything again, who remembers a later state
// does not.
func TestChangesAreCut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	db, old := openHeard(t, path, nil), openHeard(t, path, nil)
	require.NoError(t, hear(t.Context(), db, 0, 1))
	require.Len(t, heard(t, old), 1)
	require.NoError(t, hear(t.Context(), db, 1, 2))
	touch := func(times int) { // as so many changes of one video
		require.NoError(t, db.Write(t.Context(), func(tx *file.Tx) error {
			for range times {
				c, err := changeDataset(tx, "acme", "d")
				if err != nil {
					return err
				}
				c.videos = []int64{1}
				if err := c.note(); err != nil {
					return err
				}
			}
			return nil
		}))
	}
	listed := func() int { return filetest.Numbers(t, db.File, "SELECT count(*) FROM audiosearch_changes")[0] }
	compact := func() (steps int) {
		for more := true; more; steps++ {
			var err error
			_, more, err = db.audiosearch.Compact(t.Context(), audiosearch.CompactOptions{}, 100_000)
			require.NoError(t, err)
		}
		return steps - 1
	}
	touch(2*keptChanges - listed())
	require.Zero(t, compact(), "they are not many yet")
	require.Len(t, heard(t, db), 2)
	v := db.audiosearch.views.get(1).view
	touch(1)
	require.Equal(t, 1, compact())
	require.Equal(t, keptChanges, listed())
	touch(forgetAtOnce + keptChanges + 1)
	require.Equal(t, 2, compact(), "a step is bounded")
	require.Equal(t, keptChanges, listed())
	require.Equal(t, []int{1}, filetest.Numbers(t, db.File, "SELECT min(revision) - (SELECT forgotten FROM audiosearch_datasets) FROM audiosearch_changes"))
	require.Len(t, heard(t, db), 2)
	require.Len(t, heard(t, old), 2)

	require.Same(t, v, db.audiosearch.views.get(1).view)
	rows := v.rows // a new map is made when all is read
	touch(keptChanges - 10)
	require.NoError(t, hear(t.Context(), db, 2, 3))
	require.Zero(t, compact())
	require.Len(t, heard(t, db), 3)
	require.Equal(t, fmt.Sprintf("%p", rows), fmt.Sprintf("%p", v.rows), "all was read again")
}

// TestDeletedDatasetGoes: what a deleted dataset had goes in steps, of which none is
// long, and another dataset stays as it is.
func TestDeletedDatasetGoes(t *testing.T) {
	db := openHeard(t, filetest.EmptyFile(t), nil)
	tables := db.audiosearch
	require.NoError(t, hear(t.Context(), db, 5, 9))
	require.NoError(t, tables.CreateDataset(t.Context(), audiosearch.Dataset{Organization: "acme", ID: "large"}))
	var videos []audiosearch.Video
	for i := range 2*removeAtOnce + 1 {
		videos = append(videos, audiosearch.Video{ID: heardVideo(i), Path: "p"})
	}
	require.NoError(t, tables.PutVideos(t.Context(), "acme", "large", videos))
	score := func(videos, windows int) {
		require.NoError(t, db.Write(t.Context(), func(tx *file.Tx) error {
			c, err := changeDataset(tx, "acme", "large")
			if err != nil {
				return err
			}
			for i := range videos {
				s := audiosearch.Scoring{Model: fmt.Sprint("m", windows), Windows: windows, Classes: []sound.Class{"3"}}
				args, err := newScoringArgs(&s, [][]uint16{make([]uint16, windows)})
				if err != nil {
					return err
				}
				seq, _, err := c.video(heardVideo(i))
				if err != nil {
					return err
				}
				if err := c.putScoring(seq, &args); err != nil {
					return err
				}
			}
			return c.note()
		}))
	}
	score(10, 5*segmentWindows)
	for more := true; more; {
		var err error
		_, more, err = tables.Compact(t.Context(), audiosearch.CompactOptions{}, 100_000)
		require.NoError(t, err)
	}
	score(2*removeAtOnce, 1)
	require.NoError(t, tables.DeleteDataset(t.Context(), "acme", "large"))
	count := func(what string) int { return filetest.Numbers(t, db.File, "SELECT "+what)[0] }
	windows, blocks := count("sum(windows) FROM audiosearch_blocks"), count("count(*) FROM audiosearch_blocks")
	left := count("count(*) FROM audiosearch_videos")
	for more := true; more; {
		var err error
		_, more, err = tables.Compact(t.Context(), audiosearch.CompactOptions{}, 100_000)
		require.NoError(t, err)
		require.LessOrEqual(t, windows-count("sum(windows) FROM audiosearch_blocks"), windowsAtOnce)
		require.LessOrEqual(t, blocks-count("count(*) FROM audiosearch_blocks"), segmentsAtOnce)
		require.LessOrEqual(t, left-count("count(*) FROM audiosearch_videos"), removeAtOnce)
		windows, blocks = count("sum(windows) FROM audiosearch_blocks"), count("count(*) FROM audiosearch_blocks")
		left = count("count(*) FROM audiosearch_videos")
	}
	require.Equal(t, 1, count("count(*) FROM audiosearch_datasets"))
	checkAudioTables(t, db.File)
	require.Equal(t, map[string]uint16{heardVideo(5): 9}, heard(t, db))
}
