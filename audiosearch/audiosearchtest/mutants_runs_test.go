package audiosearchtest_test

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch"
)

var runMutants = []broken{
	{name: "forgets the trace", breaks: []string{"runs/create-and-get", "runs/update"}, mutate: func(m *mutant) {
		m.everyRun(func(r *audiosearch.Run) { r.Trace = nil })
	}},
	{name: "keeps least scores as floats of 32 bits", breaks: []string{"runs/create-and-get"}, mutate: func(m *mutant) {
		m.everyRun(func(r *audiosearch.Run) { r.Query.MinScore = float64(float32(r.Query.MinScore)) })
	}},
	{name: "returns runs with results", breaks: []string{"runs/create-and-get", "runs/stale-oldest-first"}, mutate: func(m *mutant) {
		m.everyRun(func(r *audiosearch.Run) { r.Results = []audiosearch.Result{} })
	}},
	{name: "makes runs that are there", breaks: []string{"runs/create-exists", "runs/create-concurrent"}, mutate: func(m *mutant) {
		m.createRun = func(ctx context.Context, r audiosearch.Run) error {
			err := m.db.CreateRun(ctx, r)
			if errors.Is(err, audiosearch.ErrRunExists) {
				err = m.db.UpdateRun(ctx, r.Organization, r.ID, func(stored *audiosearch.Run) error {
					*stored = r
					return nil
				})
			}
			return err
		}
	}},
	{name: "looks for a run and then makes it", breaks: []string{"runs/create-concurrent"}, mutate: func(m *mutant) {
		m.createRun = func(ctx context.Context, r audiosearch.Run) error {
			if _, err := m.db.Run(ctx, r.Organization, r.ID); err == nil {
				return audiosearch.ErrRunExists
			}
			dither()
			_ = m.db.CreateRun(ctx, r)
			return nil
		}
	}},
	{name: "returns no run for what is not there", breaks: []string{"runs/unknown"}, mutate: func(m *mutant) {
		m.getRun = func(ctx context.Context, org string, id int64) (audiosearch.Run, error) {
			r, err := m.db.Run(ctx, org, id)
			if errors.Is(err, audiosearch.ErrRunNotFound) {
				err = nil
			}
			return r, err
		}
	}},
	{name: "returns no results for what is not there", breaks: []string{"runs/unknown", "runs/organizations-are-apart"}, mutate: func(m *mutant) {
		m.runResults = func(ctx context.Context, org string, id int64) ([]audiosearch.Result, error) {
			results, err := m.db.RunResults(ctx, org, id)
			if errors.Is(err, audiosearch.ErrRunNotFound) {
				err = nil
			}
			return results, err
		}
	}},
	{name: "keeps the caller's filters", breaks: []string{"runs/copies"}, mutate: func(m *mutant) {
		kept := make(map[int64][]audiosearch.Filter)
		m.createRun = func(ctx context.Context, r audiosearch.Run) error {
			kept[r.ID] = r.Query.Filters
			return m.db.CreateRun(ctx, r)
		}
		m.everyRun(func(r *audiosearch.Run) { r.Query.Filters = kept[r.ID] })
	}},
	{name: "returns its own results", breaks: []string{"runs/copies"}, mutate: func(m *mutant) {
		own := make(map[int64][]audiosearch.Result)
		m.runResults = func(ctx context.Context, org string, id int64) ([]audiosearch.Result, error) {
			results, err := m.db.RunResults(ctx, org, id)
			if own[id] == nil {
				own[id] = results
			}
			return own[id], err
		}
	}},
	{name: "updates the first run that it finds", breaks: []string{"runs/update"}, mutate: func(m *mutant) {
		var mu sync.Mutex
		var ids []int64
		m.createRun = func(ctx context.Context, r audiosearch.Run) error {
			mu.Lock()
			defer mu.Unlock()
			ids = append(ids, r.ID)
			return m.db.CreateRun(ctx, r)
		}
		m.updateRun = func(ctx context.Context, org string, id int64, update func(*audiosearch.Run) error) error {
			return m.db.UpdateRun(ctx, org, ids[len(ids)-1], update)
		}
	}},
	{name: "shows update functions the results", breaks: []string{"runs/update-sees-no-results"}, mutate: func(m *mutant) {
		m.everyUpdate(func(r *audiosearch.Run, update func(*audiosearch.Run) error) error {
			r.Results = []audiosearch.Result{{}}
			return update(r)
		})
	}},
	{name: "lets a run change its organization", breaks: []string{"runs/update-ignores-identity"}, mutate: func(m *mutant) {
		m.updateRun = func(ctx context.Context, org string, id int64, update func(*audiosearch.Run) error) error {
			var changed audiosearch.Run
			err := m.db.UpdateRun(ctx, org, id, func(r *audiosearch.Run) error {
				defer func() { changed = r.Clone() }()
				return update(r)
			})
			if err == nil && changed.Organization != org {
				return m.db.CreateRun(ctx, changed)
			}
			return err
		}
	}},
	{name: "keeps what an update function left", breaks: []string{"runs/update-copies"}, mutate: func(m *mutant) {
		kept := make(map[int64]map[string]string)
		m.everyUpdate(func(r *audiosearch.Run, update func(*audiosearch.Run) error) error {
			err := update(r)
			kept[r.ID] = r.Trace
			return err
		})
		m.everyRun(func(r *audiosearch.Run) {
			if trace, ok := kept[r.ID]; ok {
				r.Trace = trace
			}
		})
	}},
	{name: "stores what a failed update left", breaks: []string{"runs/update-error-changes-nothing"}, mutate: func(m *mutant) {
		m.updateRun = func(ctx context.Context, org string, id int64, update func(*audiosearch.Run) error) error {
			var failed error
			err := m.db.UpdateRun(ctx, org, id, func(r *audiosearch.Run) error {
				failed = update(r)
				return nil
			})
			return cmp.Or(err, failed)
		}
	}},
	{name: "has an error of its own for failed updates", breaks: []string{"runs/update-error-changes-nothing"}, mutate: func(m *mutant) {
		m.everyUpdate(func(r *audiosearch.Run, update func(*audiosearch.Run) error) error {
			if update(r) != nil {
				return errors.New("the update failed")
			}
			return nil
		})
	}},
	{name: "swallows panics", breaks: []string{"runs/update-panic"}, mutate: func(m *mutant) {
		m.everyUpdate(func(r *audiosearch.Run, update func(*audiosearch.Run) error) (err error) {
			defer func() { _ = recover() }()
			return update(r)
		})
	}},
	{name: "reads a run and then writes it", breaks: []string{"runs/update-concurrent"}, mutate: func(m *mutant) {
		m.updateRun = func(ctx context.Context, org string, id int64, update func(*audiosearch.Run) error) error {
			r, err := m.db.Run(ctx, org, id)
			if err != nil {
				return err
			}
			if err := update(&r); err != nil {
				return err
			}
			return m.db.UpdateRun(ctx, org, id, func(stored *audiosearch.Run) error {
				*stored = r
				return nil
			})
		}
	}},
	{name: "writes the results after the run", breaks: []string{"runs/reads-are-whole"}, mutate: func(m *mutant) {
		m.updateRun = func(ctx context.Context, org string, id int64, update func(*audiosearch.Run) error) error {
			var left []audiosearch.Result
			err := m.db.UpdateRun(ctx, org, id, func(r *audiosearch.Run) error {
				defer func() { left, r.Results = r.Results, nil }()
				return update(r)
			})
			for n := range left {
				part := left[:n+1]
				_ = m.db.UpdateRun(ctx, org, id, func(r *audiosearch.Run) error {
					r.Results = part
					return nil
				})
				dither()
			}
			return err
		}
	}},
	{name: "sorts results", breaks: []string{"runs/results"}, mutate: func(m *mutant) {
		m.runResults = func(ctx context.Context, org string, id int64) ([]audiosearch.Result, error) {
			results, err := m.db.RunResults(ctx, org, id)
			slices.SortFunc(results, func(a, b audiosearch.Result) int { return cmp.Compare(b.Score, a.Score) })
			return results, err
		}
	}},
	{name: "takes no moderation for 0", breaks: []string{"runs/results"}, mutate: func(m *mutant) {
		m.everyResult(func(_ int, r *audiosearch.Result) {
			if r.Moderation != nil && *r.Moderation == 0 {
				r.Moderation = nil
			}
		})
	}},
	{name: "misses results", breaks: []string{"runs/no-results"}, mutate: func(m *mutant) {
		m.runResults = func(ctx context.Context, org string, id int64) ([]audiosearch.Result, error) {
			results, err := m.db.RunResults(ctx, org, id)
			if err == nil && len(results) == 0 {
				err = audiosearch.ErrRunNotFound
			}
			return results, err
		}
	}},
	{name: "removes results with every update", breaks: []string{"runs/results-stay"}, mutate: func(m *mutant) {
		m.everyUpdate(func(r *audiosearch.Run, update func(*audiosearch.Run) error) error {
			err := update(r)
			r.Results = append([]audiosearch.Result{}, r.Results...)
			return err
		})
	}},
	{name: "takes no results for none given", breaks: []string{"runs/results-stay"}, mutate: func(m *mutant) {
		m.everyUpdate(func(r *audiosearch.Run, update func(*audiosearch.Run) error) error {
			err := update(r)
			if len(r.Results) == 0 {
				r.Results = nil
			}
			return err
		})
	}},
	{name: "keeps few results", breaks: []string{"runs/many-results"}, mutate: func(m *mutant) {
		m.runResults = func(ctx context.Context, org string, id int64) ([]audiosearch.Result, error) {
			results, err := m.db.RunResults(ctx, org, id)
			return results[:min(len(results), 255)], err
		}
	}},
}

