package audiosearchtest_test

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
)

var runMutants = []broken{
	{name: "forgets the trace", breaks: "runs/create-and-get runs/update", mutate: out(func(r *audiosearch.Run) { r.Trace = nil })},
	{name: "keeps least scores as floats of 32 bits", breaks: "runs/create-and-get", mutate: out(
		func(r *audiosearch.Run) { r.Query.MinScore = float64(float32(r.Query.MinScore)) })},
	{name: "returns runs with results", breaks: "runs/create-and-get runs/overdue-earliest-first", mutate: out(
		func(r *audiosearch.Run) { r.Results = []audiosearch.Result{} })},
	{name: "makes runs that are there", breaks: "runs/create-exists runs/create-concurrent",
		mutate: replace("CreateRun", func(m *mutant, ctx context.Context, r audiosearch.Run, most int) error {
			err := m.db.CreateRun(ctx, r, most)
			if errors.Is(err, mortise.ErrExists) {
				err = m.db.UpdateRun(ctx, r.Organization, r.ID, func(stored *audiosearch.Run) error {
					*stored = r
					return nil
				})
			}
			return err
		})},
	{name: "looks for a run and then makes it", breaks: "runs/create-concurrent",
		mutate: replace("CreateRun", func(m *mutant, ctx context.Context, r audiosearch.Run, most int) error {
			if _, err := m.db.Run(ctx, r.Organization, r.ID); err == nil {
				return mortise.ErrExists
			}
			conformance.Seam()
			_ = m.db.CreateRun(ctx, r, most)
			return nil
		})},
	{name: "returns no run for what is not there", breaks: "runs/unknown", mutate: accepting(audiosearch.ErrRunNotFound, "Run")},
	{name: "returns no results for what is not there", breaks: "runs/unknown runs/organizations-are-apart", mutate: accepting(
		audiosearch.ErrRunNotFound, "RunResults")},
	{name: "returns its own results", breaks: "results/copies", mutate: func(m *mutant) {
		var own []audiosearch.Result
		m.On.RunResults = func(ctx context.Context, org string, id int64, from int) ([]audiosearch.Result, error) {
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
	{name: "updates the first run that it finds", breaks: "runs/update", mutate: func(m *mutant) {
		var mu sync.Mutex
		var ids []int64
		m.On.CreateRun = func(ctx context.Context, r audiosearch.Run, most int) error {
			mu.Lock()
			defer mu.Unlock()
			ids = append(ids, r.ID)
			return m.db.CreateRun(ctx, r, most)
		}
		m.On.UpdateRun = func(ctx context.Context, org string, id int64, update func(*audiosearch.Run) error) error {
			return m.db.UpdateRun(ctx, org, ids[len(ids)-1], update)
		}
	}},
	{name: "lets a run change its organization", breaks: "runs/update-ignores-identity",
		mutate: replace("UpdateRun", func(m *mutant, ctx context.Context, org string, id int64, update func(*audiosearch.Run) error) error {
			var changed audiosearch.Run
			err := m.db.UpdateRun(ctx, org, id, func(r *audiosearch.Run) error {
				defer func() { changed = r.Clone() }()
				return update(r)
			})
			if err == nil && changed.Organization != org {
				return m.db.CreateRun(ctx, changed, 1000)
			}
			return err
		})},
	{name: "stores what a failed update left", breaks: "runs/update-error-changes-nothing",
		mutate: replace("UpdateRun", func(m *mutant, ctx context.Context, org string, id int64, update func(*audiosearch.Run) error) error {
			var failed error
			err := m.db.UpdateRun(ctx, org, id, func(r *audiosearch.Run) error {
				failed = update(r)
				return nil
			})
			return cmp.Or(err, failed)
		})},
	{name: "has an error of its own for failed updates", breaks: "runs/update-error-changes-nothing", mutate: errs(
		func(error) error { return errors.New("the update failed") }, "UpdateRun")},
	{name: "swallows panics", breaks: "runs/update-panic",
		mutate: everyUpdate(func(r *audiosearch.Run, update func(*audiosearch.Run) error) (err error) {
			defer func() { _ = recover() }()
			return update(r)
		})},
	{name: "reads a run and then writes it", breaks: "runs/update-concurrent", mutate: func(m *mutant) {
		mutate.Late(&m.On, conformance.Seam, "UpdateRun")
	}},
	{name: "names the set after the rest of an update", breaks: "runs/reads-are-whole", mutate: func(m *mutant) {
		var named sync.Map // what Done a run names its set by
		in(func(r *audiosearch.Run) { named.Store(r.ID, r.Done) }, "UpdateRun")(m)
		around(func(_ *mutant, c *mutate.Call) {
			c.Go()
			results := *mutate.Get[[]audiosearch.Result](c.Out)
			if done, ok := named.Load(*mutate.Get[int64](c.In)); ok && done.(int)%2 == 1 && len(results) > 0 {
				results[0].VideoID = "0" // of the set before
			}
		}, "RunResults")(m)
	}},
	{name: "counts runs and then makes one", breaks: "runs/create-bounded-concurrent",
		mutate: replace("CreateRun", func(m *mutant, ctx context.Context, r audiosearch.Run, most int) error {
			open, err := m.open(ctx)
			conformance.Seam()
			if err == nil && open >= most {
				err = audiosearch.ErrTooManyRuns
			}
			if err != nil {
				return err
			}
			return m.db.CreateRun(ctx, r, 1000)
		})},
	{name: "counts the runs of all organizations", breaks: "runs/create-bounded",
		mutate: replace("CreateRun", func(m *mutant, ctx context.Context, r audiosearch.Run, most int) error {
			open, err := m.open(ctx)
			if err == nil && open >= most {
				err = audiosearch.ErrTooManyRuns
			}
			if err != nil {
				return err
			}
			return m.db.CreateRun(ctx, r, most)
		})},
	{name: "has no bound", breaks: "runs/create-bounded runs/create-bounded-concurrent",
		mutate: arg(func(most *int) { *most = 1000 }, "CreateRun")},
	{name: "forgets how much sound there is", breaks: "runs/create-and-get runs/update", mutate: out(
		func(r *audiosearch.Run) { r.Sound = audiosearch.SoundProgress{} })},
	{name: "knows for the second how much sound is scored", breaks: "runs/create-and-get runs/update", mutate: out(
		func(r *audiosearch.Run) { r.Sound.Done = r.Sound.Done.Truncate(time.Second) })},
	{name: "knows of a thousand hours of sound at most", breaks: "runs/create-and-get runs/update", mutate: out(
		func(r *audiosearch.Run) { r.Sound.Total = min(r.Sound.Total, 1000*time.Hour) })},
	{name: "rounds the speed of scoring", breaks: "runs/create-and-get runs/update", mutate: out(
		func(r *audiosearch.Run) { r.Sound.Speed = math.Round(100*r.Sound.Speed) / 100 })},
}

var overdueMutants = []broken{
	{name: "returns the latest runs first", breaks: "runs/overdue-earliest-first runs/overdue-limit",
		mutate: everyOverdue(func(runs runList, limit int) runList {
			slices.Reverse(runs)
			return runs[:min(limit, len(runs))]
		})},
	{name: "returns runs by their ID", breaks: "runs/overdue-earliest-first runs/overdue-limit",
		mutate: everyOverdue(func(runs runList, limit int) runList {
			slices.SortFunc(runs, func(a, b audiosearch.Run) int { return cmp.Compare(a.ID, b.ID) })
			return runs[:min(limit, len(runs))]
		})},
	{name: "returns runs in any order", breaks: "runs/overdue-earliest-first",
		mutate: out(func(runs *runList) { slices.Reverse(*runs) }, "Overdue")},
	{name: "returns all overdue runs", breaks: "runs/overdue-limit", mutate: arg(func(limit *int) { *limit = 1000 }, "Overdue")},
	{name: "returns one run of a time", breaks: "runs/overdue-limit", mutate: out(func(runs *runList) {
		*runs = slices.CompactFunc(*runs, func(a, b audiosearch.Run) bool { return a.WakeAt.Equal(b.WakeAt) })
	}, "Overdue")},
	{name: "returns runs at the time too", breaks: "runs/overdue-is-strict", mutate: arg(
		func(before *time.Time) { *before = before.Add(time.Microsecond) }, "Overdue")},
	{name: "cuts the time of overdue runs", breaks: "runs/overdue-is-strict", mutate: arg(
		func(before *time.Time) { *before = before.Truncate(time.Microsecond) }, "Overdue")},
	{name: "returns running runs only", breaks: "runs/overdue-every-state", mutate: out(func(runs *runList) {
		*runs = slices.DeleteFunc(*runs, func(r audiosearch.Run) bool { return r.State != audiosearch.StateRunning })
	}, "Overdue")},
	{name: "returns no runs that have ended", breaks: "runs/overdue-every-state", mutate: out(func(runs *runList) {
		*runs = slices.DeleteFunc(*runs, func(r audiosearch.Run) bool { return r.State == audiosearch.StateTerminated })
	}, "Overdue")},
	{name: "takes a zero WakeAt for a time", breaks: "runs/overdue-zero", mutate: func(m *mutant) {
		var zero runList
		in(func(r *audiosearch.Run) {
			if r.WakeAt.IsZero() {
				zero = append(zero, *r)
			}
		}, "CreateRun")(m)
		out(func(runs *runList) { *runs = append(zero, *runs...) }, "Overdue")(m)
	}},
	{name: "goes by the WakeAt that a run was made with", breaks: "runs/overdue-follows-updates", mutate: func(m *mutant) {
		made := make(map[int64]time.Time)
		in(func(r *audiosearch.Run) { made[r.ID] = r.WakeAt }, "CreateRun")(m)
		around(func(_ *mutant, c *mutate.Call) {
			before := *mutate.Get[time.Time](c.In)
			*mutate.Get[time.Time](c.In) = before.Add(10_000 * time.Hour)
			c.Go()
			runs := mutate.Get[runList](c.Out)
			*runs = slices.DeleteFunc(*runs, func(r audiosearch.Run) bool { return !made[r.ID].Before(before) })
		}, "Overdue")(m)
	}},
}

// everyOverdue makes Overdue sort and select by itself: list gets all runs that are overdue.
func everyOverdue(list func(runs runList, limit int) runList) func(*mutant) {
	return around(func(_ *mutant, c *mutate.Call) {
		limit, runs := mutate.Get[int](c.In), mutate.Get[runList](c.Out)
		asked := *limit
		*limit = 1000
		c.Go()
		*runs = list(*runs, asked)
	}, "Overdue")
}
