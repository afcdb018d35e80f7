package audiosearchtest_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// everyPutScoring applies change to all scorings that the mutant is given.
func everyPutScoring(change func(s *audiosearch.Scoring, columns [][]uint16) [][]uint16) func(*mutant) {
	return replace("PutScoring", func(m *mutant, ctx context.Context, org, dataset, video, path string, s audiosearch.Scoring, columns [][]uint16) error {
		s.Classes, columns = slices.Clone(s.Classes), slices.Clone(columns)
		for i := range columns {
			columns[i] = slices.Clone(columns[i])
		}
		columns = change(&s, columns)
		return m.db.PutScoring(ctx, org, dataset, video, path, s, columns)
	})
}

var scoreMutants = []broken{
	{name: "does not miss datasets", breaks: "scores/no-dataset",
		mutate: replace("Search", func(m *mutant, ctx context.Context, org, dataset string, q audiosearch.ScoreQuery) ([]audiosearch.Hit, error) {
			hits, err := m.db.Search(ctx, org, dataset, q)
			if errors.Is(err, audiosearch.ErrDatasetNotFound) {
				err = nil
			}
			return hits, err
		})},
	{name: "takes a missing dataset for a conflict", breaks: "scores/no-dataset",
		mutate: replace("PutScoring", func(m *mutant, ctx context.Context, org, dataset, video, path string, s audiosearch.Scoring, columns [][]uint16) error {
			err := m.db.PutScoring(ctx, org, dataset, video, path, s, columns)
			if errors.Is(err, audiosearch.ErrDatasetNotFound) {
				err = audiosearch.ErrConflict
			}
			return err
		})},
	{name: "forgets the digest", breaks: "scores/put-and-get", mutate: func(m *mutant) {
		m.everyScoring(func(s *audiosearch.Scoring) { s.Digest[31] = 0 })
	}},
	{name: "keeps windows in milliseconds", breaks: "scores/put-and-get", mutate: func(m *mutant) {
		m.everyScoring(func(s *audiosearch.Scoring) { s.Hop = s.Hop.Round(time.Millisecond) })
	}},
	{name: "returns nothing for what is not scored", breaks: "scores/scoring-unknown", mutate: func(m *mutant) {
		m.scoring = func(ctx context.Context, org, dataset, video, model string) (audiosearch.Scoring, error) {
			s, err := m.db.Scoring(ctx, org, dataset, video, model)
			if errors.Is(err, audiosearch.ErrNotScored) {
				err = nil
			}
			return s, err
		}
	}},
	{name: "says video not found for what is not scored", breaks: "scores/scoring-unknown", mutate: func(m *mutant) {
		m.scoring = func(ctx context.Context, org, dataset, video, model string) (audiosearch.Scoring, error) {
			s, err := m.db.Scoring(ctx, org, dataset, video, model)
			if _, gone := m.db.Video(ctx, org, dataset, video); errors.Is(err, audiosearch.ErrNotScored) && gone != nil {
				err = gone
			}
			return s, err
		}
	}},
	{name: "keeps the longer scores", breaks: "scores/replace",
		mutate: replace("PutScoring", func(m *mutant, ctx context.Context, org, dataset, video, path string, s audiosearch.Scoring, columns [][]uint16) error {
			if old, err := m.db.Scoring(ctx, org, dataset, video, s.Model); err == nil && old.Windows > s.Windows {
				return nil
			}
			return m.db.PutScoring(ctx, org, dataset, video, path, s, columns)
		})},
	{name: "adds scores to those that are there", breaks: "scores/replace scores/replace-with-itself", mutate: func(m *mutant) {
		// What a search finds twice is what a store keeps twice.
		var mu sync.Mutex
		puts := make(map[string]int)
		everyPutScoring(func(_ *audiosearch.Scoring, columns [][]uint16) [][]uint16 { return columns })(m)
		put := m.On.PutScoring
		m.On.PutScoring = func(ctx context.Context, org, dataset, video, path string, s audiosearch.Scoring, columns [][]uint16) error {
			mu.Lock()
			puts[video]++
			mu.Unlock()
			return put(ctx, org, dataset, video, path, s, columns)
		}
		everySearch(nil, func(_ audiosearch.ScoreQuery, hits []audiosearch.Hit) (all []audiosearch.Hit) {
			mu.Lock()
			defer mu.Unlock()
			for _, h := range hits {
				all = append(all, slices.Repeat([]audiosearch.Hit{h}, puts[h.Video])...)
			}
			return all
		})(m)
	}},
	{name: "keeps scores beside a problem", breaks: "scores/problem",
		mutate: replace("PutScoring", func(m *mutant, ctx context.Context, org, dataset, video, path string, s audiosearch.Scoring, columns [][]uint16) error {
			if _, err := m.db.Scoring(ctx, org, dataset, video, s.Model); err == nil && s.Problem != "" {
				return nil
			}
			return m.db.PutScoring(ctx, org, dataset, video, path, s, columns)
		})},
	{name: "drops scores beside a problem", breaks: "scores/partly scores/put-and-get",
		mutate: replace("PutScoring", func(m *mutant, ctx context.Context, org, dataset, video, path string, s audiosearch.Scoring, columns [][]uint16) error {
			if s.Problem != "" {
				s, columns = audiosearch.Scoring{Model: s.Model, FileSize: s.FileSize, FileTime: s.FileTime, Digest: s.Digest, Media: s.Media, At: s.At, Problem: s.Problem}, nil
			}
			return m.db.PutScoring(ctx, org, dataset, video, path, s, columns)
		})},
	{name: "drops a problem beside scores", breaks: "scores/put-and-get scores/unscored scores/unscored-follows-changes",
		mutate: replace("PutScoring", func(m *mutant, ctx context.Context, org, dataset, video, path string, s audiosearch.Scoring, columns [][]uint16) error {
			if s.Windows > 0 {
				s.Problem = ""
			}
			return m.db.PutScoring(ctx, org, dataset, video, path, s, columns)
		})},
	{name: "keeps one scoring a video", breaks: "scores/models-are-apart scores/search-model",
		mutate: replace("PutScoring", func(m *mutant, ctx context.Context, org, dataset, video, path string, s audiosearch.Scoring, columns [][]uint16) error {
			if v, err := m.db.Video(ctx, org, dataset, video); err == nil {
				_ = m.db.DeleteVideo(ctx, org, dataset, video)
				_ = m.db.PutVideos(ctx, org, dataset, []audiosearch.Video{v})
			}
			return m.db.PutScoring(ctx, org, dataset, video, path, s, columns)
		})},
	{name: "finds scores by their video's ID alone", breaks: "scores/datasets-are-apart",
		mutate: replace("PutScoring", func(m *mutant, ctx context.Context, org, dataset, video, path string, s audiosearch.Scoring, columns [][]uint16) error {
			for _, at := range [][2]string{{"org-a", "set-a"}, {"org-a", "set-b"}, {"org-b", "set-a"}} {
				_ = m.db.PutScoring(ctx, at[0], at[1], video, path, s, columns)
			}
			return m.db.PutScoring(ctx, org, dataset, video, path, s, columns)
		})},
	{name: "keeps scores in eight bits", breaks: "scores/exact scores/search-order scores/windows",
		mutate: everyPutScoring(func(_ *audiosearch.Scoring, columns [][]uint16) [][]uint16 {
			for _, column := range columns {
				for i := range column {
					column[i] &= 0xFF00
				}
			}
			return columns
		})},
	{name: "mixes up the segments of its second chunk", breaks: "scores/exact scores/search-many",
		mutate: everyPutScoring(func(_ *audiosearch.Scoring, columns [][]uint16) [][]uint16 {
			for _, column := range columns {
				if len(column) > 4096 {
					column[4096] = column[0]
				}
			}
			return columns
		})},
	{name: "keeps the caller's columns", breaks: "scores/copies", mutate: func(m *mutant) {
		var mu sync.Mutex
		var again func() error
		m.On.PutScoring = func(ctx context.Context, org, dataset, video, path string, s audiosearch.Scoring, columns [][]uint16) error {
			mu.Lock()
			defer mu.Unlock()
			first := columns[:1]
			s.Classes = s.Classes[:1]
			again = func() error { return m.db.PutScoring(ctx, org, dataset, video, path, s, first) }
			return again()
		}
		m.On.WindowScores = func(ctx context.Context, org, dataset, video, model string, from, to int) ([][]uint16, error) {
			mu.Lock()
			defer mu.Unlock()
			_ = again()
			return m.db.WindowScores(ctx, org, dataset, video, model, from, to)
		}
	}},
	{name: "returns its own keyframes", breaks: "scores/copies", mutate: func(m *mutant) {
		own := make(map[string][]time.Duration)
		m.everyScoring(func(s *audiosearch.Scoring) {
			if own[s.Model] == nil {
				own[s.Model] = s.Keyframes
			}
			s.Keyframes = own[s.Model]
		})
	}},
	{name: "keeps the classes that it is given", breaks: "scores/copies", mutate: func(m *mutant) {
		given := make(map[string][]sound.Class)
		m.On.PutScoring = func(ctx context.Context, org, dataset, video, path string, s audiosearch.Scoring, columns [][]uint16) error {
			given[video+s.Model] = s.Classes
			return m.db.PutScoring(ctx, org, dataset, video, path, s, columns)
		}
		m.scoring = func(ctx context.Context, org, dataset, video, model string) (audiosearch.Scoring, error) {
			s, err := m.db.Scoring(ctx, org, dataset, video, model)
			s.Classes = given[video+model]
			return s, err
		}
	}},
	{name: "scores what is not there", breaks: "scores/conflict-gone",
		mutate: replace("PutScoring", func(m *mutant, ctx context.Context, org, dataset, video, path string, s audiosearch.Scoring, columns [][]uint16) error {
			if _, err := m.db.Video(ctx, org, dataset, video); errors.Is(err, audiosearch.ErrVideoNotFound) {
				return nil
			}
			return m.db.PutScoring(ctx, org, dataset, video, path, s, columns)
		})},
	{name: "does not look at the path", breaks: "scores/conflict-moved scores/conflict-concurrent",
		mutate: replace("PutScoring", func(m *mutant, ctx context.Context, org, dataset, video, _ string, s audiosearch.Scoring, columns [][]uint16) error {
			v, _ := m.db.Video(ctx, org, dataset, video)
			return m.db.PutScoring(ctx, org, dataset, video, v.Path, s, columns)
		})},
	{name: "refuses and stores", breaks: "scores/conflict-moved",
		mutate: replace("PutScoring", func(m *mutant, ctx context.Context, org, dataset, video, path string, s audiosearch.Scoring, columns [][]uint16) error {
			err := m.db.PutScoring(ctx, org, dataset, video, path, s, columns)
			if errors.Is(err, audiosearch.ErrConflict) {
				v, _ := m.db.Video(ctx, org, dataset, video)
				_ = m.db.PutScoring(ctx, org, dataset, video, v.Path, s, columns)
			}
			return err
		})},
	{name: "returns rows as columns", breaks: "scores/windows",
		mutate: replace("WindowScores", func(m *mutant, ctx context.Context, org, dataset, video, model string, from, to int) ([][]uint16, error) {
			rows, err := m.db.WindowScores(ctx, org, dataset, video, model, from, to)
			var turned [][]uint16
			for i := range rows {
				for c := range rows[i] {
					if i == 0 {
						turned = append(turned, nil)
					}
					turned[c] = append(turned[c], rows[i][c])
				}
			}
			return turned, err
		})},
	{name: "fills the range of segments up", breaks: "scores/windows-range",
		mutate: replace("WindowScores", func(m *mutant, ctx context.Context, org, dataset, video, model string, from, to int) ([][]uint16, error) {
			rows, err := m.db.WindowScores(ctx, org, dataset, video, model, from, to)
			for err == nil && from >= 0 && len(rows) < min(to-from, 100) {
				rows = append(rows, []uint16{0})
			}
			return rows, err
		})},
	{name: "returns no rows for what is not scored", breaks: "scores/windows-not-scored scores/problem",
		mutate: replace("WindowScores", func(m *mutant, ctx context.Context, org, dataset, video, model string, from, to int) ([][]uint16, error) {
			rows, err := m.db.WindowScores(ctx, org, dataset, video, model, from, to)
			if errors.Is(err, audiosearch.ErrNotScored) {
				err = nil
			}
			return rows, err
		})},
}
