package audiosearchtest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// call is one method of a backend, called so that it would succeed if nothing were wrong.
type call struct {
	name string
	do   func(ctx context.Context, org, dataset string) error
}

// ofDataset, ofOrganization and ofAll call methods with whose data it is, if they take that,
// and the arguments.
func ofDataset(name string, method any, args ...any) call {
	return call{name, func(ctx context.Context, org, dataset string) error {
		return conformance.Invoke(ctx, method, append([]any{org, dataset}, args...)...)
	}}
}

func ofOrganization(name string, method any, args ...any) call {
	return call{name, func(ctx context.Context, org, _ string) error {
		return conformance.Invoke(ctx, method, append([]any{org}, args...)...)
	}}
}

func ofAll(name string, method any, args ...any) call {
	return call{name, func(ctx context.Context, _, _ string) error { return conformance.Invoke(ctx, method, args...) }}
}

func (s *subject) datasetCalls() []call {
	return []call{
		ofDataset("Dataset", s.Datasets.Dataset),
		ofOrganization("ListDatasets", s.Datasets.ListDatasets, mortise.Cursor(""), 10),
		ofDataset("DeleteDataset", s.Datasets.DeleteDataset),
		{"CreateDataset", func(ctx context.Context, org, dataset string) error {
			return s.Datasets.CreateDataset(ctx, audiosearch.Dataset{Organization: org, ID: dataset, CreatedAt: moment(0)})
		}},
	}
}

// catalogCalls calls every method of Catalog for the video v.
func (s *subject) catalogCalls() []call {
	v := video("v", nil)
	return []call{
		ofDataset("PutVideos", s.Catalog.PutVideos, []audiosearch.Video{v}),
		ofDataset("Videos", s.Catalog.Videos, []string{v.ID}),
		ofDataset("ListVideos", s.Catalog.ListVideos, mortise.Cursor(""), 10),
		ofDataset("MissingKeys", s.Catalog.MissingKeys, []string{"key"}),
		ofDataset("DeleteVideo", s.Catalog.DeleteVideo, v.ID),
	}
}

// scoreCalls calls every method of ScoreStore for the video v, PutScoring first.
func (s *subject) scoreCalls() []call {
	v := video("v", nil)
	return []call{
		ofDataset("PutScoring", s.Scores.PutScoring, v.ID, v.Path, scoring(modelX, 2, "7"), [][]uint16{{10, 20}}),
		ofDataset("Scorings", s.Scores.Scorings, modelX, []string{v.ID}),
		ofDataset("Search", s.Scores.Search, audiosearch.ScoreQuery{Model: modelX, Class: "7", Limit: 10}),
		ofDataset("Unscored", s.Scores.Unscored, audiosearch.UnscoredQuery{Model: modelX, Limit: 10}),
		ofDataset("WindowScores", s.Scores.WindowScores, v.ID, modelX, 0, 10),
	}
}

// partCalls calls every method of PartStore for the video v.
func (s *subject) partCalls() []call {
	p := partOf(video("v", nil), scoring(modelX, 2, "7"), 0)
	return []call{
		ofDataset("PutPart", s.Parts.PutPart, p, [][]uint16{{10, 20}}),
		ofDataset("Parts", s.Parts.Parts, p),
	}
}

// modelCalls calls every method of ModelStore, each of which works as often as it is called.
func (s *subject) modelCalls() []call {
	families := 0
	return []call{
		ofDataset("Models", s.Models.Models),
		{"SetModel", func(ctx context.Context, org, dataset string) error {
			families++
			c := audiosearch.ModelChange{Family: fmt.Sprint("family ", families), To: fmt.Sprint("model ", families), At: moment(0)}
			return s.Models.SetModel(ctx, org, dataset, c)
		}},
	}
}

// runCalls calls every method of Runs and ResultStore, and of Pruner and TxStore if it
// is one, for a run that is there and has not ended.
func (s *subject) runCalls(id int64) []call {
	set := uuid.New()
	calls := []call{
		{"CreateRun", func(ctx context.Context, org, _ string) error {
			return s.Runs.CreateRun(ctx, plainRun(org, 0), manyRuns)
		}},
		ofOrganization("Run", s.Runs.Run, id),
		ofOrganization("UpdateRun", s.Runs.UpdateRun, id, func(*audiosearch.Run) error { return nil }),
		ofOrganization("PutResultVideos", s.Results.PutResultVideos, id, set, someVideos()),
		ofOrganization("PutResults", s.Results.PutResults, id, set, nil),
		ofOrganization("RunResults", s.Results.RunResults, id, 0),
		ofOrganization("ListRuns", s.Runs.ListRuns, audiosearch.RunQuery{Limit: 10}),
		ofAll("Overdue", s.Runs.Overdue, moment(0), 10),
	}
	if p, ok := s.Runs.(audiosearch.Pruner); ok {
		calls = append(calls, ofAll("PruneRuns", p.PruneRuns, moment(-1000*time.Hour), 10), ofAll("TrimRuns", p.TrimRuns, manyRuns, 10))
	}
	if tx, ok := s.Runs.(audiosearch.TxStore); ok {
		calls = append(calls, call{"CreateRunAndAdd", func(ctx context.Context, org, _ string) error {
			r := plainRun(org, 0)
			return tx.CreateRunAndAdd(ctx, r, manyRuns, r.Job())
		}}, call{"UpdateRunAndJobs", func(ctx context.Context, org, _ string) error {
			r := plainRun(org, 0)
			none := mortise.Lease{Job: r.Job(), Token: uuid.New()}
			return tx.UpdateRunAndJobs(ctx, org, id, withJobs(func(*audiosearch.Run) error { return nil }), none)
		}})
	}
	return calls
}

// allFail makes the calls for setA of orgA and requires that each is a failure.
func allFail(ctx context.Context, t *testing.T, calls []call) {
	t.Helper()
	for _, c := range calls {
		isFailure(t, c.name, c.do(ctx, orgA, setA))
	}
}

// allWork makes the calls for setA of orgA and requires that none fails.
func allWork(t *testing.T, calls []call) {
	t.Helper()
	for _, c := range calls {
		require.NoError(t, c.do(t.Context(), orgA, setA), c.name)
	}
}
