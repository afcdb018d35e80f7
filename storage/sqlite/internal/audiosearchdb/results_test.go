package audiosearchdb

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/filetest"
)

// endedRun stores a run that found a segment of each video.
func endedRun(t *testing.T, db *Store, org string, id int64, videos []audiosearch.Video) {
	t.Helper()
	run := audiosearch.Run{Organization: org, ID: id, State: audiosearch.StateRunning}
	require.NoError(t, db.CreateRun(t.Context(), run, 1000))
	set, results := uuid.New(), make([]audiosearch.Result, len(videos))
	for i, v := range videos {
		results[i].VideoID = v.ID
	}
	require.NoError(t, db.PutResultVideos(t.Context(), org, id, set, videos))
	require.NoError(t, db.PutResults(t.Context(), org, id, set, results))
	require.NoError(t, db.UpdateRun(t.Context(), org, id, func(r *audiosearch.Run) error {
		r.State, r.Termination, r.ResultSet = audiosearch.StateTerminated, audiosearch.Success, set
		r.FinishedAt = time.UnixMicro(id).UTC()
		return nil
	}))
}

// resultRows returns how many rows each table of results has.
func resultRows(t *testing.T, db *DB) (rows [5]int) {
	t.Helper()
	for i, table := range []string{"result_sets", "found_results", "found_videos", "found_metadata", "found_texts"} {
		require.NoError(t, db.Find(t.Context(), file.NoOrg, "SELECT count(*) FROM audiosearch_"+table, nil, func(r *file.Row) error {
			rows[i] = r.Number(0)
			return nil
		}))
	}
	return rows
}

// compactAll compacts until there is nothing more to do.
func compactAll(t *testing.T, db *Store) (steps int) {
	t.Helper()
	for more := true; more; steps++ {
		var err error
		_, more, err = db.Compact(t.Context(), audiosearch.CompactOptions{}, 100_000)
		require.NoError(t, err)
	}
	return steps
}

