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
	db     plainStore
	broken atomic.Bool // makes every method fail

	createDataset func(context.Context, audiosearch.Dataset) error
	dataset       func(context.Context, string, string) (audiosearch.Dataset, error)
	listDatasets  func(context.Context, string, string, int) ([]audiosearch.Dataset, error)
	deleteDataset func(context.Context, string, string) error

	putVideos   func(context.Context, string, string, []audiosearch.Video) error
	videos      func(context.Context, string, string, []string) ([]audiosearch.Video, int, error)
	video       func(context.Context, string, string, string) (audiosearch.Video, error) // instead of videos
	listVideos  func(context.Context, string, string, string, int) ([]audiosearch.Video, error)
	deleteVideo func(context.Context, string, string, string) error
	missingKeys func(context.Context, string, string, []string) ([]string, error)

	putScoring   func(context.Context, string, string, string, string, audiosearch.Scoring, [][]uint16) error
	scorings     func(context.Context, string, string, string, []string) (map[string]audiosearch.Scoring, error)
	scoring      func(context.Context, string, string, string, string) (audiosearch.Scoring, error) // instead of scorings
	search       func(context.Context, string, string, audiosearch.ScoreQuery) ([]audiosearch.Hit, error)
	unscored     func(context.Context, string, string, audiosearch.UnscoredQuery) (audiosearch.Unscored, error)
	windowScores func(context.Context, string, string, string, string, int, int) ([][]uint16, error)
	compact      func(context.Context, audiosearch.CompactOptions) (bool, error)

	putPart    func(context.Context, string, string, audiosearch.Part, [][]uint16) (int, error)
	parts      func(context.Context, string, string, audiosearch.Part) (int, error)
	models     func(context.Context, string, string) ([]audiosearch.DatasetModel, error)
	setModel   func(context.Context, string, string, audiosearch.ModelChange) error
	modelOrder func(context.Context, string, string) (int64, error)

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

	stats    func(context.Context, string, int) (audiosearch.Stats, error)
	statsAll func(context.Context, int) (audiosearch.AllStats, error)

	markDeleted   func(context.Context, string, time.Time) (time.Time, error)
	removeDeleted func(context.Context, string, int) (bool, error)

	createAndAdd    func(context.Context, audiosearch.Run, int, mortise.Job) error
	updateAndRemove func(
		context.Context, string, int64, func(*audiosearch.Run) error, mortise.Lease,
	) error

	jobs       *memory.Jobs
	shares     func(store any) bool
	queue      *mortise.LeaseQueue
	notifyJobs func(wake func(kind string)) (stop func())

	marked  atomic.Bool // by removesAtOnce
	failure error       // what broken methods return
}

var errBroken = errors.New("disk on fire")

// newMutant returns a faithful mutant.
func newMutant(t *testing.T) *mutant {
	memories, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	db := plainStore{memories.AudioSearch().Store.(*memory.AudioSearch)}
	m := &mutant{db: db, failure: errBroken}
	m.createDataset = db.CreateDataset
	m.dataset = db.Dataset
	m.listDatasets = db.ListDatasets
	m.deleteDataset = db.DeleteDataset
	m.putVideos = db.PutVideos
	m.videos = db.Videos
	m.listVideos = db.ListVideos
	m.deleteVideo = db.DeleteVideo
	m.missingKeys = db.MissingKeys
	m.putScoring = db.PutScoring
	m.scorings = db.Scorings
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
	m.stats = db.Stats
	m.statsAll = db.StatsAll
	m.staleRuns = db.StaleRuns
	m.markDeleted = db.MarkDeleted
	m.removeDeleted = db.RemoveDeleted
	m.pruneRuns = db.PruneRuns
	m.trimRuns = db.TrimRuns
	m.compact = db.Compact
	m.putPart = db.PutPart
	m.parts = db.Parts
	m.models = db.Models
	m.setModel = db.SetModel
	m.modelOrder = db.ModelOrder
	m.createAndAdd = db.CreateRunAndAdd
	m.updateAndRemove = db.UpdateRunAndRemove
	m.jobs = memories.Jobs()
	m.shares = func(store any) bool {
		other, ok := store.(*mutant)
		return ok && m.jobs.Shares(other.db.AudioSearch)
	}
	m.notifyJobs = m.jobs.NotifyJobs
	m.queue = mortise.NewLeaseQueue(mutantLeases{m}, nil)
	return m
}

// backend returns the mutant as what the suite takes.
func (m *mutant) backend() audiosearchtest.Backend {
	return audiosearchtest.Backend{Datasets: m, Catalog: m, Scores: m, Parts: m, Models: m, Runs: m, Results: m, Counter: m, Deletion: m,
		Leases: mutantLeases{m}, Queue: m.queue}
}

func (m *mutant) fail() error {
	if m.broken.Load() {
		return m.failure
	}
	return nil
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
