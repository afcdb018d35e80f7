package audiosearchdb

import (
	"context"
	"math"
	"slices"
	"unsafe"

	"github.com/seed-6363c74e/mortise/audiosearch/columnar"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
)

const (
	blockColumns = "SELECT m.seq, b.seq, b.packed, b.windows, b.layout, b.maxima"
	blocksOf     = blockColumns + " FROM audiosearch_models m CROSS JOIN audiosearch_blocks b ON b.model = m.seq WHERE m.dataset = ?"
	blocksIn     = blockColumns + " FROM audiosearch_blocks b CROSS JOIN audiosearch_models m ON m.seq = b.model" +
		" WHERE m.dataset = ? AND b.seq BETWEEN ? AND ?"
	deadOf = "SELECT d.block, d.part FROM audiosearch_models m CROSS JOIN audiosearch_blocks b ON b.model = m.seq" +
		" CROSS JOIN audiosearch_dead d ON d.block = b.seq WHERE m.dataset = ?1"
	deadIn = "SELECT block, part FROM audiosearch_dead WHERE ?1 > 0 AND block BETWEEN ?2 AND ?3"

	modelBySeq = "SELECT model, vocabulary, shelf, media FROM audiosearch_models WHERE seq = ?"
)

// scored is where the scores by one model are, of a shelf of its classes.
type scored struct {
	seq    int64
	name   string
	media  string // ID
	shelf  int
	all    *vocabulary       // of all shelves
	blocks []*block          // by their numbers
	free   []int             // numbers without a block
	spots  []spot            // by row: where the video's piece is; the zero value if it has none
	more   map[uint32][]spot // by row: those of videos that have several, whose spot is inMore
}

// block is a row of audiosearch_blocks.
type block struct {
	seq    int64
	model  *scored
	number int              // among the model's blocks
	packed bool             // or it is a segment
	rows   int              // windows, dead ones included
	maxima []byte           // nil: not known
	pieces []columnar.Piece // that are not dead
}

// spot is a piece of a video, and which block it is in. It repeats what stands there, so
// that a search need not look.
type spot struct {
	block                uint32 // its number and one more, or inMore
	start, count, window uint32 // as in columnar.Piece
}

const inMore = math.MaxUint32

// deadPart is a row of audiosearch_dead.
type deadPart struct {
	block int64
	part  int
}

// readBlocks reads blocks and which of their parts are dead, by two statements for the
// same blocks.
func (v *view) readBlocks(ctx context.Context, c *file.Conn, blocks, dead string, args ...any) error {
	gone := make(map[deadPart]bool)
	err := c.Query(ctx, dead, args, func(r *file.Row) error {
		gone[deadPart{file.Cell[int64](r, 0), r.Number(1)}] = true
		return nil
	})
	if err != nil {
		return err
	}
	turn, err := columnar.Begin(ctx)
	if err != nil {
		return err
	}
	defer turn.End()
	return c.Query(ctx, blocks, args, func(r *file.Row) error {
		const costOfByte = 10 // nanoseconds, about
		if err := turn.Step(costOfByte * len(file.Cell[[]byte](r, 4))); err != nil {
			return err
		}
		m, err := v.model(c, file.Cell[int64](r, 0))
		if err != nil {
			return err
		}
		b := &block{seq: file.Cell[int64](r, 1), model: m, packed: r.Number(2) != 0, rows: r.Number(3), maxima: file.Cell[[]byte](r, 5)}
		parts, err := readLayout(file.Cell[[]byte](r, 4), b.rows)
		if err == nil && b.packed && len(b.maxima) != scoreBytes*shelfSize(len(m.all.classes), m.shelf) {
			err = errLayout
		}
		if err != nil {
			return err
		}
		for i, p := range parts {
			row, ok := v.rows[p.video]
			if !ok || gone[deadPart{b.seq, i}] {
				continue
			}
			b.pieces = append(b.pieces, columnar.Piece{Start: uint32(p.start), Count: uint32(p.rows), Row: row, Window: uint32(p.first)})
		}
		v.addBlock(b)
		return nil
	})
}

