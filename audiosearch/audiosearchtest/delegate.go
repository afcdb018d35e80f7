package audiosearchtest

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
)

// methods are those of a backend.
type methods struct {
	CreateDataset      func(ctx context.Context, d audiosearch.Dataset) error
	Dataset            func(ctx context.Context, org, id string) (audiosearch.Dataset, error)
	ListDatasets       func(ctx context.Context, org, after string, limit int) ([]audiosearch.Dataset, error)
	DeleteDataset      func(ctx context.Context, org, id string) error
	PutVideos          func(ctx context.Context, org, dataset string, videos []audiosearch.Video) error
	Videos             func(ctx context.Context, org, dataset string, ids []string) (found []audiosearch.Video, looked int, err error)
	ListVideos         func(ctx context.Context, org, dataset, after string, limit int) ([]audiosearch.Video, error)
	DeleteVideo        func(ctx context.Context, org, dataset, id string) error
	MissingKeys        func(ctx context.Context, org, dataset string, keys []string) ([]string, error)
	PutScoring         func(ctx context.Context, org, dataset, video, path string, s audiosearch.Scoring, columns [][]uint16) error
	Scorings           func(ctx context.Context, org, dataset, model string, videos []string) (map[string]audiosearch.Scoring, error)
	Search             func(ctx context.Context, org, dataset string, q audiosearch.ScoreQuery) ([]audiosearch.Hit, error)
	Unscored           func(ctx context.Context, org, dataset string, q audiosearch.UnscoredQuery) (audiosearch.Unscored, error)
	WindowScores       func(ctx context.Context, org, dataset, video, model string, from, to int) ([][]uint16, error)
	CreateRun          func(ctx context.Context, r audiosearch.Run, most int) error
	Run                func(ctx context.Context, org string, id int64) (audiosearch.Run, error)
	UpdateRun          func(ctx context.Context, org string, id int64, update func(*audiosearch.Run) error) error
	PutResultVideos    func(ctx context.Context, org string, run int64, set uuid.UUID, videos []audiosearch.Video) error
	PutResults         func(ctx context.Context, org string, run int64, set uuid.UUID, results []audiosearch.Result) error
	RunResults         func(ctx context.Context, org string, run int64, from int) ([]audiosearch.Result, error)
	ListRuns           func(ctx context.Context, org string, q audiosearch.RunQuery) ([]audiosearch.Run, error)
	Stats              func(ctx context.Context, org string, most int) (audiosearch.Stats, error)
	StatsAll           func(ctx context.Context, most int) (audiosearch.AllStats, error)
	StaleRuns          func(ctx context.Context, checked, due time.Time, limit int) ([]audiosearch.Run, error)
	MarkDeleted        func(ctx context.Context, org string, at time.Time) (time.Time, error)
	RemoveDeleted      func(ctx context.Context, org string, limit int) (bool, error)
	PruneRuns          func(ctx context.Context, before time.Time, limit int) (int, error)
	TrimRuns           func(ctx context.Context, keep, limit int) (int, error)
	Compact            func(ctx context.Context, opts audiosearch.CompactOptions) (bool, error)
	PutPart            func(ctx context.Context, org, dataset string, p audiosearch.Part, columns [][]uint16) (int, error)
	Parts              func(ctx context.Context, org, dataset string, p audiosearch.Part) (int, error)
	Models             func(ctx context.Context, org, dataset string) ([]audiosearch.DatasetModel, error)
	SetModel           func(ctx context.Context, org, dataset string, c audiosearch.ModelChange) error
	ModelOrder         func(ctx context.Context, family, model string) (int64, error)
	CreateRunAndAdd    func(ctx context.Context, r audiosearch.Run, most int, j mortise.Job) error
	UpdateRunAndRemove func(ctx context.Context, org string, id int64, update func(*audiosearch.Run) error, l mortise.Lease) error
}

// delegate is a backend of functions: each method calls the one with its name. [Faults]
// stands in between there, and so do the mistakes of the mutants that prove the suite.
type delegate struct{ On methods }

func (w *delegate) CreateDataset(ctx context.Context, d audiosearch.Dataset) error {
	return w.On.CreateDataset(ctx, d)
}

func (w *delegate) Dataset(ctx context.Context, org, id string) (audiosearch.Dataset, error) {
	return w.On.Dataset(ctx, org, id)
}

func (w *delegate) ListDatasets(ctx context.Context, org, after string, limit int) ([]audiosearch.Dataset, error) {
	return w.On.ListDatasets(ctx, org, after, limit)
}

func (w *delegate) DeleteDataset(ctx context.Context, org, id string) error {
	return w.On.DeleteDataset(ctx, org, id)
}

func (w *delegate) PutVideos(ctx context.Context, org, dataset string, videos []audiosearch.Video) error {
	return w.On.PutVideos(ctx, org, dataset, videos)
}

func (w *delegate) ListVideos(ctx context.Context, org, dataset, after string, limit int) ([]audiosearch.Video, error) {
	return w.On.ListVideos(ctx, org, dataset, after, limit)
}

func (w *delegate) DeleteVideo(ctx context.Context, org, dataset, id string) error {
	return w.On.DeleteVideo(ctx, org, dataset, id)
}

func (w *delegate) MissingKeys(ctx context.Context, org, dataset string, keys []string) ([]string, error) {
	return w.On.MissingKeys(ctx, org, dataset, keys)
}

