package audiosearchdb

import (
	"context"
	"slices"
	"strings"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/columnar"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
)

const (
	videoBySeq = "SELECT id, path, metadata FROM audiosearch_videos WHERE seq = ?"

	// partlyScored are the videos that have a problem beside their scores: few, and in an
	// index of their own.
	partlyScored = "SELECT s.video FROM audiosearch_models m CROSS JOIN audiosearch_scorings s ON s.model = m.seq" +
		" WHERE m.dataset = ? AND m.model = ? AND s.problem IS NOT NULL AND s.windows > 0"
)

// Unscored implements [audiosearch.ScoreStore].
func (a *Store) Unscored(ctx context.Context, org, dataset string, q audiosearch.UnscoredQuery) (audiosearch.Unscored, error) {
	var u audiosearch.Unscored
	err := a.lookSelected(ctx, org, dataset, q.Filters, func(c *file.Conn, v *view, selected *columnar.Selection) error {
		partly := make(map[uint32]bool)
		err := c.Query(ctx, partlyScored, []any{v.dataset, q.Model}, func(r *file.Row) error {
			if row, ok := v.rows[file.Cell[int64](r, 0)]; ok {
				partly[row] = true
			}
			return nil
		})
		if err != nil {
			return err
		}
		if selected == nil { // all of them
			if selected, err = v.columns.Select(ctx, nil); err != nil {
				return err
			}
		}
		u = audiosearch.Unscored{Matched: selected.Len()}
		first, without := v.unscored(selected, &q, partly)
		u.Without = without
		for _, at := range first {
			err := c.Query(context.Background(), videoBySeq, []any{v.seqs[at]}, func(r *file.Row) error {
				video := audiosearch.Video{ID: r.Text(0), Path: r.Text(1)}
				if err := scanMetadata(r, 2, &video.Metadata); err != nil {
					return err
				}
				u.Videos = append(u.Videos, video)
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return audiosearch.Unscored{}, err
	}
	return u, nil
}

// unscored returns the first rows of a selection, by ID, that have no scores by the
// model, or are scored partly or of another media, and how many of all have none.
func (v *view) unscored(
	selected *columnar.Selection, q *audiosearch.UnscoredQuery, partly map[uint32]bool,
) (first []uint32, without int) {
	var models []*scored
	for _, m := range v.models {
		if m.name == q.Model && m.shelf == 0 { // who is scored has all of them
			models = append(models, m)
		}
	}
	limit := max(q.Limit, 0)
	cut := func() {
		slices.SortFunc(first, v.compare)
		first = first[:min(limit, len(first))]
	}
	for row := range selected.Rows() {
		i := slices.IndexFunc(models, func(m *scored) bool { return m.has(row) })
		if i < 0 {
			without++
		}
		whole := i >= 0 && !partly[row] && (q.Media == "" || models[i].media == q.Media)
		if whole || strings.Compare(v.ids[row], q.After) <= 0 {
			continue
		}
		if first = append(first, row); len(first) >= 2*limit+1000 {
			cut()
		}
	}
	cut()
	return first, without
}
