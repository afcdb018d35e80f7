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
func (a *AudioSearch) Compact(ctx context.Context, opts audiosearch.CompactOptions) (more bool, err error) {
	// In a transaction apart from the rest, so that neither keeps the other waiting.
	var dropped, did bool
	err = a.db.writer.write(ctx, func(tx *tx) (err error) {
		dropped, err = tx.dropResults(removable{removedAtOnce, freedAtOnce})
		return err
	})
	if err != nil {
		return false, err
	}
	err = a.db.writer.write(ctx, func(tx *tx) (err error) {
		for _, step := range [...]func() (bool, error){
			func() (bool, error) { return tx.sweep(forgetAtOnce) }, tx.forget,
			func() (bool, error) { return tx.removeParts(opts.PartsBefore) },
			func() (bool, error) { return tx.dropReplaced(opts.ReplacedBefore) },
			tx.pack,
		} {
			if did, err = step(); did || err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil { // the writer may still be at it
		return false, err
	}
	return did || dropped, nil
}

// forget cuts the list of a dataset's changes. Who remembers an older revision has to
// read the dataset anew.
func (t *tx) forget() (did bool, err error) {
	var d audioDataset
	if err := t.query(longChanges, nil, d.scan); err != nil || d.seq == 0 {
		return false, err
	}
	upTo := min(d.forgotten+forgetAtOnce, d.revision-keptChanges)
	return true, t.apply([]change{{deleteChanges, []any{d.seq, upTo}}, {setForgotten, []any{upTo, d.seq}}})
}

// sweep removes some of what a deleted dataset has left, as sweepDataset does.
func (t *tx) sweep(limit int) (did bool, err error) {
	var d audioDataset
	if err := t.query(deletedDataset, nil, d.scan); err != nil || d.seq == 0 {
		return false, err
	}
	_, _, err = t.sweepDataset(&d, limit)
	return true, err
}

// sweepDataset removes at most so many rows of a dataset that nobody finds any more, or
// less if they are large. It returns how many, about, and whether the dataset is gone.
func (t *tx) sweepDataset(d *audioDataset, limit int) (rows int, gone bool, err error) {
	for _, step := range [...]func(dataset int64, limit int) (int, error){t.sweepModel, t.sweepVideos} {
		if rows, err = step(d.seq, limit); rows > 0 || err != nil {
			return rows, false, err
		}
	}
	upTo := d.forgotten + int64(min(limit, forgetAtOnce))
	if err := t.apply([]change{{deleteChanges, []any{d.seq, upTo}}, {setForgotten, []any{upTo, d.seq}}}); err != nil {
		return 0, false, err
	}
	if upTo < d.revision {
		return limit, false, nil
	}
	return 1 + int(max(0, d.revision-d.forgotten)), true,
		t.apply([]change{{removeCurrent, []any{d.seq}}, {removeReplaced, []any{d.seq}}, {removeDataset, []any{d.seq}}})
}

// sweepModel removes blocks of a model, or the model if there are none.
func (t *tx) sweepModel(dataset int64, limit int) (rows int, err error) {
	var model, vocabulary int64
	err = t.query(modelsOf, []any{dataset}, func(r *row) error {
		model, vocabulary = cell[int64](r, 0), cell[int64](r, 1)
		return nil
	})
	if err != nil || model == 0 {
		return 0, err
	}
	limit = min(limit, segmentsAtOnce)
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
			return limit, nil
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
func (t *tx) sweepVideos(dataset int64, limit int) (rows int, err error) {
	limit = min(limit, removeAtOnce)
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
