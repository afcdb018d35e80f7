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

func (m *mutant) CreateDataset(ctx context.Context, d audiosearch.Dataset) error {
	if err := m.fail(); err != nil {
		return err
	}
	return m.createDataset(ctx, d)
}

func (m *mutant) Dataset(ctx context.Context, org, id string) (audiosearch.Dataset, error) {
	if err := m.fail(); err != nil {
		return audiosearch.Dataset{}, err
	}
	return m.dataset(ctx, org, id)
}

func (m *mutant) ListDatasets(ctx context.Context, org, after string, limit int) ([]audiosearch.Dataset, error) {
	if err := m.fail(); err != nil {
		return nil, err
	}
	return m.listDatasets(ctx, org, after, limit)
}

func (m *mutant) DeleteDataset(ctx context.Context, org, id string) error {
	if err := m.fail(); err != nil {
		return err
	}
	return m.deleteDataset(ctx, org, id)
}

func (m *mutant) PutVideos(ctx context.Context, org, dataset string, videos []audiosearch.Video) error {
	if err := m.fail(); err != nil {
		return err
	}
	return m.putVideos(ctx, org, dataset, videos)
}

func (m *mutant) Videos(ctx context.Context, org, dataset string, ids []string) (found []audiosearch.Video, looked int, err error) {
	if err := m.fail(); err != nil {
		return nil, 0, err
	}
	if m.video == nil {
		return m.videos(ctx, org, dataset, ids)
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

func (m *mutant) ListVideos(ctx context.Context, org, dataset, after string, limit int) ([]audiosearch.Video, error) {
	if err := m.fail(); err != nil {
		return nil, err
	}
	return m.listVideos(ctx, org, dataset, after, limit)
}

func (m *mutant) DeleteVideo(ctx context.Context, org, dataset, id string) error {
	if err := m.fail(); err != nil {
		return err
	}
	return m.deleteVideo(ctx, org, dataset, id)
}

func (m *mutant) MissingKeys(ctx context.Context, org, dataset string, keys []string) ([]string, error) {
	if err := m.fail(); err != nil {
		return nil, err
	}
	return m.missingKeys(ctx, org, dataset, keys)
}

func (m *mutant) PutScoring(ctx context.Context, org, dataset, video, path string, s audiosearch.Scoring, columns [][]uint16) error {
	if err := m.fail(); err != nil {
		return err
	}
	return m.putScoring(ctx, org, dataset, video, path, s, columns)
}

func (m *mutant) Scorings(
	ctx context.Context, org, dataset, model string, videos []string,
) (map[string]audiosearch.Scoring, error) {
	if err := m.fail(); err != nil {
		return nil, err
	}
	if m.scoring == nil {
		return m.scorings(ctx, org, dataset, model, videos)
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

func (m *mutant) PutPart(
	ctx context.Context, org, dataset string, p audiosearch.Part, columns [][]uint16,
) (int, error) {
	if err := m.fail(); err != nil {
		return 0, err
	}
	return m.putPart(ctx, org, dataset, p, columns)
}

func (m *mutant) Parts(ctx context.Context, org, dataset string, p audiosearch.Part) (int, error) {
	if err := m.fail(); err != nil {
		return 0, err
	}
	return m.parts(ctx, org, dataset, p)
}

func (m *mutant) Models(ctx context.Context, org, dataset string) ([]audiosearch.DatasetModel, error) {
	if err := m.fail(); err != nil {
		return nil, err
	}
	return m.models(ctx, org, dataset)
}

func (m *mutant) ModelOrder(ctx context.Context, family, model string) (int64, error) {
	if err := m.fail(); err != nil {
		return 0, err
	}
	return m.modelOrder(ctx, family, model)
}

func (m *mutant) SetModel(ctx context.Context, org, dataset string, c audiosearch.ModelChange) error {
	if err := m.fail(); err != nil {
		return err
	}
	return m.setModel(ctx, org, dataset, c)
}

func (m *mutant) Search(ctx context.Context, org, dataset string, q audiosearch.ScoreQuery) ([]audiosearch.Hit, error) {
	if err := m.fail(); err != nil {
		return nil, err
	}
	return m.search(ctx, org, dataset, q)
}

func (m *mutant) Unscored(ctx context.Context, org, dataset string, q audiosearch.UnscoredQuery) (audiosearch.Unscored, error) {
	if err := m.fail(); err != nil {
		return audiosearch.Unscored{}, err
	}
	return m.unscored(ctx, org, dataset, q)
}

func (m *mutant) WindowScores(ctx context.Context, org, dataset, video, model string, from, to int) ([][]uint16, error) {
	if err := m.fail(); err != nil {
		return nil, err
	}
	return m.windowScores(ctx, org, dataset, video, model, from, to)
}

func (m *mutant) Compact(ctx context.Context, opts audiosearch.CompactOptions) (bool, error) {
	if err := m.fail(); err != nil {
		return false, err
	}
	return m.compact(ctx, opts)
}

func (m *mutant) CreateRun(ctx context.Context, r audiosearch.Run, most int) error {
	if err := m.fail(); err != nil {
		return err
	}
	return m.createRun(ctx, r, most)
}

func (m *mutant) Run(ctx context.Context, org string, id int64) (audiosearch.Run, error) {
	if err := m.fail(); err != nil {
		return audiosearch.Run{}, err
	}
	return m.getRun(ctx, org, id)
}

func (m *mutant) UpdateRun(ctx context.Context, org string, id int64, update func(*audiosearch.Run) error) error {
	if err := m.fail(); err != nil {
		return err
	}
	return m.updateRun(ctx, org, id, update)
}

func (m *mutant) PutResultVideos(ctx context.Context, org string, run int64, set uuid.UUID, videos []audiosearch.Video) error {
	if err := m.fail(); err != nil {
		return err
	}
	return m.putFound(ctx, org, run, set, videos)
}

func (m *mutant) PutResults(ctx context.Context, org string, run int64, set uuid.UUID, results []audiosearch.Result) error {
	if err := m.fail(); err != nil {
		return err
	}
	return m.putResults(ctx, org, run, set, results)
}

func (m *mutant) RunResults(ctx context.Context, org string, run int64, from int) ([]audiosearch.Result, error) {
	if err := m.fail(); err != nil {
		return nil, err
	}
	return m.runResults(ctx, org, run, from)
}

func (m *mutant) StaleRuns(
	ctx context.Context, checked, due time.Time, limit int,
) ([]audiosearch.Run, error) {
	if err := m.fail(); err != nil {
		return nil, err
	}
	return m.staleRuns(ctx, checked, due, limit)
}

func (m *mutant) PruneRuns(ctx context.Context, before time.Time, limit int) (int, error) {
	if err := m.fail(); err != nil {
		return 0, err
	}
	return m.pruneRuns(ctx, before, limit)
}

func (m *mutant) TrimRuns(ctx context.Context, keep, limit int) (int, error) {
	if err := m.fail(); err != nil {
		return 0, err
	}
	return m.trimRuns(ctx, keep, limit)
}

func (m *mutant) CreateRunAndAdd(
	ctx context.Context, r audiosearch.Run, most int, j mortise.Job,
) error {
	if err := m.fail(); err != nil {
		return err
	}
	return m.createAndAdd(ctx, r, most, j)
}

func (m *mutant) UpdateRunAndRemove(
	ctx context.Context, org string, id int64, update func(*audiosearch.Run) error, l mortise.Lease,
) error {
	if err := m.fail(); err != nil {
		return err
	}
	return m.updateAndRemove(ctx, org, id, update, l)
}

func (m *mutant) ListRuns(ctx context.Context, org string, q audiosearch.RunQuery) ([]audiosearch.Run, error) {
	if err := m.fail(); err != nil {
		return nil, err
	}
	return m.listRuns(ctx, org, q)
}
