package audiosearchtest

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
)

// Store wraps a store. The ops are "Store." and the name of the method, as in
// "Store.PutScoring", "Store.Compact" or "Store.PruneRuns".
func (f *Faults) Store(s audiosearch.Store) audiosearch.Store {
	w := &faultyStore{s, f}
	pruner, prunes := s.(audiosearch.Pruner)
	tx, adds := s.(audiosearch.TxStore)
	p, t := faultyPruner{pruner, f}, faultyTx{tx, f}
	switch {
	case prunes && adds:
		return &struct {
			*faultyStore
			faultyPruner
			faultyTx
		}{w, p, t}
	case prunes:
		return &struct {
			*faultyStore
			faultyPruner
		}{w, p}
	case adds:
		return &struct {
			*faultyStore
			faultyTx
		}{w, t}
	}
	return w
}

type faultyStore struct {
	inner  audiosearch.Store
	faults *Faults
}

// Behind implements fault.Wrapper: Shares asks for the store behind a wrapper.
func (w *faultyStore) Behind() any { return w.inner }

func (w *faultyStore) CreateDataset(ctx context.Context, d audiosearch.Dataset) error {
	return w.faults.call("Store.CreateDataset", func() error { return w.inner.CreateDataset(ctx, d) })
}

func (w *faultyStore) Dataset(ctx context.Context, org, id string) (audiosearch.Dataset, error) {
	return callFor(w.faults, "Store.Dataset", func() (audiosearch.Dataset, error) { return w.inner.Dataset(ctx, org, id) })
}

func (w *faultyStore) ListDatasets(ctx context.Context, org, after string, limit int) ([]audiosearch.Dataset, error) {
	return callFor(w.faults, "Store.ListDatasets", func() ([]audiosearch.Dataset, error) { return w.inner.ListDatasets(ctx, org, after, limit) })
}

func (w *faultyStore) DeleteDataset(ctx context.Context, org, id string) error {
	return w.faults.call("Store.DeleteDataset", func() error { return w.inner.DeleteDataset(ctx, org, id) })
}

func (w *faultyStore) PutVideos(ctx context.Context, org, dataset string, videos []audiosearch.Video) error {
	return w.faults.call("Store.PutVideos", func() error { return w.inner.PutVideos(ctx, org, dataset, videos) })
}

func (w *faultyStore) Videos(ctx context.Context, org, dataset string, ids []string) (found []audiosearch.Video, looked int, err error) {
	err = w.faults.call("Store.Videos", func() (err error) {
		found, looked, err = w.inner.Videos(ctx, org, dataset, ids)
		return err
	})
	return found, looked, err
}

func (w *faultyStore) ListVideos(ctx context.Context, org, dataset, after string, limit int) ([]audiosearch.Video, error) {
	return callFor(w.faults, "Store.ListVideos", func() ([]audiosearch.Video, error) { return w.inner.ListVideos(ctx, org, dataset, after, limit) })
}

func (w *faultyStore) DeleteVideo(ctx context.Context, org, dataset, id string) error {
	return w.faults.call("Store.DeleteVideo", func() error { return w.inner.DeleteVideo(ctx, org, dataset, id) })
}

func (w *faultyStore) MissingKeys(ctx context.Context, org, dataset string, keys []string) ([]string, error) {
	return callFor(w.faults, "Store.MissingKeys", func() ([]string, error) { return w.inner.MissingKeys(ctx, org, dataset, keys) })
}

func (w *faultyStore) PutScoring(ctx context.Context, org, dataset, video, path string, s audiosearch.Scoring, columns [][]uint16) error {
	return w.faults.call("Store.PutScoring", func() error { return w.inner.PutScoring(ctx, org, dataset, video, path, s, columns) })
}

func (w *faultyStore) Scorings(
	ctx context.Context, org, dataset, model string, videos []string,
) (map[string]audiosearch.Scoring, error) {
	return callFor(w.faults, "Store.Scorings", func() (map[string]audiosearch.Scoring, error) {
		return w.inner.Scorings(ctx, org, dataset, model, videos)
	})
}

func (w *faultyStore) PutPart(ctx context.Context, org, dataset string, p audiosearch.Part, columns [][]uint16) (int, error) {
	return callFor(w.faults, "Store.PutPart", func() (int, error) { return w.inner.PutPart(ctx, org, dataset, p, columns) })
}

func (w *faultyStore) Parts(ctx context.Context, org, dataset string, p audiosearch.Part) (int, error) {
	return callFor(w.faults, "Store.Parts", func() (int, error) { return w.inner.Parts(ctx, org, dataset, p) })
}

func (w *faultyStore) Models(ctx context.Context, org, dataset string) ([]audiosearch.DatasetModel, error) {
	return callFor(w.faults, "Store.Models", func() ([]audiosearch.DatasetModel, error) { return w.inner.Models(ctx, org, dataset) })
}

func (w *faultyStore) ModelOrder(ctx context.Context, family, model string) (int64, error) {
	return callFor(w.faults, "Store.ModelOrder", func() (int64, error) { return w.inner.ModelOrder(ctx, family, model) })
}

func (w *faultyStore) SetModel(ctx context.Context, org, dataset string, c audiosearch.ModelChange) error {
	return w.faults.call("Store.SetModel", func() error { return w.inner.SetModel(ctx, org, dataset, c) })
}

func (w *faultyStore) Search(ctx context.Context, org, dataset string, q audiosearch.ScoreQuery) ([]audiosearch.Hit, error) {
	return callFor(w.faults, "Store.Search", func() ([]audiosearch.Hit, error) { return w.inner.Search(ctx, org, dataset, q) })
}

