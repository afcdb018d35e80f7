package columnar

import (
	"math/bits"
	"slices"
	"sort"
)

// rowSet is a set of rows: blocks of 65536 rows each, in order, as in Roaring bitmaps
// (Lemire et al., "Roaring Bitmaps: Implementation of an Optimized Software Library",
// 2018).
type rowSet struct {
	blocks []rowBlock
	count  int
}

// rowBlock holds rows that agree in their upper 16 bits: a sorted list of the lower ones,
// or a bitmap when that is smaller. It is never empty.
type rowBlock struct {
	high  uint16
	count int
	list  []uint16
	bits  *rowBits // nil: list counts
}

type rowBits [1 << 16 / 64]uint64

const maxList = 4096 // as a list, this many rows take as much memory as a bitmap

func (s *rowSet) find(high uint16) (at int, found bool) {
	if int(high) < len(s.blocks) && s.blocks[high].high == high { // there is no gap before, as with most large sets
		return int(high), true
	}
	at = sort.Search(len(s.blocks), func(i int) bool { return s.blocks[i].high >= high })
	return at, at < len(s.blocks) && s.blocks[at].high == high
}

func (s *rowSet) contains(row uint32) bool {
	at, found := s.find(uint16(row >> 16))
	return found && s.blocks[at].contains(uint16(row))
}

func (b *rowBlock) contains(low uint16) bool {
	if b.bits != nil {
		return b.bits[low>>6]>>(low&63)&1 != 0
	}
	_, found := slices.BinarySearch(b.list, low)
	return found
}

// wide reports whether most rows stand in bitmaps, as far as a look at the first block
// tells: then it takes little to look one up.
func (s *rowSet) wide() bool { return len(s.blocks) == 0 || s.blocks[0].bits != nil }

// filter returns those of a few windows whose rows are in the set, in the place of all.
func (s *rowSet) filter(hits []Hit) []Hit {
	kept := 0
	for _, h := range hits {
		hits[kept] = h
		high, low := int(h.Row>>16), uint16(h.Row)
		if high < len(s.blocks) && int(s.blocks[high].high) == high && s.blocks[high].bits != nil {
			kept += int(s.blocks[high].bits[low>>6] >> (low & 63) & 1) // whether it is in cannot be foreseen
		} else if s.contains(h.Row) {
			kept++
		}
	}
	return hits[:kept]
}

// add reports whether the row was not there.
func (s *rowSet) add(row uint32) bool {
	high, low := uint16(row>>16), uint16(row)
	at, found := s.find(high)
	if !found {
		s.blocks = slices.Insert(s.blocks, at, rowBlock{high: high})
	}
	b := &s.blocks[at]
	switch {
	case b.bits != nil:
		if b.contains(low) {
			return false
		}
		b.bits[low>>6] |= 1 << (low & 63)
	default:
		i, found := slices.BinarySearch(b.list, low)
		if found {
			return false
		}
		if len(b.list) < maxList {
			b.list = slices.Insert(b.list, i, low)
			break
		}
		b.bits = new(rowBits)
		for _, l := range b.list {
			b.bits[l>>6] |= 1 << (l & 63)
		}
		b.bits[low>>6] |= 1 << (low & 63)
		b.list = nil
	}
	b.count++
	s.count++
	return true
}

// remove reports whether the row was there.
func (s *rowSet) remove(row uint32) bool {
	low := uint16(row)
	at, found := s.find(uint16(row >> 16))
	if !found {
		return false
	}
	b := &s.blocks[at]
	if b.bits != nil {
		if !b.contains(low) {
			return false
		}
		b.bits[low>>6] &^= 1 << (low & 63)
		// Half of where a list becomes a bitmap, so that a row that comes and goes does
		// not turn one into the other each time.
		if b.count-1 == maxList/2 {
			b.list, b.bits = b.bits.list(nil), nil
		}
	} else {
		i, found := slices.BinarySearch(b.list, low)
		if !found {
			return false
		}
		b.list = slices.Delete(b.list, i, i+1)
	}
	s.count--
	if b.count--; b.count == 0 {
		s.blocks = slices.Delete(s.blocks, at, at+1)
	}
	return true
}

