package audiosearchtest_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/audiosearchtest"
	"github.com/seed-6363c74e/mortise/storage/memory"
)

// mutant is the memory backend whose methods can be replaced. A new one is faithful.
type mutant struct {
	db     *memory.AudioSearch
	broken atomic.Bool // makes every method fail

	createDataset func(context.Context, audiosearch.Dataset) error
	dataset       func(context.Context, string, string) (audiosearch.Dataset, error)
	listDatasets  func(context.Context, string, string, int) ([]audiosearch.Dataset, error)
	deleteDataset func(context.Context, string, string) error

	putVideos   func(context.Context, string, string, []audiosearch.Video) error
	video       func(context.Context, string, string, string) (audiosearch.Video, error)
	listVideos  func(context.Context, string, string, string, int) ([]audiosearch.Video, error)
	deleteVideo func(context.Context, string, string, string) error
	missingKeys func(context.Context, string, string, []string) ([]string, error)

	putScoring   func(context.Context, string, string, string, string, audiosearch.Scoring, [][]uint16) error
	scoring      func(context.Context, string, string, string, string) (audiosearch.Scoring, error)
	search       func(context.Context, string, string, audiosearch.ScoreQuery) ([]audiosearch.Hit, error)
	unscored     func(context.Context, string, string, audiosearch.UnscoredQuery) (audiosearch.Unscored, error)
	windowScores func(context.Context, string, string, string, string, int, int) ([][]uint16, error)
	compact      func(context.Context) (bool, error)

	createRun  func(context.Context, audiosearch.Run, int) error
	getRun     func(context.Context, string, int64) (audiosearch.Run, error)
	updateRun  func(context.Context, string, int64, func(*audiosearch.Run) error) error
	putFound   func(context.Context, string, int64, uuid.UUID, []audiosearch.Video) error
	putResults func(context.Context, string, int64, uuid.UUID, []audiosearch.Result) error
	runResults func(context.Context, string, int64, int) ([]audiosearch.Result, error)
	listRuns   func(context.Context, string, audiosearch.RunQuery) ([]audiosearch.Run, error)
	staleRuns  func(context.Context, time.Time, time.Time, int) ([]audiosearch.Run, error)
	pruneRuns  func(context.Context, time.Time, int) (int, error)
	trimRuns   func(context.Context, int, int) (int, error)

	createAndAdd    func(context.Context, audiosearch.Run, int, mortise.Job) error
	updateAndRemove func(
		context.Context, string, int64, func(*audiosearch.Run) error, mortise.Lease,
	) error

	jobs       *memory.Jobs
	shares     func(store any) bool
	queue      *mortise.LeaseQueue
	notifyJobs func(wake func(kind string)) (stop func())

	failure error // what broken methods return
}

var errBroken = errors.New("disk on fire")

// newMutant returns a faithful mutant.
func newMutant(t *testing.T) *mutant {
	memories, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	db := memories.AudioSearch()
	m := &mutant{db: db, failure: errBroken}
	m.createDataset = db.CreateDataset
	m.dataset = db.Dataset
	m.listDatasets = db.ListDatasets
	m.deleteDataset = db.DeleteDataset
	m.putVideos = db.PutVideos
	m.video = db.Video
	m.listVideos = db.ListVideos
	m.deleteVideo = db.DeleteVideo
	m.missingKeys = db.MissingKeys
	m.putScoring = db.PutScoring
	m.scoring = db.Scoring
	m.search = db.Search
	m.unscored = db.Unscored
	m.windowScores = db.WindowScores
	m.createRun = db.CreateRun
	m.getRun = db.Run
	m.updateRun = db.UpdateRun
	m.putFound = db.PutResultVideos
	m.putResults = db.PutResults
	m.runResults = db.RunResults
	m.listRuns = db.ListRuns
	m.staleRuns = db.StaleRuns
	m.pruneRuns = db.PruneRuns
	m.trimRuns = db.TrimRuns
	m.compact = func(ctx context.Context) (bool, error) { return false, ctx.Err() } // memory has nothing to tidy up
	m.createAndAdd = db.CreateRunAndAdd
	m.updateAndRemove = db.UpdateRunAndRemove
	m.jobs = memories.Jobs()
	m.shares = func(store any) bool {
		other, ok := store.(*mutant)
		return ok && m.jobs.Shares(other.db)
	}
	m.notifyJobs = m.jobs.NotifyJobs
	m.queue = mortise.NewLeaseQueue(mutantLeases{m}, nil)
	return m
}

// backend returns the mutant as what the suite takes.
func (m *mutant) backend() audiosearchtest.Backend {
	return audiosearchtest.Backend{Datasets: m, Catalog: m, Scores: m, Runs: m, Results: m,
		Leases: mutantLeases{m}, Queue: m.queue}
}

func (m *mutant) fail() error {
	if m.broken.Load() {
		return m.failure
	}
	return nil
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

func (m *mutant) Video(ctx context.Context, org, dataset, id string) (audiosearch.Video, error) {
	if err := m.fail(); err != nil {
		return audiosearch.Video{}, err
	}
	return m.video(ctx, org, dataset, id)
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

func (m *mutant) Scoring(ctx context.Context, org, dataset, video, model string) (audiosearch.Scoring, error) {
	if err := m.fail(); err != nil {
		return audiosearch.Scoring{}, err
	}
	return m.scoring(ctx, org, dataset, video, model)
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

func (m *mutant) Compact(ctx context.Context) (bool, error) {
	if err := m.fail(); err != nil {
		return false, err
	}
	return m.compact(ctx)
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

func (m *mutant) ListRuns(
	ctx context.Context, org string, q audiosearch.RunQuery,
) ([]audiosearch.Run, error) {
	if err := m.fail(); err != nil {
		return nil, err
	}
	return m.listRuns(ctx, org, q)
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

// mutantLeases are the mutant's jobs. They do what they should: their rules are those of
// package storage/queuetest.
type mutantLeases struct{ m *mutant }

func (l mutantLeases) Add(ctx context.Context, j mortise.Job) error { return l.m.jobs.Add(ctx, j) }

func (l mutantLeases) Cancel(ctx context.Context, j mortise.Job) error {
	return l.m.jobs.Cancel(ctx, j)
}

func (l mutantLeases) Claim(ctx context.Context, c mortise.Claim) ([]mortise.Lease, error) {
	return l.m.jobs.Claim(ctx, c)
}

func (l mutantLeases) Extend(ctx context.Context, lease mortise.Lease, ttl time.Duration) error {
	return l.m.jobs.Extend(ctx, lease, ttl)
}

func (l mutantLeases) Release(ctx context.Context, lease mortise.Lease, after time.Duration) error {
	return l.m.jobs.Release(ctx, lease, after)
}

func (l mutantLeases) Remove(ctx context.Context, lease mortise.Lease, dead bool) error {
	return l.m.jobs.Remove(ctx, lease, dead)
}

func (l mutantLeases) Shares(store any) bool { return l.m.shares(store) }

func (l mutantLeases) NotifyJobs(wake func(kind string)) (stop func()) {
	return l.m.notifyJobs(wake)
}
