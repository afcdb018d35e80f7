package sqlite

import (
	"container/list"
	"context"
	"sync"
)

// views are the datasets that this process remembers, those that were searched last.
type views struct {
	mu    sync.Mutex
	bySeq map[int64]*list.Element
	order list.List // of *sharedView, the one used last in front
	bytes int
	limit int
}

// sharedView is a view that searches share: they read it together, and one at a time changes it.
type sharedView struct {
	sync.RWMutex
	*view
	bytes int // as counted in views
}

// get returns the view of a dataset, an empty one if it is not known.
func (vs *views) get(dataset int64) *sharedView {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	if e, ok := vs.bySeq[dataset]; ok {
		vs.order.MoveToFront(e)
		return e.Value.(*sharedView)
	}
	if vs.bySeq == nil {
		vs.bySeq = make(map[int64]*list.Element)
	}
	v := &sharedView{view: newView(dataset)}
	vs.bySeq[dataset] = vs.order.PushFront(v)
	return v
}

// count takes down how large a view is, and forgets those that were not used for the longest time while all are too large together. The one
// used last stays.
func (vs *views) count(v *sharedView, bytes int) {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	if e, ok := vs.bySeq[v.dataset]; !ok || e.Value != v {
		return // it has been forgotten meanwhile
	}
	vs.bytes += bytes - v.bytes
	v.bytes = bytes
	for vs.bytes > vs.limit && vs.order.Len() > 1 {
		oldest := vs.order.Remove(vs.order.Back()).(*sharedView)
		delete(vs.bySeq, oldest.dataset)
		vs.bytes -= oldest.bytes
	}
}

// look calls read with a dataset as it is now: a view of it, and a connection that sees the same. It is ErrDatasetNotFound if there is none. An
// error of read's costs the connection, so it is for failures only.
func (a *AudioSearch) look(ctx context.Context, org, dataset string, read func(*conn, *view) error) error {
	var d audioDataset
	for done := false; !done; {
		err := a.db.lister.use(ctx, a.db.busy, func(c *conn) error {
			d, done = audioDataset{}, true
			// As long as this statement is not at its end, all others see the same state of the database.
			return c.query(unbounded, datasetByID, []any{org, dataset}, func(r *row) (err error) {
				if err := d.scan(r); err != nil {
					return err
				}
				done, err = a.db.views.with(ctx, c, &d, read)
				return err
			})
		})
		if err := d.found(err); err != nil {
			return err
		}
	}
	return nil
}

// with calls read with the view of a dataset at a revision. It reports false if somebody has a later one already: then the caller is to
// look again.
func (vs *views) with(ctx context.Context, c *conn, d *audioDataset, read func(*conn, *view) error) (bool, error) {
	v := vs.get(d.seq)
	if done, err := v.at(d.revision, c, read); done {
		return true, err
	}
	if err := vs.update(ctx, c, v, d); err != nil {
		return false, err
	}
	return v.at(d.revision, c, read)
}

// at calls read if the view is of the revision.
func (v *sharedView) at(revision int64, c *conn, read func(*conn, *view) error) (done bool, err error) {
	v.RLock()
	defer v.RUnlock()
	if v.revision != revision {
		return false, nil
	}
	return true, read(c, v.view)
}

// update brings a view to a revision, or leaves it as it is if it has a later one.
func (vs *views) update(ctx context.Context, c *conn, v *sharedView, d *audioDataset) error {
	v.Lock()
	defer v.Unlock()
	if v.revision >= d.revision {
		return nil
	}
	if err := v.view.update(ctx, c, d); err != nil {
		v.view = newView(d.seq)
		return err
	}
	vs.count(v, v.view.bytes)
	return nil
}
