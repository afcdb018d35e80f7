package columnar

import (
	"encoding/binary"
	"math/bits"
	"sort"
)

// Piece says which windows stand in a part of a chunk: consecutive ones of one video.
type Piece struct {
	Start  uint32 // where in the chunk the first one stands, in windows
	Count  uint32 // how many
	Row    uint32 // of the video
	Window uint32 // which one of the video the first one is
}

// Pack appends scores in the form of a chunk: 16 bits each, little-endian.
func Pack(chunk []byte, scores []uint16) []byte {
	for _, score := range scores {
		chunk = binary.LittleEndian.AppendUint16(chunk, score)
	}
	return chunk
}

// Unpack appends the scores of a chunk.
func Unpack(scores []uint16, chunk []byte) []uint16 {
	for ; len(chunk) >= 2; chunk = chunk[2:] {
		scores = append(scores, binary.LittleEndian.Uint16(chunk))
	}
	return scores
}

// OfferChunk offers the windows of a chunk whose videos are selected; a nil selection has
// all. pieces are in order of Start and do not overlap; what stands between them is left
// out, and what reaches beyond the chunk is cut. It allocates nothing.
func (r *Ranking) OfferChunk(chunk []byte, pieces []Piece, selected *Selection) {
	n := len(chunk) / 2
	for at, p := 0, 0; ; {
		if at = next(chunk, at, r.floor); at >= n {
			return
		}
		p += sort.Search(len(pieces)-p, func(i int) bool { return int(pieces[p+i].Start)+int(pieces[p+i].Count) > at })
		if p == len(pieces) {
			return
		}
		piece := &pieces[p]
		start, end := int(piece.Start), min(int(piece.Start)+int(piece.Count), n)
		if start > at {
			at = start
			continue
		}
		if selected.Contains(piece.Row) {
			r.offer(piece.Row, piece.Window+uint32(at-start), chunk[2*at:2*end])
		}
		at = end
	}
}

// OfferScores offers consecutive windows of one video, in the form of a chunk. It
// allocates nothing.
func (r *Ranking) OfferScores(row, window uint32, scores []byte) { r.offer(row, window, scores) }

func (r *Ranking) offer(row, window uint32, scores []byte) {
	n := len(scores) / 2
	above := uint16(0) // what this video must have, at least
	for at := 0; ; at++ {
		if at = next(scores, at, max(r.floor, above)); at >= n {
			return
		}
		score := binary.LittleEndian.Uint16(scores[2*at:])
		if !r.take(Hit{Row: row, Window: window + uint32(at), Score: score}) {
			if score == 1<<16-1 {
				return
			}
			above = score + 1
		}
	}
}

// Four scores side by side: the lowest bit of each, and the highest one.
const (
	ones = 0x0001_0001_0001_0001
	tops = 0x8000_8000_8000_8000
)

// next returns the index of the first window from one on that has a score of floor or
// more; or one that is behind the last one.
func next(scores []byte, from int, floor uint16) int {
	i := 2 * from
	if floor > 0 {
		// Four scores at a time: with the top bits set and cleared nothing is borrowed
		// from the neighbour, and the top bits of the difference tell whether the lower
		// 15 are enough (Lamport, "Multiple Byte Processing with Full-Word Instructions",
		// 1975).
		least := ones * uint64(floor)
		low := least &^ tops
		for ; i+8 <= len(scores); i += 8 {
			x := binary.LittleEndian.Uint64(scores[i:])
			enough := ((x|tops)-low)&^(x^least) | x&^least
			if enough &= tops; enough != 0 {
				return i/2 + bits.TrailingZeros64(enough)/16
			}
		}
	}
	for ; i+2 <= len(scores); i += 2 {
		if binary.LittleEndian.Uint16(scores[i:]) >= floor {
			return i / 2
		}
	}
	return len(scores) / 2
}