// list appends the rows of the bitmap.
func (b *rowBits) list(to []uint16) []uint16 {
	to, _ = b.part(to, 0, len(b)*64)
	return to
}

// part appends the rows of the bitmap from a word on, until there are so many or a few
// more, and returns the word to go on with.
func (b *rowBits) part(to []uint16, word, most int) ([]uint16, int) {
	for ; word < len(b) && len(to) < most; word++ {
		for rest := b[word]; rest != 0; rest &= rest - 1 {
			to = append(to, uint16(word<<6|bits.TrailingZeros64(rest)))
		}
	}
	return to, word
}

// rows returns the lower halves of all rows, in buffer if they do not stand anywhere yet.
func (b *rowBlock) rows(buffer []uint16) []uint16 {
	if b.bits != nil {
		return b.bits.list(buffer[:0])
	}
	return b.list
}

// all goes through all rows in order.
func (s *rowSet) all(yield func(row uint32) bool) {
	for i := range s.blocks {
		b := &s.blocks[i]
		for _, low := range b.rows(nil) {
			if !yield(uint32(b.high)<<16 | uint32(low)) {
				return
			}
		}
	}
}

// append adds a block behind all others, unless it is empty.
func (s *rowSet) append(b rowBlock) {
	if b.count > 0 {
		s.blocks = append(s.blocks, b)
		s.count += b.count
	}
}

// bytes returns how much memory the blocks hold.
func (s *rowSet) bytes() int {
	n := 0
	for i := range s.blocks {
		n += 48 + 2*cap(s.blocks[i].list)
		if s.blocks[i].bits != nil {
			n += len(s.blocks[i].bits) * 8
		}
	}
	return n
}

func (s *rowSet) clone() *rowSet {
	c := &rowSet{blocks: slices.Clone(s.blocks), count: s.count}
	for i := range c.blocks {
		b := &c.blocks[i]
		b.list = slices.Clone(b.list)
		if b.bits != nil {
			bits := *b.bits
			b.bits = &bits
		}
	}
	return c
}

// keep returns the rows of s that are (or, if in is false, are not) in other.
func (s *rowSet) keep(other *rowSet, in bool) *rowSet {
	result := &rowSet{}
	at := 0
	for i := range s.blocks {
		b := &s.blocks[i]
		for at < len(other.blocks) && other.blocks[at].high < b.high {
			at++
		}
		if at < len(other.blocks) && other.blocks[at].high == b.high {
			result.append(b.keep(&other.blocks[at], in))
		} else if !in {
			result.append(*b)
		}
	}
	return result
}

func (b *rowBlock) keep(other *rowBlock, in bool) rowBlock {
	switch {
	case b.bits == nil && other.bits == nil:
		return b.keepList(other.list, in)
	case b.bits == nil:
		return b.keepFunc(func(low uint16) bool { return other.contains(low) == in })
	case other.bits == nil && in:
		return other.keepFunc(b.contains)
	}
	kept := rowBlock{high: b.high}
	if other.bits == nil {
		kept.bits = new(rowBits)
		*kept.bits = *b.bits
		for _, low := range other.list {
			kept.bits[low>>6] &^= 1 << (low & 63)
		}
		kept.settle()
		return kept
	}
	invert := uint64(0)
	if !in {
		invert = ^invert
	}
	for i, word := range other.bits {
		kept.count += bits.OnesCount64(b.bits[i] & (word ^ invert))
	}
	if kept.count <= maxList/2 {
		kept.list = b.bits.common(other.bits, invert, kept.count)
		return kept
	}
	kept.bits = new(rowBits)
	for i, word := range other.bits {
		kept.bits[i] = b.bits[i] & (word ^ invert)
	}
	return kept
}