var staleMutants = []broken{
	{name: "returns the newest stale runs first", breaks: []string{"runs/stale-oldest-first", "runs/stale-limit"}, mutate: func(m *mutant) {
		m.staleRuns = func(ctx context.Context, before time.Time, limit int) ([]audiosearch.Run, error) {
			runs, err := m.db.StaleRuns(ctx, before, 1000)
			slices.Reverse(runs)
			return runs[:min(limit, len(runs))], err
		}
	}},
	{name: "returns stale runs at the time too", breaks: []string{"runs/stale-before-is-strict"}, mutate: func(m *mutant) {
		m.staleRuns = func(ctx context.Context, before time.Time, limit int) ([]audiosearch.Run, error) {
			return m.db.StaleRuns(ctx, before.Add(time.Microsecond), limit)
		}
	}},
	{name: "returns running runs only", breaks: []string{"runs/stale-not-ended", "runs/stale-follows-updates"}, mutate: func(m *mutant) {
		m.everyStale(func(runs []audiosearch.Run) []audiosearch.Run {
			return slices.DeleteFunc(runs, func(r audiosearch.Run) bool { return r.State != audiosearch.StateRunning })
		})
	}},
	{name: "returns all stale runs", breaks: []string{"runs/stale-limit"}, mutate: func(m *mutant) {
		m.staleRuns = func(ctx context.Context, before time.Time, _ int) ([]audiosearch.Run, error) {
			return m.db.StaleRuns(ctx, before, 1000)
		}
	}},

	{name: "prunes nothing and counts", breaks: []string{"runpruner/removes", "runpruner/limit", "runpruner/durable"}, mutate: func(m *mutant) {
		m.pruneRuns = func(context.Context, time.Time, int) (int, error) { return 1, nil }
	}},
	{name: "prunes at the time too", breaks: []string{"runpruner/before-is-strict"}, mutate: func(m *mutant) {
		m.pruneRuns = func(ctx context.Context, before time.Time, limit int) (int, error) {
			return m.db.PruneRuns(ctx, before.Add(time.Microsecond), limit)
		}
	}},
	{name: "prunes what has not finished", breaks: []string{"runpruner/not-finished"}, mutate: func(m *mutant) {
		m.pruneRuns = func(ctx context.Context, before time.Time, limit int) (int, error) {
			stale, _ := m.db.StaleRuns(ctx, before, limit)
			for _, r := range stale {
				_ = m.db.UpdateRun(ctx, r.Organization, r.ID, func(r *audiosearch.Run) error {
					r.State, r.FinishedAt = audiosearch.StateTerminated, r.UpdatedAt
					return nil
				})
			}
			return m.db.PruneRuns(ctx, before, limit)
		}
	}},
	{name: "prunes without limit", breaks: []string{"runpruner/limit"}, mutate: func(m *mutant) {
		m.pruneRuns = func(ctx context.Context, before time.Time, _ int) (int, error) {
			return m.db.PruneRuns(ctx, before, 1000)
		}
	}},
}

