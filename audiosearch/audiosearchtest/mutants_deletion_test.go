package audiosearchtest_test

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/storage/memory"
)

func (m *mutant) MarkDeleted(ctx context.Context, org string, at time.Time) (time.Time, error) {
	if err := m.fail(); err != nil {
		return time.Time{}, err
	}
	return m.markDeleted(ctx, org, at)
}

func (m *mutant) RemoveDeleted(ctx context.Context, org string, limit int) (bool, error) {
	if err := m.fail(); err != nil {
		return false, err
	}
	return m.removeDeleted(ctx, org, limit)
}

// memories opens a database in memory.
func memories() *memory.DB {
	db, err := memory.Open(context.Background(), nil)
	if err != nil {
		panic(err)
	}
	return db
}

// blind lets one method answer as if nothing had been marked: a faithful mutant beside
// it, to which all is done but the deletion, answers.
func blind(m *mutant, use func(m *mutant, unmarked plainStore)) {
	other := plainStore{memories().AudioSearch().Store.(*memory.AudioSearch)}
	m.createDataset = func(ctx context.Context, d audiosearch.Dataset) error {
		_ = other.CreateDataset(ctx, d)
		return m.db.CreateDataset(ctx, d)
	}
	m.putVideos = func(ctx context.Context, org, dataset string, videos []audiosearch.Video) error {
		_ = other.PutVideos(ctx, org, dataset, videos)
		return m.db.PutVideos(ctx, org, dataset, videos)
	}
	m.putScoring = func(ctx context.Context, org, dataset, video, path string, s audiosearch.Scoring, columns [][]uint16) error {
		_ = other.PutScoring(ctx, org, dataset, video, path, s, columns)
		return m.db.PutScoring(ctx, org, dataset, video, path, s, columns)
	}
	m.createRun = func(ctx context.Context, r audiosearch.Run, most int) error {
		_ = other.CreateRun(ctx, r, most)
		return m.db.CreateRun(ctx, r, most)
	}
	m.updateRun = func(ctx context.Context, org string, id int64, update func(*audiosearch.Run) error) error {
		_ = other.UpdateRun(ctx, org, id, update)
		return m.db.UpdateRun(ctx, org, id, update)
	}
	m.putFound = func(ctx context.Context, org string, run int64, set uuid.UUID, videos []audiosearch.Video) error {
		_ = other.PutResultVideos(ctx, org, run, set, videos)
		return m.db.PutResultVideos(ctx, org, run, set, videos)
	}
	m.putResults = func(ctx context.Context, org string, run int64, set uuid.UUID, results []audiosearch.Result) error {
		_ = other.PutResults(ctx, org, run, set, results)
		return m.db.PutResults(ctx, org, run, set, results)
	}
	use(m, other)
}

// answers makes a mutant of each method that a deletion hides something from.
func answers(name string, breaks []string, use func(m *mutant, unmarked plainStore)) broken {
	return broken{name: "does not look for the mark in " + name, breaks: breaks, mutate: func(m *mutant) { blind(m, use) }}
}

