package audiosearchdb

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
)

const (
	// chunkWindows is how many windows a full chunk has. Its row fills two overflow pages
	// of 4096 bytes, and as much of a leaf as SQLite keeps there then
	// (https://www.sqlite.org/fileformat2.html, 1.6): 0.5 % more than the scores alone.
	// With 4096 windows it would be 6 %.
	chunkWindows = (2*4092 + 489 - chunkHeader) / scoreBytes
	chunkHeader  = 5 // of the record: its own length, the types of two columns

	// segmentWindows bounds a segment, and so what is copied again when a block is full.
	segmentWindows = 1024

	scoreBytes = 2

	// blockRoom is how many numbers of chunks a block has. A row of audiosearch_models
	// has as many classes at most, its shelf of those of the model.
	blockRoom = 1024
)

// part is a run of windows of one video in a block.
type part struct {
	video int64 // seq
	first int   // window of the video
	start int   // row in the block
	rows  int
}

// appendLayout writes parts that stand one behind the other.
func appendLayout(b []byte, parts []part) []byte {
	last := int64(0)
	for i := range parts {
		b = binary.AppendVarint(b, parts[i].video-last)
		b = binary.AppendUvarint(b, uint64(parts[i].first))
		b = binary.AppendUvarint(b, uint64(parts[i].rows))
		last = parts[i].video
	}
	return b
}

// readLayout reads what appendLayout has written for a block of so many windows.
func readLayout(b []byte, windows int) ([]part, error) {
	r := varints{rest: b}
	var parts []part
	last, start := int64(0), 0
	for len(r.rest) > 0 && !r.bad {
		p := part{video: last + r.signed(), first: r.number(), start: start, rows: r.number()}
		last, start = p.video, start+p.rows
		parts = append(parts, p)
	}
	if r.bad || start != windows {
		return nil, errLayout
	}
	return parts, nil
}

var errLayout = errors.New("sqlite: a row is damaged: it does not say where scores are")

// place says where some windows of a video are. The places of a scoring are in the order
// of its windows, without a gap.
type place struct {
	block       int64
	part        int // number in the block's layout
	start, rows int
}

func appendPlaces(b []byte, places []place) []byte {
	for _, p := range places {
		b = binary.AppendUvarint(b, uint64(p.block))
		for _, n := range [...]int{p.part, p.start, p.rows} {
			b = binary.AppendUvarint(b, uint64(n))
		}
	}
	return b
}

func readPlaces(b []byte) ([]place, error) {
	r := varints{rest: b}
	var places []place
	for len(r.rest) > 0 && !r.bad {
		places = append(places, place{block: int64(r.number()), part: r.number(), start: r.number(), rows: r.number()})
	}
	if r.bad {
		return nil, errLayout
	}
	return places, nil
}

// varints reads numbers. bad tells that there was none.
type varints struct {
	rest []byte
	bad  bool
}

func (v *varints) number() int {
	n, size := binary.Uvarint(v.rest)
	if size <= 0 || n > 1<<62 {
		v.rest, v.bad = nil, true
		return 0
	}
	v.rest = v.rest[size:]
	return int(n)
}

func (v *varints) signed() int64 {
	n, size := binary.Varint(v.rest)
	if size <= 0 {
		v.rest, v.bad = nil, true
		return 0
	}
	v.rest = v.rest[size:]
	return n
}

// keyframeBlob writes ascending times. It is nil for nil.
func keyframeBlob(times []time.Duration) any {
	if times == nil {
		return nil
	}
	b := make([]byte, 0, 3*len(times))
	last := int64(0)
	for _, t := range times {
		b = binary.AppendVarint(b, t.Milliseconds()-last)
		last = t.Milliseconds()
	}
	return b
}

func scanKeyframes(r *file.Row, i int) ([]time.Duration, error) {
	if r.Null(i) {
		return nil, nil
	}
	v := varints{rest: file.Cell[[]byte](r, i)}
	times := []time.Duration{}
	last := int64(0)
	for len(v.rest) > 0 && !v.bad {
		last += v.signed()
		times = append(times, time.Duration(last)*time.Millisecond)
	}
	if v.bad {
		return nil, fmt.Errorf("sqlite: a row is damaged: column %d holds no times", i)
	}
	return times, nil
}

// appendScores writes scores as they are stored.
func appendScores(b []byte, scores []uint16) []byte {
	b = slices.Grow(b, scoreBytes*len(scores))
	for _, s := range scores {
		b = binary.LittleEndian.AppendUint16(b, s)
	}
	return b
}
