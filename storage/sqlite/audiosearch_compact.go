package sqlite

import (
	"context"

	"github.com/seed-6363c74e/mortise/audiosearch"
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
func (a *AudioSearch) Compact(
	ctx context.Context, opts audiosearch.CompactOptions, limit int,
) (n int, more bool, err error) {
	// In a transaction apart from the rest, so that neither keeps the other waiting.
	dropped, did := 0, 0
	err = a.db.writer.write(ctx, func(tx *tx) (err error) {
		dropped, err = tx.dropResults(removable{min(limit, removedAtOnce), freedAtOnce})
		return err
	})
	if err != nil { // the writer may still be at it
		return 0, false, err
	}
	if dropped >= limit {
		return dropped, true, nil
	}
	err = a.db.writer.write(ctx, func(tx *tx) (err error) {
		limit := limit - dropped
		for _, step := range [...]func() (int, error){
			func() (int, error) { return tx.sweep(limit) },
			func() (int, error) { return tx.forget(limit) },
			func() (int, error) { return tx.removeParts(opts.PartsBefore, limit) },
			func() (int, error) { return tx.dropReplaced(opts.ReplacedBefore, limit) },
			tx.pack,
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
func (t *tx) forget(limit int) (n int, err error) {
	var d audioDataset
	if err := t.query(longChanges, nil, d.scan); err != nil || d.seq == 0 {
		return 0, err
	}
	upTo := min(d.forgotten+int64(min(limit, forgetAtOnce)), d.revision-keptChanges)
	return int(upTo - d.forgotten), t.apply([]change{{deleteChanges, []any{d.seq, upTo}}, {setForgotten, []any{upTo, d.seq}}})
}

// sweep removes some of what a deleted dataset has left, as sweepDataset does.
func (t *tx) sweep(limit int) (rows int, err error) {
	var d audioDataset
	if err := t.query(deletedDataset, nil, d.scan); err != nil || d.seq == 0 {
		return 0, err
	}
	left := removable{limit, 1}
	_, err = t.sweepDataset(&d, &left)
	return limit - left.rows, err
}

// sweepDataset removes hidden rows of a dataset, one at least, and
// reports whether the dataset is gone.
func (t *tx) sweepDataset(d *audioDataset, left *removable) (gone bool, err error) {
	for _, step := range [...]func(dataset int64, left *removable) (int, error){t.sweepModel, t.sweepVideos} {
		rows, err := step(d.seq, left)
		if left.rows -= rows; rows > 0 || err != nil {
			return false, err
		}
	}
	changes := min(left.rows, forgetAtOnce, int(max(0, d.revision-d.forgotten)))
	upTo := d.forgotten + int64(changes)
	if err := t.apply([]change{{deleteChanges, []any{d.seq, upTo}}, {setForgotten, []any{upTo, d.seq}}}); err != nil {
		return false, err
	}
	if left.rows -= changes; left.rows == 0 || upTo < d.revision {
		return false, nil
	}
	left.rows--
	return true, t.apply([]change{{removeCurrent, []any{d.seq}}, {removeReplaced, []any{d.seq}}, {removeDataset, []any{d.seq}}})
}

// sweepModel removes blocks of a model, or the model if there are none. Where the blocks
// are large, nothing more may be removed.
func (t *tx) sweepModel(dataset int64, left *removable) (rows int, err error) {
	var model, vocabulary int64
	err = t.query(modelsOf, []any{dataset}, func(r *row) error {
		model, vocabulary = cell[int64](r, 0), cell[int64](r, 1)
		return nil
	})
	if err != nil || model == 0 {
		return 0, err
	}
	limit := min(left.rows, segmentsAtOnce)
	var blocks []storedBlock
	err = t.query(blocksToSweep, []any{model, limit}, func(r *row) error {
		b := storedBlock{seq: cell[int64](r, 5)}
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
		if err := t.removeBlock(&blocks[i]); err != nil {
			return 0, err
		}
	}
	if rows = len(blocks); rows < limit {
		rows++
		err = t.apply([]change{{deleteModel, []any{model}}, {freeVocabulary, []any{vocabulary}}})
	}
	return rows, err
}

// sweepVideos removes scorings of videos, whose scores are gone, and the videos that have
// none left. Their parts are left for removeParts.
func (t *tx) sweepVideos(dataset int64, left *removable) (rows int, err error) {
	limit := min(left.rows, removeAtOnce)
	var videos []int64
	err = t.query(firstVideos, []any{dataset, limit}, func(r *row) error {
		videos = append(videos, cell[int64](r, 0))
		return nil
	})
	for _, video := range videos {
		scorings, err := t.exec(sweepScorings, video, video, limit-rows)
		if err != nil {
			return 0, err
		}
		if rows += int(scorings); rows >= limit {
			break // the video may have more
		}
		if err := t.apply([]change{{leaveAllParts, []any{video}}, {deleteVideo, []any{video}}}); err != nil {
			return 0, err
		}
		if rows++; rows >= limit {
			break
		}
	}
	return rows, err
}
