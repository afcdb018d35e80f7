package columnar

import (
	"context"
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/internal/turns"
)

// Rank offers the windows of the selected videos that have scores of a class to a
// ranking, as often as it wants them, and returns the page. A nil selection has all
// videos. It gives way as [Turn] says. The error is the context's.
func (s *Scores) Rank(ctx context.Context, class sound.Class, selected *Selection, r *Ranking) ([]Hit, error) {
	t, err := turns.Begin(ctx)
	if err != nil {
		return nil, err
	}
	defer t.End()
	for s != nil && r.Next() {
		for number, table := range s.tables {
			if table == nil {
				continue
			}
			if column := slices.Index(table.classes, class); column >= 0 {
				err = s.rank(t, number, column, selected, r)
			}
			if err == nil {
				err = t.Step(0)
			}
			if err != nil {
				return nil, err
			}
		}
	}
	return r.result(), nil
}

// rowScan looks up videos, and then at their scores.
type rowScan struct {
	*Ranking
	places *places
	table  *table
	number uint32 // of the table
	column int
	passes func(row uint32) bool // nil: all do; asked late
	turn   *turns.Turn

	lows   [1024]uint16
	joined *rowBits
	batch  batch
}

// set offers the videos of a set.
func (s *rowScan) set(rows *rowSet) {
	for i := range rows.blocks {
		s.block(&rows.blocks[i])
	}
	s.flush()
}

// union offers the videos of sets that have none in common: block by block, so that what
// is looked at stays in the caches.
func (s *rowScan) union(sets []*rowSet) {
	at := make([]int, len(sets))
	for high := 0; high < len(s.places.groups); high++ {
		var joined *rowBits
		for i, set := range sets {
			if at[i] == len(set.blocks) || int(set.blocks[at[i]].high) != high {
				continue
			}
			if joined == nil {
				if joined = s.joined; joined == nil {
					joined = new(rowBits)
					s.joined = joined
				}
				*joined = rowBits{}
			}
			joined.add(&set.blocks[at[i]])
			at[i]++
		}
		if joined != nil {
			s.block(&rowBlock{high: uint16(high), bits: joined})
		}
	}
}

// block offers the videos of rows that agree in their upper 16 bits.
func (s *rowScan) block(b *rowBlock) {
	if int(b.high) >= len(s.places.groups) || s.turn.Step(costOfRow*b.count) != nil {
		return
	}
	g := &s.places.groups[b.high]
	switch {
	case b.bits == nil:
		s.list(b.high, b.list, g)
	case s.single(g):
		s.singleBits(b, g)
	default:
		for word := 0; word < len(b.bits); {
			var lows []uint16
			lows, word = b.bits.part(s.lows[:0], word, len(s.lows)-blockWindows)
			s.list(b.high, lows, g)
		}
	}
}

// list offers the videos of rows of a group.
func (s *rowScan) list(high uint16, lows []uint16, g *placeGroup) {
	row := uint32(high) << 16
	switch {
	case s.single(g) && !consecutive(lows):
		for lows = g.of(lows); len(lows) > 0; {
			c, n := s.table.part(lows, g)
			s.singles(c, row, g.first.start, lows[:n])
			lows = lows[n:]
		}
	case g.mixed != nil:
		for _, low := range lows {
			s.row(row | uint32(low))
		}
	case g.first.table == s.number:
		s.regular(row, lows, g)
	}
}

// consecutive reports whether there is no gap in a list of several rows.
func consecutive(lows []uint16) bool {
	n := len(lows)
	return n > 1 && int(lows[n-1]-lows[0]) == n-1
}

// single reports whether a group is regular, and its videos have one window each in the
// table.
func (s *rowScan) single(g *placeGroup) bool {
	return g.mixed == nil && g.first.count == 1 && g.first.table == s.number
}

// of returns those of the rows that a regular group has.
func (g *placeGroup) of(lows []uint16) []uint16 {
	if n := len(lows); n > 0 && uint32(lows[n-1]) >= g.rows {
		n, _ = slices.BinarySearch(lows, uint16(g.rows))
		return lows[:n]
	}
	return lows
}

// part returns the chunk that the first of the rows of a group of single windows stands
// in, and how many rows do.
func (t *table) part(lows []uint16, g *placeGroup) (c *chunk, n int) {
	window := g.first.start + uint32(lows[0])
	rest := chunkWindows - window%chunkWindows // windows of the chunk from the first one on
	n = len(lows)
	if uint32(lows[n-1])-uint32(lows[0]) >= rest {
		n, _ = slices.BinarySearch(lows, uint16(uint32(lows[0])+rest))
	}
	return &t.chunks[window/chunkWindows], n
}

// singles offers videos of one window in a regular group.
func (s *rowScan) singles(c *chunk, row, first uint32, lows []uint16) {
	scores, maxima, floor := c.column(s.column), c.columnMaxima(s.column), s.floor
	if !s.batch.primed || !skips(maxima, floor) {
		s.gather(scores, row, first, lows)
		return
	}
	for _, low := range lows {
		at := (first + uint32(low)) % chunkWindows
		if maxima[at/blockWindows] < floor {
			continue
		}
		if score := binary.LittleEndian.Uint16(scores[2*at:]); score >= floor {
			s.offerSingle(row|uint32(low), score)
			floor = s.floor
		}
	}
}

