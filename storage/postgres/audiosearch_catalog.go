package postgres

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/seed-6363c74e/mortise/audiosearch/columnar"
)

// audioCatalog is the metadata of a dataset's videos, as of a version.
type audioCatalog struct {
	mu      sync.RWMutex
	version int64 // all changes up to it are there
	partly  bool  // and some later ones, too: it is not to be used
	ids     []string
	rows    map[string]uint32
	columns columnar.Columns
}

// order compares videos by their rows.
func (c *audioCatalog) order(x, y uint32) int { return strings.Compare(c.ids[x], c.ids[y]) }

// audioCatalogs are those that this process has, by dataset.
type audioCatalogs struct {
	mu    sync.Mutex
	all   map[int64]*audioCatalog
	order []int64 // the one that was asked for longest ago first
}

// catalogsKept bounds how many catalogs a process keeps.
const catalogsKept = 64

func (cs *audioCatalogs) get(dataset int64) *audioCatalog {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for i, seq := range cs.order {
		if seq == dataset {
			cs.order = append(append(cs.order[:i:i], cs.order[i+1:]...), dataset)
			return cs.all[dataset]
		}
	}
	if cs.all == nil {
		cs.all = make(map[int64]*audioCatalog)
	}
	if len(cs.order) == catalogsKept {
		delete(cs.all, cs.order[0])
		cs.order = cs.order[1:]
	}
	c := new(audioCatalog)
	cs.all[dataset], cs.order = c, append(cs.order, dataset)
	return c
}

// readCatalog calls do with a dataset and its catalog, both as of one snapshot. do does not
// change the catalog.
func (a *AudioSearch) readCatalog(ctx context.Context, org, dataset string, do func(*session, audioDataset, *audioCatalog) error) error {
	for {
		err := a.read(ctx, org, dataset, func(s *session, d audioDataset) error {
			if s.host { // what it sees may never be committed
				own := new(audioCatalog)
				if err := own.load(s, d); err != nil {
					return err
				}
				return do(s, d, own)
			}
			c := a.db.catalogs.get(d.seq)
			if err := c.bring(s, d); err != nil {
				return err
			}
			c.mu.RLock()
			defer c.mu.RUnlock()
			if c.version != d.version || c.partly {
				return errRetrySnapshot
			}
			return do(s, d, c)
		})
		if !errors.Is(err, errRetrySnapshot) {
			return err
		}
	}
}

// bring brings the catalog up to a version, if it is older.
func (c *audioCatalog) bring(s *session, d audioDataset) error {
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
	return c.load(s, d)
}

const changedVideos = "SELECT changed, id, path, metadata FROM @.audiosearch_videos WHERE dataset = $1 AND changed > $2 ORDER BY changed"

// load reads what was changed. What it has read when the time is over is kept, or else a
// large catalog would never be read.
func (c *audioCatalog) load(s *session, d audioDataset) error {
	if d.removed > c.version || c.rows == nil {
		c.version, c.ids, c.rows, c.columns = 0, nil, make(map[string]uint32), columnar.Columns{}
	}
	c.partly = true
	last := c.version
	err := s.query(func(rows pgx.Rows) error {
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
			c.ids, c.rows[v.ID] = append(c.ids, v.ID), row
		}
		c.columns.Set(row, v.Metadata)
		return nil
	}, changedVideos, d.seq, c.version)
	if err == nil {
		c.version, c.partly = d.version, false
	}
	return err
}
