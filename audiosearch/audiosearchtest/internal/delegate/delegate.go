// Package delegate has a backend of functions, for what stands between a backend and those
// who call it: the faults of hosts' tests, and the mistakes of the mutants that prove the
// suite.
package delegate

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
)

// Methods are what the methods of a [Backend] call.
type Methods struct {
	CreateDataset    func(ctx context.Context, d audiosearch.Dataset) error
	Dataset          func(ctx context.Context, org, id string) (audiosearch.Dataset, error)
	ListDatasets     func(ctx context.Context, org string, after mortise.Cursor, limit int) (mortise.Page[audiosearch.Dataset], error)
	DeleteDataset    func(ctx context.Context, org, id string) error
	PutVideos        func(ctx context.Context, org, dataset string, videos []audiosearch.Video) error
	Videos           func(ctx context.Context, org, dataset string, ids []string) (found []audiosearch.Video, looked int, err error)
	ListVideos       func(ctx context.Context, org, dataset string, after mortise.Cursor, limit int) (mortise.Page[audiosearch.Video], error)
	DeleteVideo      func(ctx context.Context, org, dataset, id string) error
	MissingKeys      func(ctx context.Context, org, dataset string, keys []string) ([]string, error)
	PutScoring       func(ctx context.Context, org, dataset, video, path string, s audiosearch.Scoring, columns [][]uint16) error
	Scorings         func(ctx context.Context, org, dataset, model string, videos []string) (map[string]audiosearch.Scoring, error)
	Search           func(ctx context.Context, org, dataset string, q audiosearch.ScoreQuery) ([]audiosearch.Hit, error)
	Unscored         func(ctx context.Context, org, dataset string, q audiosearch.UnscoredQuery) (audiosearch.Unscored, error)
	WindowScores     func(ctx context.Context, org, dataset, video, model string, from, to int) ([][]uint16, error)
	CreateRun        func(ctx context.Context, r audiosearch.Run, most int) error
	Run              func(ctx context.Context, org string, id int64) (audiosearch.Run, error)
	UpdateRun        func(ctx context.Context, org string, id int64, update func(*audiosearch.Run) error) error
	PutResultVideos  func(ctx context.Context, org string, run int64, set uuid.UUID, videos []audiosearch.Video) error
	PutResults       func(ctx context.Context, org string, run int64, set uuid.UUID, results []audiosearch.Result) error
	RunResults       func(ctx context.Context, org string, run int64, from int) ([]audiosearch.Result, error)
	ListRuns         func(ctx context.Context, org string, q audiosearch.RunQuery) (mortise.Page[audiosearch.Run], error)
	Counts           func(ctx context.Context, org string, most int) (audiosearch.Counts, error)
	Backlog          func(ctx context.Context, most int) (mortise.Backlog, error)
	Overdue          func(ctx context.Context, before time.Time, limit int) ([]audiosearch.Run, error)
	MarkDeleted      func(ctx context.Context, org string, at time.Time) (time.Time, error)
	RemoveDeleted    func(ctx context.Context, org string, limit int) (int, bool, error)
	PruneRuns        func(ctx context.Context, before time.Time, limit int) (int, bool, error)
	TrimRuns         func(ctx context.Context, keep, limit int) (int, bool, error)
	Compact          func(ctx context.Context, opts audiosearch.CompactOptions, limit int) (int, bool, error)
	PutPart          func(ctx context.Context, org, dataset string, p audiosearch.Part, columns [][]uint16) (int, error)
	Parts            func(ctx context.Context, org, dataset string, p audiosearch.Part) (int, error)
	Models           func(ctx context.Context, org, dataset string) ([]audiosearch.DatasetModel, error)
	SetModel         func(ctx context.Context, org, dataset string, c audiosearch.ModelChange) error
	ModelOrder       func(ctx context.Context, family, model string) (int64, error)
	CreateRunAndAdd  func(ctx context.Context, r audiosearch.Run, most int, j mortise.Job) error
	UpdateRunAndJobs func(ctx context.Context, org string, id int64, update func(*audiosearch.Run) ([]mortise.Job, error), l mortise.Lease) error
	Revocations      func(ctx context.Context) (mortise.Revocations, error)
	RaiseRevocations func(ctx context.Context, n int64) error
}

// Backend has all methods of the backends of audiosearch. Each calls the function with its name.
type Backend struct{ On Methods }

func (w *Backend) CreateDataset(ctx context.Context, d audiosearch.Dataset) error {
	return w.On.CreateDataset(ctx, d)
}

func (w *Backend) Dataset(ctx context.Context, org, id string) (audiosearch.Dataset, error) {
	return w.On.Dataset(ctx, org, id)
}

func (w *Backend) ListDatasets(ctx context.Context, org string, after mortise.Cursor, limit int) (mortise.Page[audiosearch.Dataset], error) {
	return w.On.ListDatasets(ctx, org, after, limit)
}

func (w *Backend) DeleteDataset(ctx context.Context, org, id string) error {
	return w.On.DeleteDataset(ctx, org, id)
}

func (w *Backend) PutVideos(ctx context.Context, org, dataset string, videos []audiosearch.Video) error {
	return w.On.PutVideos(ctx, org, dataset, videos)
}

func (w *Backend) ListVideos(ctx context.Context, org, dataset string, after mortise.Cursor, limit int) (mortise.Page[audiosearch.Video], error) {
	return w.On.ListVideos(ctx, org, dataset, after, limit)
}

func (w *Backend) DeleteVideo(ctx context.Context, org, dataset, id string) error {
	return w.On.DeleteVideo(ctx, org, dataset, id)
}