// skips reports whether the maxima, which stay in the caches, spare many looks at scores.
func skips(maxima []uint16, floor uint16) bool {
	const sample = 16
	below := 0
	for i := range sample {
		if maxima[i*len(maxima)/sample] < floor {
			below++
		}
	}
	return below >= sample/4
}

// singleBits is singles for a bitmap. It passes over 64 videos at once if the maxima of
// their windows allow.
func (s *rowScan) singleBits(b *rowBlock, g *placeGroup) {
	for i, word := range b.bits {
		if word == 0 {
			continue
		}
		low := uint32(i * 64)
		if low >= g.rows {
			return
		}
		window := g.first.start + low
		last := min(window+63, g.first.start+g.rows-1)
		if s.table.maximum(s.column, window) < s.floor &&
			(window/blockWindows == last/blockWindows || s.table.maximum(s.column, last) < s.floor) {
			continue
		}
		if bits.OnesCount64(word) > 16 {
			s.dense(word, uint32(b.high)<<16|low, window, last)
			continue
		}
		for ; word != 0; word &= word - 1 {
			at := window + uint32(bits.TrailingZeros64(word))
			if at > last {
				break
			}
			c := &s.table.chunks[at/chunkWindows]
			score := binary.LittleEndian.Uint16(c.scores[2*(s.column*c.size+int(at%chunkWindows)):])
			if score >= s.floor {
				s.offerSingle(uint32(b.high)<<16|(at-g.first.start), score)
			}
		}
	}
}

// dense is singleBits for a word with so many rows that it takes less to look at all
// scores from window to last.
func (s *rowScan) dense(word uint64, row, window, last uint32) {
	for start := window; start <= last; {
		c, in := &s.table.chunks[start/chunkWindows], int(start%chunkWindows)
		stop := min(in+int(last-start)+1, chunkWindows)
		scores := c.column(s.column)[:2*stop]
		for at := next(scores, in, s.floor); at < stop; at = next(scores, at+1, s.floor) {
			if i := start - window + uint32(at-in); word>>i&1 != 0 {
				s.offerSingle(row+i, binary.LittleEndian.Uint16(scores[2*at:]))
			}
		}
		start += uint32(stop - in)
	}
}

func (s *rowScan) offerSingle(row uint32, score uint16) {
	if s.passes == nil || s.passes(row) {
		s.take(Hit{Row: row, Score: score})
	}
}

// some offers the videos of rows in any order, whose scores may be gathered. The end of it
// is flush.
func (s *rowScan) some(some []numbered) {
	groups, chunks, b := s.places.groups, s.table.chunks, &s.batch
	for i := range some {
		row := some[i].row
		high, low := int(row/groupRows), row%groupRows
		if high >= len(groups) { // as that of allHolders, and of what was removed
			continue
		}
		g := &groups[high]
		if !s.single(g) {
			s.row(row)
			continue
		}
		if low >= g.rows {
			continue
		}
		at := g.first.start + low
		c := &chunks[at/chunkWindows]
		in := 2 * (s.column*c.size + int(at%chunkWindows))
		to := 2 * b.n
		b.rows[b.n] = row
		binary.LittleEndian.PutUint16(b.scores[to:to+2:to+2], binary.LittleEndian.Uint16(c.scores[in:in+2:in+2]))
		if b.n++; b.n == batchSize {
			s.flush()
		}
	}
}

// sets offers the videos of sets that are small. The end of it is flush.
func (s *rowScan) sets(sets []*rowSet) {
	const small = 128 // rows, of which few stand in the same block
	var rows [small]numbered
	for _, set := range sets {
		if set.count > small {
			s.set(set)
			continue
		}
		n := 0
		for i := range set.blocks {
			b := &set.blocks[i]
			for _, low := range b.list {
				rows[n%small].row = uint32(b.high)<<16 | uint32(low)
				n++
			}
		}
		s.some(rows[:n])
		if s.turn.Step(costOfRow*n) != nil {
			return
		}
	}
}

// row offers one video.
func (s *rowScan) row(row uint32) {
	if p := s.places.at(row); p.table == s.number {
		s.video(row, p)
	}
}

func (s *rowScan) video(row uint32, p place) {
	if s.turn.Step(costOfVideo+costOfBlock*int(p.count)/8) != nil {
		return
	}
	passed := s.passes == nil
	for at, end := int(p.start), int(p.start+p.count); at < end; {
		c, in := &s.table.chunks[at/chunkWindows], at%chunkWindows
		stop := min((in/blockWindows+1)*blockWindows, in+end-at)
		if c.columnMaxima(s.column)[in/blockWindows] >= s.floor {
			if !passed && !s.passes(row) {
				return
			}
			passed = true
			s.offer(row, uint32(at)-p.start, c.column(s.column)[2*in:2*stop])
		}
		at += stop - in
	}
}
