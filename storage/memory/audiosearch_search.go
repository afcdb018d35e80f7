package memory

import (
	"context"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/columnar"
)

// Search implements [audiosearch.ScoreStore].
func (a *AudioSearch) Search(ctx context.Context, org, dataset string, q audiosearch.ScoreQuery) (hits []audiosearch.Hit, err error) {
	err = a.read(ctx, org, dataset, func(d *audioDataset) error {
		var selected *columnar.Selection
		if len(q.Filters) > 0 {
			if selected, err = d.rows.columns.SelectToRank(ctx, q.Filters); err != nil {
				return err
			}
		}
		page := columnar.Page{Offset: q.Offset, Limit: q.Limit, MinScore: q.MinScore}
		found, err := d.rows.scores[q.Model].Rank(ctx, q.Class, selected, columnar.NewRanking(page, d.rows.order))
		if err != nil || len(found) == 0 {
			return err
		}
		hits = make([]audiosearch.Hit, len(found))
		for i, h := range found {
			hits[i] = audiosearch.Hit{Video: d.rows.ids[h.Row], Window: int(h.Window), Score: h.Score}
		}
		return nil
	})
	return hits, err
}
