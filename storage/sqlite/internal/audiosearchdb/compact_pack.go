package audiosearchdb

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
)

const (
	manySegments = 256 // of a model, and they are packed though they do not fill a block
	packAtOnce   = 8   // blocks, besides segments, that are packed anew in one step
	gatherAtOnce = 64  // rows that are looked at

	// The numbers are chunkWindows and manySegments. They stand in the index, too.
	modelDue = "SELECT seq, dataset, loose_live, loose_dead, segments, shelf," +
		" (SELECT classes FROM audiosearch_vocabularies v WHERE v.seq = vocabulary) FROM audiosearch_models" +
		" WHERE loose_live >= 4334 OR loose_dead >= 4334 OR segments >= 256 LIMIT 1"
	datasetBySeq = "SELECT seq, revision, forgotten, created_at FROM audiosearch_datasets WHERE seq = ?"
	looseBlocks  = "SELECT model, packed, loose, windows, live, seq, layout FROM audiosearch_blocks" +
		" WHERE model = ? AND loose = 1 AND packed = ? AND seq > ? ORDER BY seq LIMIT 0 + ?"
	deadParts    = "SELECT part FROM audiosearch_dead WHERE block = ?"
	allChunks    = "SELECT seq % 1024, scores FROM audiosearch_chunks WHERE seq >= ? AND seq < ?"
	insertChunk  = "INSERT INTO audiosearch_chunks (seq, scores) VALUES (?,?)"
	placesOf     = "SELECT places FROM audiosearch_scorings WHERE video = ? AND model = ?"
	updatePlaces = "UPDATE audiosearch_scorings SET places = ? WHERE video = ? AND model = ?"
)

// packing is a step of compaction: it makes one full block of segments and other loose
// blocks, and another one of what is left of them.
type packing struct {
	*datasetChange
	model      int64
	live, dead int // windows in loose blocks
	classes    int

	sources []looseBlock
	columns [][]byte // the scores of each class
	moving  []moving
}

// looseBlock is a block that is to be packed with others.
type looseBlock struct {
	storedBlock
	layout []byte
}

// moving is a part of a block on its way to another one.
type moving struct {
	part
	from place
	to   []place // two if it is cut
}

// pack does a step, for a model that is due, and returns how many those are: 1 or none.
func pack(t *file.Tx) (n int, err error) {
	p := &packing{datasetChange: &datasetChange{Tx: t}}
	var dataset int64
	err = t.Query(modelDue, nil, func(r *file.Row) error {
		p.model, dataset = file.Cell[int64](r, 0), file.Cell[int64](r, 1)
		p.live, p.dead, p.classes = r.Number(2), r.Number(3), shelfSize(r.Number(6), r.Number(5))
		return nil
	})
	if err != nil || p.model == 0 {
		return 0, err
	}
	if err := t.Query(datasetBySeq, []any{dataset}, p.scan); err != nil {
		return 0, err
	}
	for _, step := range [...]func() error{p.choose, p.read, p.write, p.movePlaces, p.removeSources, p.note} {
		if err := step(); err != nil {
			return 0, err
		}
	}
	return 1, nil
}

// choose finds the blocks to be packed.
func (p *packing) choose() error {
	kinds := []bool{false, true} // segments first
	switch {
	case p.live >= chunkWindows:
	case p.dead >= chunkWindows:
		kinds = kinds[1:]
	default: // segments that do not fill a block are not packed with those that did not either, again and again
		kinds = kinds[:1]
	}
	windows := 0
	for _, packed := range kinds {
		taken := 0
		for last, more := int64(0), true; more; {
			more = false
			var found []looseBlock
			err := p.Query(looseBlocks, []any{p.model, packed, last, gatherAtOnce}, func(r *file.Row) error {
				found = append(found, looseBlock{storedBlock{seq: file.Cell[int64](r, 5)}, file.Cell[[]byte](r, 6)})
				return found[len(found)-1].scan(r)
			})
			if err != nil {
				return err
			}
			for _, b := range found {
				if windows >= chunkWindows || packed && taken == packAtOnce {
					return nil
				}
				p.sources = append(p.sources, b)
				windows += b.live
				taken++
				last, more = b.seq, true
			}
		}
	}
	return nil
}

// read reads the scores that are not dead.
func (p *packing) read() error {
	p.columns = make([][]byte, p.classes)
	for i := range p.sources {
		s := &p.sources[i]
		parts, err := readLayout(s.layout, s.windows)
		if err != nil {
			return err
		}
		dead := make(map[int]bool)
		err = p.Query(deadParts, []any{s.seq}, func(r *file.Row) error {
			dead[r.Number(0)] = true
			return nil
		})
		if err != nil {
			return err
		}
		var alive []part
		for number, of := range parts {
			if !dead[number] {
				alive = append(alive, of)
				p.moving = append(p.moving, moving{part: of, from: place{block: s.seq, part: number}})
			}
		}
		if err := p.readScores(&s.storedBlock, alive); err != nil {
			return err
		}
	}
	return nil
}

