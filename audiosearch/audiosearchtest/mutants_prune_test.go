package audiosearchtest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/audiosearchtest"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
)

var pruneMutants = []broken{
	{name: "prunes nothing and counts", breaks: "runpruner/removes", mutate: around(
		func(_ *mutant, c *mutate.Call) { *mutate.Get[int](c.Out) = 1 }, "PruneRuns")},
	{name: "prunes at the time too", breaks: "runpruner/before-is-strict", mutate: arg(
		func(before *time.Time) { *before = before.Add(time.Microsecond) }, "PruneRuns")},
	{name: "prunes what has not finished", breaks: "runpruner/not-finished",
		mutate: replace("PruneRuns", func(m *mutant, ctx context.Context, before time.Time, limit int) (int, bool, error) {
			open, _ := m.db.ListRuns(ctx, "org-a", audiosearch.RunQuery{Open: true, Limit: limit})
			for _, r := range open.Items {
				_ = m.db.UpdateRun(ctx, r.Organization, r.ID, func(r *audiosearch.Run) error {
					r.State, r.FinishedAt = audiosearch.StateTerminated, r.UpdatedAt
					return nil
				})
			}
			return m.db.PruneRuns(ctx, before, limit)
		})},

	{name: "prunes runs whose end is not told", breaks: "runpruner/untold-stay", mutate: around(telling, "PruneRuns")},
	{name: "trims runs whose end is not told", breaks: "runpruner/untold-stay", mutate: around(telling, "TrimRuns")},
	{name: "keeps so many beside untold runs", breaks: "runpruner/untold-stay",
		mutate: replace("TrimRuns", func(m *mutant, ctx context.Context, keep, limit int) (int, bool, error) {
			untold, err := m.db.Overdue(bg, time.Now(), 1000)
			if err != nil {
				return 0, false, err
			}
			return m.db.TrimRuns(ctx, keep+len(untold), limit)
		})},

	{name: "trims nothing and counts", breaks: "runpruner/trim runpruner/durable", mutate: around(
		func(_ *mutant, c *mutate.Call) { *mutate.Get[int](c.Out) = 1 }, "TrimRuns")},
	{name: "keeps so many of all organizations", breaks: "runpruner/trim",
		mutate: replace("TrimRuns", func(m *mutant, ctx context.Context, keep, limit int) (int, bool, error) {
			n, more, err := m.db.TrimRuns(ctx, keep, limit)
			oldest := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			pruned, _, _ := m.db.PruneRuns(ctx, oldest, limit-n)
			return n + pruned, more, err
		})},
	{name: "trims the greater ID first", breaks: "runpruner/trim-ties", mutate: both(
		in(func(r *audiosearch.Run) { r.ID = -r.ID }, "CreateRun"),
		arg(func(id *int64) { *id = -*id }, "Run", "UpdateRun", "PutResultVideos", "PutResults"),
		out(func(r *audiosearch.Run) { r.ID = -r.ID }, "Run"),
	)},
	{name: "counts runs that have not ended", breaks: "runpruner/trim-not-ended",
		mutate: replace("TrimRuns", func(m *mutant, ctx context.Context, keep, limit int) (int, bool, error) {
			open, err := m.open(ctx)
			if err != nil {
				return 0, false, err
			}
			return m.db.TrimRuns(ctx, max(keep-open, 0), limit)
		})},
}

// telling makes a call as if the ends of all runs were told.
func telling(m *mutant, c *mutate.Call) {
	untold, _ := m.db.Overdue(bg, time.Now(), 1000)
	for _, r := range untold {
		_ = m.db.UpdateRun(bg, r.Organization, r.ID, func(r *audiosearch.Run) error {
			r.WakeAt = time.Time{}
			return nil
		})
	}
	c.Go()
}

// afresh is a Reopen that loses everything.
func afresh(t *testing.T, _ audiosearchtest.Backend) audiosearchtest.Backend {
	return newMutant(t).backend()
}

var otherMutants = []broken{
	{name: "loses its data",
		breaks: "datasets/durable catalog/durable scores/durable classes/durable parts/durable models/durable " +
			"models/order-durable runs/durable txstore/durable", reopen: afresh,
		mutate: func(*mutant) {}},
	{name: "ignores the context",
		breaks: "datasets/ended-context catalog/ended-context scores/ended-context parts/ended-context " +
			"models/ended-context compactor/ended-context runs/ended-context",
		mutate: arg(func(ctx *context.Context) { *ctx = bg }, "Dataset", "Videos", "Search", "Parts", "SetModel", "Compact", "CreateRun")},
	{name: "says not found when it fails",
		breaks: "datasets/failure catalog/failure scores/failure parts/failure models/failure models/order-failure " +
			"compactor/failure runs/failure",
		mutate: func(m *mutant) {
			m.failure = errors.Join(errBroken, audiosearch.ErrDatasetNotFound)
		}},
}
