package audiosearchdb

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/columnar"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/engine"
)

// audioCatalog is the metadata of a dataset's videos, as of a version.
type audioCatalog struct {
	mu      sync.RWMutex
	version int64 // all changes up to it are there
	partly  bool  // and some later ones, too: it is not to be used
	ids     []string
	rows    map[string]uint32
	columns columnar.Columns
	sizes   []uint32 // by row
	bytes   int      // the sum of sizes
}

// videoBytes is how much memory a video takes in a catalog, about.
func videoBytes(v *audiosearch.Video) uint32 {
	n := 100 + 2*len(v.ID)
	for _, value := range v.Metadata {
		n += 24 + len(value.Text())
	}
	return uint32(n)
}

// order compares videos by their rows.
func (c *audioCatalog) order(x, y uint32) int { return strings.Compare(c.ids[x], c.ids[y]) }

// audioCatalogs are those that this process has, by dataset. If they take too much memory,
// the organization that has most of it loses the one that it used longest ago. So nobody
// pushes out the few of another one by having many.
type audioCatalogs struct {
	limit int // bytes of all

	mu  sync.Mutex
	all map[int64]*keptCatalog
	use int64 // counts the calls of get
}

// keptCatalog is a catalog as it is counted.
type keptCatalog struct {
	*audioCatalog
	org   string
	used  int64
	bytes int
}

func (cs *audioCatalogs) get(org string, dataset int64) *audioCatalog {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	k := cs.all[dataset]
	if k == nil {
		if cs.all == nil {
			cs.all = make(map[int64]*keptCatalog)
		}
		k = &keptCatalog{audioCatalog: new(audioCatalog), org: org, bytes: emptyCatalog}
		cs.all[dataset] = k
		cs.forgetBut(dataset)
	}
	cs.use++
	k.used = cs.use
	return k.audioCatalog
}

// forget forgets the catalog of a dataset.
func (cs *audioCatalogs) forget(dataset int64) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	delete(cs.all, dataset)
}

// emptyCatalog is what a catalog without videos takes, about.
const emptyCatalog = 1000

// count takes down how large a catalog is.
func (cs *audioCatalogs) count(dataset int64, c *audioCatalog, bytes int) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	k := cs.all[dataset]
	if k == nil || k.audioCatalog != c {
		return // it has been forgotten meanwhile
	}
	// One that is larger than half of it would push out all the others, or never stay.
	k.bytes = min(emptyCatalog+bytes, cs.limit/2)
	cs.forgetBut(dataset)
}

// forgetBut forgets others than one while all are too large together. Who reads what is
// forgotten goes on.
func (cs *audioCatalogs) forgetBut(dataset int64) {
	for len(cs.all) > 1 {
		total, of := 0, make(map[string]int)
		for _, each := range cs.all {
			total += each.bytes
			of[each.org] += each.bytes
		}
		if total <= cs.limit {
			return
		}
		victim := int64(-1)
		for seq, each := range cs.all {
			if seq == dataset {
				continue
			}
			v := cs.all[victim]
			if v == nil || of[each.org] > of[v.org] || of[each.org] == of[v.org] && each.used < v.used {
				victim = seq
			}
		}
		delete(cs.all, victim)
	}
}

// readCatalog calls do with a dataset and its catalog, both as of one snapshot. do does not
// change the catalog.
func (a *Store) readCatalog(ctx context.Context, org, dataset string, do func(*engine.Session, audioDataset, *audioCatalog) error) error {
	var ahead int64 // the version of the catalog, if it was newer than the snapshot
	for {
		err := a.read(ctx, org, dataset, func(s *engine.Session, d audioDataset) error {
			if s.Hosted() { // what it sees may never be committed
				own := new(audioCatalog)
				if err := own.load(s, d); err != nil {
					return err
				}
				return do(s, d, own)
			}
			if d.version < ahead { // though this snapshot is younger: after a failover, say
				a.catalogs.forget(d.seq)
			}
			c := a.catalogs.get(org, d.seq)
			if err := a.bring(s, d, c); err != nil {
				return err
			}
			c.mu.RLock()
			defer c.mu.RUnlock()
			if c.version != d.version || c.partly {
				ahead = c.version
				return errRetrySnapshot
			}
			return do(s, d, c)
		})
		if !errors.Is(err, errRetrySnapshot) {
			return err
		}
	}
}

// bring brings the catalog of a dataset up to its version, if it is older.
func (a *Store) bring(s *engine.Session, d audioDataset, c *audioCatalog) error {
	c.mu.RLock()
	old := c.version < d.version || c.partly
	c.mu.RUnlock()
	if !old {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.version > d.version || c.version == d.version && !c.partly {
		return nil
	}
	defer func() { a.catalogs.count(d.seq, c, c.bytes) }()
	return c.load(s, d)
}

const changedVideos = "SELECT changed, id, path, metadata FROM @.audiosearch_videos WHERE dataset = $1 AND changed > $2 ORDER BY changed"

// load reads what was changed. What it has read when the time is over is kept, or else a
// large catalog would never be read.
func (c *audioCatalog) load(s *engine.Session, d audioDataset) error {
	if d.removed > c.version || c.rows == nil {
		c.version, c.ids, c.rows, c.columns = 0, nil, make(map[string]uint32), columnar.Columns{}
		c.sizes, c.bytes = nil, 0
	}
	c.partly = true
	last := c.version
	err := s.Query(func(rows pgx.Rows) error {
		var changed int64
		v, err := scanVideo(rows, &changed)
		if err != nil {
			return err
		}
		if changed > last {
			c.version, last = last, changed
		}
		row, ok := c.rows[v.ID]
		if !ok {
			row = uint32(len(c.ids))
			c.ids, c.rows[v.ID], c.sizes = append(c.ids, v.ID), row, append(c.sizes, 0)
		}
		size := videoBytes(&v)
		c.bytes += int(size) - int(c.sizes[row])
		c.sizes[row] = size
		c.columns.Set(row, v.Metadata)
		return nil
	}, changedVideos, d.seq, c.version)
	if err == nil {
		c.version, c.partly = d.version, false
	}
	return err
}
