package audiosearchtest_test

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/internal/conformance"
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
		m.createRun = func(ctx context.Context, r audiosearch.Run, most int) error {
			err := m.db.CreateRun(ctx, r, most)
			if errors.Is(err, audiosearch.ErrExists) {
				err = m.db.UpdateRun(ctx, r.Organization, r.ID, func(stored *audiosearch.Run) error {
					*stored = r
					return nil
				})
			}
			return err
		}
	}},
	{name: "looks for a run and then makes it", breaks: []string{"runs/create-concurrent"}, mutate: func(m *mutant) {
		m.createRun = func(ctx context.Context, r audiosearch.Run, most int) error {
			if _, err := m.db.Run(ctx, r.Organization, r.ID); err == nil {
				return audiosearch.ErrExists
			}
			conformance.Seam()
			_ = m.db.CreateRun(ctx, r, most)
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
		m.runResults = func(ctx context.Context, org string, id int64, from int) ([]audiosearch.Result, error) {
			results, err := m.db.RunResults(ctx, org, id, from)
			if errors.Is(err, audiosearch.ErrRunNotFound) {
				err = nil
			}
			return results, err
		}
	}},
	{name: "keeps the caller's filters", breaks: []string{"runs/copies"}, mutate: func(m *mutant) {
		kept := make(map[int64][]metadata.Filter)
		m.createRun = func(ctx context.Context, r audiosearch.Run, most int) error {
			kept[r.ID] = r.Query.Filters
			return m.db.CreateRun(ctx, r, most)
		}
		m.everyRun(func(r *audiosearch.Run) { r.Query.Filters = kept[r.ID] })
	}},
	{name: "returns its own results", breaks: []string{"results/copies"}, mutate: func(m *mutant) {
		var own []audiosearch.Result
		m.runResults = func(ctx context.Context, org string, id int64, from int) ([]audiosearch.Result, error) {
			results, err := m.db.RunResults(ctx, org, id, from)
			if from > 0 {
				return results, err
			}
			if own == nil {
				own = results
			}
			return own, err
		}
	}},
	{name: "updates the first run that it finds", breaks: []string{"runs/update"}, mutate: func(m *mutant) {
		var mu sync.Mutex
		var ids []int64
		m.createRun = func(ctx context.Context, r audiosearch.Run, most int) error {
			mu.Lock()
			defer mu.Unlock()
			ids = append(ids, r.ID)
			return m.db.CreateRun(ctx, r, most)
		}
		m.updateRun = func(ctx context.Context, org string, id int64, update func(*audiosearch.Run) error) error {
			return m.db.UpdateRun(ctx, org, ids[len(ids)-1], update)
		}
	}},
	{name: "lets a run change its organization", breaks: []string{"runs/update-ignores-identity"}, mutate: func(m *mutant) {
		m.updateRun = func(ctx context.Context, org string, id int64, update func(*audiosearch.Run) error) error {
			var changed audiosearch.Run
			err := m.db.UpdateRun(ctx, org, id, func(r *audiosearch.Run) error {
				defer func() { changed = r.Clone() }()
				return update(r)
			})
			if err == nil && changed.Organization != org {
				return m.db.CreateRun(ctx, changed, 1000)
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
			conformance.Seam()
			return m.db.UpdateRun(ctx, org, id, func(stored *audiosearch.Run) error {
				*stored = r
				return nil
			})
		}
	}},
	{name: "names the set after the rest of an update", breaks: []string{"runs/reads-are-whole"}, mutate: func(m *mutant) {
		var mu sync.Mutex
		named := make(map[int64]int) // what Done a run names its set by
		m.updateRun = func(ctx context.Context, org string, id int64, update func(*audiosearch.Run) error) error {
			return m.db.UpdateRun(ctx, org, id, func(r *audiosearch.Run) error {
				err := update(r)
				mu.Lock()
				defer mu.Unlock()
				named[id] = r.Done
				return err
			})
		}
		m.runResults = func(ctx context.Context, org string, id int64, from int) ([]audiosearch.Result, error) {
			results, err := m.db.RunResults(ctx, org, id, from)
			mu.Lock()
			defer mu.Unlock()
			if named[id]%2 == 1 && len(results) > 0 {
				results[0].VideoID = "0" // of the set before
			}
			return results, err
		}
	}},
	{name: "counts runs and then makes one", breaks: []string{"runs/create-bounded-concurrent"}, mutate: func(m *mutant) {
		m.createRun = func(ctx context.Context, r audiosearch.Run, most int) error {
			open, err := m.db.StaleRuns(ctx, r.CreatedAt.Add(time.Hour), time.Time{}, most)
			conformance.Seam()
			if err == nil && len(open) >= most {
				err = audiosearch.ErrTooManyRuns
			}
			if err != nil {
				return err
			}
			return m.db.CreateRun(ctx, r, 1000)
		}
	}},
	{name: "counts the runs of all organizations", breaks: []string{"runs/create-bounded"}, mutate: func(m *mutant) {
		m.createRun = func(ctx context.Context, r audiosearch.Run, most int) error {
			open, err := m.db.StaleRuns(ctx, r.CreatedAt.Add(time.Hour), time.Time{}, most)
			if err == nil && len(open) >= most {
				err = audiosearch.ErrTooManyRuns
			}
			if err != nil {
				return err
			}
			return m.db.CreateRun(ctx, r, most)
		}
	}},
	{name: "has no bound", breaks: []string{"runs/create-bounded", "runs/create-bounded-concurrent"}, mutate: func(m *mutant) {
		m.createRun = func(ctx context.Context, r audiosearch.Run, _ int) error { return m.db.CreateRun(ctx, r, 1000) }
	}},
}

var staleMutants = []broken{
	{name: "returns the newest stale runs first", breaks: []string{"runs/stale-oldest-first", "runs/stale-limit"}, mutate: func(m *mutant) {
		m.staleRuns = func(
			ctx context.Context, checked, due time.Time, limit int,
		) ([]audiosearch.Run, error) {
			runs, err := m.db.StaleRuns(ctx, checked, due, 1000)
			slices.Reverse(runs)
			return runs[:min(limit, len(runs))], err
		}
	}},
	{name: "returns runs checked at the time too",
		breaks: []string{"runs/stale-checked-is-strict"}, mutate: func(m *mutant) {
			m.asked(func(checked, due *time.Time, limit *int) { *checked = checked.Add(time.Microsecond) })
		}},
	{name: "returns runs due at the time too",
		breaks: []string{"runs/stale-due-is-strict"}, mutate: func(m *mutant) {
			m.asked(func(checked, due *time.Time, limit *int) { *due = due.Add(time.Microsecond) })
		}},
	{name: "returns runs whatever their DueAt",
		breaks: []string{"runs/stale-due-is-strict", "runs/stale-follows-updates"},
		mutate: func(m *mutant) {
			m.asked(func(checked, due *time.Time, limit *int) { *due = time.Time{} })
		}},
	{name: "takes a zero due for a time",
		breaks: []string{"runs/stale-zero-times"}, mutate: func(m *mutant) {
			m.asked(func(checked, due *time.Time, limit *int) { *due = due.Add(time.Nanosecond) })
		}},
	{name: "returns no runs that were never checked",
		breaks: []string{"runs/stale-zero-times"}, mutate: func(m *mutant) {
			m.everyStale(func(runs []audiosearch.Run) []audiosearch.Run {
				return slices.DeleteFunc(runs, func(r audiosearch.Run) bool { return r.CheckedAt.IsZero() })
			})
		}},
	{name: "returns no runs that are never due",
		breaks: []string{"runs/stale-zero-times"}, mutate: func(m *mutant) {
			m.staleRuns = func(
				ctx context.Context, checked, due time.Time, limit int,
			) ([]audiosearch.Run, error) {
				runs, err := m.db.StaleRuns(ctx, checked, due, limit)
				return slices.DeleteFunc(runs, func(r audiosearch.Run) bool {
					return r.DueAt.IsZero() && !due.IsZero()
				}), err
			}
		}},
	{name: "returns running runs only",
		breaks: []string{"runs/stale-not-ended", "runs/stale-follows-updates"},
		mutate: func(m *mutant) {
			m.everyStale(func(runs []audiosearch.Run) []audiosearch.Run {
				return slices.DeleteFunc(runs, func(r audiosearch.Run) bool {
					return r.State != audiosearch.StateRunning
				})
			})
		}},
	{name: "returns runs that have ended",
		breaks: []string{"runs/stale-not-ended"}, mutate: func(m *mutant) {
			var ended []audiosearch.Run
			m.createRun = func(ctx context.Context, r audiosearch.Run, most int) error {
				if r.State == audiosearch.StateTerminated {
					ended = append(ended, r)
				}
				return m.db.CreateRun(ctx, r, most)
			}
			m.everyStale(func(runs []audiosearch.Run) []audiosearch.Run { return append(runs, ended...) })
		}},
	{name: "returns all stale runs", breaks: []string{"runs/stale-limit"}, mutate: func(m *mutant) {
		m.asked(func(checked, due *time.Time, limit *int) { *limit = 1000 })
	}},
	{name: "knows for the millisecond when runs are due",
		breaks: []string{"runs/create-and-get"}, mutate: func(m *mutant) {
			m.everyRun(func(r *audiosearch.Run) { r.DueAt = r.DueAt.Truncate(time.Millisecond) })
		}},
	{name: "forgets how much sound there is",
		breaks: []string{"runs/create-and-get", "runs/update"}, mutate: func(m *mutant) {
			m.everyRun(func(r *audiosearch.Run) { r.Sound = audiosearch.SoundProgress{} })
		}},
	{name: "knows for the second how much sound is scored",
		breaks: []string{"runs/create-and-get", "runs/update"}, mutate: func(m *mutant) {
			m.everyRun(func(r *audiosearch.Run) { r.Sound.Done = r.Sound.Done.Truncate(time.Second) })
		}},
	{name: "knows of a thousand hours of sound at most",
		breaks: []string{"runs/create-and-get", "runs/update"}, mutate: func(m *mutant) {
			m.everyRun(func(r *audiosearch.Run) { r.Sound.Total = min(r.Sound.Total, 1000*time.Hour) })
		}},
	{name: "rounds the speed of scoring",
		breaks: []string{"runs/create-and-get", "runs/update"}, mutate: func(m *mutant) {
			m.everyRun(func(r *audiosearch.Run) { r.Sound.Speed = math.Round(100*r.Sound.Speed) / 100 })
		}},
	{name: "knows for the millisecond when runs were checked",
		breaks: []string{"runs/create-and-get", "runs/update"}, mutate: func(m *mutant) {
			m.everyRun(func(r *audiosearch.Run) { r.CheckedAt = r.CheckedAt.Truncate(time.Millisecond) })
		}},
}