// model returns a model by seq. There is no other one by this seq, ever.
func (v *view) model(c *file.Conn, seq int64) (*scored, error) {
	if m := v.models[seq]; m != nil {
		return m, nil
	}
	m := &scored{seq: seq, more: make(map[uint32][]spot)}
	err := c.Query(context.Background(), modelBySeq, []any{seq}, func(r *file.Row) (err error) {
		m.name, m.shelf, m.media = r.Text(0), r.Number(2), r.Text(3)
		m.all, err = v.vocabularies.get(c, file.Cell[int64](r, 1))
		return err
	})
	if err != nil {
		return nil, err
	}
	v.models[seq] = m
	return m, nil
}

// number returns the place of a class on the shelf.
func (m *scored) number(class sound.Class) (n int, found bool) {
	n, found = m.all.numbers[class]
	return n % blockRoom, found && n/blockRoom == m.shelf
}

func (v *view) addBlock(b *block) {
	m := b.model
	if n := len(m.free); n > 0 {
		b.number, m.free = m.free[n-1], m.free[:n-1]
		m.blocks[b.number] = b
	} else {
		b.number = len(m.blocks)
		m.blocks = append(m.blocks, b)
	}
	v.blocks[b.seq] = b
	v.bytes += b.bytes()
	if n := len(v.seqs) - len(m.spots); n > 0 {
		m.spots = append(m.spots, make([]spot, n)...)
		v.bytes += n * int(unsafe.Sizeof(spot{}))
	}
	for _, p := range b.pieces {
		m.addSpot(p.Row, spot{uint32(b.number) + 1, p.Start, p.Count, p.Window})
	}
}

// bytes is how much memory a block takes, about.
func (b *block) bytes() int {
	return int(unsafe.Sizeof(*b)) + len(b.maxima) + cap(b.pieces)*int(unsafe.Sizeof(columnar.Piece{}))
}

// dropBlock forgets a block. Its videos keep the pieces that they have in others.
func (v *view) dropBlock(seq int64) {
	b := v.blocks[seq]
	if b == nil {
		return
	}
	delete(v.blocks, seq)
	v.bytes -= b.bytes()
	m := b.model
	m.blocks[b.number] = nil
	m.free = append(m.free, b.number)
	for i := range b.pieces {
		m.dropSpots(b.pieces[i].Row, uint32(b.number)+1)
	}
	if len(m.free) == len(m.blocks) {
		delete(v.models, m.seq)
		v.bytes -= len(m.spots) * int(unsafe.Sizeof(spot{}))
	}
}

func (m *scored) addSpot(row uint32, s spot) {
	switch was := m.spots[row]; was.block {
	case 0:
		m.spots[row] = s
	case inMore:
		m.more[row] = append(m.more[row], s)
	default:
		m.spots[row], m.more[row] = spot{block: inMore}, []spot{was, s}
	}
}

// dropSpots forgets the pieces of a video that are in a block.
func (m *scored) dropSpots(row, block uint32) {
	switch m.spots[row].block {
	case block:
		m.spots[row] = spot{}
	case inMore:
		left := slices.DeleteFunc(m.more[row], func(s spot) bool { return s.block == block })
		if len(left) > 1 {
			m.more[row] = left
			return
		}
		delete(m.more, row)
		if m.spots[row] = (spot{}); len(left) > 0 {
			m.spots[row] = left[0]
		}
	}
}

// spotsOf returns the pieces of a video, to be read only.
func (m *scored) spotsOf(row uint32) []spot {
	if !m.has(row) {
		return nil
	}
	if m.spots[row].block == inMore {
		return m.more[row]
	}
	return m.spots[row : row+1]
}

// has reports whether a video has scores.
func (m *scored) has(row uint32) bool { return int(row) < len(m.spots) && m.spots[row].block != 0 }
