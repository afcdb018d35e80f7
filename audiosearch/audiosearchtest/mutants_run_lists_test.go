package audiosearchtest_test

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
)

type runList = []audiosearch.Run

// everyRunQuery applies change to what ListRuns is asked.
func everyRunQuery(change func(org *string, q *audiosearch.RunQuery)) func(*mutant) {
	return around(func(_ *mutant, c *mutate.Call) {
		change(mutate.Get[string](c.In), mutate.Get[audiosearch.RunQuery](c.In))
		c.Go()
	}, "ListRuns")
}

// everyRunList makes ListRuns sort and select by itself: list gets all runs of the
// organization.
func everyRunList(list func(runs runList, q audiosearch.RunQuery) runList) func(*mutant) {
	return around(func(_ *mutant, c *mutate.Call) {
		q, runs := mutate.Get[audiosearch.RunQuery](c.In), mutate.Get[runList](c.Out)
		asked := *q
		*q = audiosearch.RunQuery{Limit: 10_000}
		c.Go()
		*runs = list(*runs, asked)
		*runs = (*runs)[:min(asked.Limit, len(*runs))]
	}, "ListRuns")
}

// selected returns the runs that q selects.
func selected(runs runList, q audiosearch.RunQuery) (found runList) {
	for i := range runs {
		if q.Matches(&runs[i]) {
			found = append(found, runs[i])
		}
	}
	return found
}

// asItWas makes the mutant list runs by what an update has changed since.
func asItWas(keep func(was, is *audiosearch.Run)) func(*mutant) {
	return func(m *mutant) {
		made := make(map[int64]audiosearch.Run)
		in(func(r *audiosearch.Run) { made[r.ID] = r.Clone() }, "CreateRun")(m)
		everyRunList(func(runs runList, q audiosearch.RunQuery) (found runList) {
			for _, r := range runs {
				was, seen := made[r.ID], r
				keep(&was, &seen)
				if q.Matches(&seen) {
					found = append(found, r)
				}
			}
			return found
		})(m)
	}
}

