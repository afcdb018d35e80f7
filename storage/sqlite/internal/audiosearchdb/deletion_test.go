package audiosearchdb

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/filetest"
)

// audioRows returns how many rows each table has that package audiosearch and its jobs
// use, without those of which a row is of no organization.
func audioRows(t *testing.T, db *DB) map[string]int {
	t.Helper()
	var tables []string
	const list = "SELECT name FROM sqlite_schema WHERE type = 'table' AND (name LIKE 'audiosearch%' OR name = 'mortise_jobs')"
	require.NoError(t, db.List(t.Context(), file.NoOrg, list, nil, func(r *file.Row) error {
		tables = append(tables, r.Text(0))
		return nil
	}))
	require.Greater(t, len(tables), 20)
	rows := make(map[string]int)
	for _, table := range tables {
		require.NoError(t, db.Find(t.Context(), file.NoOrg, "SELECT count(*) FROM "+table, nil, func(r *file.Row) error {
			if n := r.Number(0); n > 0 {
				rows[table] = n
			}
			return nil
		}))
	}
	delete(rows, "audiosearch_model_order") // for ever, and the host's
	return rows
}

// furnishOrg gives an organization something in every table.
func furnishOrg(t *testing.T, db *DB, org string, first int64, videos int) {
	t.Helper()
	tables := db.audiosearch
	classes := manyClasses(blockRoom + 1) // two shelves
	columns := make([][]uint16, len(classes))
	for i := range columns {
		columns[i] = []uint16{uint16(i), 7}
	}
	for _, dataset := range []string{"d", "deleted"} {
		require.NoError(t, tables.CreateDataset(t.Context(), audiosearch.Dataset{Organization: org, ID: dataset}))
		var all []audiosearch.Video
		for i := range videos {
			all = append(all, audiosearch.Video{ID: fmt.Sprint("v", i), Path: "p", Metadata: metadata.Map{"n": metadata.Int(int64(i))}})
		}
		require.NoError(t, tables.PutVideos(t.Context(), org, dataset, all))
		for i := range min(videos, 5) {
			s := audiosearch.Scoring{Model: fmt.Sprint("m", i%2), Windows: 2, Classes: classes}
			require.NoError(t, tables.PutScoring(t.Context(), org, dataset, fmt.Sprint("v", i), "p", s, columns))
		}
		p := audiosearch.Part{Video: "v1", Path: "p", Model: "m3", Classes: classes}
		_, err := tables.PutPart(t.Context(), org, dataset, p, columns)
		require.NoError(t, err)
		for i, c := range []audiosearch.ModelChange{{To: "m0"}, {From: "m0", To: "m1", Incomplete: true}} {
			c.Family, c.At = "f", time.UnixMicro(int64(i))
			require.NoError(t, tables.SetModel(t.Context(), org, dataset, c))
		}
	}
	require.NoError(t, tables.DeleteDataset(t.Context(), org, "deleted"))
	_, err := tables.ModelOrder(t.Context(), "f", "m0")
	require.NoError(t, err)
	for i := range int64(3) {
		endedRun(t, tables, org, first+i, []audiosearch.Video{
			{ID: "v0", Path: "p", Metadata: metadata.Map{"n": metadata.Int(i)}}, {ID: "v1", Path: "p"},
		})
	}
	r := audiosearch.Run{Organization: org, ID: first + 3, State: audiosearch.StateQueued}
	require.NoError(t, tables.CreateRunAndAdd(t.Context(), r, 10, r.Job()))
	_, _, err = tables.PruneRuns(t.Context(), time.UnixMicro(first+1), 10) // what it found is left
	require.NoError(t, err)
}

// TestDeletedOrganizationLeavesNoRow: in no table, in steps that are bounded, also if the
// file is opened anew after each.
func TestDeletedOrganizationLeavesNoRow(t *testing.T) {
	for _, limit := range []int{1, 7, 1000} {
		t.Run(strconv.Itoa(limit), func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "test.db")
			db, err := Open(t.Context(), path, nil)
			require.NoError(t, err)
			furnishOrg(t, db, "acme", 100, 40)
			for _, table := range []string{"datasets", "changes", "videos", "models", "vocabularies", "scorings", "blocks", "segments", "current",
				"replaced", "unfinished", "parts", "runs", "result_sets", "found_results", "found_videos", "found_metadata", "found_texts"} {
				require.NotZero(t, audioRows(t, db)["audiosearch_"+table], table)
			}
			require.Equal(t, 1, audioRows(t, db)["mortise_jobs"])
			_, err = db.audiosearch.MarkDeleted(t.Context(), "acme", time.UnixMicro(5))
			require.NoError(t, err)
			steps := 0
			for more := true; more; steps++ {
				before := audioRows(t, db)
				_, more, err = db.audiosearch.RemoveDeleted(t.Context(), "acme", limit)
				require.NoError(t, err)
				after := audioRows(t, db)
				for _, table := range []string{"videos", "scorings", "runs", "found_videos", "found_results", "result_sets", "blocks", "changes"} {
					table = "audiosearch_" + table
					require.LessOrEqual(t, before[table]-after[table], limit, table)
				}
				if steps%10 == 0 {
					require.NoError(t, db.Close())
					db, err = Open(t.Context(), path, nil)
					require.NoError(t, err)
				}
			}
			t.Log(steps, "steps")
			require.Equal(t, map[string]int{"audiosearch_deleted": 1}, audioRows(t, db))
			require.NoError(t, db.Close())
		})
	}
}