func (w *faultyStore) Unscored(ctx context.Context, org, dataset string, q audiosearch.UnscoredQuery) (audiosearch.Unscored, error) {
	return callFor(w.faults, "Store.Unscored", func() (audiosearch.Unscored, error) { return w.inner.Unscored(ctx, org, dataset, q) })
}

func (w *faultyStore) WindowScores(ctx context.Context, org, dataset, video, model string, from, to int) ([][]uint16, error) {
	return callFor(w.faults, "Store.WindowScores", func() ([][]uint16, error) { return w.inner.WindowScores(ctx, org, dataset, video, model, from, to) })
}

func (w *faultyStore) CreateRun(ctx context.Context, r audiosearch.Run, most int) error {
	return w.faults.call("Store.CreateRun", func() error { return w.inner.CreateRun(ctx, r, most) })
}

func (w *faultyStore) Run(ctx context.Context, org string, id int64) (audiosearch.Run, error) {
	return callFor(w.faults, "Store.Run", func() (audiosearch.Run, error) { return w.inner.Run(ctx, org, id) })
}

func (w *faultyStore) UpdateRun(ctx context.Context, org string, id int64, update func(*audiosearch.Run) error) error {
	return w.faults.call("Store.UpdateRun", func() error { return w.inner.UpdateRun(ctx, org, id, update) })
}

func (w *faultyStore) PutResultVideos(ctx context.Context, org string, run int64, set uuid.UUID, videos []audiosearch.Video) error {
	return w.faults.call("Store.PutResultVideos", func() error { return w.inner.PutResultVideos(ctx, org, run, set, videos) })
}

func (w *faultyStore) PutResults(ctx context.Context, org string, run int64, set uuid.UUID, results []audiosearch.Result) error {
	return w.faults.call("Store.PutResults", func() error { return w.inner.PutResults(ctx, org, run, set, results) })
}

func (w *faultyStore) RunResults(ctx context.Context, org string, run int64, from int) ([]audiosearch.Result, error) {
	return callFor(w.faults, "Store.RunResults", func() ([]audiosearch.Result, error) { return w.inner.RunResults(ctx, org, run, from) })
}

func (w *faultyStore) ListRuns(
	ctx context.Context, org string, q audiosearch.RunQuery,
) ([]audiosearch.Run, error) {
	return callFor(w.faults, "Store.ListRuns", func() ([]audiosearch.Run, error) {
		return w.inner.ListRuns(ctx, org, q)
	})
}

func (w *faultyStore) Stats(ctx context.Context, org string, most int) (audiosearch.Stats, error) {
	return callFor(w.faults, "Store.Stats", func() (audiosearch.Stats, error) { return w.inner.Stats(ctx, org, most) })
}

func (w *faultyStore) StatsAll(ctx context.Context, most int) (audiosearch.AllStats, error) {
	return callFor(w.faults, "Store.StatsAll", func() (audiosearch.AllStats, error) { return w.inner.StatsAll(ctx, most) })
}

func (w *faultyStore) MarkDeleted(ctx context.Context, org string, at time.Time) (time.Time, error) {
	return callFor(w.faults, "Store.MarkDeleted", func() (time.Time, error) { return w.inner.MarkDeleted(ctx, org, at) })
}

func (w *faultyStore) RemoveDeleted(ctx context.Context, org string, limit int) (bool, error) {
	return callFor(w.faults, "Store.RemoveDeleted", func() (bool, error) { return w.inner.RemoveDeleted(ctx, org, limit) })
}

func (w *faultyStore) StaleRuns(
	ctx context.Context, checked, due time.Time, limit int,
) ([]audiosearch.Run, error) {
	return callFor(w.faults, "Store.StaleRuns", func() ([]audiosearch.Run, error) {
		return w.inner.StaleRuns(ctx, checked, due, limit)
	})
}

// faultyPruner and faultyTx hold what a wrapped store has beyond [audiosearch.Store].
type faultyPruner struct {
	inner  audiosearch.Pruner
	faults *Faults
}

func (w faultyPruner) Compact(ctx context.Context, opts audiosearch.CompactOptions) (bool, error) {
	return callFor(w.faults, "Store.Compact", func() (bool, error) { return w.inner.Compact(ctx, opts) })
}

func (w faultyPruner) PruneRuns(ctx context.Context, before time.Time, limit int) (int, error) {
	return callFor(w.faults, "Store.PruneRuns", func() (int, error) { return w.inner.PruneRuns(ctx, before, limit) })
}

func (w faultyPruner) TrimRuns(ctx context.Context, keep, limit int) (int, error) {
	return callFor(w.faults, "Store.TrimRuns", func() (int, error) { return w.inner.TrimRuns(ctx, keep, limit) })
}

type faultyTx struct {
	inner  audiosearch.TxStore
	faults *Faults
}

func (w faultyTx) CreateRunAndAdd(
	ctx context.Context, r audiosearch.Run, most int, j mortise.Job,
) error {
	return w.faults.call("Store.CreateRunAndAdd", func() error {
		return w.inner.CreateRunAndAdd(ctx, r, most, j)
	})
}

func (w faultyTx) UpdateRunAndRemove(
	ctx context.Context, org string, id int64, update func(*audiosearch.Run) error, l mortise.Lease,
) error {
	return w.faults.call("Store.UpdateRunAndRemove", func() error {
		return w.inner.UpdateRunAndRemove(ctx, org, id, update, l)
	})
}