func (w *Backend) MissingKeys(ctx context.Context, org, dataset string, keys []string) ([]string, error) {
	return w.On.MissingKeys(ctx, org, dataset, keys)
}

func (w *Backend) PutScoring(
	ctx context.Context, org, dataset, video, path string, s audiosearch.Scoring, columns [][]uint16,
) error {
	return w.On.PutScoring(ctx, org, dataset, video, path, s, columns)
}

func (w *Backend) Search(
	ctx context.Context, org, dataset string, q audiosearch.ScoreQuery,
) ([]audiosearch.Hit, error) {
	return w.On.Search(ctx, org, dataset, q)
}

func (w *Backend) Unscored(
	ctx context.Context, org, dataset string, q audiosearch.UnscoredQuery,
) (audiosearch.Unscored, error) {
	return w.On.Unscored(ctx, org, dataset, q)
}

func (w *Backend) WindowScores(
	ctx context.Context, org, dataset, video, model string, from, to int,
) ([][]uint16, error) {
	return w.On.WindowScores(ctx, org, dataset, video, model, from, to)
}

func (w *Backend) CreateRun(ctx context.Context, r audiosearch.Run, most int) error {
	return w.On.CreateRun(ctx, r, most)
}

func (w *Backend) Run(ctx context.Context, org string, id int64) (audiosearch.Run, error) {
	return w.On.Run(ctx, org, id)
}

func (w *Backend) UpdateRun(ctx context.Context, org string, id int64, update func(*audiosearch.Run) error) error {
	return w.On.UpdateRun(ctx, org, id, update)
}

func (w *Backend) PutResultVideos(
	ctx context.Context, org string, run int64, set uuid.UUID, videos []audiosearch.Video,
) error {
	return w.On.PutResultVideos(ctx, org, run, set, videos)
}

func (w *Backend) PutResults(
	ctx context.Context, org string, run int64, set uuid.UUID, results []audiosearch.Result,
) error {
	return w.On.PutResults(ctx, org, run, set, results)
}

func (w *Backend) RunResults(ctx context.Context, org string, run int64, from int) ([]audiosearch.Result, error) {
	return w.On.RunResults(ctx, org, run, from)
}

func (w *Backend) ListRuns(ctx context.Context, org string, q audiosearch.RunQuery) (mortise.Page[audiosearch.Run], error) {
	return w.On.ListRuns(ctx, org, q)
}

func (w *Backend) Counts(ctx context.Context, org string, most int) (audiosearch.Counts, error) {
	return w.On.Counts(ctx, org, most)
}

func (w *Backend) Backlog(ctx context.Context, most int) (mortise.Backlog, error) {
	return w.On.Backlog(ctx, most)
}

func (w *Backend) Overdue(ctx context.Context, before time.Time, limit int) ([]audiosearch.Run, error) {
	return w.On.Overdue(ctx, before, limit)
}

func (w *Backend) MarkDeleted(ctx context.Context, org string, at time.Time) (time.Time, error) {
	return w.On.MarkDeleted(ctx, org, at)
}

func (w *Backend) RemoveDeleted(ctx context.Context, org string, limit int) (int, bool, error) {
	return w.On.RemoveDeleted(ctx, org, limit)
}

func (w *Backend) PruneRuns(ctx context.Context, before time.Time, limit int) (int, bool, error) {
	return w.On.PruneRuns(ctx, before, limit)
}

func (w *Backend) TrimRuns(ctx context.Context, keep, limit int) (int, bool, error) {
	return w.On.TrimRuns(ctx, keep, limit)
}

func (w *Backend) Compact(ctx context.Context, opts audiosearch.CompactOptions, limit int) (int, bool, error) {
	return w.On.Compact(ctx, opts, limit)
}

func (w *Backend) PutPart(
	ctx context.Context, org, dataset string, p audiosearch.Part, columns [][]uint16,
) (int, error) {
	return w.On.PutPart(ctx, org, dataset, p, columns)
}

func (w *Backend) Parts(ctx context.Context, org, dataset string, p audiosearch.Part) (int, error) {
	return w.On.Parts(ctx, org, dataset, p)
}

func (w *Backend) Models(ctx context.Context, org, dataset string) ([]audiosearch.DatasetModel, error) {
	return w.On.Models(ctx, org, dataset)
}

func (w *Backend) SetModel(ctx context.Context, org, dataset string, c audiosearch.ModelChange) error {
	return w.On.SetModel(ctx, org, dataset, c)
}

func (w *Backend) ModelOrder(ctx context.Context, family, model string) (int64, error) {
	return w.On.ModelOrder(ctx, family, model)
}

func (w *Backend) CreateRunAndAdd(ctx context.Context, r audiosearch.Run, most int, j mortise.Job) error {
	return w.On.CreateRunAndAdd(ctx, r, most, j)
}

func (w *Backend) UpdateRunAndJobs(
	ctx context.Context, org string, id int64, update func(*audiosearch.Run) ([]mortise.Job, error), l mortise.Lease,
) error {
	return w.On.UpdateRunAndJobs(ctx, org, id, update, l)
}
func (w *Backend) Videos(ctx context.Context, org, dataset string, ids []string) ([]audiosearch.Video, int, error) {
	return w.On.Videos(ctx, org, dataset, ids)
}

func (w *Backend) Scorings(
	ctx context.Context, org, dataset, model string, videos []string,
) (map[string]audiosearch.Scoring, error) {
	return w.On.Scorings(ctx, org, dataset, model, videos)
}

func (w *Backend) Revocations(ctx context.Context) (mortise.Revocations, error) {
	return w.On.Revocations(ctx)
}

func (w *Backend) RaiseRevocations(ctx context.Context, n int64) error {
	return w.On.RaiseRevocations(ctx, n)
}
