package audiosearchdb

import (
	"context"
	"encoding/binary"
	"math"
	"slices"
	"strconv"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/columnar"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
)

const (
	// ?1 is a list of chunks, in JSON.
	chunksOf = "SELECT value, scores FROM json_each(?1) CROSS JOIN audiosearch_chunks ON seq = value"

	// ?1 is an object in JSON: the values are numbers of chunks or segments, the names
	// say which bytes of them are wanted (see reading.write) and may repeat. SQLite reads
	// that by far faster than lists within a list.
	partsOf    = "SELECT value, substr(scores, key >> 24, key & 16777215) FROM json_each(?1) CROSS JOIN audiosearch_chunks ON seq = value"
	segmentsOf = "SELECT value, substr(scores, key >> 24, key & 16777215) FROM json_each(?1) CROSS JOIN audiosearch_segments ON block = value"
)

// Search implements [audiosearch.ScoreStore].
func (a *Store) Search(ctx context.Context, org, dataset string, q audiosearch.ScoreQuery) ([]audiosearch.Hit, error) {
	var hits []audiosearch.Hit
	err := a.lookSelected(ctx, org, dataset, q.Filters, func(c *file.Conn, v *view, selected *columnar.Selection) error {
		turn, err := columnar.Begin(ctx)
		if err != nil {
			return err
		}
		defer turn.End()
		page := columnar.Page{Offset: q.Offset, Limit: q.Limit, MinScore: q.MinScore}
		s := &search{Ranking: columnar.NewRanking(page, v.compare), view: v, turn: turn, conn: c}
		for s.Next() {
			for _, m := range v.models {
				if m.name != q.Model {
					continue
				}
				if class, found := m.number(q.Class); found {
					if err := s.offer(m, class, selected); err != nil {
						return err
					}
				}
			}
		}
		found := s.Hits()
		hits = make([]audiosearch.Hit, len(found))
		for i, h := range found {
			hits[i] = audiosearch.Hit{Video: v.ids[h.Row], Window: int(h.Window), Score: h.Score}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return hits, nil
}

// selection returns the videos that pass filters, nil for all.
func (v *view) selection(ctx context.Context, filters []metadata.Filter) (*columnar.Selection, error) {
	if len(filters) == 0 {
		return nil, nil
	}
	return v.columns.Select(ctx, filters)
}

// search is a ranking that reads scores from the file.
type search struct {
	*columnar.Ranking
	view *view
	turn *columnar.Turn
	conn *file.Conn
}

// wanted is a block to be read, and what of it counts: the spots if there are any, and
// otherwise the pieces of videos that are selected.
type wanted struct {
	*block
	from, to int // which windows
	spots    int // where among the spots the last one stands, and one more; 0: there are none
}

// videoSpot is a piece of a video that is selected.
type videoSpot struct {
	row uint32
	spot
	before int // where the one before it of the same block stands, and one more
}

// offer offers the scores of a class by a model: first of segments, then of chunks, those
// with the greatest maxima first, as long as they can matter.
func (s *search) offer(m *scored, class int, selected *columnar.Selection) error {
	blocks, spots := s.view.wanted(m, selected)
	order := make([]uint64, len(blocks)) // a segment or not; what the best score lacks; the index
	chunks := 0
	for i := range blocks {
		order[i] = uint64(i)
		if b := &blocks[i]; b.packed {
			best := binary.LittleEndian.Uint16(b.maxima[scoreBytes*class:])
			order[i] |= 1<<63 | uint64(math.MaxUint16-best)<<32
			chunks++
		}
	}
	slices.Sort(order)
	segments := len(blocks) - chunks
	r := reading{search: s, class: class, blocks: blocks, spots: spots, selected: selected}
	r.order, r.statement = order[:segments], segmentsOf
	if err := r.run(); err != nil {
		return err
	}
	r.order, r.statement = order[segments:], chunksOf
	if spots != nil {
		r.statement = partsOf
	}
	return r.run()
}

// reading offers blocks as a statement returns them.
type reading struct {
	*search
	statement string
	class     int
	blocks    []wanted
	spots     []videoSpot
	order     []uint64 // in which they are read, see search.offer
	selected  *columnar.Selection
	marks     []uint64 // a bit for each row that is selected; nil: not needed so far
	list      []byte
}

// run reads until the scores of the blocks that are left are too small.
func (r *reading) run() error {
	if r.enough(0) {
		return nil
	}
	r.write()
	next, enough := 0, false
	err := r.conn.Query(context.Background(), r.statement, []any{string(r.list)}, func(row *file.Row) error {
		const cost = 20_000 // nanoseconds, to read a block and offer its windows, about
		if err := r.turn.Step(cost); err != nil {
			return err
		}
		if next == len(r.order) {
			return errLayout
		}
		b := r.block(next)
		scores := file.Cell[[]byte](row, 1)
		if file.Cell[int64](row, 0) != r.seq(b) || len(scores) != scoreBytes*(b.to-b.from) {
			return errLayout
		}
		r.take(b, scores)
		next++
		if enough = next < len(r.order) && r.enough(next); enough {
			return file.ErrEnough
		}
		return nil
	})
	if err == nil && next < len(r.order) && !enough {
		err = errLayout
	}
	return err
}

// take offers what counts of a block, whose scores these are.
func (r *reading) take(b *wanted, scores []byte) {
	const long = 16 // windows of a video: if there are as many, its row is looked at first, and otherwise its scores
	offer := func(row, window, start, count uint32) {
		from := scoreBytes * (int(start) - b.from)
		r.OfferScores(row, window, scores[from:from+scoreBytes*int(count)])
	}
	switch {
	case b.spots > 0:
		for at := b.spots; at > 0; at = r.spots[at-1].before {
			v := &r.spots[at-1]
			offer(v.row, v.window, v.start, v.count)
		}
	case r.selected == nil || len(b.pieces)*long > b.rows:
		r.OfferChunk(scores, b.pieces, r.selected)
	default:
		r.mark()
		for i := range b.pieces {
			if p := &b.pieces[i]; r.marks[p.Row/64]>>(p.Row%64)&1 != 0 {
				offer(p.Row, p.Window, p.Start, p.Count)
			}
		}
	}
}

// mark makes the marks, which are faster than the selection, if all rows are looked at.
func (r *reading) mark() {
	if r.marks == nil {
		r.marks = make([]uint64, len(r.view.seqs)/64+1)
		for row := range r.selected.Rows() {
			r.marks[row/64] |= 1 << (row % 64)
		}
	}
}

func (r *reading) block(i int) *wanted { return &r.blocks[uint32(r.order[i])] }

// enough reports whether the scores of a block and of those behind it are too small, or
// there are none.
func (r *reading) enough(i int) bool {
	return i == len(r.order) || math.MaxUint16-uint16(r.order[i]>>32) < r.Floor()
}

// seq is that of the row that a block is read from.
func (r *reading) seq(b *wanted) int64 {
	if b.packed {
		return b.seq*blockRoom + int64(r.class)
	}
	return b.seq
}

// write writes down for the statement what it is to return.
func (r *reading) write() {
	open, end := byte('{'), byte('}')
	if r.statement == chunksOf {
		open, end = '[', ']'
	}
	r.list = slices.Grow(r.list[:0], 32*len(r.order))
	for i := range r.order {
		r.list = append(r.list, open)
		if open = ','; end == '}' {
			b := r.block(i)
			from := b.from
			if !b.packed {
				from += r.class * b.rows
			}
			r.list = append(r.list, '"')
			r.list = strconv.AppendInt(r.list, int64(scoreBytes*from+1)<<24|int64(scoreBytes*(b.to-b.from)), 10)
			r.list = append(r.list, '"', ':')
		}
		r.list = strconv.AppendInt(r.list, r.seq(r.block(i)), 10)
	}
	r.list = append(r.list, end)
}

// wanted returns the blocks that have scores of selected videos, or some more if it would
// take longer to find out than to read them. If the videos are few, it returns their
// spots, too.
func (v *view) wanted(m *scored, selected *columnar.Selection) ([]wanted, []videoSpot) {
	const (
		few   = 128 // selected videos for each block: then their pieces are looked up
		tenth = 8   // and they are no greater part of all videos than this
	)
	n := len(m.blocks) - len(m.free)
	if selected != nil && selected.Len() <= few*n && selected.Len() <= v.columns.Len()/tenth {
		return m.wantedSpots(selected)
	}
	blocks := make([]wanted, 0, n)
	var doubtful []*block
	for _, b := range m.blocks {
		switch {
		case b == nil || b.rows == 0 || len(b.pieces) == 0:
		case b.shows(selected):
			blocks = append(blocks, wanted{block: b, to: b.rows})
		default:
			doubtful = append(doubtful, b)
		}
	}
	for _, b := range m.withVideos(doubtful, selected) {
		blocks = append(blocks, wanted{block: b, to: b.rows})
	}
	return blocks, nil
}

// shows looks at some videos, and reports whether one is selected.
func (b *block) shows(selected *columnar.Selection) bool {
	const some = 64
	for i := 0; i < len(b.pieces); i += 1 + len(b.pieces)/some {
		if selected.Contains(b.pieces[i].Row) {
			return true
		}
	}
	return false
}

// withVideos returns those of some blocks that have scores of selected videos, or all if
// it would take longer to find out than to read them.
func (m *scored) withVideos(blocks []*block, selected *columnar.Selection) []*block {
	const many = 512 // videos that are looked up in the time in which a block is read
	if len(blocks) == 0 {
		return nil
	}
	left := make([]bool, len(m.blocks))
	for _, b := range blocks {
		left[b.number] = true
	}
	var found []*block
	tries := 0
	for row := range selected.Rows() {
		if tries++; len(found) == len(blocks) || tries > many*(len(blocks)-len(found)) {
			return blocks
		}
		for _, s := range m.spotsOf(row) {
			if at := s.block - 1; left[at] {
				left[at] = false
				found = append(found, m.blocks[at])
			}
		}
	}
	return found
}

// wantedSpots is wanted for few videos: it names the very pieces.
func (m *scored) wantedSpots(selected *columnar.Selection) ([]wanted, []videoSpot) {
	n := selected.Len()
	spots := make([]videoSpot, 0, n+n/4) // a few videos have more than one
	at := make([]uint32, len(m.blocks))  // where among those found a block stands, and one more
	found := make([]wanted, 0, min(n, len(m.blocks)))
	for row := range selected.Rows() {
		for _, s := range m.spotsOf(row) {
			if s.count == 0 {
				continue
			}
			i := at[s.block-1]
			if i == 0 {
				found = append(found, wanted{block: m.blocks[s.block-1], from: int(s.start)})
				i = uint32(len(found))
				at[s.block-1] = i
			}
			b := &found[i-1]
			spots = append(spots, videoSpot{row, s, b.spots})
			b.spots = len(spots)
			b.from, b.to = min(b.from, int(s.start)), max(b.to, int(s.start+s.count))
		}
	}
	return found, spots
}

// MissingKeys implements [audiosearch.Catalog].
func (a *Store) MissingKeys(ctx context.Context, org, dataset string, keys []string) ([]string, error) {
	var missing []string
	err := a.look(ctx, org, dataset, func(_ *file.Conn, v *view) error {
		missing = nil
		for _, key := range keys {
			if !v.columns.HasKey(key) {
				missing = append(missing, key)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return missing, nil
}
