package columnar

import "encoding/binary"

// prime raises the floor, before the pass, to what so many windows reach as are wanted:
// the first of those of a set that the pass will offer. A count of the upper halves of
// scores takes less than the candidates that it spares, which matters where few videos
// are selected.
func (s *rowScan) prime(rows *rowSet) {
	const enough = 1024 // windows; with more there is little to spare
	if !s.free || s.best.wanted > enough/8 {
		return
	}
	var counts [256]uint16
	seen := 0
	for i := range rows.blocks {
		b := &rows.blocks[i]
		if int(b.high) >= len(s.places.groups) {
			break
		}
		g := &s.places.groups[b.high]
		lows := b.list
		if b.bits != nil {
			lows, _ = b.bits.part(s.lows[:0], 0, len(s.lows)-blockWindows)
		}
		switch {
		case !s.single(g):
			for _, low := range lows {
				if seen >= enough {
					break
				}
				if p := g.at(uint32(low)); p.table == s.number {
					seen += s.count(p, &counts)
				}
			}
		case b.bits == nil && !consecutive(lows):
			return // as flush does it
		case seen < enough:
			for lows = g.of(lows[:min(len(lows), enough)]); len(lows) > 0; {
				c, n := s.table.part(lows, g)
				seen += s.countSingles(c.column(s.column), g.first.start, lows[:n], &counts)
				lows = lows[n:]
			}
		}
		if seen >= enough {
			break
		}
	}
	s.raise(&counts)
}

// raise raises the floor to what the wanted number of windows reach, of those that were
// counted by the upper halves of their scores.
func (r *Ranking) raise(counts *[256]uint16) {
	half, reach := len(counts)-1, int(counts[len(counts)-1])
	for ; half > 0 && reach < r.best.wanted; reach += int(counts[half]) {
		half--
	}
	r.floor = max(r.floor, uint16(half)<<8)
}

// count counts the upper halves of a video's scores, and returns how many.
func (s *rowScan) count(p place, counts *[256]uint16) int {
	c, at := &s.table.chunks[p.start/chunkWindows], int(p.start%chunkWindows)
	n := min(int(p.count), chunkWindows-at, 4096)
	scores := c.column(s.column)[2*at : 2*(at+n)]
	for i := 1; i < len(scores); i += 2 {
		counts[scores[i]]++
	}
	return n
}

// countSingles is count for videos of one window.
func (s *rowScan) countSingles(scores []byte, first uint32, lows []uint16, counts *[256]uint16) int {
	for _, low := range lows {
		counts[scores[2*((first+uint32(low))%chunkWindows)+1]]++
	}
	return len(lows)
}

// batch has windows of single videos that are not offered yet. Their scores are taken
// from where they stand without a look at them, so that the memory need not be waited for
// one by one.
type batch struct {
	n      int
	scores [2 * batchSize]byte // in the form of a chunk
	rows   [batchSize]uint32
	primed bool
}

const batchSize = 1024

// gather puts videos of one window into the batch.
func (s *rowScan) gather(scores []byte, row, first uint32, lows []uint16) {
	for b := &s.batch; len(lows) > 0; {
		n := min(len(lows), batchSize-b.n)
		rows, to := b.rows[b.n:b.n+n], b.scores[2*b.n:2*(b.n+n)]
		for i, low := range lows[:n] {
			// As few bounds to be checked as can be: what counts is how many loads of
			// scores are under way at once.
			at, j := 2*int(uint16(first)+low), 2*i
			rows[i] = row | uint32(low)
			binary.LittleEndian.PutUint16(to[j:j+2:j+2], binary.LittleEndian.Uint16(scores[at:at+2:at+2]))
		}
		lows = lows[n:]
		if b.n += n; b.n == batchSize {
			s.flush()
		}
	}
}

// flush offers what is in the batch.
func (s *rowScan) flush() {
	b := &s.batch
	if b.n == 0 {
		return
	}
	scores := b.scores[:2*b.n]
	if !b.primed && s.free && s.passes == nil && s.best.wanted <= batchSize/8 {
		var counts [256]uint16
		for i := 1; i < len(scores); i += 2 {
			counts[scores[i]]++
		}
		s.raise(&counts)
	}
	b.primed = true
	for at := next(scores, 0, s.floor); at < b.n; at = next(scores, at+1, s.floor) {
		s.offerSingle(b.rows[at], binary.LittleEndian.Uint16(scores[2*at:]))
	}
	b.n = 0
}
