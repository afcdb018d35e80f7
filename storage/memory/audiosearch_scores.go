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
	if scoring.Classes != nil {
		stored.Classes = a.db.audio.classes.shared(scoring.Classes)
	}
	classes := stored.Classes
	if scoring.Windows > 0 {
		stored.Classes = nil // the scores have them
	}
	return a.write(ctx, org, dataset, func(d *audioDataset) error {
		v, ok := d.videos[video]
		if !ok || v.video.Path != path {
			return audiosearch.ErrConflict
		}
		all := v.joined(&scoring, columns)
		if all == nil && scoring.Windows > 0 {
			return audiosearch.ErrConflict
		}
		d.rows.setScores(v, scoring.Model, classes, all)
		delete(v.parts, scoring.Model)
		if scoring.Windows > 0 {
			d.models.note(scoring.Model, classes)
		}
		if s := v.scoring(scoring.Model); s != nil {
			*s = stored
		} else {
			v.scorings = append(v.scorings, stored)
			d.rows.count(scoring.Model, 1)
		}
		return nil
	})
}

func cloneScoring(s audiosearch.Scoring) audiosearch.Scoring {
	s.Keyframes = slices.Clone(s.Keyframes)
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

// Scorings implements [audiosearch.ScoreStore].
func (a *AudioSearch) Scorings(ctx context.Context, org, dataset, model string, videos []string) (found map[string]audiosearch.Scoring, err error) {
	err = a.read(ctx, org, dataset, func(d *audioDataset) error {
		found = make(map[string]audiosearch.Scoring, len(videos))
		for _, id := range videos {
			v, ok := d.videos[id]
			if !ok {
				continue
			}
			if stored := v.scoring(model); stored != nil {
				s := cloneScoring(*stored)
				if scores := d.rows.scores[model]; scores.Has(v.row) {
					s.Classes = scores.Classes(v.row)
				}
				found[id] = s
			}
		}
		return nil
	})
	return found, err
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
		for row := range selected.Rows() {
			if !d.rows.videos[row].scored(q.Model) {
				u.Without++
			}
		}
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
