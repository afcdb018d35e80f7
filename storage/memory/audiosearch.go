package memory

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
)

// AudioSearch implements [audiosearch.Store], [audiosearch.TxStore], [audiosearch.Pruner]
// and [mortise.HostTx].
type AudioSearch struct {
	db *DB
	revoked
}

var (
	_ audiosearch.Store   = (*AudioSearch)(nil)
	_ audiosearch.TxStore = (*AudioSearch)(nil)
	_ audiosearch.Pruner  = (*AudioSearch)(nil)
	_ mortise.HostTx      = (*AudioSearch)(nil)
)

// AfterCommit implements [mortise.HostTx].
func (a *AudioSearch) AfterCommit(ctx context.Context, f func(ctx context.Context)) bool {
	return a.db.afterCommit(ctx, f)
}

// audioTables is what the domain audiosearch keeps.
type audioTables struct {
	deleted  map[string]time.Time // organizations, and since when
	datasets map[ownedID]*audioDataset
	runs     map[int64]*audioRun
	order    map[string][]*audioRun // the runs of each organization, oldest first
	waiting  map[string]int         // runs that have not ended, by organization
	places   map[[2]string]int64    // of models, by family and ID: when they were first asked for
}

// clone returns tables with copies of all that is changed in place, but for what is in the
// datasets: see hostTx.owned.
func (t *audioTables) clone() audioTables {
	runs := make(copies[audioRun])
	copied := audioTables{
		deleted: maps.Clone(t.deleted), datasets: maps.Clone(t.datasets),
		runs: mapped(t.runs, runs.of), order: mapped(t.order, runs.all),
		waiting: maps.Clone(t.waiting), places: maps.Clone(t.places),
	}
	for _, r := range runs {
		r.sets = mapped(r.sets, func(s *audioResults) *audioResults {
			return &audioResults{videos: maps.Clone(s.videos), results: s.results}
		})
	}
	return copied
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
	for {
		d, own, err := a.findToWrite(ctx, org, id)
		if err != nil {
			return err
		}
		called, err := d.write(func() bool { return own || a.db.has(d) }, f)
		if called {
			return err
		}
	}
}

// write calls f under the lock for writing, if may then returns true.
func (d *audioDataset) write(may func() bool, f func(*audioDataset) error) (called bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !may() {
		return false, nil
	}
	return true, f(d)
}

// has reports whether a dataset, whose lock the caller has, may be changed. After a look at
// the tables and before that lock, a transaction of InTx may have begun, or been committed
// with another dataset in the place of this one.
func (db *DB) has(d *audioDataset) bool {
	db.mu.RLock()
	defer db.mu.RUnlock()
	return db.open == nil && db.kept.audio.datasets[d.id()] == d
}

func (d *audioDataset) id() ownedID { return ownedID{d.dataset.Organization, d.dataset.ID} }

func (a *AudioSearch) find(ctx context.Context, org, id string) (*audioDataset, error) {
	db, err := a.db.read(ctx)
	if err != nil {
		return nil, err
	}
	defer db.end()
	return db.audio.find(org, id)
}

// findToWrite also reports whether the dataset is a transaction's own.
func (a *AudioSearch) findToWrite(ctx context.Context, org, id string) (d *audioDataset, own bool, err error) {
	db, err := a.db.write(ctx)
	if err != nil {
		return nil, false, err
	}
	defer db.end()
	d, err = db.audio.find(org, id)
	if err == nil && db.tx != nil {
		return db.tx.owned(d), true, nil
	}
	return d, false, err
}

func (t *audioTables) find(org, id string) (*audioDataset, error) {
	d, ok := t.datasets[ownedID{org, id}]
	if !ok || t.gone(org) {
		return nil, audiosearch.ErrDatasetNotFound
	}
	return d, nil
}

// CreateDataset implements [audiosearch.Datasets].
func (a *AudioSearch) CreateDataset(ctx context.Context, d audiosearch.Dataset) error {
	db, err := a.db.write(ctx)
	if err != nil {
		return err
	}
	defer db.end()
	if db.audio.gone(d.Organization) {
		return mortise.ErrDeleted
	}
	id := ownedID{d.Organization, d.ID}
	if _, ok := db.audio.datasets[id]; ok {
		return mortise.ErrExists
	}
	db.audio.datasets[id] = &audioDataset{dataset: d, videos: make(map[string]*audioVideo)}
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
func (a *AudioSearch) ListDatasets(
	ctx context.Context, org string, after mortise.Cursor, limit int,
) (page mortise.Page[audiosearch.Dataset], err error) {
	db, err := a.db.read(ctx)
	if err != nil {
		return page, err
	}
	defer db.end()
	var list []*audiosearch.Dataset
	for id, d := range db.audio.datasets {
		if id.org == org && !db.audio.gone(org) {
			list = append(list, &d.dataset)
		}
	}
	slices.SortFunc(list, func(x, y *audiosearch.Dataset) int { return strings.Compare(x.ID, y.ID) })
	return oldestFirst(list, after, limit, func(d *audiosearch.Dataset) audiosearch.Dataset { return *d })
}

// DeleteDataset implements [audiosearch.Datasets].
func (a *AudioSearch) DeleteDataset(ctx context.Context, org, id string) error {
	db, err := a.db.write(ctx)
	if err != nil {
		return err
	}
	defer db.end()
	if _, ok := db.audio.datasets[ownedID{org, id}]; !ok || db.audio.gone(org) {
		return audiosearch.ErrDatasetNotFound
	}
	// Calls that have found it already go on as if they had come before.
	delete(db.audio.datasets, ownedID{org, id})
	db.revocations.count(time.Time{})
	return nil
}