// common returns the rows of both bitmaps, or those that the other one lacks if invert is
// all ones, as a list of so many. Where most words have two at most, as in a list, the
// first two of each are written down whether they are there or not: a branch would be
// taken at random.
func (b *rowBits) common(other *rowBits, invert uint64, count int) []uint16 {
	list := make([]uint16, count+2)
	n := 0
	for i, word := range other {
		rest := b[i] & (word ^ invert)
		for range 2 {
			list[n] = uint16(i<<6 | bits.TrailingZeros64(rest)&63)
			if rest != 0 {
				n++
			}
			rest &= rest - 1
		}
		for ; rest != 0; rest &= rest - 1 {
			list[n] = uint16(i<<6 | bits.TrailingZeros64(rest)&63)
			n++
		}
	}
	return list[:n]
}

// settle counts the rows of a new bitmap, and makes a list of it if they are few.
func (b *rowBlock) settle() {
	b.count = 0
	for _, word := range b.bits {
		b.count += bits.OnesCount64(word)
	}
	if b.count <= maxList/2 {
		b.list, b.bits = b.bits.list(make([]uint16, 0, b.count)), nil
	}
}

// keepList is keep for lists.
func (b *rowBlock) keepList(other []uint16, in bool) rowBlock {
	kept := rowBlock{high: b.high}
	const long = 256
	if len(b.list) > long && len(other) > long { // steps from one list to the other cannot be foreseen
		var marks rowBits
		for _, low := range other {
			marks[low>>6] |= 1 << (low & 63)
		}
		kept.list = make([]uint16, len(b.list))
		for _, low := range b.list {
			kept.list[kept.count] = low
			if marks[low>>6]>>(low&63)&1 != 0 == in {
				kept.count++
			}
		}
		kept.list = kept.list[:kept.count]
		return kept
	}
	for _, low := range b.list {
		for len(other) > 0 && other[0] < low {
			other = other[1:]
		}
		if found := len(other) > 0 && other[0] == low; found == in {
			kept.list = append(kept.list, low)
		}
	}
	kept.count = len(kept.list)
	return kept
}

func (b *rowBlock) keepFunc(in func(low uint16) bool) rowBlock {
	kept := rowBlock{high: b.high}
	for _, low := range b.rows(nil) {
		if in(low) {
			kept.list = append(kept.list, low)
		}
	}
	kept.count = len(kept.list)
	return kept
}

// keepFunc returns the rows of s that a condition holds for.
func (s *rowSet) keepFunc(in func(row uint32) bool) *rowSet {
	result := &rowSet{}
	for i := range s.blocks {
		high := uint32(s.blocks[i].high) << 16
		kept := s.blocks[i].keepFunc(func(low uint16) bool { return in(high | uint32(low)) })
		if kept.count > maxList {
			kept.bits = new(rowBits)
			for _, low := range kept.list {
				kept.bits[low>>6] |= 1 << (low & 63)
			}
			kept.list = nil
		}
		result.append(kept)
	}
	return result
}

// rowUnion collects rows of many sets.
type rowUnion struct{ blocks []*rowBits } // by the upper 16 bits of the rows

func (u *rowUnion) block(high uint16) *rowBits {
	if int(high) >= len(u.blocks) {
		u.blocks = append(u.blocks, make([]*rowBits, int(high)+1-len(u.blocks))...)
	}
	if u.blocks[high] == nil {
		u.blocks[high] = new(rowBits)
	}
	return u.blocks[high]
}

func (u *rowUnion) add(row uint32) {
	u.block(uint16(row >> 16))[uint16(row)>>6] |= 1 << (row & 63)
}

func (u *rowUnion) addSet(s *rowSet) {
	for i := range s.blocks {
		u.block(s.blocks[i].high).add(&s.blocks[i])
	}
}

func (to *rowBits) add(b *rowBlock) {
	for _, low := range b.list {
		to[low>>6] |= 1 << (low & 63)
	}
	if b.bits != nil {
		for i, word := range b.bits {
			to[i] |= word
		}
	}
}

// set returns the rows. It is the end of the union.
func (u *rowUnion) set() *rowSet {
	s := &rowSet{}
	for high, bits := range u.blocks {
		if bits != nil {
			b := rowBlock{high: uint16(high), bits: bits}
			b.settle()
			s.append(b)
		}
	}
	return s
}
