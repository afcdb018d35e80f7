package audiosearchdb

import (
	"bytes"
	"context"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
)

const (
	unfinishedOf     = "SELECT seq, model, digest, windows FROM audiosearch_unfinished WHERE video = ? AND name = ?"
	insertUnfinished = "INSERT INTO audiosearch_unfinished (video, name, model, digest, windows, used_at)" +
		" VALUES (?,?,?,?,?,?)"
	useUnfinished    = "UPDATE audiosearch_unfinished SET (windows, used_at) = (?,?) WHERE seq = ?"
	deleteUnfinished = "DELETE FROM audiosearch_unfinished WHERE seq = ?"
	// What is left goes later, see removeParts.
	leaveParts    = "UPDATE audiosearch_unfinished SET video = NULL WHERE seq = ?"
	leaveAllParts = "UPDATE audiosearch_unfinished SET video = NULL WHERE video = ?"
	leaveUnused   = "UPDATE audiosearch_unfinished SET video = NULL WHERE seq IN" +
		" (SELECT seq FROM audiosearch_unfinished WHERE video IS NOT NULL AND used_at < ? ORDER BY used_at LIMIT 0 + ?)"
	leavePartsBy   = "UPDATE audiosearch_unfinished SET video = NULL WHERE model = ? AND video IS NOT NULL"
	leftUnfinished = "SELECT seq FROM audiosearch_unfinished WHERE video IS NULL LIMIT 1"

	insertPart = "INSERT INTO audiosearch_parts (unfinished, first, shelf, windows, segment) VALUES (?,?,?,?,?)"
	partsUpTo  = "SELECT shelf, first, windows, segment FROM audiosearch_parts WHERE unfinished = ? AND first < ?" +
		" ORDER BY first, shelf"
	takeParts  = "DELETE FROM audiosearch_parts WHERE unfinished = ? AND first < ?"
	someParts  = "SELECT shelf, first, windows, segment FROM audiosearch_parts WHERE unfinished = ? LIMIT 0 + ?"
	removePart = "DELETE FROM audiosearch_parts WHERE unfinished = ? AND first = ? AND shelf = ?"
)

// unfinished is a row of audiosearch_unfinished.
type unfinished struct {
	seq     int64 // 0: there is none
	model   int64
	digest  []byte
	windows int
}

// storedPart is a segment that is a block, or is to be one.
type storedPart struct {
	shelf       int
	first, rows int
	segment     int64
}

func (p *storedPart) scan(r *file.Row) error {
	p.shelf, p.first, p.rows, p.segment = r.Number(0), r.Number(1), r.Number(2), file.Cell[int64](r, 3)
	return nil
}

// fits reports whether parts are of a scoring by the rows of a model, of a file.
func (u *unfinished) fits(models []int64, digest []byte) bool {
	return u.seq != 0 && len(models) > 0 && u.model == models[0] && bytes.Equal(u.digest, digest)
}

// unfinishedOf returns the scoring of a video that is being made by a model.
func (c *datasetChange) unfinishedOf(video int64, model string) (*unfinished, error) {
	u := &unfinished{}
	return u, c.Query(unfinishedOf, []any{video, model}, func(r *file.Row) error {
		u.seq, u.model, u.digest, u.windows = file.Cell[int64](r, 0), file.Cell[int64](r, 1), file.Cell[[]byte](r, 2), r.Number(3)
		return nil
	})
}

// partArgs are what a part is stored as. They hold nothing that the caller could change.
type partArgs struct {
	video, path string
	name        string // of the model
	model       modelArgs
	digest      []byte
	first       int
	at          int64
}

func newPartArgs(p *audiosearch.Part) *partArgs {
	return &partArgs{
		video: p.Video, path: p.Path, name: p.Model,
		digest: bytes.Clone(p.Digest[:]), first: p.First, at: p.At.UnixMicro(),
		model: newModelArgs(p.Model, p.Media, int64(p.Window), int64(p.Hop), p.Classes),
	}
}

// PutPart implements [audiosearch.PartStore].
func (a *Store) PutPart(
	ctx context.Context, org, dataset string, p audiosearch.Part, columns [][]uint16,
) (stored int, err error) {
	windows, err := windowsOf(p.Classes, columns)
	if err != nil {
		return 0, err
	}
	args := newPartArgs(&p)
	var segments [][]segment
	if windows > 0 {
		segments = newSegments(columns, args.first)
	}
	total := 0
	err = a.db.Write(ctx, func(tx *file.Tx) (err error) {
		total, err = putPart(tx, org, dataset, args, windows, segments)
		return err
	})
	if err != nil { // the writer may still be at it
		return 0, err
	}
	return total, nil
}

