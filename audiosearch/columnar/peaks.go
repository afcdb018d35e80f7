package columnar

import "encoding/binary"

// peak says of a block of 64 windows which one has the maximum, in the lower 6 bits, and
// what the others have at most, in the upper 10 bits. A floor between the two leaves one
// window, and its score is known: no score of the block needs a look.
type peak uint16

const lowerBits = blockWindows - 1

// window returns which one of the block has the maximum.
func (p peak) window() int { return int(p & lowerBits) }

// alone reports whether all other windows are below a floor. It may say false of some that
// are closely below.
func (p peak) alone(floor uint16) bool { return uint16(p|lowerBits) < floor }

// findPeaks finds the peaks of the blocks that are complete now, and were not when the
// table had so many windows.
func (t *table) findPeaks(windows int) {
	for block := windows / blockWindows; block < t.windows/blockWindows; block++ {
		const blocks = chunkWindows / blockWindows
		c, in := &t.chunks[block/blocks], block%blocks
		for class := range t.classes {
			scores := (*[2 * blockWindows]byte)(c.column(class)[2*blockWindows*in:])
			c.columnPeaks(class)[in] = peakOf(scores, c.columnMaxima(class)[in])
		}
	}
}

// peakOf returns the peak of scores whose maximum is known. It looks at the upper 10 bits
// of four scores at a time, which leaves room for a bit that tells which of two is greater,
// as next does it.
func peakOf(scores *[2 * blockWindows]byte, best uint16) peak {
	const upper = 0x03FF * ones
	at := next(scores[:], 0, best) % blockWindows
	var most [2]uint64 // side by side, so that one need not wait for the other
	for i := range blockWindows / 4 {
		four := binary.LittleEndian.Uint64(scores[8*i:])
		if i == at/4 {
			four &^= 0xFFFF << (at % 4 * 16)
		}
		four = four >> 6 & upper
		less := (four | tops) - most[i%2]
		less = less & tops >> 15 * 0x7FFF // which of those before are less, or the same
		most[i%2] = four&less | most[i%2]&^less
	}
	second := uint64(0)
	for _, four := range most {
		second = max(second, four&0xFFFF, four>>16&0xFFFF, four>>32&0xFFFF, four>>48)
	}
	return peak(second<<6 | uint64(at))
}
