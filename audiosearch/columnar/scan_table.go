package columnar

import (
	"encoding/binary"
	"math/bits"

	"github.com/seed-6363c74e/mortise/internal/turns"
)

// tableScan looks at the scores first, and then whether the videos of good ones are
// selected.
type tableScan struct {
	*Ranking
	places   *places
	table    *table
	number   uint32 // of the table
	column   int
	selected *Selection
	turn     *turns.Turn

	good  [chunkWindows / blockWindows]uint16
	batch [2 * testBatch]Hit // whose videos are not looked up yet
	n     int                // how many
}

// testBatch is how many blocks are looked at side by side, and how many windows are tested
// so, or twice as many, so that the memory need not be waited for one by one.
const testBatch = 64

// run looks at all scores. Once the context has ended, it returns early.
func (s *tableScan) run() {
	for i := range s.table.chunks {
		if s.turn.Step(costOfChunk) != nil {
			return
		}
		c := s.chunk(i)
		for blocks := above(c.maxima, s.floor, &s.good); len(blocks) > 0; {
			some := blocks[:min(len(blocks), testBatch)]
			blocks = blocks[len(some):]
			if s.turn.Step(costOfScores*len(some)) != nil {
				return
			}
			s.blocks(c, s.peaks(c, some))
		}
	}
	s.flush()
}

// scanned is a chunk of a table that is looked at.
type scanned struct {
	first, n int    // its first window in the table, and how many there are
	scores   []byte // of the class
	maxima   []uint16
	peaks    []peak // of the blocks that are complete
	inOrder  bool   // the rows of the videos are the numbers of their windows
}

func (s *tableScan) chunk(i int) scanned {
	c, first := &s.table.chunks[i], i*chunkWindows
	n := min(s.table.windows-first, chunkWindows)
	inOrder := false
	if i < len(s.places.groups) { // one that is not regular has no first place
		g := &s.places.groups[i]
		inOrder = g.first == place{start: uint32(first), count: 1, table: s.number} && int(g.rows) >= n
	}
	return scanned{
		first: first, n: n, scores: c.column(s.column)[:2*n], maxima: c.columnMaxima(s.column)[:blocksOf(n)],
		peaks: c.columnPeaks(s.column)[:n/blockWindows], inOrder: inOrder,
	}
}

// peaks puts windows into the batch that are the only good ones of their blocks, and
// returns the blocks that need a look at their scores, in the place of all.
func (s *tableScan) peaks(c scanned, some []uint16) (rest []uint16) {
	left, floor := 0, s.floor
	if s.n > testBatch {
		s.flush()
	}
	for _, block := range some {
		best := c.maxima[block]
		if best < floor { // it has risen since the block was found good
			continue
		}
		if int(block) >= len(c.peaks) || !c.peaks[block].alone(floor) {
			some[left] = block
			left++
			continue
		}
		window := uint32(c.first + int(block)*blockWindows + c.peaks[block].window())
		h := Hit{Row: window, Score: best}
		if !c.inOrder {
			row, start, live := s.videoOf(window)
			if !live {
				continue
			}
			h.Row, h.Window = row, window-start
		}
		s.batch[s.n] = h
		s.n++
	}
	return some[:left]
}

// blocks offers the windows of some blocks of a chunk, at most testBatch.
func (s *tableScan) blocks(c scanned, some []uint16) {
	var masks [testBatch]uint64
	floor := s.floor
	for i, block := range some {
		if from := 2 * blockWindows * int(block); from+2*blockWindows <= len(c.scores) {
			masks[i%testBatch] = atLeast((*[2 * blockWindows]byte)(c.scores[from:]), floor)
		} else {
			masks[i%testBatch] = 1<<64 - 1
		}
	}
	for i, block := range some {
		const many = 16
		from := int(block) * blockWindows
		if good := masks[i%testBatch]; bits.OnesCount64(good) <= many {
			s.few(c.first+from, good, c.scores[2*from:2*(from+blockWindows)])
		} else {
			s.block(c.first, from, min(from+blockWindows, c.n), c.scores)
		}
	}
}

