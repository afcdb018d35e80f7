package audiosearchtest_test

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
)

var resultMutants = []broken{
	{name: "sorts results", breaks: "results/read", mutate: out(func(results *[]audiosearch.Result) {
		slices.SortFunc(*results, func(a, b audiosearch.Result) int { return cmp.Compare(b.Score, a.Score) })
	}, "RunResults")},
	{name: "takes no moderation for 0", breaks: "results/read", mutate: out(func(r *audiosearch.Result) {
		if r.Moderation != nil && *r.Moderation == 0 {
			r.Moderation = nil
		}
	}, "RunResults")},
	{name: "takes path and metadata from the results", breaks: "results/read", mutate: func(m *mutant) {
		own := make(map[int64][]audiosearch.Result)
		m.On.PutResults = func(ctx context.Context, org string, run int64, set uuid.UUID, results []audiosearch.Result) error {
			own[run] = audiosearch.Run{Results: results}.Clone().Results
			return m.db.PutResults(ctx, org, run, set, results)
		}
		m.On.RunResults = func(ctx context.Context, org string, run int64, from int) ([]audiosearch.Result, error) {
			results, err := m.db.RunResults(ctx, org, run, from)
			for i := range results {
				results[i].Path, results[i].Metadata = own[run][from+i].Path, own[run][from+i].Metadata
			}
			return results, err
		}
	}},
	{name: "misses results", breaks: "results/none", mutate: around(func(_ *mutant, c *mutate.Call) {
		if c.Go(); *c.Err() == nil && len(*mutate.Get[[]audiosearch.Result](c.Out)) == 0 {
			*c.Err() = audiosearch.ErrRunNotFound
		}
	}, "RunResults")},
	{name: "keeps few results", breaks: "results/pages results/put-again",
		mutate: replace("RunResults", func(m *mutant, ctx context.Context, org string, run int64, from int) ([]audiosearch.Result, error) {
			results, err := m.db.RunResults(ctx, org, run, from)
			return results[:min(len(results), max(255-from, 0))], err
		})},
	{name: "returns all results at once", breaks: "results/pages",
		mutate: replace("RunResults", func(m *mutant, ctx context.Context, org string, run int64, from int) ([]audiosearch.Result, error) {
			var all []audiosearch.Result
			for {
				page, err := m.db.RunResults(ctx, org, run, from+len(all))
				if err != nil || len(page) == 0 {
					return all, err
				}
				all = append(all, page...)
			}
		})},
	{name: "shows what is not named yet", breaks: "results/unseen",
		mutate: replace("PutResults", func(m *mutant, ctx context.Context, org string, run int64, set uuid.UUID, results []audiosearch.Result) error {
			err := m.db.PutResults(ctx, org, run, set, results)
			if err == nil {
				err = m.db.UpdateRun(ctx, org, run, func(r *audiosearch.Run) error {
					r.ResultSet = set
					return nil
				})
			}
			return err
		})},
	{name: "has one set for all runs", breaks: "results/sets-are-apart", mutate: func(m *mutant) {
		put := make(map[uuid.UUID][]audiosearch.Result)
		m.On.PutResults = func(ctx context.Context, org string, run int64, set uuid.UUID, results []audiosearch.Result) error {
			put[set] = audiosearch.Run{Results: results}.Clone().Results
			return m.db.PutResults(ctx, org, run, set, results)
		}
		m.On.RunResults = func(ctx context.Context, org string, run int64, from int) ([]audiosearch.Result, error) {
			r, err := m.db.Run(ctx, org, run)
			results := put[r.ResultSet]
			return results[min(from, len(results)):], err
		}
	}},
	{name: "adds results to those of the set", breaks: "results/put-again", mutate: func(m *mutant) {
		put := make(map[uuid.UUID][]audiosearch.Result)
		m.On.PutResults = func(ctx context.Context, org string, run int64, set uuid.UUID, results []audiosearch.Result) error {
			put[set] = append(put[set], results...)
			return m.db.PutResults(ctx, org, run, set, put[set])
		}
	}},
	{name: "shows videos as the catalog has them now", breaks: "results/as-they-were", mutate: func(m *mutant) {
		m.everyResult(func(r *audiosearch.Result) {
			if v, err := m.db.Video(context.Background(), "org-a", "set-a", r.VideoID); err != nil || v.Path == r.Path {
				r.Metadata = v.Metadata
			}
		})
	}},
	{name: "takes results of runs that have ended", breaks: "results/ended", mutate: accepting(audiosearch.ErrFinished, "PutResultVideos")},
	{name: "takes results without their videos", breaks: "results/no-video",
		mutate: replace("PutResults", func(m *mutant, ctx context.Context, org string, run int64, set uuid.UUID, results []audiosearch.Result) error {
			var videos []audiosearch.Video
			for _, r := range results {
				videos = append(videos, audiosearch.Video{ID: r.VideoID})
			}
			if err := m.db.PutResultVideos(ctx, org, run, set, videos); err != nil {
				return err
			}
			return m.db.PutResults(ctx, org, run, set, results)
		})},
	{name: "lets runs name sets that are not there", breaks: "results/unknown-set results/others-go",
		mutate: replace("UpdateRun", func(m *mutant, ctx context.Context, org string, id int64, update func(*audiosearch.Run) error) error {
			err := m.db.UpdateRun(ctx, org, id, update)
			if err != nil && !errors.Is(err, audiosearch.ErrRunNotFound) {
				err = m.db.UpdateRun(ctx, org, id, func(r *audiosearch.Run) error {
					err := update(r)
					r.ResultSet = uuid.Nil
					return err
				})
			}
			return err
		})},
}
