package audiosearchtest_test

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/storage/memory"
)

// plainStore is a store in memory that can be asked for one video, and for one scoring.
type plainStore struct{ *memory.AudioSearch }

// Video returns a video, or ErrVideoNotFound.
func (db plainStore) Video(ctx context.Context, org, dataset, id string) (audiosearch.Video, error) {
	found, _, err := db.Videos(ctx, org, dataset, []string{id})
	if err == nil && len(found) == 0 {
		err = audiosearch.ErrVideoNotFound
	}
	if err != nil {
		return audiosearch.Video{}, err
	}
	return found[0], nil
}

// Scoring returns what came of scoring a video by a model, or ErrNotScored.
func (db plainStore) Scoring(ctx context.Context, org, dataset, video, model string) (audiosearch.Scoring, error) {
	found, err := db.Scorings(ctx, org, dataset, model, []string{video})
	if err != nil {
		return audiosearch.Scoring{}, err
	}
	s, ok := found[video]
	if !ok {
		return audiosearch.Scoring{}, audiosearch.ErrNotScored
	}
	return s, nil
}

func (m *mutant) Videos(ctx context.Context, org, dataset string, ids []string) (found []audiosearch.Video, looked int, err error) {
	if m.video == nil || m.broken.Load() {
		return m.on.Videos(ctx, org, dataset, ids)
	}
	for _, id := range ids {
		v, err := m.video(ctx, org, dataset, id)
		switch {
		case err == nil:
			found = append(found, v)
		case !errors.Is(err, audiosearch.ErrVideoNotFound):
			return nil, 0, err
		}
	}
	return found, len(ids), nil
}

func (m *mutant) Scorings(
	ctx context.Context, org, dataset, model string, videos []string,
) (map[string]audiosearch.Scoring, error) {
	if m.scoring == nil || m.broken.Load() {
		return m.on.Scorings(ctx, org, dataset, model, videos)
	}
	found := make(map[string]audiosearch.Scoring)
	for _, id := range videos {
		s, err := m.scoring(ctx, org, dataset, id, model)
		switch {
		case err == nil:
			found[id] = s
		case !errors.Is(err, audiosearch.ErrNotScored):
			return nil, err
		}
	}
	return found, nil
}

func (m *mutant) CreateDataset(ctx context.Context, d audiosearch.Dataset) error {
	return m.on.CreateDataset(ctx, d)
}

func (m *mutant) Dataset(ctx context.Context, org, id string) (audiosearch.Dataset, error) {
	return m.on.Dataset(ctx, org, id)
}

func (m *mutant) ListDatasets(ctx context.Context, org, after string, limit int) ([]audiosearch.Dataset, error) {
	return m.on.ListDatasets(ctx, org, after, limit)
}

func (m *mutant) DeleteDataset(ctx context.Context, org, id string) error {
	return m.on.DeleteDataset(ctx, org, id)
}

func (m *mutant) PutVideos(ctx context.Context, org, dataset string, videos []audiosearch.Video) error {
	return m.on.PutVideos(ctx, org, dataset, videos)
}

func (m *mutant) ListVideos(ctx context.Context, org, dataset, after string, limit int) ([]audiosearch.Video, error) {
	return m.on.ListVideos(ctx, org, dataset, after, limit)
}

func (m *mutant) DeleteVideo(ctx context.Context, org, dataset, id string) error {
	return m.on.DeleteVideo(ctx, org, dataset, id)
}

func (m *mutant) MissingKeys(ctx context.Context, org, dataset string, keys []string) ([]string, error) {
	return m.on.MissingKeys(ctx, org, dataset, keys)
}

func (m *mutant) PutScoring(
	ctx context.Context, org, dataset, video, path string, s audiosearch.Scoring, columns [][]uint16,
) error {
	return m.on.PutScoring(ctx, org, dataset, video, path, s, columns)
}

func (m *mutant) Search(ctx context.Context, org, dataset string, q audiosearch.ScoreQuery) ([]audiosearch.Hit, error) {
	return m.on.Search(ctx, org, dataset, q)
}

func (m *mutant) Unscored(ctx context.Context, org, dataset string, q audiosearch.UnscoredQuery) (audiosearch.Unscored, error) {
	return m.on.Unscored(ctx, org, dataset, q)
}

