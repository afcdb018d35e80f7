package audiosearchtest_test

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
	"github.com/seed-6363c74e/mortise/storage/memory"
)

// memories opens a database in memory.
func memories() *memory.DB {
	db, err := memory.Open(context.Background(), nil)
	if err != nil {
		panic(err)
	}
	return db
}

// writes are the methods that another store follows, to have the same.
var writes = []string{"CreateDataset", "PutVideos", "PutScoring", "CreateRun", "UpdateRun", "PutResultVideos", "PutResults"}

// blind lets methods answer as if nothing had been marked: a faithful store beside the
// mutant, to which all is done but the deletion, answers.
func blind(m *mutant, methods ...string) (unmarked plainStore) {
	unmarked = plainStore{memories().AudioSearch().Store.(*memory.AudioSearch)}
	mutate.Around(&m.On, func(c *mutate.Call) {
		c.On(unmarked)
		c.Go()
	}, writes...)
	if len(methods) > 0 {
		mutate.Fill(&m.On, unmarked, methods...)
	}
	return unmarked
}

// hiding are the methods that a deletion hides something from, by the rules that look.
var hiding = map[string][]string{
	"deletion/hides-datasets":   {"Dataset", "ListDatasets", "DeleteDataset"},
	"deletion/refuses-datasets": {"CreateDataset"},
	"deletion/hides-catalog":    {"PutVideos", "Videos", "ListVideos", "DeleteVideo", "MissingKeys"},
	"deletion/hides-scores":     {"PutScoring", "Scorings", "Search", "Unscored", "WindowScores"},
	"deletion/hides-parts":      {"PutPart", "Parts"},
	"deletion/hides-models":     {"Models", "SetModel"},
	"deletion/hides-runs":       {"Run", "UpdateRun", "UpdateRunAndJobs", "PutResultVideos", "PutResults", "RunResults"},
	"deletion/hides-lists":      {"ListRuns", "Overdue"},
	"deletion/hides-counts":     {"Counts", "Backlog"},
	"deletion/refuses-runs":     {"CreateRun"},
}

func blindMutants() (all []broken) {
	for rule, methods := range hiding {
		for _, name := range methods {
			all = append(all, broken{name: "does not look for the mark in " + name, breaks: rule, mutate: func(m *mutant) { blind(m, name) }})
		}
	}
	return all
}

var deletionMutants = []broken{
	{name: "counts runs before it looks for the mark", breaks: "deletion/refuses-runs", mutate: around(func(_ *mutant, c *mutate.Call) {
		if *mutate.Get[int](c.In) == 1 {
			*c.Err() = audiosearch.ErrTooManyRuns
			return
		}
		c.Go()
	}, "CreateRun")},
	{name: "adds a job for a run that is refused", breaks: "deletion/refuses-jobs", mutate: around(func(m *mutant, c *mutate.Call) {
		_ = m.jobs.Add(bg, *mutate.Get[mortise.Job](c.In))
		c.Go()
	}, "CreateRunAndAdd")},
	{name: "looks for the mark and makes a dataset then", breaks: "deletion/creation-concurrent", mutate: looking("CreateDataset")},
	{name: "looks for the mark and makes a run then", breaks: "deletion/run-concurrent", mutate: looking("CreateRun")},
	{name: "looks for the mark and marks then", breaks: "deletion/since-concurrent", mutate: func(m *mutant) {
		var since atomic.Pointer[time.Time]
		m.On.MarkDeleted = func(ctx context.Context, org string, at time.Time) (time.Time, error) {
			if org != "org-a" {
				return m.db.MarkDeleted(ctx, org, at)
			}
			marked := since.Load()
			if marked == nil {
				conformance.Seam()
				marked = &at
				since.Store(marked)
			}
			_, err := m.db.MarkDeleted(ctx, org, at)
			return *marked, err
		}
	}},
	{name: "marks anew", breaks: "deletion/since deletion/durable", mutate: around(func(_ *mutant, c *mutate.Call) {
		c.Go()
		*mutate.Get[time.Time](c.Out) = *mutate.Get[time.Time](c.In)
	}, "MarkDeleted")},
	{name: "marks whether it can or not", breaks: "deletion/ended-context deletion/failure",
		mutate: replace("MarkDeleted", func(m *mutant, ctx context.Context, org string, at time.Time) (time.Time, error) {
			since, err := m.db.MarkDeleted(context.WithoutCancel(ctx), org, at)
			m.failure = nil
			return since, err
		})},
}

// looking makes a method look for the mark, and do what it does then.
func looking(method string) func(*mutant) {
	return func(m *mutant) {
		removesAtOnce(m)
		mutate.Around(&m.On, func(c *mutate.Call) {
			if m.marked.Load() {
				*c.Err() = mortise.ErrDeleted
				return
			}
			conformance.Seam()
			c.Go()
		}, method)
	}
}

// removesAtOnce makes the mutant delete by removing what is there when it marks.
func removesAtOnce(m *mutant) {
	m.On.MarkDeleted = func(ctx context.Context, org string, at time.Time) (time.Time, error) {
		conformance.Seam()
		m.marked.Store(true)
		return at, ctx.Err()
	}
	m.On.RemoveDeleted = func(ctx context.Context, _ string, _ int) (int, bool, error) { return 0, false, ctx.Err() }
}

var removalMutants = []broken{
	{name: "removes what is not marked", breaks: "deletion/unmarked", mutate: around(func(m *mutant, c *mutate.Call) {
		if _, *c.Err() = m.db.MarkDeleted(bg, c.In[1].String(), time.Now()); *c.Err() == nil {
			c.Go()
		}
	}, "RemoveDeleted")},
	{name: "removes neighbours", breaks: "deletion/others steps/remove-deleted", mutate: around(func(m *mutant, c *mutate.Call) {
		for _, other := range []string{"org-b", "org-a2"} {
			_ = m.db.DeleteDataset(bg, other, "set-a")
		}
		c.Go()
	}, "RemoveDeleted")},
	{name: "hides neighbours", breaks: "deletion/others", mutate: around(func(m *mutant, c *mutate.Call) {
		_, _ = m.db.MarkDeleted(bg, c.In[1].String()+"2", *mutate.Get[time.Time](c.In))
		c.Go()
	}, "MarkDeleted")},
	{name: "forgets the mark at the end", breaks: "deletion/resumed", mutate: func(m *mutant) {
		other, ended := blind(m), false
		around(func(_ *mutant, c *mutate.Call) {
			if c.Go(); ended {
				*c.Err() = other.CreateDataset(bg, *mutate.Get[audiosearch.Dataset](c.In))
			}
		}, "CreateDataset")(m)
		around(func(_ *mutant, c *mutate.Call) {
			c.Go()
			ended = ended || *c.Err() == nil && !*mutate.Get[bool](c.Out)
		}, "RemoveDeleted")(m)
	}},
	{name: "leaves the jobs", breaks: "deletion/removes-jobs",
		mutate: replace("RemoveDeleted", func(m *mutant, ctx context.Context, org string, limit int) (int, bool, error) {
			n, more, err := m.db.RemoveDeleted(ctx, org, limit)
			_ = m.jobs.Add(ctx, mortise.Job{Kind: audiosearch.JobKind, Organization: org, ID: "1"})
			return n, more, err
		})},
	{name: "loses the mark", breaks: "deletion/durable", reopen: afresh, mutate: func(*mutant) {}},
}
