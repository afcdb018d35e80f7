package audiosearchdb

import (
	"context"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
)

const (
	keptChanges    = 4096 // of a dataset, as many as the index of long lists is for are cut to this
	forgetAtOnce   = 10_000
	removeAtOnce   = 500              // videos of a dataset that was deleted
	windowsAtOnce  = 2 * chunkWindows // of such a dataset
	segmentsAtOnce = 256              // of such a dataset

	longChanges   = "SELECT seq, revision, forgotten, created_at FROM audiosearch_datasets WHERE revision - forgotten > 8192 LIMIT 1"
	deleteChanges = "DELETE FROM audiosearch_changes WHERE dataset = ? AND revision <= ?"
	setForgotten  = "UPDATE audiosearch_datasets SET forgotten = ? WHERE seq = ?"

	deletedDataset = "SELECT seq, revision, forgotten, created_at FROM audiosearch_datasets WHERE organization IS NULL LIMIT 1"
	modelsOf       = "SELECT seq, vocabulary FROM audiosearch_models WHERE dataset = ? LIMIT 1"
	blocksToSweep  = "SELECT model, packed, loose, windows, live, seq FROM audiosearch_blocks WHERE model = ? ORDER BY seq LIMIT 0 + ?"
	deleteModel    = "DELETE FROM audiosearch_models WHERE seq = ?"
	firstVideos    = "SELECT seq FROM audiosearch_videos WHERE dataset = ? LIMIT 0 + ?"
	sweepScorings  = "DELETE FROM audiosearch_scorings WHERE video = ? AND model IN" +
		" (SELECT model FROM audiosearch_scorings WHERE video = ? ORDER BY model LIMIT 0 + ?)"
	removeDataset  = "DELETE FROM audiosearch_datasets WHERE seq = ?"
	removeCurrent  = "DELETE FROM audiosearch_current WHERE dataset = ?"
	removeReplaced = "DELETE FROM audiosearch_replaced WHERE dataset = ?"
)

// Compact implements [audiosearch.Pruner].
func (a *Store) Compact(
	ctx context.Context, opts audiosearch.CompactOptions, limit int,
) (n int, more bool, err error) {
	// In a transaction apart from the rest, so that neither keeps the other waiting.
	dropped, did := 0, 0
	err = a.db.Write(ctx, func(tx *file.Tx) (err error) {
		dropped, err = dropResults(tx, removable{min(limit, removedAtOnce), freedAtOnce})
		return err
	})
	if err != nil { // the writer may still be at it
		return 0, false, err
	}
	if dropped >= limit {
		return dropped, true, nil
	}
	err = a.db.Write(ctx, func(tx *file.Tx) (err error) {
		limit := limit - dropped
		for _, step := range [...]func() (int, error){
			func() (int, error) { return sweep(tx, limit) },
			func() (int, error) { return forget(tx, limit) },
			func() (int, error) { return removeParts(tx, opts.PartsBefore, limit) },
			func() (int, error) { return dropReplaced(tx, opts.ReplacedBefore, limit) },
			func() (int, error) { return pack(tx) },
		} {
			if did, err = step(); did > 0 || err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil { // the writer may still be at it
		return 0, false, err
	}
	return dropped + did, dropped+did > 0, nil
}

// forget cuts the list of a dataset's changes, and returns by how many. Who remembers an
// older revision has to read the dataset anew.
func forget(t *file.Tx, limit int) (n int, err error) {
	var d audioDataset
	if err := t.Query(longChanges, nil, d.scan); err != nil || d.seq == 0 {
		return 0, err
	}
	upTo := min(d.forgotten+int64(min(limit, forgetAtOnce)), d.revision-keptChanges)
	return int(upTo - d.forgotten), t.Apply(file.Do(deleteChanges, d.seq, upTo), file.Do(setForgotten, upTo, d.seq))
}

// sweep removes some of what a deleted dataset has left, as sweepDataset does.
func sweep(t *file.Tx, limit int) (rows int, err error) {
	var d audioDataset
	if err := t.Query(deletedDataset, nil, d.scan); err != nil || d.seq == 0 {
		return 0, err
	}
	left := removable{limit, 1}
	_, err = sweepDataset(t, &d, &left)
	return limit - left.rows, err
}

// sweepDataset removes hidden rows of a dataset, one at least, and
// reports whether the dataset is gone.
func sweepDataset(t *file.Tx, d *audioDataset, left *removable) (gone bool, err error) {
	for _, step := range [...]func() (int, error){
		func() (int, error) { return sweepModel(t, d.seq, left) },
		func() (int, error) { return sweepVideos(t, d.seq, left) },
	} {
		rows, err := step()
		if left.rows -= rows; rows > 0 || err != nil {
			return false, err
		}
	}
	changes := min(left.rows, forgetAtOnce, int(max(0, d.revision-d.forgotten)))
	upTo := d.forgotten + int64(changes)
	if err := t.Apply(file.Do(deleteChanges, d.seq, upTo), file.Do(setForgotten, upTo, d.seq)); err != nil {
		return false, err
	}
	if left.rows -= changes; left.rows == 0 || upTo < d.revision {
		return false, nil
	}
	left.rows--
	return true, t.Apply(file.Do(removeCurrent, d.seq), file.Do(removeReplaced, d.seq), file.Do(removeDataset, d.seq))
}

// sweepModel removes blocks of a model, or the model if there are none. Where the blocks
// are large, nothing more may be removed.
func sweepModel(t *file.Tx, dataset int64, left *removable) (rows int, err error) {
	var model, vocabulary int64
	err = t.Query(modelsOf, []any{dataset}, func(r *file.Row) error {
		model, vocabulary = file.Cell[int64](r, 0), file.Cell[int64](r, 1)
		return nil
	})
	if err != nil || model == 0 {
		return 0, err
	}
	limit := min(left.rows, segmentsAtOnce)
	var blocks []storedBlock
	err = t.Query(blocksToSweep, []any{model, limit}, func(r *file.Row) error {
		b := storedBlock{seq: file.Cell[int64](r, 5)}
		blocks = append(blocks, b)
		return blocks[len(blocks)-1].scan(r)
	})
	if err != nil {
		return 0, err
	}
	windows := 0
	for i := range blocks {
		if windows += blocks[i].windows; i > 0 && windows > windowsAtOnce {
			left.large = 0
			return i, nil
		}
		if err := removeBlock(t, &blocks[i]); err != nil {
			return 0, err
		}
	}
	if rows = len(blocks); rows < limit {
		rows++
		err = t.Apply(file.Do(deleteModel, model), file.Do(freeVocabulary, vocabulary))
	}
	return rows, err
}

// sweepVideos removes scorings of videos, whose scores are gone, and the videos that have
// none left. Their parts are left for removeParts.
func sweepVideos(t *file.Tx, dataset int64, left *removable) (rows int, err error) {
	limit := min(left.rows, removeAtOnce)
	var videos []int64
	err = t.Query(firstVideos, []any{dataset, limit}, func(r *file.Row) error {
		videos = append(videos, file.Cell[int64](r, 0))
		return nil
	})
	for _, video := range videos {
		scorings, err := t.Exec(sweepScorings, video, video, limit-rows)
		if err != nil {
			return 0, err
		}
		if rows += int(scorings); rows >= limit {
			break // the video may have more
		}
		if err := t.Apply(file.Do(leaveAllParts, video), file.Do(deleteVideo, video)); err != nil {
			return 0, err
		}
		if rows++; rows >= limit {
			break
		}
	}
	return rows, err
}