var otherMutants = []broken{
	{name: "loses its data", reopen: afresh, mutate: func(*mutant) {}, breaks: []string{
		"datasets/durable", "catalog/durable", "scores/durable", "runs/durable", "leases/durable", "queue/durable",
	}},
	{name: "ignores the context", mutate: func(m *mutant) {
		m.dataset = func(_ context.Context, org, id string) (audiosearch.Dataset, error) {
			return m.db.Dataset(context.Background(), org, id)
		}
		m.video = func(_ context.Context, org, dataset, id string) (audiosearch.Video, error) {
			return m.db.Video(context.Background(), org, dataset, id)
		}
		m.search = func(_ context.Context, org, dataset string, q audiosearch.ScoreQuery) ([]audiosearch.Hit, error) {
			return m.db.Search(context.Background(), org, dataset, q)
		}
		m.compact = func(context.Context) (bool, error) { return false, nil }
		m.createRun = func(_ context.Context, r audiosearch.Run) error { return m.db.CreateRun(context.Background(), r) }
	}, breaks: []string{
		"datasets/ended-context", "catalog/ended-context", "scores/ended-context", "compactor/ended-context", "runs/ended-context",
	}},
	{name: "says not found when it fails", mutate: func(m *mutant) { m.failure = errors.Join(errBroken, audiosearch.ErrDatasetNotFound) }, breaks: []string{
		"datasets/failure", "catalog/failure", "scores/failure", "compactor/failure", "runs/failure", "leases/failure", "queue/failure",
	}},
}
