package audiosearchtest_test

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// removeScoring makes the store forget what a model made of a video.
func (m *mutant) removeScoring(ctx context.Context, org, dataset, video string) {
	v, err := m.db.Video(ctx, org, dataset, video)
	if err != nil {
		return
	}
	path := v.Path
	v.Path += " for a moment"
	_ = m.db.PutVideos(ctx, org, dataset, []audiosearch.Video{v})
	v.Path = path
	_ = m.db.PutVideos(ctx, org, dataset, []audiosearch.Video{v})
}

var raceMutants = []broken{
	{name: "removes old scores and then stores new ones", breaks: "scores/replacement-is-one-step scores/reads-are-whole",
		mutate: replace("PutScoring", func(m *mutant, ctx context.Context, org, dataset, video, path string, s audiosearch.Scoring, columns [][]uint16) error {
			m.removeScoring(ctx, org, dataset, video)
			conformance.Seam()
			return m.db.PutScoring(ctx, org, dataset, video, path, s, columns)
		})},
	{name: "stores class by class", breaks: "scores/reads-are-whole",
		mutate: replace("PutScoring", func(m *mutant, ctx context.Context, org, dataset, video, path string, s audiosearch.Scoring, columns [][]uint16) error {
			all := s.Classes
			for n := range all {
				conformance.Seam()
				s.Classes = all[:n+1]
				if err := m.db.PutScoring(ctx, org, dataset, video, path, s, columns[:n+1]); err != nil {
					return err
				}
			}
			return nil
		})},
	{name: "loses scores that are stored at once", breaks: "scores/put-concurrent", mutate: func(m *mutant) {
		var storing atomic.Bool
		m.On.PutScoring = func(ctx context.Context, org, dataset, video, path string, s audiosearch.Scoring, columns [][]uint16) error {
			if !storing.CompareAndSwap(false, true) {
				return nil
			}
			defer storing.Store(false)
			conformance.Seam()
			return m.db.PutScoring(ctx, org, dataset, video, path, s, columns)
		}
	}},
	{name: "ranks and then filters", breaks: "scores/path-change-is-one-step",
		mutate: replace("Search", func(m *mutant, ctx context.Context, org, dataset string, q audiosearch.ScoreQuery) (found []audiosearch.Hit, err error) {
			filters := q.Filters
			q.Filters = nil
			hits, err := m.db.Search(ctx, org, dataset, q)
			conformance.Seam()
			for _, h := range hits {
				v, _ := m.db.Video(ctx, org, dataset, h.Video)
				if !slices.ContainsFunc(filters, func(f metadata.Filter) bool { return v.Metadata[f.Key].Text() != f.Value }) {
					found = append(found, h)
				}
			}
			return found, err
		})},
	{name: "looks at the path and then stores", breaks: "scores/conflict-concurrent",
		mutate: replace("PutScoring", func(m *mutant, ctx context.Context, org, dataset, video, path string, s audiosearch.Scoring, columns [][]uint16) error {
			if v, err := m.db.Video(ctx, org, dataset, video); err != nil || v.Path != path {
				return audiosearch.ErrConflict
			}
			conformance.Seam()
			v, _ := m.db.Video(ctx, org, dataset, video)
			return m.db.PutScoring(ctx, org, dataset, video, v.Path, s, columns)
		})},

	{name: "never finishes compacting", breaks: "compactor/nothing-to-do",
		mutate: replace("Compact", func(*mutant, context.Context, audiosearch.CompactOptions, int) (int, bool, error) {
			return 1, true, nil
		})},
	{name: "compacts scores away", breaks: "compactor/changes-no-answer compactor/concurrent",
		mutate: replace("Compact", func(m *mutant, ctx context.Context, _ audiosearch.CompactOptions, _ int) (int, bool, error) {
			for _, v := range m.all(ctx) {
				m.removeScoring(ctx, "org-a", "set-a", v.ID)
				break
			}
			return 0, false, ctx.Err()
		})},
	{name: "compacts in two steps", breaks: "compactor/concurrent", mutate: func(m *mutant) {
		var compacting, hidden atomic.Bool
		m.On.Compact = func(ctx context.Context, _ audiosearch.CompactOptions, _ int) (int, bool, error) {
			if compacting.CompareAndSwap(false, true) {
				hidden.Store(true)
				conformance.Seam()
				hidden.Store(false)
				compacting.Store(false)
			}
			return 0, false, ctx.Err()
		}
		everySearch(nil, func(_ audiosearch.ScoreQuery, hits []audiosearch.Hit) []audiosearch.Hit {
			if hidden.Load() && len(hits) > 0 {
				return hits[1:]
			}
			return hits
		})(m)
	}},
	{name: "forgets what it compacted", breaks: "compactor/durable compactor/replaced-durable", reopen: afresh, mutate: func(*mutant) {}},
}

// all returns the videos of the suite's first dataset.
func (m *mutant) all(ctx context.Context) []audiosearch.Video {
	videos, _ := m.videosOf(ctx, "org-a", "set-a")
	return slices.Clip(videos)
}