func (w *delegate) PutScoring(
	ctx context.Context, org, dataset, video, path string, s audiosearch.Scoring, columns [][]uint16,
) error {
	return w.On.PutScoring(ctx, org, dataset, video, path, s, columns)
}

func (w *delegate) Search(
	ctx context.Context, org, dataset string, q audiosearch.ScoreQuery,
) ([]audiosearch.Hit, error) {
	return w.On.Search(ctx, org, dataset, q)
}

func (w *delegate) Unscored(
	ctx context.Context, org, dataset string, q audiosearch.UnscoredQuery,
) (audiosearch.Unscored, error) {
	return w.On.Unscored(ctx, org, dataset, q)
}

func (w *delegate) WindowScores(
	ctx context.Context, org, dataset, video, model string, from, to int,
) ([][]uint16, error) {
	return w.On.WindowScores(ctx, org, dataset, video, model, from, to)
}

func (w *delegate) CreateRun(ctx context.Context, r audiosearch.Run, most int) error {
	return w.On.CreateRun(ctx, r, most)
}

func (w *delegate) Run(ctx context.Context, org string, id int64) (audiosearch.Run, error) {
	return w.On.Run(ctx, org, id)
}

func (w *delegate) UpdateRun(ctx context.Context, org string, id int64, update func(*audiosearch.Run) error) error {
	return w.On.UpdateRun(ctx, org, id, update)
}

func (w *delegate) PutResultVideos(
	ctx context.Context, org string, run int64, set uuid.UUID, videos []audiosearch.Video,
) error {
	return w.On.PutResultVideos(ctx, org, run, set, videos)
}

func (w *delegate) PutResults(
	ctx context.Context, org string, run int64, set uuid.UUID, results []audiosearch.Result,
) error {
	return w.On.PutResults(ctx, org, run, set, results)
}

func (w *delegate) RunResults(ctx context.Context, org string, run int64, from int) ([]audiosearch.Result, error) {
	return w.On.RunResults(ctx, org, run, from)
}

func (w *delegate) ListRuns(ctx context.Context, org string, q audiosearch.RunQuery) ([]audiosearch.Run, error) {
	return w.On.ListRuns(ctx, org, q)
}

func (w *delegate) Stats(ctx context.Context, org string, most int) (audiosearch.Stats, error) {
	return w.On.Stats(ctx, org, most)
}

func (w *delegate) StatsAll(ctx context.Context, most int) (audiosearch.AllStats, error) {
	return w.On.StatsAll(ctx, most)
}

func (w *delegate) StaleRuns(ctx context.Context, checked, due time.Time, limit int) ([]audiosearch.Run, error) {
	return w.On.StaleRuns(ctx, checked, due, limit)
}

func (w *delegate) MarkDeleted(ctx context.Context, org string, at time.Time) (time.Time, error) {
	return w.On.MarkDeleted(ctx, org, at)
}

func (w *delegate) RemoveDeleted(ctx context.Context, org string, limit int) (bool, error) {
	return w.On.RemoveDeleted(ctx, org, limit)
}

func (w *delegate) PruneRuns(ctx context.Context, before time.Time, limit int) (int, error) {
	return w.On.PruneRuns(ctx, before, limit)
}

func (w *delegate) TrimRuns(ctx context.Context, keep, limit int) (int, error) {
	return w.On.TrimRuns(ctx, keep, limit)
}

func (w *delegate) Compact(ctx context.Context, opts audiosearch.CompactOptions) (bool, error) {
	return w.On.Compact(ctx, opts)
}

func (w *delegate) PutPart(
	ctx context.Context, org, dataset string, p audiosearch.Part, columns [][]uint16,
) (int, error) {
	return w.On.PutPart(ctx, org, dataset, p, columns)
}

func (w *delegate) Parts(ctx context.Context, org, dataset string, p audiosearch.Part) (int, error) {
	return w.On.Parts(ctx, org, dataset, p)
}

func (w *delegate) Models(ctx context.Context, org, dataset string) ([]audiosearch.DatasetModel, error) {
	return w.On.Models(ctx, org, dataset)
}

func (w *delegate) SetModel(ctx context.Context, org, dataset string, c audiosearch.ModelChange) error {
	return w.On.SetModel(ctx, org, dataset, c)
}

func (w *delegate) ModelOrder(ctx context.Context, family, model string) (int64, error) {
	return w.On.ModelOrder(ctx, family, model)
}

func (w *delegate) CreateRunAndAdd(ctx context.Context, r audiosearch.Run, most int, j mortise.Job) error {
	return w.On.CreateRunAndAdd(ctx, r, most, j)
}

func (w *delegate) UpdateRunAndRemove(
	ctx context.Context, org string, id int64, update func(*audiosearch.Run) error, l mortise.Lease,
) error {
	return w.On.UpdateRunAndRemove(ctx, org, id, update, l)
}
func (w *delegate) Videos(ctx context.Context, org, dataset string, ids []string) ([]audiosearch.Video, int, error) {
	return w.On.Videos(ctx, org, dataset, ids)
}

func (w *delegate) Scorings(
	ctx context.Context, org, dataset, model string, videos []string,
) (map[string]audiosearch.Scoring, error) {
	return w.On.Scorings(ctx, org, dataset, model, videos)
}