func (m *mutant) WindowScores(ctx context.Context, org, dataset, video, model string, from, to int) ([][]uint16, error) {
	return m.on.WindowScores(ctx, org, dataset, video, model, from, to)
}

func (m *mutant) CreateRun(ctx context.Context, r audiosearch.Run, most int) error {
	return m.on.CreateRun(ctx, r, most)
}

func (m *mutant) Run(ctx context.Context, org string, id int64) (audiosearch.Run, error) {
	return m.on.Run(ctx, org, id)
}

func (m *mutant) UpdateRun(ctx context.Context, org string, id int64, update func(*audiosearch.Run) error) error {
	return m.on.UpdateRun(ctx, org, id, update)
}

func (m *mutant) PutResultVideos(ctx context.Context, org string, run int64, set uuid.UUID, videos []audiosearch.Video) error {
	return m.on.PutResultVideos(ctx, org, run, set, videos)
}

func (m *mutant) PutResults(
	ctx context.Context, org string, run int64, set uuid.UUID, results []audiosearch.Result,
) error {
	return m.on.PutResults(ctx, org, run, set, results)
}

func (m *mutant) RunResults(ctx context.Context, org string, run int64, from int) ([]audiosearch.Result, error) {
	return m.on.RunResults(ctx, org, run, from)
}

func (m *mutant) ListRuns(ctx context.Context, org string, q audiosearch.RunQuery) ([]audiosearch.Run, error) {
	return m.on.ListRuns(ctx, org, q)
}

func (m *mutant) Stats(ctx context.Context, org string, most int) (audiosearch.Stats, error) {
	return m.on.Stats(ctx, org, most)
}

func (m *mutant) StatsAll(ctx context.Context, most int) (audiosearch.AllStats, error) {
	return m.on.StatsAll(ctx, most)
}

func (m *mutant) StaleRuns(ctx context.Context, checked, due time.Time, limit int) ([]audiosearch.Run, error) {
	return m.on.StaleRuns(ctx, checked, due, limit)
}

func (m *mutant) MarkDeleted(ctx context.Context, org string, at time.Time) (time.Time, error) {
	return m.on.MarkDeleted(ctx, org, at)
}

func (m *mutant) RemoveDeleted(ctx context.Context, org string, limit int) (bool, error) {
	return m.on.RemoveDeleted(ctx, org, limit)
}

func (m *mutant) PruneRuns(ctx context.Context, before time.Time, limit int) (int, error) {
	return m.on.PruneRuns(ctx, before, limit)
}

func (m *mutant) TrimRuns(ctx context.Context, keep, limit int) (int, error) {
	return m.on.TrimRuns(ctx, keep, limit)
}

func (m *mutant) Compact(ctx context.Context, opts audiosearch.CompactOptions) (bool, error) {
	return m.on.Compact(ctx, opts)
}

func (m *mutant) PutPart(ctx context.Context, org, dataset string, p audiosearch.Part, columns [][]uint16) (int, error) {
	return m.on.PutPart(ctx, org, dataset, p, columns)
}

func (m *mutant) Parts(ctx context.Context, org, dataset string, p audiosearch.Part) (int, error) {
	return m.on.Parts(ctx, org, dataset, p)
}

func (m *mutant) Models(ctx context.Context, org, dataset string) ([]audiosearch.DatasetModel, error) {
	return m.on.Models(ctx, org, dataset)
}

func (m *mutant) SetModel(ctx context.Context, org, dataset string, c audiosearch.ModelChange) error {
	return m.on.SetModel(ctx, org, dataset, c)
}

func (m *mutant) ModelOrder(ctx context.Context, family, model string) (int64, error) {
	return m.on.ModelOrder(ctx, family, model)
}

func (m *mutant) CreateRunAndAdd(ctx context.Context, r audiosearch.Run, most int, j mortise.Job) error {
	return m.on.CreateRunAndAdd(ctx, r, most, j)
}

func (m *mutant) UpdateRunAndRemove(
	ctx context.Context, org string, id int64, update func(*audiosearch.Run) error, l mortise.Lease,
) error {
	return m.on.UpdateRunAndRemove(ctx, org, id, update, l)
}
