package sqlite

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/audioset"
)

// plannedAudioSearch opens a database with some thousands of rows of package audiosearch.
func plannedAudioSearch(t *testing.T) *DB {
	t.Helper()
	db, err := Open(t.Context(), EmptyFile(t), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	const rows = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4000) INSERT INTO "
	require.NoError(t, db.writer.write(t.Context(), func(tx *tx) error {
		for _, statement := range []string{
			"audiosearch_datasets SELECT i, 'org' || (i % 3), 'dataset' || i, i, 4000, 0 FROM n WHERE i <= 40",
			"audiosearch_changes SELECT i % 40 + 1, i, i % 2, i, i FROM n",
			"audiosearch_videos SELECT i, i % 40 + 1, 'video' || i, 'path' || i, '{}' FROM n",
			"audiosearch_vocabularies SELECT i, CAST(i AS BLOB), 1, '[\"7\"]' FROM n WHERE i <= 20",
			"audiosearch_models SELECT i, i % 40 + 1, 'model' || (i > 40), 1, 1, i % 20 + 1, 0, 50, 0, 0, 0, 0 FROM n WHERE i <= 80",
			"audiosearch_current SELECT i % 40 + 1, 'family' || i, 'model0' FROM n WHERE i <= 80",
			"audiosearch_replaced SELECT i % 40 + 1, 'old' || i, 'family', i, i % 10 > 0 FROM n",
			"audiosearch_unfinished SELECT i, iif(i % 20, i, NULL), 'model0', i % 40 + 1, x'00', 1, i FROM n",
			"audiosearch_parts SELECT i, 0, 0, 1, i + 10000 FROM n",
			"audiosearch_scorings SELECT i, i % 40 + 1, 1, 1, x'00', 1, NULL, 1, 1, 1, NULL, x'01000001' FROM n",
			"audiosearch_blocks SELECT i, i % 80 + 1, i % 2, i % 10 = 0, 10, 10, x'', x'' FROM n",
			"audiosearch_dead SELECT i, 0 FROM n WHERE i % 20 = 1",
			"audiosearch_segments SELECT i, x'00' FROM n WHERE i % 2 = 0",
			"audiosearch_chunks SELECT i * 1024, x'00' FROM n WHERE i % 2 = 1",
			"audiosearch_runs SELECT i, 'org' || (i % 3), '', '{}', iif(i % 20, 'TERMINATED', 'QUEUED'), '', '', 0, 0, 0, i, i, i," +
				" iif(i % 20, i, NULL), NULL, i, i, iif(i % 40, i, NULL), 'dataset' || (i % 7), 0, 0, 0 FROM n",
			"audiosearch_result_sets SELECT i, iif(i % 20, i, NULL), x'00' FROM n",
			"audiosearch_found_results SELECT i, 0, '[]' FROM n",
			"audiosearch_found_videos SELECT i, 'video' || i, 'path' || i, i FROM n",
			"audiosearch_found_metadata SELECT i, 'org' || (i % 3), CAST(i AS BLOB), 1 FROM n",
			"audiosearch_found_texts SELECT i, '{}' FROM n",
		} {
			if _, err := tx.exec(rows + statement); err != nil {
				return err
			}
		}
		return nil
	}))
	return db
}

