package audiosearchdb

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/audioset"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/internal/nightly"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/filetest"
)

// TestAudioSearchSize: after compaction a window takes 1300 bytes in the file at most,
// with its share of everything, however long the videos are.
func TestAudioSearchSize(t *testing.T) {
	nightly.Only(t)
	for _, c := range []struct{ videos, windows int }{{130, 100}, {3 * chunkWindows, 1}, {3, chunkWindows}, {1, 14400}} {
		t.Run(fmt.Sprintf("%d of %d windows", c.videos, c.windows), func(t *testing.T) {
			t.Parallel()
			db, err := Open(t.Context(), filepath.Join(t.TempDir(), "test.db"), nil)
			require.NoError(t, err)
			defer func() { require.NoError(t, db.Close()) }()
			tables := db.audiosearch
			require.NoError(t, tables.CreateDataset(t.Context(), audiosearch.Dataset{Organization: "acme", ID: "d"}))
			empty := liveBytes(t, db)
			const batch = 1000
			for from := 0; from < c.videos; from += batch {
				var videos []audiosearch.Video
				for i := from; i < min(from+batch, c.videos); i++ {
					name := fmt.Sprintf("2026-11/camera-%d-%06d", i%7, i)
					m := metadata.Map{"camera": metadata.Int(int64(i % 7))}
					videos = append(videos, audiosearch.Video{ID: name, Path: name + ".mp4", Metadata: m})
				}
				require.NoError(t, tables.PutVideos(t.Context(), "acme", "d", videos))
				require.NoError(t, db.Write(t.Context(), func(tx *file.Tx) error { return putRandomScores(tx, videos, c.windows) }))
				for more := true; more; {
					_, more, err = tables.Compact(t.Context(), audiosearch.CompactOptions{}, 100_000)
					require.NoError(t, err)
				}
			}
			perWindow := float64(liveBytes(t, db)-empty) / float64(c.videos*c.windows)
			t.Logf("%.0f bytes a window", perWindow)
			require.LessOrEqual(t, perWindow, 1300.0)
		})
	}
}

// liveBytes is what the file takes without its free pages.
func liveBytes(t *testing.T, db *DB) int {
	t.Helper()
	return 4096 * (filetest.Numbers(t, db.File, "PRAGMA page_count")[0] - filetest.Numbers(t, db.File, "PRAGMA freelist_count")[0])
}

// putRandomScores does as PutScoring does, for many videos.
func putRandomScores(tx *file.Tx, videos []audiosearch.Video, windows int) error {
	c, err := changeDataset(tx, "acme", "d")
	if err != nil {
		return err
	}
	columns := make([][]uint16, audioset.NumClasses)
	for i := range columns {
		columns[i] = make([]uint16, windows)
	}
	for i := range videos {
		for _, column := range columns {
			for w := range column {
				column[w] = uint16(rand.Uint32())
			}
		}
		id := uuid.New()
		s := audiosearch.Scoring{
			Model: "ast/1/sha256:abcdef", FileSize: 123456, FileTime: filetest.SomeTime, At: filetest.SomeTime,
			Window: 10 * time.Second, Hop: 2 * time.Second, Windows: windows, Duration: 10 * time.Second, Classes: audioset.Classes(),
		}
		copy(s.Digest[:], id[:])
		args, err := newScoringArgs(&s, columns)
		if err != nil {
			return err
		}
		seq, _, err := c.video(videos[i].ID)
		if err != nil {
			return err
		}
		if err := c.putScoring(seq, &args); err != nil {
			return err
		}
	}
	return c.note()
}
