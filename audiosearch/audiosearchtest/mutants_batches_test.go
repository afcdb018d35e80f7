package audiosearchtest_test

import (
	"context"
	"slices"
	"strings"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// everyClass applies change to the classes of all scorings that the mutant returns.
func everyClass(change func(s *audiosearch.Scoring, classes []sound.Class) []sound.Class) func(*mutant) {
	return func(m *mutant) {
		m.everyScoring(func(s *audiosearch.Scoring) { s.Classes = change(s, slices.Clone(s.Classes)) })
	}
}

var classMutants = []broken{
	{name: "folds the case of classes", breaks: "classes/names-are-exact",
		mutate: everySearch(func(q *audiosearch.ScoreQuery) { q.Class = sound.Class(strings.ToLower(string(q.Class))) }, nil)},
	{name: "trims the names of classes", breaks: "classes/names-are-exact classes/durable",
		mutate: everyClass(func(_ *audiosearch.Scoring, classes []sound.Class) []sound.Class {
			for i := range classes {
				classes[i] = sound.Class(strings.TrimSpace(string(classes[i])))
			}
			return classes
		})},
	{name: "cuts the names of classes", breaks: "classes/names-are-exact classes/most",
		mutate: everyClass(func(_ *audiosearch.Scoring, classes []sound.Class) []sound.Class {
			for i := range classes {
				classes[i] = classes[i][:min(len(classes[i]), 200)]
			}
			return classes
		})},
	{name: "sorts classes", breaks: "classes/order classes/of-each-scoring classes/models-are-apart",
		mutate: everyClass(func(_ *audiosearch.Scoring, classes []sound.Class) []sound.Class {
			slices.Sort(classes)
			return classes
		})},
	{name: "keeps the first classes of a model", breaks: "classes/of-each-scoring classes/change-by-and-by", mutate: func(m *mutant) {
		first := make(map[string][]sound.Class)
		everyClass(func(s *audiosearch.Scoring, classes []sound.Class) []sound.Class {
			if first[s.Model] == nil && len(classes) > 0 {
				first[s.Model] = classes
			}
			return first[s.Model]
		})(m)
	}},
	{name: "finds classes by their number in the first model", breaks: "classes/models-are-apart", mutate: func(m *mutant) {
		var numbers []sound.Class
		own := make(map[string][]sound.Class)
		m.On.PutScoring = func(ctx context.Context, org, dataset, video, path string, s audiosearch.Scoring, columns [][]uint16) error {
			if numbers == nil {
				numbers = s.Classes
			}
			own[s.Model] = s.Classes
			return m.db.PutScoring(ctx, org, dataset, video, path, s, columns)
		}
		everySearch(func(q *audiosearch.ScoreQuery) {
			if i := slices.Index(numbers, q.Class); i >= 0 && i < len(own[q.Model]) {
				q.Class = own[q.Model][i]
			}
		}, nil)(m)
	}},
	{name: "has room for 4096 classes", breaks: "classes/many classes/most",
		mutate: everyPutScoring(func(s *audiosearch.Scoring, columns [][]uint16) [][]uint16 {
			s.Classes = s.Classes[:min(len(s.Classes), 4096)]
			return columns[:min(len(columns), 4096)]
		})},
	{name: "numbers classes in twelve bits", breaks: "classes/many classes/most",
		mutate: everyPutScoring(func(_ *audiosearch.Scoring, columns [][]uint16) [][]uint16 {
			for c := 4096; c < len(columns); c++ {
				columns[c] = slices.Clone(columns[c&0xFFF])
			}
			return columns
		})},
}

// everyBatch applies change to all videos that the mutant returns by their IDs.
func everyBatch(change func(ids []string, found []audiosearch.Video) []audiosearch.Video) func(*mutant) {
	return replace("Videos", func(m *mutant, ctx context.Context, org, dataset string, ids []string) ([]audiosearch.Video, int, error) {
		found, looked, err := m.db.Videos(ctx, org, dataset, ids)
		return change(ids[:looked], found), looked, err
	})
}

var batchMutants = []broken{
	{name: "returns videos in an order of its own", breaks: "catalog/videos-in-order catalog/videos-many",
		mutate: everyBatch(func(_ []string, found []audiosearch.Video) []audiosearch.Video {
			slices.SortFunc(found, func(a, b audiosearch.Video) int { return strings.Compare(a.ID, b.ID) })
			return found
		})},
	{name: "returns a video for each ID", breaks: "catalog/videos-in-order catalog/get-unknown",
		mutate: everyBatch(func(ids []string, found []audiosearch.Video) (all []audiosearch.Video) {
			for _, id := range ids {
				i := slices.IndexFunc(found, func(v audiosearch.Video) bool { return v.ID == id })
				if i < 0 {
					all = append(all, audiosearch.Video{ID: id})
					continue
				}
				all = append(all, found[i])
			}
			return all
		})},
	{name: "returns all videos if asked for none", breaks: "catalog/videos-none",
		mutate: replace("Videos", func(m *mutant, ctx context.Context, org, dataset string, ids []string) ([]audiosearch.Video, int, error) {
			if len(ids) == 0 {
				all, err := m.videosOf(ctx, org, dataset)
				return all, 0, err
			}
			return m.db.Videos(ctx, org, dataset, ids)
		})},
	{name: "does not look at all if asked for no video", breaks: "catalog/videos-none",
		mutate: replace("Videos", func(m *mutant, ctx context.Context, org, dataset string, ids []string) ([]audiosearch.Video, int, error) {
			if len(ids) == 0 {
				return nil, 0, nil
			}
			return m.db.Videos(ctx, org, dataset, ids)
		})},
	{name: "returns as much metadata as there is", breaks: "catalog/videos-bound", mutate: func(m *mutant) { m.video = m.db.Video }},
	{name: "stops at 1 MiB without a word", breaks: "catalog/videos-bound",
		mutate: replace("Videos", func(m *mutant, ctx context.Context, org, dataset string, ids []string) ([]audiosearch.Video, int, error) {
			found, _, err := m.db.Videos(ctx, org, dataset, ids)
			return found, len(ids), err
		})},
	{name: "looks for no video where the first is large", breaks: "catalog/videos-bound",
		mutate: replace("Videos", func(m *mutant, ctx context.Context, org, dataset string, ids []string) ([]audiosearch.Video, int, error) {
			found, looked, err := m.db.Videos(ctx, org, dataset, ids)
			if len(found) > 0 && len(found[0].Metadata["text"].Text()) > 50_000 {
				return nil, 0, err
			}
			return found, looked, err
		})},
	{name: "looks for 999 videos and says for all", breaks: "catalog/videos-many",
		mutate: replace("Videos", func(m *mutant, ctx context.Context, org, dataset string, ids []string) ([]audiosearch.Video, int, error) {
			found, _, err := m.db.Videos(ctx, org, dataset, ids[:min(len(ids), 999)])
			return found, len(ids), err
		})},
	{name: "leaves problems out of scorings", breaks: "scores/scorings scores/scorings-many",
		mutate: everyScorings(func(found map[string]audiosearch.Scoring, _ []string) {
			for id, s := range found {
				if !s.Scored() {
					delete(found, id)
				}
			}
		})},
	{name: "returns a scoring for each ID", breaks: "scores/scorings scores/scorings-many",
		mutate: everyScorings(func(found map[string]audiosearch.Scoring, ids []string) {
			for _, id := range ids {
				if _, ok := found[id]; !ok {
					found[id] = audiosearch.Scoring{}
				}
			}
		})},
	{name: "returns scorings by any model", breaks: "scores/scorings",
		mutate: replace("Scorings", func(m *mutant, ctx context.Context, org, dataset, model string, ids []string) (map[string]audiosearch.Scoring, error) {
			found, err := m.db.Scorings(ctx, org, dataset, model, ids)
			for _, other := range []string{"x/1", "y/1", "z/1"} {
				more, _ := m.db.Scorings(ctx, org, dataset, other, ids)
				for id, s := range more {
					if _, ok := found[id]; !ok {
						found[id] = s
					}
				}
			}
			return found, err
		})},
	{name: "looks for 999 scorings", breaks: "scores/scorings-many",
		mutate: replace("Scorings", func(m *mutant, ctx context.Context, org, dataset, model string, ids []string) (map[string]audiosearch.Scoring, error) {
			return m.db.Scorings(ctx, org, dataset, model, ids[:min(len(ids), 999)])
		})},
	{name: "counts those without scores on the page", breaks: "scores/without",
		mutate: everyUnscored(func(*audiosearch.UnscoredQuery) {}, func(_ audiosearch.UnscoredQuery, u *audiosearch.Unscored) {
			u.Without = min(u.Without, len(u.Videos))
		})},
	{name: "counts those that are not wholly scored", breaks: "scores/without",
		mutate: replace("Unscored", func(m *mutant, ctx context.Context, org, dataset string, q audiosearch.UnscoredQuery) (audiosearch.Unscored, error) {
			u, err := m.db.Unscored(ctx, org, dataset, q)
			all, _ := m.db.Unscored(ctx, org, dataset, audiosearch.UnscoredQuery{Model: q.Model, Filters: q.Filters, Limit: 1000})
			u.Without = len(all.Videos)
			return u, err
		})},
	{name: "counts those that nobody tried", breaks: "scores/without",
		mutate: replace("Unscored", func(m *mutant, ctx context.Context, org, dataset string, q audiosearch.UnscoredQuery) (audiosearch.Unscored, error) {
			u, err := m.db.Unscored(ctx, org, dataset, q)
			all, _ := m.db.Unscored(ctx, org, dataset, audiosearch.UnscoredQuery{Model: q.Model, Filters: q.Filters, Limit: 1000})
			for _, v := range all.Videos {
				if s, err := m.db.Scoring(ctx, org, dataset, v.ID, q.Model); err == nil && !s.Scored() {
					u.Without--
				}
			}
			return u, err
		})},
	{name: "counts those without scores whatever the filters", breaks: "scores/without",
		mutate: replace("Unscored", func(m *mutant, ctx context.Context, org, dataset string, q audiosearch.UnscoredQuery) (audiosearch.Unscored, error) {
			u, err := m.db.Unscored(ctx, org, dataset, q)
			all, _ := m.db.Unscored(ctx, org, dataset, audiosearch.UnscoredQuery{Model: q.Model, Limit: 1})
			u.Without = all.Without
			return u, err
		})},
}

// everyScorings applies change to all batches of scorings that the mutant returns.
func everyScorings(change func(found map[string]audiosearch.Scoring, ids []string)) func(*mutant) {
	return replace("Scorings", func(m *mutant, ctx context.Context, org, dataset, model string, ids []string) (map[string]audiosearch.Scoring, error) {
		found, err := m.db.Scorings(ctx, org, dataset, model, ids)
		if err == nil {
			change(found, ids)
		}
		return found, err
	})
}