// TestMetadataOfResultsIsStoredOnce: once for all runs of an organization, and as long as
// one of them needs it. What nobody needs goes in steps.
func TestMetadataOfResultsIsStoredOnce(t *testing.T) {
	f, err := Open(t.Context(), filetest.EmptyFile(t), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	db := f.audiosearch
	const videos = 100
	var found []audiosearch.Video
	for i := range videos {
		found = append(found, audiosearch.Video{ID: fmt.Sprint(i), Path: "p", Metadata: metadata.Map{
			// Two have the same.
			"k": metadata.String(strings.Repeat("x", 10_000) + fmt.Sprint(i/2)),
		}})
	}
	for id := range int64(3) {
		endedRun(t, db, "acme", id+1, found)
	}
	require.Equal(t, [5]int{3, 6, 3 * videos, videos / 2, videos / 2}, resultRows(t, f))
	endedRun(t, db, "other", 4, found[:1])
	require.Equal(t, [5]int{4, 7, 3*videos + 1, videos/2 + 1, videos/2 + 1}, resultRows(t, f))

	n, _, err := db.TrimRuns(t.Context(), 1, 1000)
	require.NoError(t, err)
	require.Equal(t, 2, n)
	compactAll(t, db)
	require.Equal(t, [5]int{2, 3, videos + 1, videos/2 + 1, videos/2 + 1}, resultRows(t, f))
	results, err := db.RunResults(t.Context(), "acme", 3, 0)
	require.NoError(t, err)
	require.Equal(t, found[0].Metadata, results[0].Metadata)

	n, _, err = db.PruneRuns(t.Context(), time.Now(), 1000)
	require.NoError(t, err)
	require.Equal(t, 2, n)
	require.Greater(t, compactAll(t, db), videos/2/freedAtOnce)
	require.Equal(t, [5]int{}, resultRows(t, f))
}

// TestAbandonedResultsGo: what attempts put that did not end goes when the run has ended.
func TestAbandonedResultsGo(t *testing.T) {
	f, err := Open(t.Context(), filetest.EmptyFile(t), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	db := f.audiosearch
	v := []audiosearch.Video{{ID: "v", Metadata: metadata.Map{"k": metadata.Int(1)}}}
	require.NoError(t, db.CreateRun(t.Context(), audiosearch.Run{Organization: "acme", ID: 1, State: audiosearch.StateRunning}, 1))
	require.NoError(t, db.PutResultVideos(t.Context(), "acme", 1, uuid.New(), v))
	compactAll(t, db)
	require.Equal(t, [5]int{1, 0, 1, 1, 1}, resultRows(t, f), "the run may still name it")
	require.NoError(t, db.UpdateRun(t.Context(), "acme", 1, func(r *audiosearch.Run) error {
		r.State = audiosearch.StateTerminated
		return nil
	}))
	compactAll(t, db)
	require.Equal(t, [5]int{}, resultRows(t, f))
}

// TestMetadataGoesWhileItIsFoundAgain: it goes between the look whether it is there and
// the transaction.
func TestMetadataGoesWhileItIsFoundAgain(t *testing.T) {
	f, err := Open(t.Context(), filetest.EmptyFile(t), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	db := f.audiosearch
	v := []audiosearch.Video{{ID: "v", Metadata: metadata.Map{"k": metadata.Int(1)}}}
	endedRun(t, db, "acme", 1, v)
	_, _, err = db.TrimRuns(t.Context(), 0, 1)
	require.NoError(t, err)
	require.NoError(t, db.CreateRun(t.Context(), audiosearch.Run{Organization: "acme", ID: 2, State: audiosearch.StateRunning}, 1))
	busy, found := make(chan struct{}), make(chan error)
	go func() {
		found <- f.Write(context.Background(), func(tx *file.Tx) error {
			close(busy)
			for f.Probe().Waiting() == 0 { // until it is found again
				runtime.Gosched()
			}
			_, err := dropResults(tx, removable{removedAtOnce, freedAtOnce})
			return err
		})
	}()
	<-busy
	set := uuid.New()
	require.NoError(t, db.PutResultVideos(t.Context(), "acme", 2, set, v))
	require.NoError(t, <-found)
	require.NoError(t, db.PutResults(t.Context(), "acme", 2, set, []audiosearch.Result{{VideoID: "v"}}))
	require.NoError(t, db.UpdateRun(t.Context(), "acme", 2, func(r *audiosearch.Run) error {
		r.ResultSet = set
		return nil
	}))
	results, err := db.RunResults(t.Context(), "acme", 2, 0)
	require.NoError(t, err)
	require.Equal(t, v[0].Metadata, results[0].Metadata)
}

// thenOnce is a context that calls do at one call of Err.
type thenOnce struct {
	context.Context
	calls int // of Err until then
	do    func()
}

func (c *thenOnce) Err() error {
	if c.calls--; c.calls == 0 {
		c.do()
	}
	return c.Context.Err()
}

// TestResultsThatGoWhileTheyAreRead: another organization's results may have the number
// of the set by then. They are not shown.
func TestResultsThatGoWhileTheyAreRead(t *testing.T) {
	f, err := Open(t.Context(), filetest.EmptyFile(t), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	db := f.audiosearch
	video := func(path string) []audiosearch.Video { return []audiosearch.Video{{ID: "v", Path: path}} }
	gone := 0
	for calls := 1; calls < 5; calls++ {
		ours, theirs := int64(2*calls), int64(2*calls+1)
		endedRun(t, db, "acme", ours, video("ours"))
		ctx := &thenOnce{t.Context(), calls, func() {
			_, _, err := db.TrimRuns(t.Context(), 0, 10)
			require.NoError(t, err)
			compactAll(t, db)
			endedRun(t, db, "other", theirs, video("theirs"))
		}}
		results, err := db.RunResults(ctx, "acme", ours, 0)
		if err != nil {
			require.ErrorIs(t, err, audiosearch.ErrRunNotFound)
			gone++
		} else {
			require.Equal(t, "ours", results[0].Path)
		}
		_, _, err = db.TrimRuns(t.Context(), 0, 10)
		require.NoError(t, err)
		compactAll(t, db)
	}
	require.Positive(t, gone)
}
