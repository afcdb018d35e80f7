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
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
	"github.com/seed-6363c74e/mortise/storage/memory"
)

// mutant is the memory backend, whose methods can be replaced: each calls the one in on.
type mutant struct {
	db      plainStore // which stays faithful
	on      methods
	broken  atomic.Bool // makes every method fail
	failure error       // what broken methods return

	// One at a time, instead of Videos and Scorings.
	video   func(context.Context, string, string, string) (audiosearch.Video, error)
	scoring func(context.Context, string, string, string, string) (audiosearch.Scoring, error)

	jobs       *memory.Jobs
	shares     func(store any) bool
	queue      *mortise.LeaseQueue
	notifyJobs func(wake func(kind string)) (stop func())

	marked atomic.Bool // by removesAtOnce
}

// methods are those of the backend.
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

var errBroken = errors.New("disk on fire")

// newMutant returns a faithful mutant.
func newMutant(t *testing.T) *mutant {
	memories, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	m := &mutant{db: plainStore{memories.AudioSearch().Store.(*memory.AudioSearch)}, jobs: memories.Jobs(), failure: errBroken}
	mutate.Fill(&m.on, m.db)
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
	mutate.Around(&m.on, func(c *mutate.Call) {
		if m.broken.Load() {
			*c.Err() = m.failure
			return
		}
		c.Go()
	})
	return audiosearchtest.Backend{Datasets: m, Catalog: m, Scores: m, Parts: m, Models: m, Runs: m, Results: m, Counter: m, Deletion: m,
		Leases: mutantLeases{m}, Queue: m.queue}
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
