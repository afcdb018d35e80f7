package memory

import (
	"context"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
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
		return audiosearch.ErrDeleted
	}
	id := ownedID{d.Organization, d.ID}
	if _, ok := a.db.audio.datasets[id]; ok {
		return audiosearch.ErrExists
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

// PutVideos implements [audiosearch.Catalog].
func (a *AudioSearch) PutVideos(ctx context.Context, org, dataset string, videos []audiosearch.Video) error {
	return a.write(ctx, org, dataset, func(d *audioDataset) error {
		for _, v := range videos {
			v.Metadata = maps.Clone(v.Metadata)
			d.put(v)
		}
		return nil
	})
}

// maxVideosBytes is how much metadata Videos returns beside that of one video.
const maxVideosBytes = 1 << 20

// Videos implements [audiosearch.Catalog].
func (a *AudioSearch) Videos(ctx context.Context, org, dataset string, ids []string) (found []audiosearch.Video, looked int, err error) {
	err = a.read(ctx, org, dataset, func(d *audioDataset) error {
		size := 0
		for _, id := range ids {
			v, ok := d.videos[id]
			if ok {
				if size += metadataSize(v.video.Metadata); size > maxVideosBytes && len(found) > 0 {
					break
				}
				found = append(found, cloneVideo(v.video))
			}
			looked++
		}
		return nil
	})
	return found, looked, err
}

func cloneVideo(v audiosearch.Video) audiosearch.Video {
	v.Metadata = maps.Clone(v.Metadata)
	return v
}

// metadataSize returns how many bytes metadata are, about.
func metadataSize(m metadata.Map) (n int) {
	for key, value := range m {
		n += len(key) + len(value.Text())
	}
	return n
}

// ListVideos implements [audiosearch.Catalog].
func (a *AudioSearch) ListVideos(ctx context.Context, org, dataset, after string, limit int) (list []audiosearch.Video, err error) {
	err = a.read(ctx, org, dataset, func(d *audioDataset) error {
		list = d.page(after, limit, maps.Values(d.videos))
		return nil
	})
	return list, err
}

// page returns videos by ID.
func (d *audioDataset) page(after string, limit int, videos iter.Seq[*audioVideo]) []audiosearch.Video {
	var ids []string
	first := func() []string {
		slices.Sort(ids)
		return ids[:min(limit, len(ids))]
	}
	for v := range videos {
		if v.video.ID <= after {
			continue
		}
		if ids = append(ids, v.video.ID); len(ids)/2 >= max(limit, 1000) {
			ids = first() // so that a page does not cost as much as all that follow
		}
	}
	var list []audiosearch.Video
	for _, id := range first() {
		list = append(list, cloneVideo(d.videos[id].video))
	}
	return list
}

// DeleteVideo implements [audiosearch.Catalog].
func (a *AudioSearch) DeleteVideo(ctx context.Context, org, dataset, id string) error {
	return a.write(ctx, org, dataset, func(d *audioDataset) error {
		v, ok := d.videos[id]
		if !ok {
			return audiosearch.ErrVideoNotFound
		}
		d.rows.remove(v)
		delete(d.videos, id)
		return nil
	})
}

// MissingKeys implements [audiosearch.Catalog].
func (a *AudioSearch) MissingKeys(ctx context.Context, org, dataset string, keys []string) (missing []string, err error) {
	err = a.read(ctx, org, dataset, func(d *audioDataset) error {
		for _, key := range keys {
			if !d.rows.columns.HasKey(key) {
				missing = append(missing, key)
			}
		}
		return nil
	})
	return missing, err
}
