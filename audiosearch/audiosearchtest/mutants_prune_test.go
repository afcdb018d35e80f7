package audiosearchtest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/audiosearchtest"
)

var pruneMutants = []broken{
	{name: "prunes nothing and counts",
		breaks: []string{"runpruner/removes", "runpruner/limit"}, mutate: func(m *mutant) {
			m.pruneRuns = func(context.Context, time.Time, int) (int, error) { return 1, nil }
		}},
	{name: "prunes at the time too",
		breaks: []string{"runpruner/before-is-strict"}, mutate: func(m *mutant) {
			m.pruneRuns = func(ctx context.Context, before time.Time, limit int) (int, error) {
				return m.db.PruneRuns(ctx, before.Add(time.Microsecond), limit)
			}
		}},
	{name: "prunes what has not finished",
		breaks: []string{"runpruner/not-finished"}, mutate: func(m *mutant) {
			m.pruneRuns = func(ctx context.Context, before time.Time, limit int) (int, error) {
				stale, _ := m.db.StaleRuns(ctx, before, time.Time{}, limit)
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

	{name: "trims nothing and counts",
		breaks: []string{"runpruner/trim", "runpruner/durable"}, mutate: func(m *mutant) {
			m.trimRuns = func(context.Context, int, int) (int, error) { return 1, nil }
		}},
	{name: "keeps so many of all organizations",
		breaks: []string{"runpruner/trim"}, mutate: func(m *mutant) {
			m.trimRuns = func(ctx context.Context, keep, limit int) (int, error) {
				n, err := m.db.TrimRuns(ctx, keep, limit)
				oldest := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
				more, _ := m.db.PruneRuns(ctx, oldest, limit)
				return n + more, err
			}
		}},
	{name: "trims the greater ID first",
		breaks: []string{"runpruner/trim-ties"}, mutate: func(m *mutant) {
			var ids []int64
			m.createRun = func(ctx context.Context, r audiosearch.Run, most int) error {
				ids = append(ids, r.ID)
				r.ID = -r.ID
				return m.db.CreateRun(ctx, r, most)
			}
			m.getRun = func(ctx context.Context, org string, id int64) (audiosearch.Run, error) {
				r, err := m.db.Run(ctx, org, -id)
				r.ID = id
				return r, err
			}
			m.updateRun = func(
				ctx context.Context, org string, id int64, update func(*audiosearch.Run) error,
			) error {
				return m.db.UpdateRun(ctx, org, -id, update)
			}
			m.putFound = func(
				ctx context.Context, org string, run int64, set uuid.UUID, videos []audiosearch.Video,
			) error {
				return m.db.PutResultVideos(ctx, org, -run, set, videos)
			}
			m.putResults = func(
				ctx context.Context, org string, run int64, set uuid.UUID, results []audiosearch.Result,
			) error {
				return m.db.PutResults(ctx, org, -run, set, results)
			}
		}},
	{name: "counts runs that have not ended",
		breaks: []string{"runpruner/trim-not-ended"}, mutate: func(m *mutant) {
			m.trimRuns = func(ctx context.Context, keep, limit int) (int, error) {
				open, err := m.db.StaleRuns(ctx, time.Now().Add(10_000*time.Hour), time.Time{}, 1000)
				if err != nil {
					return 0, err
				}
				return m.db.TrimRuns(ctx, max(keep-len(open), 0), limit)
			}
		}},
	{name: "trims without limit", breaks: []string{"runpruner/trim-limit"}, mutate: func(m *mutant) {
		m.trimRuns = func(ctx context.Context, keep, _ int) (int, error) {
			return m.db.TrimRuns(ctx, keep, 1000)
		}
	}},
}

// afresh is a Reopen that loses everything.
func afresh(t *testing.T, _ audiosearchtest.Backend) audiosearchtest.Backend {
	return newMutant(t).backend()
}

var otherMutants = []broken{
	{name: "loses its data", reopen: afresh, mutate: func(*mutant) {}, breaks: []string{
		"datasets/durable", "catalog/durable", "scores/durable", "classes/durable", "parts/durable",
		"models/durable", "models/order-durable", "runs/durable",
		"txstore/durable",
	}},
	{name: "ignores the context", mutate: func(m *mutant) {
		m.dataset = func(_ context.Context, org, id string) (audiosearch.Dataset, error) {
			return m.db.Dataset(context.Background(), org, id)
		}
		m.video = func(_ context.Context, org, dataset, id string) (audiosearch.Video, error) {
			return m.db.Video(context.Background(), org, dataset, id)
		}
		m.search = func(
			_ context.Context, org, dataset string, q audiosearch.ScoreQuery,
		) ([]audiosearch.Hit, error) {
			return m.db.Search(context.Background(), org, dataset, q)
		}
		m.parts = func(_ context.Context, org, dataset string, p audiosearch.Part) (int, error) {
			return m.db.Parts(context.Background(), org, dataset, p)
		}
		m.setModel = func(_ context.Context, org, dataset string, c audiosearch.ModelChange) error {
			return m.db.SetModel(context.Background(), org, dataset, c)
		}
		m.compact = func(context.Context, audiosearch.CompactOptions) (bool, error) { return false, nil }
		m.createRun = func(_ context.Context, r audiosearch.Run, most int) error {
			return m.db.CreateRun(context.Background(), r, most)
		}
	}, breaks: []string{
		"datasets/ended-context", "catalog/ended-context", "scores/ended-context",
		"parts/ended-context", "models/ended-context", "compactor/ended-context",
		"runs/ended-context",
	}},
	{name: "says not found when it fails", mutate: func(m *mutant) {
		m.failure = errors.Join(errBroken, audiosearch.ErrDatasetNotFound)
	}, breaks: []string{
		"datasets/failure", "catalog/failure", "scores/failure", "parts/failure", "models/failure", "models/order-failure", "compactor/failure",
		"runs/failure",
	}},
}