var deletionMutants = []broken{
	answers("Dataset", []string{"deletion/hides-datasets"},
		func(m *mutant, db plainStore) { m.dataset = db.Dataset }),
	answers("ListDatasets", []string{"deletion/hides-datasets"},
		func(m *mutant, db plainStore) { m.listDatasets = db.ListDatasets }),
	answers("DeleteDataset", []string{"deletion/hides-datasets"},
		func(m *mutant, db plainStore) { m.deleteDataset = db.DeleteDataset }),
	answers("CreateDataset", []string{"deletion/refuses-datasets"},
		func(m *mutant, db plainStore) { m.createDataset = db.CreateDataset }),
	answers("PutVideos", []string{"deletion/hides-catalog"},
		func(m *mutant, db plainStore) { m.putVideos = db.PutVideos }),
	answers("Videos", []string{"deletion/hides-catalog"},
		func(m *mutant, db plainStore) { m.videos = db.Videos }),
	answers("ListVideos", []string{"deletion/hides-catalog"},
		func(m *mutant, db plainStore) { m.listVideos = db.ListVideos }),
	answers("DeleteVideo", []string{"deletion/hides-catalog"},
		func(m *mutant, db plainStore) { m.deleteVideo = db.DeleteVideo }),
	answers("MissingKeys", []string{"deletion/hides-catalog"},
		func(m *mutant, db plainStore) { m.missingKeys = db.MissingKeys }),
	answers("PutScoring", []string{"deletion/hides-scores"},
		func(m *mutant, db plainStore) { m.putScoring = db.PutScoring }),
	answers("Scorings", []string{"deletion/hides-scores"},
		func(m *mutant, db plainStore) { m.scorings = db.Scorings }),
	answers("Search", []string{"deletion/hides-scores"},
		func(m *mutant, db plainStore) { m.search = db.Search }),
	answers("Unscored", []string{"deletion/hides-scores"},
		func(m *mutant, db plainStore) { m.unscored = db.Unscored }),
	answers("WindowScores", []string{"deletion/hides-scores"},
		func(m *mutant, db plainStore) { m.windowScores = db.WindowScores }),
	answers("PutPart", []string{"deletion/hides-parts"},
		func(m *mutant, db plainStore) { m.putPart = db.PutPart }),
	answers("Parts", []string{"deletion/hides-parts"},
		func(m *mutant, db plainStore) { m.parts = db.Parts }),
	answers("Models", []string{"deletion/hides-models"},
		func(m *mutant, db plainStore) { m.models = db.Models }),
	answers("SetModel", []string{"deletion/hides-models"},
		func(m *mutant, db plainStore) { m.setModel = db.SetModel }),
	answers("Run", []string{"deletion/hides-runs"},
		func(m *mutant, db plainStore) { m.getRun = db.Run }),
	answers("UpdateRun", []string{"deletion/hides-runs"},
		func(m *mutant, db plainStore) { m.updateRun = db.UpdateRun }),
	answers("UpdateRunAndRemove", []string{"deletion/hides-runs"},
		func(m *mutant, db plainStore) { m.updateAndRemove = db.UpdateRunAndRemove }),
	answers("PutResultVideos", []string{"deletion/hides-runs"},
		func(m *mutant, db plainStore) { m.putFound = db.PutResultVideos }),
	answers("PutResults", []string{"deletion/hides-runs"},
		func(m *mutant, db plainStore) { m.putResults = db.PutResults }),
	answers("RunResults", []string{"deletion/hides-runs"},
		func(m *mutant, db plainStore) { m.runResults = db.RunResults }),
	answers("ListRuns", []string{"deletion/hides-lists"},
		func(m *mutant, db plainStore) { m.listRuns = db.ListRuns }),
	answers("StaleRuns", []string{"deletion/hides-lists"},
		func(m *mutant, db plainStore) { m.staleRuns = db.StaleRuns }),
	answers("Stats", []string{"deletion/hides-counts"},
		func(m *mutant, db plainStore) { m.stats = db.Stats }),
	answers("StatsAll", []string{"deletion/hides-counts"},
		func(m *mutant, db plainStore) { m.statsAll = db.StatsAll }),
	answers("CreateRun", []string{"deletion/refuses-runs"},
		func(m *mutant, db plainStore) { m.createRun = db.CreateRun }),
	{name: "counts runs before it looks for the mark", breaks: []string{"deletion/refuses-runs"}, mutate: func(m *mutant) {
		m.createRun = func(ctx context.Context, r audiosearch.Run, most int) error {
			if most == 1 {
				return audiosearch.ErrTooManyRuns
			}
			return m.db.CreateRun(ctx, r, most)
		}
	}},
	{name: "adds a job for a run that is refused", breaks: []string{"deletion/refuses-jobs"}, mutate: func(m *mutant) {
		m.createAndAdd = func(ctx context.Context, r audiosearch.Run, most int, j mortise.Job) error {
			_ = m.jobs.Add(ctx, j)
			return m.db.CreateRunAndAdd(ctx, r, most, j)
		}
	}},
	{name: "looks for the mark and makes a dataset then", breaks: []string{"deletion/creation-concurrent"}, mutate: func(m *mutant) {
		m.removesAtOnce()
		m.createDataset = func(ctx context.Context, d audiosearch.Dataset) error {
			if m.marked.Load() {
				return audiosearch.ErrDeleted
			}
			conformance.Seam()
			return m.db.CreateDataset(ctx, d)
		}
	}},
	{name: "looks for the mark and makes a run then", breaks: []string{"deletion/run-concurrent"}, mutate: func(m *mutant) {
		m.removesAtOnce()
		m.createRun = func(ctx context.Context, r audiosearch.Run, most int) error {
			if m.marked.Load() {
				return audiosearch.ErrDeleted
			}
			conformance.Seam()
			return m.db.CreateRun(ctx, r, most)
		}
	}},
	{name: "looks for the mark and marks then", breaks: []string{"deletion/since-concurrent"}, mutate: func(m *mutant) {
		var since atomic.Pointer[time.Time]
		m.markDeleted = func(ctx context.Context, org string, at time.Time) (time.Time, error) {
			if org != "org-a" {
				return m.db.MarkDeleted(ctx, org, at)
			}
			if since.Load() == nil {
				conformance.Seam()
				since.Store(&at)
			}
			_, err := m.db.MarkDeleted(ctx, org, at)
			return *since.Load(), err
		}
	}},
	{name: "marks anew", breaks: []string{"deletion/since", "deletion/durable"}, mutate: func(m *mutant) {
		m.markDeleted = func(ctx context.Context, org string, at time.Time) (time.Time, error) {
			_, err := m.db.MarkDeleted(ctx, org, at)
			return at, err
		}
	}},
	{name: "marks whether it can or not", breaks: []string{"deletion/ended-context", "deletion/failure"}, mutate: func(m *mutant) {
		m.markDeleted = func(ctx context.Context, org string, at time.Time) (time.Time, error) {
			since, err := m.db.MarkDeleted(context.WithoutCancel(ctx), org, at)
			m.failure = nil
			return since, err
		}
	}},
}

