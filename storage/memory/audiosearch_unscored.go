package memory

import (
	"context"

	"github.com/seed-6363c74e/mortise/audiosearch"
)

// Unscored implements [audiosearch.ScoreStore].
func (a *AudioSearch) Unscored(ctx context.Context, org, dataset string, q audiosearch.UnscoredQuery) (u audiosearch.Unscored, err error) {
	err = a.read(ctx, org, dataset, func(d *audioDataset) error {
		selected, err := d.rows.columns.Select(ctx, q.Filters)
		if err != nil {
			return err
		}
		u.Matched = selected.Len()
		for row := range selected.Rows() {
			if !d.rows.videos[row].scored(q.Model) {
				u.Without++
			}
		}
		u.Videos = d.page(q.After, q.Limit, func(yield func(*audioVideo) bool) {
			for row := range selected.Rows() {
				if v := d.rows.videos[row]; !v.whole(q.Model, q.Media) && !yield(v) {
					return
				}
			}
		})
		return nil
	})
	return u, err
}
