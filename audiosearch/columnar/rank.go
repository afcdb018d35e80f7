package columnar

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/seed-6363c74e/mortise/audiosearch"
)

// Rank offers the windows of the selected videos that have scores of a class to a ranking, as often as it wants them, and returns the page.
// A nil selection has all videos.
func (s *Scores) Rank(class audiosearch.Class, selected *Selection, r *Ranking) []Hit {
	for s != nil && r.Next() {
		for number, t := range s.tables {
			if t == nil {
				continue
			}
			column, found := slices.BinarySearch(t.classes, class)
			switch {
			case !found:
			case selected.few(t, s.places.regular(uint32(number)+1), r.holds()):
				scan := rowScan{places: &s.places, table: t, number: uint32(number) + 1, column: column, Ranking: r}
				selected.scan(&scan)
			default:
				t.scan(column, selected, r)
			}
		}
	}
	return r.Hits()
}

// scan looks at the scores first, and then whether the videos of good ones are selected.
func (t *table) scan(column int, selected *Selection, r *Ranking) {
	for i := range t.chunks {
		c, first := &t.chunks[i], i*chunkWindows
		scores := c.column(column)
		n := min(t.windows-first, chunkWindows)
		for block, best := range c.columnMaxima(column)[:blocksOf(n)] {
			if best < r.floor {
				continue
			}
			end := min((block+1)*blockWindows, n)
			for at := block * blockWindows; ; {
				if at = next(scores[:2*end], at, r.floor); at >= end {
					break
				}
				video := t.videoAt(first + at)
				v, stop := t.videos[video], min(t.end(video)-first, end)
				if v.row != deadRow && selected.Contains(v.row) {
					r.offer(v.row, uint32(first+at)-v.start, scores[2*at:2*stop])
				}
				at = stop
			}
		}
	}
}

// rowScan looks up videos, and then at their scores.
type rowScan struct {
	*Ranking
	places *places
	table  *table
	number uint32 // of the table
	column int
	passes func(row uint32) bool // nil: all do; asked late

	lows   []uint16
	joined *rowBits
}

// set offers the videos of a set.
func (s *rowScan) set(rows *rowSet) {
	for i := range rows.blocks {
		s.block(&rows.blocks[i])
	}
}

// union offers the videos of sets that have none in common: block by block, so that what is looked at stays in the caches.
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
	if int(b.high) >= len(s.places.groups) {
		return
	}
	g := &s.places.groups[b.high]
	single := g.mixed == nil && g.first.count == 1 && g.first.table == s.number
	if b.bits != nil && single {
		s.singleBits(b, g)
		return
	}
	lows := b.list
	if b.bits != nil {
		s.lows = b.bits.list(s.lows[:0])
		lows = s.lows
	}
	if single {
		s.singles(b.high, lows, g)
		return
	}
	for _, low := range lows {
		s.row(uint32(b.high)<<16 | uint32(low))
	}
}

// singles offers videos of one window in a regular group.
func (s *rowScan) singles(high uint16, lows []uint16, g *placeGroup) {
	chunks, column, first, rows, floor := s.table.chunks, s.column, g.first.start, g.rows, s.floor
	for _, low := range lows {
		if uint32(low) >= rows {
			return
		}
		window := first + uint32(low)
		c := &chunks[window/chunkWindows]
		score := binary.LittleEndian.Uint16(c.scores[2*(column*c.size+int(window%chunkWindows)):])
		if score >= floor {
			s.single(uint32(high)<<16|uint32(low), score)
			floor = s.floor
		}
	}
}

// singleBits is singles for a bitmap. It passes over 64 videos at once if the maxima of their windows allow.
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
		for ; word != 0; word &= word - 1 {
			at := window + uint32(bits.TrailingZeros64(word))
			if at > last {
				break
			}
			c := &s.table.chunks[at/chunkWindows]
			score := binary.LittleEndian.Uint16(c.scores[2*(s.column*c.size+int(at%chunkWindows)):])
			if score >= s.floor {
				s.single(uint32(b.high)<<16|(at-g.first.start), score)
			}
		}
	}
}

func (s *rowScan) single(row uint32, score uint16) {
	if s.passes == nil || s.passes(row) {
		s.take(Hit{Row: row, Score: score})
	}
}

// row offers one video.
func (s *rowScan) row(row uint32) {
	if p := s.places.at(row); p.table == s.number {
		s.video(row, p)
	}
}

func (s *rowScan) video(row uint32, p place) {
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