// TestPlansOfAudioSearch: as TestPlansOfVault.
func TestPlansOfAudioSearch(t *testing.T) {
	db := plannedAudioSearch(t)
	const (
		dataset = "USING INDEX sqlite_autoindex_audiosearch_datasets_1 (organization=? AND id=?)"
		video   = "USING INDEX sqlite_autoindex_audiosearch_videos_1 (dataset=? AND id=?)"
		rowid   = "USING INTEGER PRIMARY KEY (rowid=?)"
		between = "USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"
		deleted = "audiosearch_deleted USING PRIMARY KEY (organization=?)"
		gone    = "gone USING PRIMARY KEY (organization=?)"
		scoring = "PRIMARY KEY (video=? AND model=?)"
		models  = "INDEX sqlite_autoindex_audiosearch_models_1 (dataset=?"
	)
	for _, c := range []struct {
		statement string
		uses      string // which index
		sorts     bool   // a few rows that are equal so far
	}{
		{insertDataset, "", false},
		{datasetByID, dataset, false},
		{datasetsAfter, "audiosearch_datasets_1 (organization=? AND id>?)", false},
		{deleteDataset, dataset, false},
		{datasetBySeq, rowid, false},
		{insertChange, "", false},
		{raiseDataset, rowid, false},
		{changesSince, "PRIMARY KEY (dataset=? AND revision>?)", false},
		{longChanges, "audiosearch_datasets_long", false},
		{deleteChanges, "PRIMARY KEY (dataset=? AND revision<?)", false},
		{setForgotten, rowid, false},
		{deletedDataset, "audiosearch_datasets_1 (organization=?)", false},
		{removeDataset, rowid, false},
		{insertVideo, "", false},
		{updateVideo, rowid, false},
		{deleteVideo, rowid, false},
		{videoByID, video, false},
		{videoBySeq, rowid, false},
		{partlyScored, "INDEX audiosearch_scorings_partly (model=?)", false},
		{videosByID, "v " + video, false},
		{videosAfter, "v USING INDEX sqlite_autoindex_audiosearch_videos_1 (dataset=? AND id>?)", false},
		{videosOf, "sqlite_autoindex_audiosearch_videos_1 (dataset=?)", false},
		{videosIn, between, false},
		{firstVideos, "audiosearch_videos_1 (dataset=?)", false},
		{modelsByName, "audiosearch_models_1 (dataset=? AND model=? AND window=? AND hop=? AND vocabulary=?)", false},
		{insertVocabulary, "", false},
		{vocabularyNames, rowid, false},
		{freeVocabulary, "audiosearch_models_vocabulary (vocabulary=?)", false},
		{modelBySeq, rowid, false},
		{modelsNamed, models + " AND model=?)", false},
		{countScoring, rowid, false},
		{uncount, rowid, false},
		{insertModel, "", false},
		{countLoose, rowid, false},
		{modelDue, "audiosearch_models_due", false},
		{modelsOf, models, false},
		{deleteModel, rowid, false},
		{insertScoring, "", false},
		{scoringsOfVideos, "s USING PRIMARY KEY (video=? AND model=?)", false},
		{shelvesOfVideo, "s USING PRIMARY KEY (video=? AND model=?)", false},
		{currentOf, "PRIMARY KEY (dataset=?)", false},
		{replacedOf, "PRIMARY KEY (dataset=?)", false},
		{scoredModels, models + ")", false},
		{currentModel, "PRIMARY KEY (dataset=? AND family=?)", false},
		{anyCurrent, "PRIMARY KEY (dataset=?)", false},
		{setCurrent, "", false},
		{insertReplaced, "", false},
		{deleteReplaced, "PRIMARY KEY (dataset=? AND model=?)", false},
		{unsweepModel, "PRIMARY KEY (dataset=? AND model=?)", false},
		{setSwept, "PRIMARY KEY (dataset=? AND model=?)", false},
		{lackingVideo, "v USING COVERING INDEX sqlite_autoindex_audiosearch_videos_1 (dataset=?)", false},
		{lackingVideo, "s USING PRIMARY KEY (video=? AND model=?)", false},
		{lackingAmong, "v " + between, false},
		{lackingAmong, "s USING PRIMARY KEY (video=? AND model=?)", false},
		{layoutsBy, between, false},
		{replacedDue, "audiosearch_replaced_due (at<?)", false},
		{firstBlock, "audiosearch_blocks_model (model=?)", false},
		{failedBy, "audiosearch_scorings_failed (model=?)", false},
		{removeCurrent, "PRIMARY KEY (dataset=?)", false},
		{removeReplaced, "PRIMARY KEY (dataset=?)", false},
		{unfinishedOf, "audiosearch_unfinished_1 (video=? AND name=?)", false},
		{insertUnfinished, "", false},
		{useUnfinished, rowid, false},
		{deleteUnfinished, rowid, false},
		{leaveParts, rowid, false},
		{leaveAllParts, "audiosearch_unfinished_1 (video=?)", false},
		{leaveUnused, "audiosearch_unfinished_used (used_at<?)", false},
		{leavePartsBy, "audiosearch_unfinished_model (model=?)", false},
		{leftUnfinished, "audiosearch_unfinished_1 (video=?)", false},
		{insertPart, "", false},
		{partsUpTo, "PRIMARY KEY (unfinished=? AND first<?)", false},
		{takeParts, "PRIMARY KEY (unfinished=? AND first<?)", false},
		{someParts, "PRIMARY KEY (unfinished=?)", false},
		{removePart, "PRIMARY KEY (unfinished=? AND first=? AND shelf=?)", false},
		{scoringsOf, "PRIMARY KEY (video=?)", false},
		{scoringsBy, "s USING PRIMARY KEY (video=?)", false},
		{deleteScoring, scoring, false},
		{sweepScorings, "PRIMARY KEY (video=?)", false},
		{placesOf, scoring, false},
		{updatePlaces, scoring, false},
		{lastBlock, "", false},
		{insertBlock, "", false},
		{blockBySeq, rowid, false},
		{updateBlock, rowid, false},
		{deleteBlock, rowid, false},
		{blocksOf, "b USING INDEX audiosearch_blocks_model (model=?)", false},
		{blocksIn, "b " + between, false},
		{blocksToSweep, "audiosearch_blocks_model (model=?)", false},
		{looseBlocks, "audiosearch_blocks_loose (model=? AND packed=? AND seq>?)", false},
		{deadOf, "d USING PRIMARY KEY (block=?)", false},
		{deadIn, "PRIMARY KEY (block>? AND block<?)", false},
		{deadParts, "PRIMARY KEY (block=?)", false},
		{deleteDead, "PRIMARY KEY (block=?)", false},
		{insertDead, "", false},
		{insertScores, "", false},
		{segmentScores, rowid, false},
		{segmentsOf, "audiosearch_segments " + rowid, false},
		{deleteSegment, rowid, false},
		{insertChunk, "", false},
		{chunkScores, between, false},
		{allChunks, between, false},
		{chunksOf, "audiosearch_chunks " + rowid, false},
		{partsOf, "audiosearch_chunks " + rowid, false},
		{deleteChunks, between, false},
		{insertRun, "", false},
		{updateRun, rowid, false},
		{updateRequest, rowid, false},
		{runByID, rowid, false},
		{staleRuns, "", false},
		{neverChecked, "audiosearch_runs_waiting", false},
		{checkedRuns, "audiosearch_runs_checked (checked_at<?)", false},
		{runTaken, rowid, false},
		{waitingRun, "audiosearch_runs_waiting (organization=?)", false},
		{finishedRuns, "audiosearch_runs_finished (finished_at<?)", false},
		{nextOfEnded, "audiosearch_runs_ended (organization>?)", false},
		{firstTooMany, "audiosearch_runs_ended (organization=?)", false},
		{tooMany, "audiosearch_runs_ended (organization=?)", false},
		{removeRuns, rowid, false},
		{leaveSets, "audiosearch_result_sets_1 (run=?)", false},
		{setOfRun, "s USING COVERING INDEX sqlite_autoindex_audiosearch_result_sets_1 (run=? AND token=?)", false},
		{setByName, "audiosearch_result_sets_1 (run=? AND token=?)", false},
		{insertSet, "", false},
		{leaveOthers, "audiosearch_result_sets_1 (run=?)", false},
		{metadataSeq, "audiosearch_found_metadata_1 (organization=? AND digest=?)", false},
		{insertMetadata, "", false},
		{insertText, "", false},
		{hasFoundVideo, "PRIMARY KEY (result_set=? AND id=?)", false},
		{insertFoundVideo, "", false},
		{countVideos, rowid, false},
		{videosOfSet, "PRIMARY KEY (result_set=?)", false},
		{putRow, "", false},
		{cutRows, "audiosearch_found_results_1 (result_set=? AND place>?)", false},
		{rowOfResults, "f USING INDEX sqlite_autoindex_audiosearch_found_results_1 (result_set=? AND place=?)", false},
		{foundVideo, "v USING PRIMARY KEY (result_set=? AND id=?)", false},
		{leftSet, "audiosearch_result_sets_1 (run=?)", false},
		{removeResults, rowid, false},
		{someVideos, "PRIMARY KEY (result_set=?)", false},
		{removeVideo, "PRIMARY KEY (result_set=? AND id=?)", false},
		{freeMetadata, rowid, false},
		{freeText, rowid, false},
		{removeSet, rowid, false},
		{insertDeletedOrg, "", false},
		{deletedOrg, deleted, false},
		{allRemoved, deleted, false},
		{datasetByID, gone, false},
		{datasetsAfter, deleted, false},
		{deleteDataset, gone, false},
		{videosAfter, deleted, false},
		{runByID, gone, false},
		{waitingRun, deleted, false},
		{setOfRun, deleted, false},
		{rowOfResults, deleted, false},
		{neverChecked, gone, false},
		{checkedRuns, gone, false},
		{firstRun, "(organization=?)", false},
		{firstSet, "audiosearch_result_sets_1 (run=?)", false},
		{removeRun, rowid, false},
		{removeRunJob, "mortise_jobs_id (id=? AND kind=? AND organization=?)", false},
		{firstDataset, "audiosearch_datasets_1 (organization=?)", false},
	} {
		plan := db.plan(t, c.statement)
		t.Log(c.statement, "\n    ", strings.Join(plan, "\n     "))
		requireNoScan(t, c.statement, slices.DeleteFunc(slices.Clone(plan), smallAudioScan))
		if !c.sorts {
			requireNoSort(t, c.statement, plan)
		}
		assert.Contains(t, strings.Join(plan, "\n"), c.uses, c.statement)
	}
}

