package sqlite

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strconv"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/columnar"
)

const (
	// ?1 is a list of blocks, in JSON.
	chunksOf   = "SELECT key, scores FROM json_each(?1) CROSS JOIN audiosearch_chunks ON seq = value"
	segmentsOf = "SELECT key, substr(scores, value ->> 1, value ->> 2) FROM json_each(?1) CROSS JOIN audiosearch_segments ON block = value ->> 0"
)

// Search implements [audiosearch.ScoreStore].
func (a *AudioSearch) Search(ctx context.Context, org, dataset string, q audiosearch.ScoreQuery) ([]audiosearch.Hit, error) {
	var hits []audiosearch.Hit
	err := a.look(ctx, org, dataset, func(c *conn, v *view) error {
		selected, err := v.selection(q.Filters)
		if err != nil {
			return err
		}
		page := columnar.Page{Offset: q.Offset, Limit: q.Limit, MinScore: q.MinScore}
		s := &search{Ranking: columnar.NewRanking(page, v.compare), view: v, ctx: ctx, conn: c}
		for s.Next() {
			for _, m := range v.models {
				class, found := slices.BinarySearch(m.classes, q.Class)
				if m.name != q.Model || !found {
					continue
				}
				if err := s.offer(m, class, selected); err != nil {
					return err
				}
			}
		}
		hits = nil
		for _, h := range s.Hits() {
			hits = append(hits, audiosearch.Hit{Video: v.ids[h.Row], Window: int(h.Window), Score: h.Score})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return hits, nil
}

// selection returns the videos that pass filters, nil for all.
func (v *view) selection(filters []audiosearch.Filter) (*columnar.Selection, error) {
	if len(filters) == 0 {
		return nil, nil
	}
	return v.columns.Select(filters)
}

// search is a ranking that reads scores from the file.
type search struct {
	*columnar.Ranking
	view *view
	ctx  context.Context
	conn *conn
}

// wanted is a block to be read, and the pieces of it that count.
type wanted struct {
	*block
	pieces   []columnar.Piece
	selected *columnar.Selection // of the pieces
	best     uint16              // no score is greater
}

// offer offers the scores of a class by a model: first of segments, then of chunks, those with the greatest maxima first, as long as they
// can matter.
func (s *search) offer(m *scored, class int, selected *columnar.Selection) error {
	blocks := s.view.wanted(m, selected)
	for i := range blocks {
		b := &blocks[i]
		if b.best = math.MaxUint16; b.packed {
			b.best = binary.LittleEndian.Uint16(b.maxima[scoreBytes*class:])
		}
	}
	slices.SortFunc(blocks, func(a, b wanted) int {
		if a.packed != b.packed {
			if b.packed {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(b.best, a.best), cmp.Compare(a.seq, b.seq))
	})
	chunks, _ := slices.BinarySearchFunc(blocks, true, func(b wanted, packed bool) int {
		if b.packed == packed {
			return 0
		}
		return -1
	})
	if err := s.read(segmentsOf, segmentList(blocks[:chunks], class), blocks[:chunks]); err != nil {
		return err
	}
	return s.read(chunksOf, chunkList(blocks[chunks:], class), blocks[chunks:])
}

// errEnough ends a query whose further rows do not matter.
var errEnough = errors.New("sqlite: enough")

// read offers blocks as a statement returns them, until the scores of those that are left are too small.
func (s *search) read(statement, list string, blocks []wanted) error {
	if len(blocks) == 0 || blocks[0].best < s.Floor() {
		return nil
	}
	next := 0
	err := s.conn.query(unbounded, statement, []any{list}, func(r *row) error {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		b := &blocks[next]
		scores := cell[[]byte](r, 1)
		if r.number(0) != next || len(scores) != scoreBytes*b.rows {
			return errLayout
		}
		s.OfferChunk(scores, b.pieces, b.selected)
		if next++; next < len(blocks) && blocks[next].best < s.Floor() {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	if err == nil && next < len(blocks) {
		err = errLayout
	}
	return err
}

// chunkList writes which chunks chunksOf is to return.
func chunkList(blocks []wanted, class int) string {
	list := []byte{'['}
	for i := range blocks {
		if i > 0 {
			list = append(list, ',')
		}
		list = strconv.AppendInt(list, blocks[i].seq*blockRoom+int64(class), 10)
	}
	return string(append(list, ']'))
}

// segmentList writes which parts of which segments segmentsOf is to return.
func segmentList(blocks []wanted, class int) string {
	list := []byte{'['}
	for i := range blocks {
		if i > 0 {
			list = append(list, ',')
		}
		size := int64(scoreBytes * blocks[i].rows)
		list = strconv.AppendInt(append(list, '['), blocks[i].seq, 10)
		list = strconv.AppendInt(append(list, ','), int64(class)*size+1, 10)
		list = append(strconv.AppendInt(append(list, ','), size, 10), ']')
	}
	return string(append(list, ']'))
}

// wanted returns the blocks that have scores of selected videos, or some more if it would take longer to find out than to read them.
func (v *view) wanted(m *scored, selected *columnar.Selection) []wanted {
	const (
		few   = 128 // selected videos for each block: then their pieces are looked up
		tenth = 8   // and they are no greater part of all videos than this
		many  = 512 // videos that are looked up in the time in which a block is read
	)
	n := len(m.blocks) - len(m.free)
	if selected != nil && selected.Len() <= few*n && selected.Len() <= v.columns.Len()/tenth {
		return m.wantedPieces(selected)
	}
	marked := make([]bool, len(m.blocks))
	left, tries := n, 0
	if selected != nil {
		for row := range selected.Rows() {
			if left == 0 || tries > many*left {
				break
			}
			tries++
			m.eachSpot(row, func(s spot) {
				if at := s.block - 1; !marked[at] {
					marked[at] = true
					left--
				}
			})
		}
	}
	all := selected == nil || tries > many*left
	var blocks []wanted
	for i, b := range m.blocks {
		if (all || marked[i]) && b != nil && b.rows > 0 && len(b.pieces) > 0 {
			blocks = append(blocks, wanted{block: b, pieces: b.pieces, selected: selected})
		}
	}
	return blocks
}

// wantedPieces is wanted for few videos: it names the very pieces.
func (m *scored) wantedPieces(selected *columnar.Selection) []wanted {
	ends := make([]int, len(m.blocks)) // first how many pieces of each block, then where they end
	total := 0
	for row := range selected.Rows() {
		m.eachSpot(row, func(s spot) {
			ends[s.block-1]++
			total++
		})
	}
	blocks := make([]wanted, 0, min(total, len(m.blocks)))
	pieces := make([]columnar.Piece, total)
	end := 0
	for i, n := range ends {
		if b := m.blocks[i]; n > 0 && b.rows > 0 {
			blocks = append(blocks, wanted{block: b, pieces: pieces[end : end+n]})
		}
		ends[i], end = end, end+n
	}
	for row := range selected.Rows() {
		m.eachSpot(row, func(s spot) {
			pieces[ends[s.block-1]] = m.blocks[s.block-1].pieces[s.piece]
			ends[s.block-1]++
		})
	}
	byStart := func(a, b columnar.Piece) int { return cmp.Compare(a.Start, b.Start) }
	for _, b := range blocks {
		if !slices.IsSortedFunc(b.pieces, byStart) { // they mostly are: rows are given in the order of IDs, too
			slices.SortFunc(b.pieces, byStart)
		}
	}
	return blocks
}

// eachSpot calls f for every piece of a video.
func (m *scored) eachSpot(row uint32, f func(spot)) {
	if m.has(row) {
		f(m.spots[row])
		for _, s := range m.more[row] {
			f(s)
		}
	}
}
