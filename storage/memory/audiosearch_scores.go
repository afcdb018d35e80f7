package memory

import (
	"context"
	"slices"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/columnar"
)

// PutScoring implements [audiosearch.ScoreStore].
func (a *AudioSearch) PutScoring(ctx context.Context, org, dataset, video, path string, scoring audiosearch.Scoring, columns [][]uint16) error {
	stored := cloneScoring(scoring)
	if scoring.Windows > 0 {
		stored.Classes = nil // the scores have them
	}
	return a.write(ctx, org, dataset, func(d *audioDataset) error {
		v, ok := d.videos[video]
		if !ok || v.video.Path != path {
			return audiosearch.ErrConflict
		}
		d.rows.setScores(v, scoring.Model, scoring.Classes, columns)
		if s := v.scoring(scoring.Model); s != nil {
			*s = stored
		} else {
			v.scorings = append(v.scorings, stored)
		}
		return nil
	})
}

func cloneScoring(s audiosearch.Scoring) audiosearch.Scoring {
	s.Keyframes = slices.Clone(s.Keyframes)
	s.Classes = slices.Clone(s.Classes)
	return s
}

// scoring returns what came of scoring the video by a model, or nil.
func (v *audioVideo) scoring(model string) *audiosearch.Scoring {
	for i := range v.scorings {
		if v.scorings[i].Model == model {
			return &v.scorings[i]
		}
	}
	return nil
}

// scored reports whether the video has scores by a model.
func (v *audioVideo) scored(model string) bool {
	s := v.scoring(model)
	return s != nil && s.Scored()
}

// whole reports whether all of the video is scored by a model.
func (v *audioVideo) whole(model string) bool {
	s := v.scoring(model)
	return s != nil && s.Problem == ""
}

// Scoring implements [audiosearch.ScoreStore].
func (a *AudioSearch) Scoring(ctx context.Context, org, dataset, video, model string) (s audiosearch.Scoring, err error) {
	err = a.read(ctx, org, dataset, func(d *audioDataset) error {
		v, ok := d.videos[video]
		if !ok {
			return audiosearch.ErrNotScored
		}
		stored := v.scoring(model)
		if stored == nil {
			return audiosearch.ErrNotScored
		}
		s = *stored
		if scores := d.rows.scores[model]; scores.Has(v.row) {
			s.Classes = scores.Classes(v.row)
		}
		s = cloneScoring(s)
		return nil
	})
	return s, err
}

// WindowScores implements [audiosearch.ScoreStore].
func (a *AudioSearch) WindowScores(ctx context.Context, org, dataset, video, model string, from, to int) (rows [][]uint16, err error) {
	err = a.read(ctx, org, dataset, func(d *audioDataset) error {
		v, ok := d.videos[video]
		if !ok || !v.scored(model) {
			return audiosearch.ErrNotScored
		}
		rows = d.rows.scores[model].Windows(v.row, from, to)
		return nil
	})
	return rows, err
}

// Search implements [audiosearch.ScoreStore].
func (a *AudioSearch) Search(ctx context.Context, org, dataset string, q audiosearch.ScoreQuery) (hits []audiosearch.Hit, err error) {
	err = a.read(ctx, org, dataset, func(d *audioDataset) error {
		var selected *columnar.Selection
		if len(q.Filters) > 0 {
			if selected, err = d.rows.columns.Select(ctx, q.Filters); err != nil {
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

// Unscored implements [audiosearch.ScoreStore].
func (a *AudioSearch) Unscored(ctx context.Context, org, dataset string, q audiosearch.UnscoredQuery) (u audiosearch.Unscored, err error) {
	err = a.read(ctx, org, dataset, func(d *audioDataset) error {
		selected, err := d.rows.columns.Select(ctx, q.Filters)
		if err != nil {
			return err
		}
		u.Matched = selected.Len()
		u.Videos = d.page(q.After, q.Limit, func(yield func(*audioVideo) bool) {
			for row := range selected.Rows() {
				if v := d.rows.videos[row]; !v.whole(q.Model) && !yield(v) {
					return
				}
			}
		})
		return nil
	})
	return u, err
}
