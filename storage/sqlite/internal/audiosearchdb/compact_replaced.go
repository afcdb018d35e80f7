package audiosearchdb

import (
	"time"

	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
)

const (
	replacedDue = "SELECT dataset, model FROM audiosearch_replaced WHERE swept = 0 AND at < ? ORDER BY at LIMIT 1"
	setSwept    = "UPDATE audiosearch_replaced SET swept = 1 WHERE dataset = ? AND model = ?"
	modelsNamed = "SELECT seq, vocabulary FROM audiosearch_models WHERE dataset = ? AND model = ?"
	firstBlock  = "SELECT model, packed, loose, windows, live, seq, layout FROM audiosearch_blocks" +
		" WHERE model = ? ORDER BY seq LIMIT 1"
	failedBy = "SELECT video FROM audiosearch_scorings" +
		" WHERE model = ? AND problem IS NOT NULL AND windows = 0 LIMIT 0 + ?"
)

// dropping is a step that removes what there is by a model that another one has replaced.
type dropping struct {
	*datasetChange
	name string
	rows []modelRow
	left int // how many scorings may go yet

	windows int // of the blocks that have gone
}

// more reports whether the step may go on.
func (d *dropping) more() bool { return d.left > 0 && d.windows < windowsAtOnce }

// modelRow is a row of modelsNamed.
type modelRow struct{ seq, vocabulary int64 }

// dropReplaced does a step for a model that was replaced before a time. It returns how many
// scorings and other rows have gone.
func dropReplaced(t *file.Tx, before time.Time, limit int) (rows int, err error) {
	if before.IsZero() {
		return 0, nil
	}
	limit = min(limit, removeAtOnce)
	d := &dropping{datasetChange: &datasetChange{Tx: t}, left: limit}
	var dataset int64
	err = t.Query(replacedDue, []any{file.CeilMicros(before)}, func(r *file.Row) error {
		dataset, d.name = file.Cell[int64](r, 0), r.Text(1)
		return nil
	})
	if err != nil || dataset == 0 {
		return 0, err
	}
	if err := t.Query(datasetBySeq, []any{dataset}, d.scan); err != nil {
		return 0, err
	}
	err = t.Query(modelsNamed, []any{dataset, d.name}, func(r *file.Row) error {
		d.rows = append(d.rows, modelRow{file.Cell[int64](r, 0), file.Cell[int64](r, 1)})
		return nil
	})
	if err != nil {
		return 0, err
	}
	for _, m := range d.rows {
		if err := d.drop(m.seq); err != nil {
			return 0, err
		}
	}
	if d.more() {
		if err := d.finish(); err != nil {
			return 0, err
		}
		d.left--
	}
	return limit - max(d.left, 0), d.note()
}

// drop removes scorings by a row of the model: those with scores, which are found by their
// blocks, and those without.
func (d *dropping) drop(model int64) error {
	for d.more() {
		more, err := d.dropBlock(model)
		if err != nil {
			return err
		}
		if !more {
			break
		}
	}
	if !d.more() {
		return nil
	}
	var videos []int64
	err := d.Query(failedBy, []any{model, d.left}, func(r *file.Row) error {
		videos = append(videos, file.Cell[int64](r, 0))
		return nil
	})
	if err != nil {
		return err
	}
	return d.dropVideos(videos)
}

// dropBlock removes the scorings that are in the first block, and the block when there are
// none left.
func (d *dropping) dropBlock(model int64) (more bool, err error) {
	var b storedBlock
	var layout []byte
	err = d.Query(firstBlock, []any{model}, func(r *file.Row) error {
		b.seq, layout = file.Cell[int64](r, 5), file.Cell[[]byte](r, 6)
		return b.scan(r)
	})
	if err != nil || b.seq == 0 {
		return false, err
	}
	parts, err := readLayout(layout, b.windows)
	if err != nil {
		return false, err
	}
	dead := make(map[int]bool)
	err = d.Query(deadParts, []any{b.seq}, func(r *file.Row) error {
		dead[r.Number(0)] = true
		return nil
	})
	if err != nil {
		return false, err
	}
	var videos []int64
	all := true
	for i, p := range parts {
		switch {
		case dead[i]:
		case len(videos) < d.left:
			videos = append(videos, p.video)
		default:
			all = false
		}
	}
	if err := d.dropVideos(videos); err != nil || !all {
		return true, err
	}
	d.windows += b.windows
	// It is gone already if it was a segment. Otherwise its counters are others by now.
	last := b.seq
	b = storedBlock{}
	if err := d.Query(blockBySeq, []any{last}, b.scan); err != nil || b.model == 0 {
		return true, err
	}
	b.seq = last
	d.left-- // of blocks without scorings there may be many
	d.blocks = append(d.blocks, last)
	return true, removeBlock(d.Tx, &b)
}

// dropVideos removes the scorings of some videos by the model. The videos count as changed,
// so that whoever has looked which of them are scored hears of it, see stillComplete.
func (d *dropping) dropVideos(videos []int64) error {
	for _, video := range videos {
		if err := d.removeScoringsBy(video, d.name); err != nil {
			return err
		}
	}
	d.videos = append(d.videos, videos...)
	d.left -= len(videos)
	return nil
}

// finish removes the rows of the model, which have no scorings any more, and its parts.
func (d *dropping) finish() error {
	for _, m := range d.rows {
		err := d.Apply(
			file.Do(leavePartsBy, m.seq),
			file.Do(deleteModel, m.seq),
			file.Do(freeVocabulary, m.vocabulary),
		)
		if err != nil {
			return err
		}
	}
	_, err := d.Exec(setSwept, d.seq, d.name)
	return err
}
