package audiosearchtest_test

import (
	"context"
	"slices"
	"strings"
	"time"

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
		q, page := mutate.Get[audiosearch.RunQuery](c.In), mutate.Get[mortise.Page[audiosearch.Run]](c.Out)
		asked := *q
		*q = audiosearch.RunQuery{Limit: 10_000}
		c.Go()
		page.Items = list(page.Items, asked)
		page.Items = page.Items[:min(asked.Limit, len(page.Items))]
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
	{name: "lists oldest runs first", breaks: "runs/list-newest-first runs/list-matches",
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
		m.On.ListRuns = func(ctx context.Context, org string, q audiosearch.RunQuery) (page mortise.Page[audiosearch.Run], err error) {
			if own == nil {
				page, err = m.db.ListRuns(ctx, org, q)
				own = page.Items
			}
			return mortise.Page[audiosearch.Run]{Items: slices.Clone(own)}, err
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
	{name: "ignores the state of open runs", breaks: "runs/list-matches", mutate: arg(func(q *audiosearch.RunQuery) {
		if q.Open {
			q.State = ""
		}
	})},
	{name: "lists what was created after From", breaks: "runs/list-from runs/list-matches", mutate: arg(func(q *audiosearch.RunQuery) {
		if !q.From.IsZero() {
			q.From = q.From.Add(time.Microsecond)
		}
	})},
}