func putPart(t *file.Tx, org, dataset string, p *partArgs, windows int, segments [][]segment) (stored int, err error) {
	c, video, u, err := parted(t, org, dataset, p)
	if err != nil {
		return 0, err
	}
	models, err := c.knownModels(&p.model)
	if err != nil {
		return 0, err
	}
	fits := u.fits(models, p.digest)
	if fits {
		stored = u.windows
	}
	switch {
	case p.first > stored:
		return 0, audiosearch.ErrConflict
	case p.first < stored:
		_, err := t.Exec(useUnfinished, stored, p.at, u.seq)
		return stored, err
	case !fits:
		if models, err = c.models(&p.model); err != nil {
			return 0, err
		}
		if u, err = c.begin(u, video, p, models[0]); err != nil {
			return 0, err
		}
	}
	for shelf := range segments {
		added, err := putSegments(t, shelf, segments[shelf])
		if err != nil {
			return 0, err
		}
		for _, s := range added {
			if _, err := t.Exec(insertPart, u.seq, s.first, s.shelf, s.rows, s.segment); err != nil {
				return 0, err
			}
		}
	}
	_, err = t.Exec(useUnfinished, stored+windows, p.at, u.seq)
	return stored + windows, err
}

// begin replaces the parts of a video by none of another kind.
func (c *datasetChange) begin(was *unfinished, video int64, p *partArgs, model int64) (*unfinished, error) {
	err := c.Apply(
		file.Do(leaveParts, was.seq),
		file.Do(insertUnfinished, video, p.name, model, p.digest, 0, p.at),
	)
	if err != nil {
		return nil, err
	}
	return c.unfinishedOf(video, p.name)
}

// parted looks for the video of a part, and for what is stored of its scoring.
func parted(t *file.Tx, org, dataset string, p *partArgs) (c *datasetChange, video int64, u *unfinished, err error) {
	if c, err = changeDataset(t, org, dataset); err != nil {
		return nil, 0, nil, err
	}
	if video, err = c.videoAt(p.video, p.path); err != nil {
		return nil, 0, nil, err
	}
	u, err = c.unfinishedOf(video, p.name)
	return c, video, u, err
}

// Parts implements [audiosearch.PartStore].
func (a *Store) Parts(ctx context.Context, org, dataset string, p audiosearch.Part) (stored int, err error) {
	args := newPartArgs(&p)
	total := 0
	err = a.db.Write(ctx, func(tx *file.Tx) error {
		total = 0
		c, _, u, err := parted(tx, org, dataset, args)
		if err != nil {
			return err
		}
		models, err := c.knownModels(&args.model)
		if err != nil || !u.fits(models, args.digest) {
			return err
		}
		total = u.windows
		_, err = tx.Exec(useUnfinished, u.windows, args.at, u.seq)
		return err
	})
	if err != nil {
		return 0, err
	}
	return total, nil
}

// partsUpTo returns the parts that a scoring begins with, or ErrConflict if they are not
// there. They need not be all: those that somebody else has added behind them do not
// count.
func (c *datasetChange) partsUpTo(u *unfinished, args *scoringArgs) ([]storedPart, error) {
	if args.parted == 0 {
		return nil, nil
	}
	models, err := c.knownModels(&args.model)
	if err != nil {
		return nil, err
	}
	if !u.fits(models, args.digest) {
		return nil, audiosearch.ErrConflict
	}
	var parts []storedPart
	next := make([]int, len(models)) // window, by shelf
	err = c.Query(partsUpTo, []any{u.seq, args.parted}, func(r *file.Row) error {
		var p storedPart
		if err := p.scan(r); err != nil {
			return err
		}
		if p.shelf >= len(next) || p.first != next[p.shelf] {
			return errLayout
		}
		next[p.shelf] += p.rows
		parts = append(parts, p)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, windows := range next {
		if windows != args.parted {
			return nil, audiosearch.ErrConflict
		}
	}
	return parts, nil
}

// takeParts forgets the parts that have become a scoring, and leaves the others.
func (c *datasetChange) takeParts(u *unfinished, upTo int) error {
	if u.seq == 0 {
		return nil
	}
	if upTo > 0 {
		if _, err := c.Exec(takeParts, u.seq, upTo); err != nil {
			return err
		}
	}
	last := leaveParts
	if u.windows == upTo {
		last = deleteUnfinished
	}
	_, err := c.Exec(last, u.seq)
	return err
}

// removeParts removes some parts that no scoring needs, or that were not used since a time. It
// returns how many rows it has changed.
func removeParts(t *file.Tx, before time.Time, limit int) (rows int, err error) {
	left, err := number(t, leftUnfinished)
	if err != nil {
		return 0, err
	}
	if left == 0 {
		if before.IsZero() {
			return 0, nil
		}
		n, err := t.Exec(leaveUnused, file.CeilMicros(before), min(limit, removeAtOnce))
		return int(n), err
	}
	limit = min(limit, segmentsAtOnce)
	var parts []storedPart
	err = t.Query(someParts, []any{left, limit}, func(r *file.Row) error {
		parts = append(parts, storedPart{})
		return parts[len(parts)-1].scan(r)
	})
	if err != nil {
		return 0, err
	}
	windows := 0
	for i, p := range parts {
		if windows += p.rows; i > 0 && windows > windowsAtOnce {
			return i, nil
		}
		err := t.Apply(
			file.Do(deleteSegment, p.segment),
			file.Do(removePart, left, p.first, p.shelf),
		)
		if err != nil {
			return 0, err
		}
	}
	if rows = len(parts); rows < limit {
		_, err = t.Exec(deleteUnfinished, left)
		rows++
	}
	return rows, err
}