// readScores appends the scores of some parts of a block.
func (p *packing) readScores(b *storedBlock, alive []part) error {
	take := func(class int, scores []byte) error {
		if class >= p.classes || len(scores) != scoreBytes*b.windows {
			return errLayout
		}
		for _, of := range alive {
			p.columns[class] = append(p.columns[class], scores[scoreBytes*of.start:scoreBytes*(of.start+of.rows)]...)
		}
		return nil
	}
	if b.packed {
		return p.Query(allChunks, []any{b.seq * blockRoom, (b.seq + 1) * blockRoom}, func(r *file.Row) error {
			return take(r.Number(0), file.Cell[[]byte](r, 1))
		})
	}
	return p.Query(segmentScores, []any{b.seq}, func(r *file.Row) error {
		scores, size := file.Cell[[]byte](r, 0), scoreBytes*b.windows
		if len(scores) != p.classes*size {
			return errLayout
		}
		for class := range p.classes {
			if err := take(class, scores[class*size:(class+1)*size]); err != nil {
				return err
			}
		}
		return nil
	})
}

// write stores the scores as blocks.
func (p *packing) write() error {
	seq, err := findLastBlock(p.Tx)
	if err != nil {
		return err
	}
	windows := 0
	for i := range p.moving {
		windows += p.moving[i].rows
	}
	for _, column := range p.columns {
		if len(column) != scoreBytes*windows {
			return errLayout
		}
	}
	next, first := 0, 0 // of the parts that are moving: which one is next, and its first window that is not stored
	for start := 0; next < len(p.moving); start += chunkWindows {
		seq++
		b := storedBlock{seq: seq, model: p.model, packed: true, windows: min(chunkWindows, windows-start)}
		b.live = b.windows
		b.loose = b.isLoose()
		var parts []part
		for at := 0; next < len(p.moving) && (at < b.windows || p.moving[next].rows == 0); {
			m := &p.moving[next]
			rows := min(m.rows-first, b.windows-at)
			m.to = append(m.to, place{block: seq, part: len(parts), start: at, rows: rows})
			parts = append(parts, part{video: m.video, first: m.first + first, rows: rows})
			at += rows
			if first += rows; first == m.rows {
				next, first = next+1, 0
			}
		}
		if err := p.writeBlock(&b, parts, start); err != nil {
			return err
		}
	}
	return nil
}

// writeBlock stores a block of the scores from a window on.
func (p *packing) writeBlock(b *storedBlock, parts []part, start int) error {
	maxima := make([]byte, 0, scoreBytes*p.classes)
	for class, column := range p.columns {
		chunk := column[scoreBytes*start : scoreBytes*(start+b.windows)]
		maxima = binary.LittleEndian.AppendUint16(maxima, maxScore(chunk))
		if len(chunk) == 0 { // the block says only that its videos are scored
			continue
		}
		if _, err := p.Exec(insertChunk, b.seq*blockRoom+int64(class), chunk); err != nil {
			return err
		}
	}
	if _, err := p.Exec(insertBlock, b.seq, b.model, b.packed, b.loose, b.windows, b.live, appendLayout(nil, parts), maxima); err != nil {
		return err
	}
	p.blocks = append(p.blocks, b.seq)
	return countLooseBlocks(p.Tx, b.model, nil, b)
}

func maxScore(scores []byte) (greatest uint16) {
	for ; len(scores) >= scoreBytes; scores = scores[scoreBytes:] {
		greatest = max(greatest, binary.LittleEndian.Uint16(scores))
	}
	return greatest
}

// movePlaces tells the scorings where their scores are now.
func (p *packing) movePlaces() error {
	slices.SortStableFunc(p.moving, func(a, b moving) int { return cmp.Compare(a.video, b.video) })
	for rest := p.moving; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].video == rest[0].video {
			n++
		}
		if err := p.moveVideo(rest[:n]); err != nil {
			return err
		}
		rest = rest[n:]
	}
	return nil
}

// moveVideo is movePlaces for one video.
func (p *packing) moveVideo(parts []moving) error {
	video := parts[0].video
	var places []place
	err := p.Query(placesOf, []any{video, p.model}, func(r *file.Row) (err error) {
		places, err = readPlaces(file.Cell[[]byte](r, 0))
		return err
	})
	if err != nil {
		return err
	}
	var moved []place
	for _, was := range places {
		i := slices.IndexFunc(parts, func(m moving) bool { return m.from.block == was.block && m.from.part == was.part })
		if i < 0 {
			moved = append(moved, was)
		} else {
			moved = append(moved, parts[i].to...)
		}
	}
	if len(moved) < len(parts) {
		return errLayout
	}
	_, err = p.Exec(updatePlaces, appendPlaces(nil, moved), video, p.model)
	return err
}

// removeSources removes the blocks that were packed.
func (p *packing) removeSources() error {
	for i := range p.sources {
		b := &p.sources[i].storedBlock
		p.blocks = append(p.blocks, b.seq)
		if err := removeBlock(p.Tx, b); err != nil {
			return err
		}
	}
	return nil
}
