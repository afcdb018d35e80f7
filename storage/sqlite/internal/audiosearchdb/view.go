package audiosearchdb

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/seed-6363c74e/mortise/audiosearch/columnar"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
)

const (
	changesSince = "SELECT kind, first, last FROM audiosearch_changes WHERE dataset = ? AND revision > ?"

	videosOf = "SELECT seq, id, metadata FROM audiosearch_videos WHERE dataset = ?"
	videosIn = "SELECT seq, id, metadata FROM audiosearch_videos WHERE +dataset = ? AND seq BETWEEN ? AND ?" // +: not by the index of datasets
)

// view is what a search needs of a dataset besides the scores, in memory: the metadata,
// and where the scores are. It is that of one revision.
type view struct {
	dataset  int64
	revision int64

	columns columnar.Columns
	seqs    []int64          // of the videos, by row; 0: no video has the row
	ids     []string         // of the videos, by row
	rows    map[int64]uint32 // by seq of the video
	sizes   []int            // of what is held for the videos, by row
	free    []uint32         // rows without a video
	models  map[int64]*scored
	blocks  map[int64]*block // of all models
	bytes   int              // of memory, about

	vocabularies *vocabularies // that the process knows
}

func newView(dataset int64, known *vocabularies) *view {
	return &view{
		dataset: dataset, vocabularies: known,
		rows: make(map[int64]uint32), models: make(map[int64]*scored), blocks: make(map[int64]*block),
	}
}

// update brings the view to the revision that a connection sees. After an error it is of
// no use any more.
func (v *view) update(ctx context.Context, c *file.Conn, d *audioDataset) error {
	if len(v.rows) == 0 || v.revision < d.forgotten {
		*v = *newView(v.dataset, v.vocabularies)
		if err := v.readVideos(ctx, c, videosOf, v.dataset); err != nil {
			return err
		}
		if err := v.readBlocks(ctx, c, blocksOf, deadOf, v.dataset); err != nil {
			return err
		}
		v.revision = d.revision
		return nil
	}
	changed, err := v.changes(ctx, c)
	if err != nil {
		return err
	}
	// They go first, so that no block names a row that another video has by now.
	for _, s := range changed[blocksChanged] {
		for seq := s.first; seq <= s.last; seq++ {
			v.dropBlock(seq)
		}
	}
	for _, s := range changed[videosChanged] {
		if err := v.readChanged(ctx, c, s); err != nil {
			return err
		}
	}
	for _, s := range changed[blocksChanged] {
		if err := v.readBlocks(ctx, c, blocksIn, deadIn, v.dataset, s.first, s.last); err != nil {
			return err
		}
	}
	v.revision = d.revision
	return nil
}

// span is a range of seqs, both ends included.
type span struct{ first, last int64 }

// changes returns what was changed since the view's revision, by kind.
func (v *view) changes(ctx context.Context, c *file.Conn) (changed [2][]span, err error) {
	err = c.Query(ctx, changesSince, []any{v.dataset, v.revision}, func(r *file.Row) error {
		kind := r.Number(0)
		if kind != videosChanged && kind != blocksChanged {
			return errLayout
		}
		changed[kind] = append(changed[kind], span{file.Cell[int64](r, 1), file.Cell[int64](r, 2)})
		return nil
	})
	for kind := range changed {
		changed[kind] = joinSpans(changed[kind])
	}
	return changed, err
}

// joinSpans sorts ranges and joins those that touch.
func joinSpans(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.first, b.first) })
	joined := spans[:0]
	for _, s := range spans {
		if n := len(joined); n > 0 && s.first <= joined[n-1].last+1 {
			joined[n-1].last = max(joined[n-1].last, s.last)
		} else {
			joined = append(joined, s)
		}
	}
	return joined
}

// What a video takes, about, besides its ID, and what a byte of its metadata takes.
const (
	videoBytes    = 150
	metadataBytes = 2
)

func (v *view) readVideos(ctx context.Context, c *file.Conn, statement string, args ...any) error {
	turn, err := columnar.Begin(ctx)
	if err != nil {
		return err
	}
	defer turn.End()
	return c.Query(ctx, statement, args, func(r *file.Row) error {
		const cost, costOfByte = 2000, 20 // nanoseconds, about
		if err := turn.Step(cost + costOfByte*len(r.Text(2))); err != nil {
			return err
		}
		seq, id := file.Cell[int64](r, 0), r.Text(1)
		row := v.row(seq)
		size := videoBytes + len(id) + metadataBytes*len(r.Text(2))
		v.bytes += size - v.sizes[row]
		v.ids[row], v.sizes[row] = id, size
		var metadata metadata.Map
		if err := scanMetadata(r, 2, &metadata); err != nil {
			return err
		}
		v.columns.Set(row, metadata)
		return nil
	})
}

// row returns the row of a video, which is the same as long as there is the video: blocks
// go by it.
func (v *view) row(seq int64) uint32 {
	row, ok := v.rows[seq]
	switch n := len(v.free); {
	case ok:
		return row
	case n > 0:
		row, v.free = v.free[n-1], v.free[:n-1]
	default:
		row = uint32(len(v.seqs))
		v.seqs, v.ids, v.sizes = append(v.seqs, 0), append(v.ids, ""), append(v.sizes, 0)
	}
	v.rows[seq], v.seqs[row] = row, seq
	return row
}

// readChanged reads videos that were added, changed or removed.
func (v *view) readChanged(ctx context.Context, c *file.Conn, s span) error {
	for seq := s.first; seq <= s.last; seq++ {
		if row, ok := v.rows[seq]; ok {
			v.columns.Remove(row)
			v.bytes, v.sizes[row] = v.bytes-v.sizes[row], 0
		}
	}
	if err := v.readVideos(ctx, c, videosIn, v.dataset, s.first, s.last); err != nil {
		return err
	}
	for seq := s.first; seq <= s.last; seq++ {
		if row, ok := v.rows[seq]; ok && v.sizes[row] == 0 { // it was not there
			delete(v.rows, seq)
			v.seqs[row], v.ids[row] = 0, ""
			v.free = append(v.free, row)
		}
	}
	return nil
}

// compare orders rows by the IDs of their videos.
func (v *view) compare(a, b uint32) int { return strings.Compare(v.ids[a], v.ids[b]) }
