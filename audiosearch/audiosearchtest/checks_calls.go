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
)

// call is one method of a backend, called so that it would succeed if nothing were wrong.
type call struct {
	name string
	do   func(ctx context.Context, org, dataset string) error
}

func (s *subject) datasetCalls() []call {
	return []call{
		{"Dataset", func(ctx context.Context, org, dataset string) error {
			_, err := s.Datasets.Dataset(ctx, org, dataset)
			return err
		}},
		{"ListDatasets", func(ctx context.Context, org, _ string) error {
			_, err := s.Datasets.ListDatasets(ctx, org, "", 10)
			return err
		}},
		{"DeleteDataset", func(ctx context.Context, org, dataset string) error {
			return s.Datasets.DeleteDataset(ctx, org, dataset)
		}},
		{"CreateDataset", func(ctx context.Context, org, dataset string) error {
			return s.Datasets.CreateDataset(ctx, audiosearch.Dataset{Organization: org, ID: dataset, CreatedAt: moment(0)})
		}},
	}
}

// catalogCalls calls every method of Catalog for the video v.
func (s *subject) catalogCalls() []call {
	v := video("v", nil)
	return []call{
		{"PutVideos", func(ctx context.Context, org, dataset string) error {
			return s.Catalog.PutVideos(ctx, org, dataset, []audiosearch.Video{v})
		}},
		{"Videos", func(ctx context.Context, org, dataset string) error {
			_, _, err := s.Catalog.Videos(ctx, org, dataset, []string{v.ID})
			return err
		}},
		{"ListVideos", func(ctx context.Context, org, dataset string) error {
			_, err := s.Catalog.ListVideos(ctx, org, dataset, "", 10)
			return err
		}},
		{"MissingKeys", func(ctx context.Context, org, dataset string) error {
			_, err := s.Catalog.MissingKeys(ctx, org, dataset, []string{"key"})
			return err
		}},
		{"DeleteVideo", func(ctx context.Context, org, dataset string) error {
			return s.Catalog.DeleteVideo(ctx, org, dataset, v.ID)
		}},
	}
}

// scoreCalls calls every method of ScoreStore for the video v, PutScoring first.
func (s *subject) scoreCalls() []call {
	v := video("v", nil)
	return []call{
		{"PutScoring", func(ctx context.Context, org, dataset string) error {
			return s.Scores.PutScoring(ctx, org, dataset, v.ID, v.Path, scoring(modelX, 2, "7"), [][]uint16{{10, 20}})
		}},
		{"Scorings", func(ctx context.Context, org, dataset string) error {
			_, err := s.Scores.Scorings(ctx, org, dataset, modelX, []string{v.ID})
			return err
		}},
		{"Search", func(ctx context.Context, org, dataset string) error {
			_, err := s.Scores.Search(ctx, org, dataset, audiosearch.ScoreQuery{Model: modelX, Class: "7", Limit: 10})
			return err
		}},
		{"Unscored", func(ctx context.Context, org, dataset string) error {
			_, err := s.Scores.Unscored(ctx, org, dataset, audiosearch.UnscoredQuery{Model: modelX, Limit: 10})
			return err
		}},
		{"WindowScores", func(ctx context.Context, org, dataset string) error {
			_, err := s.Scores.WindowScores(ctx, org, dataset, v.ID, modelX, 0, 10)
			return err
		}},
	}
}

// partCalls calls every method of PartStore for the video v.
func (s *subject) partCalls() []call {
	p := partOf(video("v", nil), scoring(modelX, 2, "7"), 0)
	return []call{
		{"PutPart", func(ctx context.Context, org, dataset string) error {
			_, err := s.Parts.PutPart(ctx, org, dataset, p, [][]uint16{{10, 20}})
			return err
		}},
		{"Parts", func(ctx context.Context, org, dataset string) error {
			_, err := s.Parts.Parts(ctx, org, dataset, p)
			return err
		}},
	}
}

// modelCalls calls every method of ModelStore, each of which works as often as it is called.
func (s *subject) modelCalls() []call {
	families := 0
	return []call{
		{"Models", func(ctx context.Context, org, dataset string) error {
			_, err := s.Models.Models(ctx, org, dataset)
			return err
		}},
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
		{"Run", func(ctx context.Context, org, _ string) error { _, err := s.Runs.Run(ctx, org, id); return err }},
		{"UpdateRun", func(ctx context.Context, org, _ string) error {
			return s.Runs.UpdateRun(ctx, org, id, func(*audiosearch.Run) error { return nil })
		}},
		{"PutResultVideos", func(ctx context.Context, org, _ string) error {
			return s.Results.PutResultVideos(ctx, org, id, set, someVideos())
		}},
		{"PutResults", func(ctx context.Context, org, _ string) error {
			return s.Results.PutResults(ctx, org, id, set, nil)
		}},
		{"RunResults", func(ctx context.Context, org, _ string) error {
			_, err := s.Results.RunResults(ctx, org, id, 0)
			return err
		}},
		{"ListRuns", func(ctx context.Context, org, _ string) error {
			_, err := s.Runs.ListRuns(ctx, org, audiosearch.RunQuery{Limit: 10})
			return err
		}},
		{"StaleRuns", func(ctx context.Context, _, _ string) error {
			_, err := s.Runs.StaleRuns(ctx, moment(0), moment(0), 10)
			return err
		}},
	}
	if p, ok := s.Runs.(audiosearch.Pruner); ok {
		calls = append(calls, call{"PruneRuns", func(ctx context.Context, _, _ string) error {
			_, err := p.PruneRuns(ctx, moment(-1000*time.Hour), 10)
			return err
		}}, call{"TrimRuns", func(ctx context.Context, _, _ string) error {
			_, err := p.TrimRuns(ctx, manyRuns, 10)
			return err
		}})
	}
	if tx, ok := s.Runs.(audiosearch.TxStore); ok {
		calls = append(calls, call{"CreateRunAndAdd", func(ctx context.Context, org, _ string) error {
			r := plainRun(org, 0)
			return tx.CreateRunAndAdd(ctx, r, manyRuns, r.Job())
		}}, call{"UpdateRunAndRemove", func(ctx context.Context, org, _ string) error {
			r := plainRun(org, 0)
			none := mortise.Lease{Job: r.Job(), Token: uuid.New()}
			return tx.UpdateRunAndRemove(ctx, org, id, func(*audiosearch.Run) error { return nil }, none)
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