// smallAudioScan reports whether a line is about lists of the call, or about an index
// that holds only what there is to be done.
func smallAudioScan(line string) bool {
	for _, due := range []string{"audiosearch_datasets_long", "audiosearch_models_due", "audiosearch_deleted_left"} {
		if strings.HasSuffix(line, "INDEX "+due) {
			return true
		}
	}
	// The second one is for the first row. The third one is asked for lost jobs only, and
	// the others pass on what that finds.
	return line == "SCAN json_each VIRTUAL TABLE INDEX 1:" || line == "SCAN CONSTANT ROW" ||
		line == "SCAN audiosearch_runs USING INDEX audiosearch_runs_waiting" ||
		strings.HasPrefix(line, "SCAN (subquery-")
}

// TestNumbersInTables: what statements and the tables' definitions know by heart.
func TestNumbersInTables(t *testing.T) {
	db := plannedAudioSearch(t)
	definition := func(index string) (text string) {
		require.NoError(t, db.find(t.Context(), noOrg, "SELECT sql FROM sqlite_schema WHERE name = ?", []any{index}, func(r *row) error {
			text = r.text(0)
			return nil
		}))
		return text
	}
	due := fmt.Sprintf("WHERE loose_live >= %d OR loose_dead >= %[1]d OR segments >= %d", chunkWindows, manySegments)
	require.Contains(t, modelDue, due)
	require.Contains(t, definition("audiosearch_models_due"), due)
	long := fmt.Sprintf(" WHERE revision - forgotten > %d", 2*keptChanges)
	require.Contains(t, longChanges, long)
	require.Contains(t, definition("audiosearch_datasets_long"), long)
	require.Equal(t, 1024, blockRoom)
	require.Less(t, audioset.NumClasses, blockRoom, "today's files have one shelf")
}
