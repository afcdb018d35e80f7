package memory

import (
	"context"

	"github.com/seed-6363c74e/mortise/audiosearch"
)

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

// whole reports whether all of the video is scored by a model, decoded by a media if that
// is not "".
func (v *audioVideo) whole(model, media string) bool {
	s := v.scoring(model)
	return s != nil && s.Problem == "" && (media == "" || s.Media == media)
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
