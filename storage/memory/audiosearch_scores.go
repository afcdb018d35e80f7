package memory

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/seed-6363c74e/mortise/audiosearch"
)

// audioScoring is what came of scoring a video by a model.
type audioScoring struct {
	scoring audiosearch.Scoring
	columns [][]uint16 // by class, then segment
}

// PutScoring implements [audiosearch.ScoreStore].
func (a *AudioSearch) PutScoring(ctx context.Context, org, dataset, video, path string, scoring audiosearch.Scoring, columns [][]uint16) error {
	stored := &audioScoring{scoring: cloneScoring(scoring)}
	for _, c := range columns {
		stored.columns = append(stored.columns, slices.Clone(c))
	}
	return a.write(ctx, org, dataset, func(d *audioDataset) error {
		v, ok := d.videos[video]
		if !ok || v.video.Path != path {
			return audiosearch.ErrConflict
		}
		v.scorings[scoring.Model] = stored
		return nil
	})
}

func cloneScoring(s audiosearch.Scoring) audiosearch.Scoring {
	s.Keyframes = slices.Clone(s.Keyframes)
	s.Classes = slices.Clone(s.Classes)
	return s
}

// find returns the scoring of a video by a model, or [audiosearch.ErrNotScored].
func (d *audioDataset) find(video, model string) (*audioScoring, error) {
	if v, ok := d.videos[video]; ok {
		if s, ok := v.scorings[model]; ok {
			return s, nil
		}
	}
	return nil, audiosearch.ErrNotScored
}

// Scoring implements [audiosearch.ScoreStore].
func (a *AudioSearch) Scoring(ctx context.Context, org, dataset, video, model string) (s audiosearch.Scoring, err error) {
	err = a.read(ctx, org, dataset, func(d *audioDataset) error {
		found, err := d.find(video, model)
		if err == nil {
			s = cloneScoring(found.scoring)
		}
		return err
	})
	return s, err
}

// WindowScores implements [audiosearch.ScoreStore].
func (a *AudioSearch) WindowScores(ctx context.Context, org, dataset, video, model string, from, to int) (rows [][]uint16, err error) {
	err = a.read(ctx, org, dataset, func(d *audioDataset) error {
		found, err := d.find(video, model)
		if err != nil {
			return err
		}
		if found.scoring.Problem != "" {
			return audiosearch.ErrNotScored
		}
		for window := max(from, 0); window < min(to, found.scoring.Windows); window++ {
			row := make([]uint16, len(found.columns))
			for i, c := range found.columns {
				row[i] = c[window]
			}
			rows = append(rows, row)
		}
		return nil
	})
	return rows, err
}

// matcher returns whether a video passes all filters.
func matcher(filters []audiosearch.Filter) (func(*audioVideo) bool, error) {
	predicates := make([]audiosearch.Predicate, len(filters))
	for i, f := range filters {
		var err error
		if predicates[i], err = f.Predicate(); err != nil {
			return nil, err
		}
	}
	return func(v *audioVideo) bool {
		for i, p := range predicates {
			if !p.Match(v.video.Metadata[filters[i].Key]) {
				return false
			}
		}
		return true
	}, nil
}

// Search implements [audiosearch.ScoreStore].
func (a *AudioSearch) Search(ctx context.Context, org, dataset string, q audiosearch.ScoreQuery) (hits []audiosearch.Hit, err error) {
	match, err := matcher(q.Filters)
	if err != nil {
		return nil, err
	}
	err = a.read(ctx, org, dataset, func(d *audioDataset) error {
		for id, v := range d.videos {
			s, ok := v.scorings[q.Model]
			if !ok || !match(v) {
				continue
			}
			class, ok := slices.BinarySearch(s.scoring.Classes, q.Class)
			if !ok {
				continue
			}
			for window, score := range s.columns[class] {
				if score >= q.MinScore {
					hits = append(hits, audiosearch.Hit{Video: id, Window: window, Score: score})
				}
			}
		}
		return nil
	})
	slices.SortFunc(hits, func(x, y audiosearch.Hit) int {
		return cmp.Or(cmp.Compare(y.Score, x.Score), strings.Compare(x.Video, y.Video), cmp.Compare(x.Window, y.Window))
	})
	hits = hits[min(q.Offset, len(hits)):]
	return hits[:min(q.Limit, len(hits))], err
}

// Unscored implements [audiosearch.ScoreStore].
func (a *AudioSearch) Unscored(ctx context.Context, org, dataset string, q audiosearch.UnscoredQuery) (u audiosearch.Unscored, err error) {
	match, err := matcher(q.Filters)
	if err != nil {
		return u, err
	}
	err = a.read(ctx, org, dataset, func(d *audioDataset) error {
		for _, v := range d.videos {
			if match(v) {
				u.Matched++
			}
		}
		u.Videos = d.page(q.After, q.Limit, func(v *audioVideo) bool {
			s, ok := v.scorings[q.Model]
			return match(v) && (!ok || s.scoring.Problem != "")
		})
		return nil
	})
	return u, err
}