var runListMutants = []broken{
	{name: "fails to list no runs", breaks: "runs/list-empty", mutate: around(func(_ *mutant, c *mutate.Call) {
		if c.Go(); *c.Err() == nil && len(*mutate.Get[runList](c.Out)) == 0 {
			*c.Err() = audiosearch.ErrRunNotFound
		}
	}, "ListRuns")},
	{name: "lists oldest runs first", breaks: "runs/list-newest-first runs/list-ties-by-id runs/list-matches",
		mutate: everyRunList(func(runs runList, q audiosearch.RunQuery) runList {
			slices.Reverse(runs)
			return selected(runs, q)
		})},
	{name: "lists runs by their latest sign of life", breaks: "runs/list-newest-first",
		mutate: everyRunList(func(runs runList, q audiosearch.RunQuery) runList {
			slices.SortStableFunc(runs, func(a, b audiosearch.Run) int {
				return b.UpdatedAt.Compare(a.UpdatedAt)
			})
			return selected(runs, q)
		})},
	{name: "lists the smallest ID first", breaks: "runs/list-ties-by-id",
		mutate: everyRunList(func(runs runList, q audiosearch.RunQuery) runList {
			slices.Reverse(runs)
			slices.SortStableFunc(runs, func(a, b audiosearch.Run) int {
				return b.CreatedAt.Compare(a.CreatedAt)
			})
			return selected(runs, q)
		})},
	{name: "knows IDs of 32 bits in lists", breaks: "runs/list-ties-by-id",
		mutate: arg(func(q *audiosearch.RunQuery) { q.After.ID = idOf(int64(int32(q.AfterID()))) })},
	{name: "lists the runs of every organization", breaks: "runs/list-of-organization",
		mutate: arg(func(org *string) { *org = "acme" }, "ListRuns")},
	{name: "lists the runs of organizations that are alike", breaks: "runs/list-of-organization",
		mutate: everyRunQuery(func(org *string, q *audiosearch.RunQuery) {
			if q.Actor != "" {
				*org = strings.TrimSpace(*org)
			}
		})},
	{name: "lists runs without their query", breaks: "runs/list-whole", mutate: out(
		func(r *audiosearch.Run) { r.Query.Filters = nil }, "ListRuns")},
	{name: "lists runs with results", breaks: "runs/list-whole", mutate: out(
		func(r *audiosearch.Run) { r.Results = []audiosearch.Result{} }, "ListRuns")},
	{name: "lists the same runs twice", breaks: "runs/list-whole", mutate: func(m *mutant) {
		var own []audiosearch.Run
		m.On.ListRuns = func(
			ctx context.Context, org string, q audiosearch.RunQuery,
		) ([]audiosearch.Run, error) {
			if own == nil {
				own, _ = m.db.ListRuns(ctx, org, q)
			}
			return slices.Clone(own), nil
		}
	}},
	{name: "lists runs over datasets that are alike", breaks: "runs/list-by-dataset",
		mutate: everyRunList(func(runs runList, q audiosearch.RunQuery) runList {
			dataset := q.Dataset
			q.Dataset = ""
			return slices.DeleteFunc(selected(runs, q), func(r audiosearch.Run) bool {
				return dataset != "" && !strings.EqualFold(r.Query.Dataset, dataset)
			})
		})},
	{name: "ignores the dataset with an actor", breaks: "runs/list-by-dataset runs/list-by-actor", mutate: arg(func(q *audiosearch.RunQuery) {
		if q.Actor != "" && q.Dataset != "" {
			q.Actor, q.Dataset = "", ""
		}
	})},
	{name: "lists runs by the dataset of old", breaks: "runs/list-by-dataset",
		mutate: asItWas(func(was, is *audiosearch.Run) { is.Query.Dataset = was.Query.Dataset })},
	{name: "lists runs by the actor of old", breaks: "runs/list-by-actor",
		mutate: asItWas(func(was, is *audiosearch.Run) { is.Actor = was.Actor })},
	{name: "lists runs by the state of old", breaks: "runs/list-by-state",
		mutate: asItWas(func(was, is *audiosearch.Run) { is.State = was.State })},
	{name: "takes open runs for those that run", breaks: "runs/list-by-state runs/list-matches", mutate: arg(func(q *audiosearch.RunQuery) {
		if q.Open && q.State == "" {
			q.State = audiosearch.StateRunning
		}
	})},
	{name: "ignores the state of open runs", breaks: "runs/list-empty runs/list-matches", mutate: arg(func(q *audiosearch.RunQuery) {
		if q.Open {
			q.State = ""
		}
	})},
	{name: "lists what was created after From", breaks: "runs/list-from runs/list-matches", mutate: arg(func(q *audiosearch.RunQuery) {
		if !q.From.IsZero() {
			q.From = q.From.Add(time.Microsecond)
		}
	})},
	{name: "compares runs by the clock on the wall", breaks: "runs/list-from", mutate: arg(func(q *audiosearch.RunQuery) {
		_, offset := q.After.At.Zone()
		q.After.At = q.After.At.Add(time.Duration(offset) * time.Second)
	})},
	{name: "skips runs of equal times", breaks: "runs/list-pages runs/list-matches",
		mutate: arg(func(q *audiosearch.RunQuery) { q.After.ID = uuid.Nil })},
	{name: "repeats runs of equal times", breaks: "runs/list-pages runs/list-matches", mutate: arg(func(q *audiosearch.RunQuery) {
		if !q.After.IsZero() {
			q.After.ID = uuid.Max
		}
	})},
	{name: "lists one run more", breaks: "runs/list-pages", mutate: arg(func(q *audiosearch.RunQuery) { q.Limit++ })},
	{name: "pages runs by number", breaks: "runs/list-pages-while-runs-change", mutate: func(m *mutant) {
		shown := 0
		everyRunList(func(runs runList, q audiosearch.RunQuery) runList {
			if q.After.IsZero() {
				shown = 0
			}
			q.After = mortise.Position{}
			found := selected(runs, q)
			found = found[min(shown, len(found)):]
			shown += min(q.Limit, len(found))
			return found
		})(m)
	}},
	{name: "needs the run of a position", breaks: "runs/list-pages-while-runs-change",
		mutate: everyRunList(func(runs runList, q audiosearch.RunQuery) runList {
			before := q.After
			q.After = mortise.Position{}
			found := selected(runs, q)
			at := slices.IndexFunc(found, func(r audiosearch.Run) bool { return r.Position() == before })
			return found[at+1:]
		})},
}

// idOf is the ID of the position of a run.
func idOf(id int64) uuid.UUID { return (&audiosearch.Run{ID: id}).Position().ID }
