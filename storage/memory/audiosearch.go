package memory

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
)

// AudioSearch implements [audiosearch.Store], [audiosearch.TxStore] and
// [audiosearch.Pruner].
type AudioSearch struct{ db *DB }

var (
	_ audiosearch.Store   = (*AudioSearch)(nil)
	_ audiosearch.TxStore = (*AudioSearch)(nil)
	_ audiosearch.Pruner  = (*AudioSearch)(nil)
)

// audioTables is what the domain audiosearch keeps.
type audioTables struct {
	deleted  map[string]time.Time // organizations, and since when
	datasets map[ownedID]*audioDataset
	runs     map[int64]*audioRun
	order    map[string][]*audioRun // the runs of each organization, oldest first
	waiting  map[string]int         // runs that have not ended, by organization
	classes  vocabularies
	models   modelOrder
}

// audioDataset is a dataset with its videos. It has a lock of its own, because a search
// may take long and gives way to other organizations meanwhile. Whoever has the lock of
// the database, or a turn, must not wait for that of a dataset.
type audioDataset struct {
	mu      sync.RWMutex
	dataset audiosearch.Dataset // never changed
	videos  map[string]*audioVideo
	rows    audioRows
	models  audioModels
	parted  map[string]bool // IDs of videos that may have parts
	count   atomic.Int64    // of the videos, for who must not wait for mu
}

// audioVideo is a video with what models made of it.
type audioVideo struct {
	video    audiosearch.Video
	row      uint32
	scorings []audiosearch.Scoring  // by different models; without Classes if rows has scores
	parts    map[string]*audioParts // by model
}

// read calls f with a dataset, under its lock for reading.
func (a *AudioSearch) read(ctx context.Context, org, id string, f func(*audioDataset) error) error {
	d, err := a.find(ctx, org, id)
	if err != nil {
		return err
	}
	d.mu.RLock()
	defer d.mu.RUnlock()
	return f(d)
}

// write is read under the lock for writing.
func (a *AudioSearch) write(ctx context.Context, org, id string, f func(*audioDataset) error) error {
	d, err := a.find(ctx, org, id)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	defer func() { d.count.Store(int64(len(d.videos))) }()
	return f(d)
}

func (a *AudioSearch) find(ctx context.Context, org, id string) (*audioDataset, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	a.db.mu.RLock()
	defer a.db.mu.RUnlock()
	d, ok := a.db.audio.datasets[ownedID{org, id}]
	if !ok || a.db.audio.gone(org) {
		return nil, audiosearch.ErrDatasetNotFound
	}
	return d, nil
}

// CreateDataset implements [audiosearch.Datasets].
func (a *AudioSearch) CreateDataset(ctx context.Context, d audiosearch.Dataset) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	a.db.mu.Lock()
	defer a.db.mu.Unlock()
	if a.db.audio.gone(d.Organization) {
		return mortise.ErrDeleted
	}
	id := ownedID{d.Organization, d.ID}
	if _, ok := a.db.audio.datasets[id]; ok {
		return mortise.ErrExists
	}
	a.db.audio.datasets[id] = &audioDataset{dataset: d, videos: make(map[string]*audioVideo)}
	return nil
}

// Dataset implements [audiosearch.Datasets].
func (a *AudioSearch) Dataset(ctx context.Context, org, id string) (d audiosearch.Dataset, err error) {
	found, err := a.find(ctx, org, id)
	if err == nil {
		d = found.dataset
	}
	return d, err
}

// ListDatasets implements [audiosearch.Datasets].
func (a *AudioSearch) ListDatasets(ctx context.Context, org, after string, limit int) ([]audiosearch.Dataset, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	a.db.mu.RLock()
	defer a.db.mu.RUnlock()
	if a.db.audio.gone(org) {
		return nil, nil
	}
	var list []audiosearch.Dataset
	for id, d := range a.db.audio.datasets {
		if id.org == org && id.id > after {
			list = append(list, d.dataset)
		}
	}
	slices.SortFunc(list, func(x, y audiosearch.Dataset) int { return strings.Compare(x.ID, y.ID) })
	return list[:min(limit, len(list))], nil
}

// DeleteDataset implements [audiosearch.Datasets].
func (a *AudioSearch) DeleteDataset(ctx context.Context, org, id string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	a.db.mu.Lock()
	defer a.db.mu.Unlock()
	if _, ok := a.db.audio.datasets[ownedID{org, id}]; !ok || a.db.audio.gone(org) {
		return audiosearch.ErrDatasetNotFound
	}
	// Calls that have found it already go on as if they had come before.
	delete(a.db.audio.datasets, ownedID{org, id})
	return nil
}