// above returns the numbers of the blocks whose maxima are not below the floor. Which ones
// these are cannot be foreseen, so there is no branch for the processor to guess.
func above(maxima []uint16, floor uint16, good *[chunkWindows / blockWindows]uint16) []uint16 {
	n := uint(0)
	for block, best := range maxima {
		good[n%uint(len(good))] = uint16(block)
		if best >= floor {
			n++
		}
	}
	return good[:n]
}

// few offers the windows of a whole block that are good, from a window of the table on.
func (s *tableScan) few(first int, good uint64, scores []byte) {
	for ; good != 0; good &= good - 1 {
		at := windowOf(bits.TrailingZeros64(good))
		score := binary.LittleEndian.Uint16(scores[2*at:])
		if score < s.floor { // it has risen since
			continue
		}
		window := uint32(first + at)
		row, start, live := s.videoOf(window)
		if !live {
			continue
		}
		s.batch[s.n] = Hit{Row: row, Window: window - start, Score: score}
		if s.n++; s.n == len(s.batch) {
			s.flush()
		}
	}
}

// flush offers those windows of the batch whose videos are selected.
func (s *tableScan) flush() {
	hits := s.selected.keep(s.turn, s.batch[:s.n])
	s.n = 0
	for _, h := range hits {
		if h.Score >= s.floor {
			s.take(h)
		}
	}
}

// videoOf returns the row of the video that a window is of, and where its windows start,
// or false if it was removed.
func (s *tableScan) videoOf(window uint32) (row, start uint32, live bool) {
	if high := window / groupRows; int(high) < len(s.places.groups) {
		// Mostly the rows of single windows are their numbers, and one look is enough.
		g := &s.places.groups[high]
		if low := window - g.first.start; g.mixed == nil && g.first.count == 1 && g.first.table == s.number && low < g.rows {
			return high*groupRows + low, window, true
		}
	}
	v := s.table.videos[s.table.videoAt(int(window))]
	return v.row, v.start, v.row != deadRow
}

// block offers the windows of a block, of each video those that stand side by side.
func (s *tableScan) block(first, from, to int, scores []byte) {
	t := s.table
	for at := from; ; {
		if at = next(scores[:2*to], at, s.floor); at >= to {
			return
		}
		video := t.videoAt(first + at)
		v, stop := t.videos[video], min(t.end(video)-first, to)
		if v.row != deadRow && s.selected.contains(s.turn, v.row) {
			s.offer(v.row, uint32(first+at)-v.start, scores[2*at:2*stop])
		}
		at = stop
	}
}

// atLeast returns which of 64 scores are not below a floor: a bit for each, in the order
// that windowOf knows. It takes four scores at a time, as next does, and has no branch
// within.
func atLeast(scores *[2 * blockWindows]byte, floor uint16) uint64 {
	low := ones * uint64(floor) &^ tops
	if floor < 1<<15 {
		four := func(i int) uint64 {
			x := binary.LittleEndian.Uint64(scores[8*i:])
			return ((x | tops) - low | x) & tops
		}
		return four(0)>>15 | four(1)>>14 | four(2)>>13 | four(3)>>12 | four(4)>>11 | four(5)>>10 | four(6)>>9 | four(7)>>8 |
			four(8)>>7 | four(9)>>6 | four(10)>>5 | four(11)>>4 | four(12)>>3 | four(13)>>2 | four(14)>>1 | four(15)
	}
	four := func(i int) uint64 {
		x := binary.LittleEndian.Uint64(scores[8*i:])
		return ((x | tops) - low) & x & tops
	}
	return four(0)>>15 | four(1)>>14 | four(2)>>13 | four(3)>>12 | four(4)>>11 | four(5)>>10 | four(6)>>9 | four(7)>>8 |
		four(8)>>7 | four(9)>>6 | four(10)>>5 | four(11)>>4 | four(12)>>3 | four(13)>>2 | four(14)>>1 | four(15)
}

// windowOf returns which of 64 scores a bit of atLeast is for.
func windowOf(bit int) int { return bit%16*4 + bit/16 }