// TestDeletionIsInSteps: what is large goes piece by piece, and others are served
// between.
func TestDeletionIsInSteps(t *testing.T) {
	db, err := Open(t.Context(), filetest.EmptyFile(t), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	tables := db.audiosearch
	const many = 20_000
	require.NoError(t, tables.CreateDataset(t.Context(), audiosearch.Dataset{Organization: "acme", ID: "d"}))
	for from := 0; from < many; from += 1000 {
		videos := make([]audiosearch.Video, 1000)
		for i := range videos {
			videos[i] = audiosearch.Video{ID: fmt.Sprint(from + i), Path: "p"}
		}
		require.NoError(t, tables.PutVideos(t.Context(), "acme", "d", videos))
	}
	_, err = tables.MarkDeleted(t.Context(), "acme", time.UnixMicro(5))
	require.NoError(t, err)
	steps, left := 0, many
	for more := true; more; steps++ {
		_, more, err = tables.RemoveDeleted(t.Context(), "acme", 1000)
		require.NoError(t, err)
		now := audioRows(t, db)["audiosearch_videos"]
		require.LessOrEqual(t, left-now, 1000)
		left = now
	}
	require.GreaterOrEqual(t, steps, many/1000)
	require.Equal(t, map[string]int{"audiosearch_deleted": 1}, audioRows(t, db))
}

// TestDeletionIsSeenByOtherProcesses: at once, whatever they remember of the dataset.
func TestDeletionIsSeenByOtherProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	dbs := [2]*DB{openHeard(t, path, nil), openHeard(t, path, nil)}
	for i := range heardVideos {
		require.NoError(t, hear(t.Context(), dbs[0], i, 1))
	}
	run := audiosearch.Run{Organization: "acme", ID: 1, State: audiosearch.StateQueued}
	require.NoError(t, (dbs[0].audiosearch).CreateRunAndAdd(t.Context(), run, 10, run.Job()))
	for _, db := range dbs {
		require.Len(t, heard(t, db), heardVideos)
		require.NotEmpty(t, db.audiosearch.views.bySeq)
	}
	_, err := dbs[0].audiosearch.MarkDeleted(t.Context(), "acme", time.UnixMicro(5))
	require.NoError(t, err)
	query := audiosearch.ScoreQuery{Model: "m", Class: "5", Limit: 1, Filters: []metadata.Filter{{Key: "n", Value: "1"}}}
	unseen := func() {
		for _, db := range dbs {
			tables := db.audiosearch
			_, err := tables.Search(t.Context(), "acme", "d", query)
			require.ErrorIs(t, err, audiosearch.ErrDatasetNotFound)
			_, err = tables.MissingKeys(t.Context(), "acme", "d", []string{"n"})
			require.ErrorIs(t, err, audiosearch.ErrDatasetNotFound)
			_, err = tables.Unscored(t.Context(), "acme", "d", audiosearch.UnscoredQuery{Model: "m", Limit: 1})
			require.ErrorIs(t, err, audiosearch.ErrDatasetNotFound)
			require.ErrorIs(t, hear(t.Context(), db, 1, 2), audiosearch.ErrDatasetNotFound)
			require.ErrorIs(t, hearInParts(t.Context(), db, 1, 2), audiosearch.ErrDatasetNotFound)
			_, err = tables.Run(t.Context(), "acme", 1)
			require.ErrorIs(t, err, audiosearch.ErrRunNotFound)
		}
	}
	unseen()
	compactAll(t, dbs[1].audiosearch)
	unseen()
	for more := true; more; {
		_, more, err = dbs[1].audiosearch.RemoveDeleted(t.Context(), "acme", 10)
		require.NoError(t, err)
		unseen()
	}
	require.Empty(t, dbs[1].audiosearch.views.bySeq, "who has removed the dataset forgets it")
	require.Zero(t, dbs[1].audiosearch.views.bytes)
	require.Zero(t, dbs[1].audiosearch.views.order.Len())
	require.Equal(t, map[string]int{"audiosearch_deleted": 1}, audioRows(t, dbs[0]))
}

// TestDeletionLeavesOtherJobs: the jobs of the runs go, and no others.
func TestDeletionLeavesOtherJobs(t *testing.T) {
	db, err := Open(t.Context(), filetest.EmptyFile(t), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	tables := db.audiosearch
	run := audiosearch.Run{Organization: "acme", ID: 7, State: audiosearch.StateQueued}
	require.NoError(t, tables.CreateRunAndAdd(t.Context(), run, 10, run.Job()))
	// Jobs of other domains may have the same ID.
	for _, j := range []mortise.Job{{Kind: "trigger", Organization: "acme", ID: "7"}, {Kind: audiosearch.JobKind, Organization: "other", ID: "7"}} {
		require.NoError(t, db.jobs.Add(t.Context(), j))
	}
	_, err = tables.MarkDeleted(t.Context(), "acme", time.UnixMicro(5))
	require.NoError(t, err)
	_, more, err := tables.RemoveDeleted(t.Context(), "acme", 10)
	require.NoError(t, err)
	require.False(t, more)
	var left []string
	require.NoError(t, db.List(t.Context(), file.NoOrg, "SELECT kind, organization FROM mortise_jobs ORDER BY seq", nil, func(r *file.Row) error {
		left = append(left, strings.Join([]string{r.Text(0), r.Text(1)}, " "))
		return nil
	}))
	require.Equal(t, []string{"trigger acme", "audiosearch other"}, left)
}
