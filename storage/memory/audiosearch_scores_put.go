package memory

import (
	"context"
	"slices"

	"github.com/seed-6363c74e/mortise/audiosearch"
)

// PutScoring implements [audiosearch.ScoreStore].
func (a *AudioSearch) PutScoring(ctx context.Context, org, dataset, video, path string, scoring audiosearch.Scoring, columns [][]uint16) error {
	stored := cloneScoring(scoring)
	if scoring.Classes != nil {
		stored.Classes = a.db.classes.shared(scoring.Classes)
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
