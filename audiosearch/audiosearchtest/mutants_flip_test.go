package audiosearchtest_test

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

var flipMutants = []broken{
	{name: "shows parts", breaks: "parts/invisible", mutate: func(m *mutant) {
		var shown []audiosearch.Hit
		m.On.PutPart = func(ctx context.Context, org, dataset string, p audiosearch.Part, columns [][]uint16) (int, error) {
			shown = append(shown, audiosearch.Hit{Video: p.Video, Window: p.First, Score: columns[0][0]})
			return m.db.PutPart(ctx, org, dataset, p, columns)
		}
		everySearch(nil, func(_ audiosearch.ScoreQuery, hits []audiosearch.Hit) []audiosearch.Hit {
			return slices.Concat(hits, shown)
		})(m)
	}},
	{name: "knows models by their parts", breaks: "parts/models-do-not-show",
		mutate: replace("PutPart", func(m *mutant, ctx context.Context, org, dataset string, p audiosearch.Part, columns [][]uint16) (int, error) {
			m.On.Models = func(context.Context, string, string) ([]audiosearch.DatasetModel, error) {
				return []audiosearch.DatasetModel{{ID: p.Model, Classes: p.Classes}}, nil
			}
			return m.db.PutPart(ctx, org, dataset, p, columns)
		})},
	{name: "forgets the parts when it stores", breaks: "parts/flip-rest parts/many", mutate: func(m *mutant) {
		everyFlip(func(ctx context.Context, org, dataset string, v audiosearch.Video, s audiosearch.Scoring, columns [][]uint16) error {
			s.Windows = len(columns[0])
			return m.db.PutScoring(ctx, org, dataset, v.ID, v.Path, s, columns)
		})(m)
	}},
	{name: "needs scores beside parts", breaks: "parts/flip-all parts/two-writers", mutate: func(m *mutant) {
		everyFlip(func(ctx context.Context, org, dataset string, v audiosearch.Video, s audiosearch.Scoring, columns [][]uint16) error {
			if len(columns[0]) == 0 {
				return audiosearch.ErrConflict
			}
			return m.db.PutScoring(ctx, org, dataset, v.ID, v.Path, s, columns)
		})(m)
	}},
	{name: "makes do with the parts that are there", breaks: "parts/flip-conflict", mutate: func(m *mutant) {
		everyFlip(func(ctx context.Context, org, dataset string, v audiosearch.Video, s audiosearch.Scoring, columns [][]uint16) error {
			p := audiosearch.Part{Video: v.ID, Path: v.Path, Model: s.Model, Media: s.Media, Digest: s.Digest, Window: s.Window, Hop: s.Hop, Classes: s.Classes}
			s.Windows = min(s.Windows, m.standing(ctx, org, dataset, p)+len(columns[0]))
			return m.db.PutScoring(ctx, org, dataset, v.ID, v.Path, s, columns)
		})(m)
	}},
	{name: "gives scores up when parts are missing", breaks: "parts/flip-conflict", mutate: func(m *mutant) {
		everyFlip(func(ctx context.Context, org, dataset string, v audiosearch.Video, s audiosearch.Scoring, columns [][]uint16) error {
			err := m.db.PutScoring(ctx, org, dataset, v.ID, v.Path, s, columns)
			if err != nil {
				_ = m.db.PutScoring(ctx, org, dataset, v.ID, v.Path, audiosearch.Scoring{Model: s.Model, Problem: "lost"}, nil)
			}
			return err
		})(m)
	}},
	{name: "drops parts that it does not store", breaks: "parts/flip-conflict", mutate: func(m *mutant) {
		everyFlip(func(ctx context.Context, org, dataset string, v audiosearch.Video, s audiosearch.Scoring, columns [][]uint16) error {
			err := m.db.PutScoring(ctx, org, dataset, v.ID, v.Path, s, columns)
			if err != nil {
				_, _, _ = m.db.Compact(ctx, audiosearch.CompactOptions{PartsBefore: time.Now()}, 1000)
			}
			return err
		})(m)
	}},
	{name: "stores the further parts of others too", breaks: "parts/flip-beside-others", mutate: func(m *mutant) {
		everyFlip(func(ctx context.Context, org, dataset string, v audiosearch.Video, s audiosearch.Scoring, columns [][]uint16) error {
			p := audiosearch.Part{Video: v.ID, Path: v.Path, Model: s.Model, Media: s.Media, Digest: s.Digest, Window: s.Window, Hop: s.Hop, Classes: s.Classes}
			s.Windows = max(s.Windows, m.standing(ctx, org, dataset, p)+len(columns[0]))
			return m.db.PutScoring(ctx, org, dataset, v.ID, v.Path, s, columns)
		})(m)
	}},
	{name: "keeps parts when it has stored them", breaks: "parts/gone-after-flip", mutate: func(m *mutant) {
		revive := m.revived()
		m.On.PutScoring = func(ctx context.Context, org, dataset, video, path string, s audiosearch.Scoring, columns [][]uint16) error {
			err := m.db.PutScoring(ctx, org, dataset, video, path, s, columns)
			if err == nil {
				revive(ctx, org, dataset)
			}
			return err
		}
	}},
	{name: "keeps parts when the path changes", breaks: "parts/gone-with-the-path", mutate: func(m *mutant) {
		revive := m.revived()
		m.On.PutVideos = func(ctx context.Context, org, dataset string, videos []audiosearch.Video) error {
			defer revive(ctx, org, dataset)
			return m.db.PutVideos(ctx, org, dataset, videos)
		}
	}},
	{name: "drops parts with every change of a video", breaks: "parts/gone-with-the-path",
		mutate: replace("PutVideos", func(m *mutant, ctx context.Context, org, dataset string, videos []audiosearch.Video) error {
			_, _, _ = m.db.Compact(ctx, audiosearch.CompactOptions{PartsBefore: time.Now()}, 1000)
			return m.db.PutVideos(ctx, org, dataset, videos)
		})},
	{name: "keeps the parts of deleted videos", breaks: "parts/gone-with-the-video parts/gone-with-the-dataset", mutate: func(m *mutant) {
		revive := m.revived()
		gone := false
		m.On.DeleteVideo = func(ctx context.Context, org, dataset, id string) error {
			gone = true
			return m.db.DeleteVideo(ctx, org, dataset, id)
		}
		m.On.DeleteDataset = func(ctx context.Context, org, id string) error {
			gone = true
			return m.db.DeleteDataset(ctx, org, id)
		}
		m.On.PutVideos = func(ctx context.Context, org, dataset string, videos []audiosearch.Video) error {
			err := m.db.PutVideos(ctx, org, dataset, videos)
			if gone {
				revive(ctx, org, dataset)
			}
			return err
		}
	}},
	{name: "keeps the parts of one model", breaks: "parts/apart", mutate: everyPart(func(_ string, p *audiosearch.Part) { p.Model = "x/1" })},
	{name: "stores parts one after the other", breaks: "parts/flip-is-one-step", mutate: func(m *mutant) {
		var half atomic.Bool
		everyFlip(func(ctx context.Context, org, dataset string, v audiosearch.Video, s audiosearch.Scoring, columns [][]uint16) error {
			half.Store(true)
			conformance.Seam()
			half.Store(false)
			return m.db.PutScoring(ctx, org, dataset, v.ID, v.Path, s, columns)
		})(m)
		everySearch(nil, func(_ audiosearch.ScoreQuery, hits []audiosearch.Hit) []audiosearch.Hit {
			if half.Load() {
				return nil
			}
			return hits
		})(m)
	}},
	{name: "never removes parts", breaks: "compactor/parts compactor/parts-of-all",
		mutate: everyCompact(func(o *audiosearch.CompactOptions) { o.PartsBefore = time.Time{} })},
	{name: "removes parts at any time", breaks: "compactor/parts",
		mutate: everyCompact(func(o *audiosearch.CompactOptions) { o.PartsBefore = time.Now() })},
	{name: "removes parts that are in use just then", breaks: "compactor/parts", mutate: everyCompact(func(o *audiosearch.CompactOptions) {
		if !o.PartsBefore.IsZero() {
			o.PartsBefore = o.PartsBefore.Add(time.Microsecond)
		}
	})},
	{name: "does not take a question for use", breaks: "compactor/parts",
		mutate: replace("Parts", func(m *mutant, ctx context.Context, org, dataset string, p audiosearch.Part) (int, error) {
			p.At = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
			return m.db.Parts(ctx, org, dataset, p)
		})},
	{name: "removes the parts of one organization", breaks: "compactor/parts-of-all", mutate: everyPart(func(org string, p *audiosearch.Part) {
		if org != "org-a" {
			p.At = time.Now()
		}
	})},
}

// everyCompact applies change to the options that the mutant compacts by.
func everyCompact(change func(*audiosearch.CompactOptions)) func(*mutant) {
	return in(change, "Compact")
}