// removesAtOnce makes the mutant delete by removing what is there when it marks.
func (m *mutant) removesAtOnce() {
	m.markDeleted = func(ctx context.Context, org string, at time.Time) (time.Time, error) {
		conformance.Seam()
		m.marked.Store(true)
		return at, ctx.Err()
	}
	m.removeDeleted = func(ctx context.Context, _ string, _ int) (bool, error) { return false, ctx.Err() }
}

var removalMutants = []broken{
	{name: "removes what is not marked", breaks: []string{"deletion/unmarked"}, mutate: func(m *mutant) {
		m.removeDeleted = func(ctx context.Context, org string, limit int) (bool, error) {
			if _, err := m.db.MarkDeleted(ctx, org, time.Now()); err != nil {
				return false, err
			}
			return m.db.RemoveDeleted(ctx, org, limit)
		}
	}},
	{name: "removes neighbours", breaks: []string{"deletion/others", "deletion/remove-concurrent"}, mutate: func(m *mutant) {
		m.removeDeleted = func(ctx context.Context, org string, limit int) (bool, error) {
			for _, other := range []string{"org-b", "org-a2"} {
				_ = m.db.DeleteDataset(ctx, other, "set-a")
			}
			return m.db.RemoveDeleted(ctx, org, limit)
		}
	}},
	{name: "hides neighbours", breaks: []string{"deletion/others"}, mutate: func(m *mutant) {
		m.markDeleted = func(ctx context.Context, org string, at time.Time) (time.Time, error) {
			if _, err := m.db.MarkDeleted(ctx, org+"2", at); err != nil {
				return time.Time{}, err
			}
			return m.db.MarkDeleted(ctx, org, at)
		}
	}},
	{name: "removes all at once", breaks: []string{"deletion/steps"}, mutate: func(m *mutant) {
		m.removeDeleted = func(ctx context.Context, org string, _ int) (bool, error) { return m.db.RemoveDeleted(ctx, org, 1000) }
	}},
	{name: "never comes to an end", breaks: []string{"deletion/steps", "deletion/remove-concurrent"}, mutate: func(m *mutant) {
		m.removeDeleted = func(ctx context.Context, org string, limit int) (bool, error) {
			_, err := m.db.RemoveDeleted(ctx, org, limit)
			return true, err
		}
	}},
	{name: "forgets the mark at the end", breaks: []string{"deletion/resumed"}, mutate: func(m *mutant) {
		blind(m, func(m *mutant, other plainStore) {
			ended := false
			m.createDataset = func(ctx context.Context, d audiosearch.Dataset) error {
				if ended {
					return other.CreateDataset(ctx, d)
				}
				return m.db.CreateDataset(ctx, d)
			}
			m.removeDeleted = func(ctx context.Context, org string, limit int) (bool, error) {
				more, err := m.db.RemoveDeleted(ctx, org, limit)
				ended = ended || err == nil && !more
				return more, err
			}
		})
	}},
	{name: "leaves the jobs", breaks: []string{"deletion/removes-jobs"}, mutate: func(m *mutant) {
		m.removeDeleted = func(ctx context.Context, org string, limit int) (bool, error) {
			more, err := m.db.RemoveDeleted(ctx, org, limit)
			_ = m.jobs.Add(ctx, mortise.Job{Kind: audiosearch.JobKind, Organization: org, ID: "1"})
			return more, err
		}
	}},
	{name: "loses the mark", breaks: []string{"deletion/durable"}, reopen: afresh, mutate: func(*mutant) {}},
}
