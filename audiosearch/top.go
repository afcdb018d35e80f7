package audiosearch

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch/internal/clips"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// TopClass is a sound class and how sure the model is to hear it.
type TopClass struct {
	Class sound.Class
	Score float64 // in [0,1]: the best of all segments that touch the stretch
}

// Top returns what is heard in a stretch of a video: at most n classes, the surest first,
// ties in the order of the scorers and their models. It reads the scores by the current
// models; a class counts by the first of them that has it. The video must be scored, or
// the error is [ErrNotScored].
func (s *Service) Top(ctx context.Context, org, dataset, video string, from, to time.Duration, n int) ([]TopClass, error) {
	var p problems
	if from < 0 || to <= from {
		p.add("to", "", "must be after from, which must be 0 or more")
	}
	if n < 1 || n > sound.MaxClasses {
		p.add("n", "", "must be 1 to %d", sound.MaxClasses)
	}
	if err := p.Err(); err != nil {
		return nil, err
	}
	scorings, err := s.Scorings(ctx, org, dataset, video)
	if err != nil {
		return nil, err
	}
	var heard []TopClass
	seen := make(map[sound.Class]bool)
	for i := range scorings {
		scoring := &scorings[i]
		if !scoring.Scored() {
			continue
		}
		best, err := s.best(ctx, org, dataset, video, scoring, from, to)
		if err != nil {
			return nil, err
		}
		for c, score := range best {
			if class := scoring.Classes[c]; !seen[class] {
				seen[class] = true
				heard = append(heard, TopClass{class, float64(score) / clips.Unit})
			}
		}
	}
	if heard == nil {
		return nil, ErrNotScored
	}
	slices.SortStableFunc(heard, func(a, b TopClass) int { return cmp.Compare(b.Score, a.Score) })
	return heard[:min(n, len(heard))], nil
}

// best returns the best scores of each class in a stretch of a video.
func (s *Service) best(
	ctx context.Context, org, dataset, video string, scoring *Scoring, from, to time.Duration,
) ([]uint16, error) {
	first := 0
	if from >= scoring.Window {
		first = int((from-scoring.Window)/scoring.Hop) + 1 // the first segment that ends after from
	}
	last := int((min(to, scoring.Duration) + scoring.Hop - 1) / scoring.Hop) // the first that begins at or after to
	if from >= scoring.Duration {
		last = first // the last segment may be longer than the sound
	}
	best := make([]uint16, len(scoring.Classes))
	const step = 1000 // segments at a time
	for at := first; at < last; at += step {
		rows, err := s.store.WindowScores(ctx, org, dataset, video, scoring.Model, at, min(at+step, last))
		if err != nil {
			return nil, unavailable("read scores", err)
		}
		for _, row := range rows {
			for i := range min(len(row), len(best)) {
				best[i] = max(best[i], row[i])
			}
		}
	}
	return best, nil
}
