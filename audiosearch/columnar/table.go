package columnar

import (
	"encoding/binary"
	"slices"
	"sort"

	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// table has the scores of videos that were scored with the same classes, window by
// window.
type table struct {
	classes []sound.Class // the caller's
	chunks  []chunk
	videos  []span   // in order of start
	firsts  []uint32 // by block: the video that its first window is of
	windows int      // dead ones included
	dead    int
}

// span is a video in a table. It ends where the next one starts.
type span struct {
	start uint32
	row   uint32 // deadRow: it was removed
}

const (
	chunkWindows = groupRows // a column of one class stands in one piece, which makes it as fast to look at as a plain array
	chunkStep    = 8192      // a chunk that grows doubles up to this many windows, and gets as many more from there on
	blockWindows = 64
	deadRow      = 1<<32 - 1
)

// chunk has the scores of up to 65536 windows: class by class, room for size windows
// each, in the form of [Pack]; and then, for each class, the maxima of each 64 windows,
// and their peaks if they are all there.
type chunk struct {
	size   int
	scores []byte
	maxima []uint16
	peaks  []peak
}

func blocksOf(windows int) int { return (windows + blockWindows - 1) / blockWindows }

// grow makes room for so many windows.
func (c *chunk) grow(classes, size int) {
	grown := chunk{size: size, scores: make([]byte, classes*size*2)}
	grown.maxima, grown.peaks = make([]uint16, classes*blocksOf(size)), make([]peak, classes*blocksOf(size))
	for i := range classes {
		copy(grown.column(i), c.column(i))
		copy(grown.columnMaxima(i), c.columnMaxima(i))
		copy(grown.columnPeaks(i), c.columnPeaks(i))
	}
	*c = grown
}

// roomFor returns how many windows a chunk has room for that needs so many.
func roomFor(need int) (size int) {
	if need > chunkStep {
		return (need + chunkStep - 1) / chunkStep * chunkStep
	}
	for size = 1; size < need; size *= 2 {
	}
	return size
}

func (c *chunk) column(class int) []byte {
	return c.scores[class*c.size*2 : (class+1)*c.size*2]
}

func (c *chunk) columnMaxima(class int) []uint16 {
	n := blocksOf(c.size)
	return c.maxima[class*n : (class+1)*n]
}

func (c *chunk) columnPeaks(class int) []peak {
	n := blocksOf(c.size)
	return c.peaks[class*n : (class+1)*n]
}

// reserve makes room for the windows of a video, knowing that so many are to come, these
// included; or not knowing it: 0.
func (t *table) reserve(row uint32, count, coming int) (start uint32) {
	start = uint32(t.windows)
	t.videos = append(t.videos, span{start: start, row: row})
	end := t.windows + count
	for len(t.firsts)*blockWindows < end {
		t.firsts = append(t.firsts, uint32(len(t.videos)-1))
	}
	for first := t.windows; first < end; {
		i := first / chunkWindows
		if i == len(t.chunks) {
			t.chunks = append(t.chunks, chunk{})
		}
		need := min(end-i*chunkWindows, chunkWindows)
		if c := &t.chunks[i]; c.size < need {
			size := min(t.windows+coming-i*chunkWindows, chunkWindows)
			if coming == 0 {
				size = roomFor(need)
			}
			c.grow(len(t.classes), size)
		}
		first = (i + 1) * chunkWindows
	}
	t.windows = end
	return start
}

func (t *table) put(row uint32, columns [][]uint16) (start uint32) {
	n := len(columns[0])
	start = t.reserve(row, n, 0)
	for class, column := range columns {
		for done := 0; done < min(n, len(column)); {
			at := int(start) + done
			c, in := &t.chunks[at/chunkWindows], at%chunkWindows
			part := column[done:min(n, len(column), done+chunkWindows-in)]
			scores, maxima := c.column(class), c.columnMaxima(class)
			done += len(part)
			for len(part) > 0 {
				some := part[:min(len(part), blockWindows-in%blockWindows)]
				to, best := scores[2*in:2*(in+len(some))], maxima[in/blockWindows]
				for i, score := range some {
					binary.LittleEndian.PutUint16(to[2*i:2*i+2:2*i+2], score)
					best = max(best, score)
				}
				maxima[in/blockWindows] = best
				part, in = part[len(some):], in+len(some)
			}
		}
	}
	t.findPeaks(int(start))
	return start
}

// copyFrom copies windows from another table of the same classes, to where the last ones
// are to stand.
func (t *table) copyFrom(old *table, from, to, count int) {
	start := to
	for count > 0 {
		source, target := &old.chunks[from/chunkWindows], &t.chunks[to/chunkWindows]
		i, j := from%chunkWindows, to%chunkWindows
		n := min(count, chunkWindows-i, chunkWindows-j)
		for class := range t.classes {
			part := target.column(class)[2*j : 2*(j+n)]
			copy(part, source.column(class)[2*i:2*(i+n)])
			maxima := target.columnMaxima(class)
			for k := range n {
				maxima[(j+k)/blockWindows] = max(maxima[(j+k)/blockWindows], binary.LittleEndian.Uint16(part[2*k:]))
			}
		}
		from, to, count = from+n, to+n, count-n
	}
	t.findPeaks(start)
}

func (t *table) remove(p place) {
	t.videos[t.videoAt(int(p.start))].row = deadRow
	t.dead += int(p.count)
}

// videoAt returns which video a window is of.
func (t *table) videoAt(window int) int {
	block := window / blockWindows
	low, high := int(t.firsts[block]), len(t.videos)-1
	if block+1 < len(t.firsts) {
		high = int(t.firsts[block+1])
	}
	if guess := low + window%blockWindows; guess <= high && int(t.videos[guess].start) == window {
		return guess // as it is with videos of one window
	}
	return low + sort.Search(high-low, func(i int) bool { return int(t.videos[low+i+1].start) > window })
}

// end returns the window behind the last one of a video.
func (t *table) end(video int) int {
	if video+1 < len(t.videos) {
		return int(t.videos[video+1].start)
	}
	return t.windows
}

// chunksOf calls f with each chunk that windows stand in, and how many do.
func (t *table) chunksOf(start, count int, f func(chunk, n int)) {
	for count > 0 {
		n := min(count, chunkWindows-start%chunkWindows)
		f(start/chunkWindows, n)
		start, count = start+n, count-n
	}
}

// maximum returns the greatest score of the 64 windows that stand around one.
func (t *table) maximum(column int, window uint32) uint16 {
	c := &t.chunks[window/chunkWindows]
	return c.maxima[column*blocksOf(c.size)+int(window%chunkWindows/blockWindows)]
}

func (t *table) window(at int) []uint16 {
	c, in := &t.chunks[at/chunkWindows], at%chunkWindows
	scores := make([]uint16, len(t.classes))
	for class := range scores {
		scores[class] = binary.LittleEndian.Uint16(c.column(class)[2*in:])
	}
	return scores
}

// spare reports whether there is room that is not needed.
func (t *table) spare() bool {
	last := len(t.chunks) - 1
	return t.chunks[last].size > t.windows-last*chunkWindows || cap(t.videos) > len(t.videos) || cap(t.firsts) > len(t.firsts)
}

// clip gives back what the lists have kept to grow.
func (t *table) clip() {
	t.videos, t.firsts, t.chunks = slices.Clone(t.videos), slices.Clone(t.firsts), slices.Clone(t.chunks)
}

func (t *table) bytes() int {
	n := 120 + 8*cap(t.videos) + 4*cap(t.firsts) + 80*cap(t.chunks)
	for i := range t.chunks {
		n += cap(t.chunks[i].scores) + 2*cap(t.chunks[i].maxima) + 2*cap(t.chunks[i].peaks)
	}
	return n
}
