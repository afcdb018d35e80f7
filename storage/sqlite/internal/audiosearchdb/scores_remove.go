package audiosearchdb

import "github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"

const (
	scoringsOf = "SELECT model, places FROM audiosearch_scorings WHERE video = ?"
	scoringsBy = "SELECT s.model, s.places FROM audiosearch_scorings s" +
		" CROSS JOIN audiosearch_models m ON m.seq = s.model AND m.model = ?2 WHERE s.video = ?1"
	deleteScoring = "DELETE FROM audiosearch_scorings WHERE video = ? AND model = ?"
	uncount       = "UPDATE audiosearch_models SET scorings = scorings - 1 WHERE seq = ?"
	blockBySeq    = "SELECT model, packed, loose, windows, live FROM audiosearch_blocks WHERE seq = ?"
	updateBlock   = "UPDATE audiosearch_blocks SET (loose, live) = (?,?) WHERE seq = ?"
	deleteBlock   = "DELETE FROM audiosearch_blocks WHERE seq = ?"
	deleteSegment = "DELETE FROM audiosearch_segments WHERE block = ?"
	deleteChunks  = "DELETE FROM audiosearch_chunks WHERE seq >= ? AND seq < ?"
	deleteDead    = "DELETE FROM audiosearch_dead WHERE block = ?"
	insertDead    = "INSERT INTO audiosearch_dead (block, part) VALUES (?,?)"
)

// removeScorings removes the scorings of a video by all models, and the parts of those
// that are being made.
func (c *datasetChange) removeScorings(video int64) error {
	if _, err := c.Exec(leaveAllParts, video); err != nil {
		return err
	}
	return c.removeScoringsFound(video, scoringsOf, video)
}

// removeScoringsBy removes the scoring of a video by the model of a name.
func (c *datasetChange) removeScoringsBy(video int64, model string) error {
	return c.removeScoringsFound(video, scoringsBy, video, model)
}

func (c *datasetChange) removeScoringsFound(video int64, query string, args ...any) error {
	type found struct {
		model  int64
		places []place
	}
	var scorings []found
	err := c.Query(query, args, func(r *file.Row) error {
		places, err := readPlaces(file.Cell[[]byte](r, 1))
		scorings = append(scorings, found{file.Cell[int64](r, 0), places})
		return err
	})
	if err != nil {
		return err
	}
	for _, s := range scorings {
		for _, p := range s.places {
			if err := c.bury(p); err != nil {
				return err
			}
		}
		if err := c.Apply(file.Do(deleteScoring, video, s.model), file.Do(uncount, s.model)); err != nil {
			return err
		}
	}
	return nil
}

// storedBlock is a row of blockBySeq.
type storedBlock struct {
	seq, model    int64
	packed, loose bool
	windows, live int
}

func (b *storedBlock) scan(r *file.Row) error {
	b.model, b.packed, b.loose, b.windows, b.live = file.Cell[int64](r, 0), r.Number(1) != 0, r.Number(2) != 0, r.Number(3), r.Number(4)
	return nil
}

// isLoose reports whether a block is to be packed with others: it is a segment, or not
// full, or more than half of it is dead.
func (b *storedBlock) isLoose() bool {
	return !b.packed || b.windows < chunkWindows || 2*b.live < b.windows
}

// bury makes sure that no search finds the scores of a place any more.
func (c *datasetChange) bury(p place) error {
	b := storedBlock{seq: p.block}
	if err := c.Query(blockBySeq, []any{p.block}, b.scan); err != nil {
		return err
	}
	if b.model == 0 {
		return errLayout
	}
	c.blocks = append(c.blocks, b.seq)
	if !b.packed { // a segment is of one video only
		return removeBlock(c.Tx, &b)
	}
	if _, err := c.Exec(insertDead, p.block, p.part); err != nil {
		return err
	}
	was := b
	b.live -= p.rows
	b.loose = b.isLoose()
	if _, err := c.Exec(updateBlock, b.loose, b.live, b.seq); err != nil {
		return err
	}
	return countLooseBlocks(c.Tx, b.model, &was, &b)
}

// looseCount is what there is to be packed of a model.
type looseCount struct{ live, dead, segments int }

// count is what a block adds to it. b may be nil.
func (b *storedBlock) count() (n looseCount) {
	if b != nil && b.loose {
		n.live, n.dead = b.live, b.windows-b.live
	}
	if b != nil && !b.packed {
		n.segments = 1
	}
	return n
}

// countLooseBlocks counts what there is to be packed of a model, when a block is not any more
// what it was. Either is nil if there is none.
func countLooseBlocks(t *file.Tx, model int64, was, is *storedBlock) error {
	before, now := was.count(), is.count()
	if before == now {
		return nil
	}
	_, err := t.Exec(countLoose, now.live-before.live, now.dead-before.dead, now.segments-before.segments, model)
	return err
}

// removeBlock removes a block with its scores.
func removeBlock(t *file.Tx, b *storedBlock) error {
	changes := []file.Change{file.Do(deleteBlock, b.seq)}
	if b.packed {
		changes = append(changes, file.Do(deleteChunks, b.seq*blockRoom, (b.seq+1)*blockRoom), file.Do(deleteDead, b.seq))
	} else {
		changes = append(changes, file.Do(deleteSegment, b.seq))
	}
	if err := t.Apply(changes...); err != nil {
		return err
	}
	return countLooseBlocks(t, b.model, b, nil)
}
