package audiosearchdb

import (
	"container/list"
	"context"
	"slices"
	"sync"

	"github.com/seed-6363c74e/mortise/audiosearch/columnar"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
)

// viewsOf returns the views of what a call sees: a transaction of the host's has its own,
// since others do not see what it has written, and may never do.
func (a *Store) viewsOf(ctx context.Context) *views {
	kept := a.db.OfHost(ctx)
	if kept == nil {
		return a.views
	}
	v := file.MemoryOf[views](kept)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.limit = a.views.limit
	return v
}

// views are the datasets that this process remembers, those that were searched last.
type views struct {
	mu    sync.Mutex
	bySeq map[int64]*list.Element
	order list.List // of *sharedView, the one used last in front
	bytes int
	limit int

	vocabularies vocabularies
}

// sharedView is a view that searches share: they read it together, and one at a time
// changes it.
//
// A search waits first for the view, then for a connection, and last for a turn
// (columnar.Turn), and never in another order. So the long searches of an organization
// hold up no search of another dataset. A connection is held while scores are read, and
// not while filters search long texts.
type sharedView struct {
	viewLock
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
	v := &sharedView{view: newView(dataset, &vs.vocabularies)}
	vs.bySeq[dataset] = vs.order.PushFront(v)
	return v
}

// forget forgets a dataset that is gone. Who reads its view goes on.
func (vs *views) forget(dataset int64) {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	if e, ok := vs.bySeq[dataset]; ok {
		vs.bytes -= vs.order.Remove(e).(*sharedView).bytes
		delete(vs.bySeq, dataset)
	}
}

// count takes down how large a view is, and forgets those that were not used for the
// longest time while all are too large together. The one used last stays.
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

// look calls read with a dataset as it is now: a view of it, and a connection that sees
// the same. It is ErrDatasetNotFound if there is none. An error of read's costs the
// connection, so it is for failures only.
func (a *Store) look(ctx context.Context, org, dataset string, read func(*file.Conn, *view) error) error {
	return a.lookSelected(ctx, org, dataset, nil, func(c *file.Conn, v *view, _ *columnar.Selection) error { return read(c, v) })
}

// lookSelected is look that also selects the videos that pass filters; nil if there are
// no filters.
func (a *Store) lookSelected(
	ctx context.Context, org, dataset string, filters []metadata.Filter, read func(*file.Conn, *view, *columnar.Selection) error,
) error {
	l := &looking{Store: a, org: org, dataset: dataset, filters: filters, read: read}
	if err := l.find(ctx); err != nil {
		return err
	}
	// What is selected counts only if the dataset has not changed until there is a
	// connection. Where it changes all the time, this ends with what one connection sees.
	const tries = 3
	for try := 1; ; try++ {
		look := l.look
		if try > tries {
			look = l.lookOnce
		}
		done, err := look(ctx)
		if done || err != nil {
			return err
		}
	}
}

// looking is a call of lookSelected.
type looking struct {
	*Store
	org, dataset string
	filters      []metadata.Filter
	read         func(*file.Conn, *view, *columnar.Selection) error

	at audioDataset // as last seen
}

// find looks for the dataset.
func (l *looking) find(ctx context.Context) error {
	l.at = audioDataset{}
	err := l.db.Find(ctx, l.org, datasetByID, []any{l.org, l.dataset}, l.at.scan)
	return l.at.found(err)
}

// look is one try. It reports false if the view was not of the state that the connection
// sees, and brings it there.
func (l *looking) look(ctx context.Context) (done bool, err error) {
	v := l.viewsOf(ctx).get(l.at.seq)
	if err := v.lock(ctx, false); err != nil {
		return false, err
	}
	done, err = func() (bool, error) {
		defer v.unlock()
		if v.revision < l.at.revision {
			return false, nil
		}
		late := !l.searchesTexts() // selects with the connection in hand
		var selected *columnar.Selection
		if !late {
			if selected, err = v.selection(ctx, l.filters); err != nil {
				return false, err
			}
		}
		return l.connected(ctx, func(c *file.Conn) (bool, error) {
			if l.at.seq != v.dataset || l.at.revision != v.revision {
				return false, nil
			}
			if late {
				if selected, err = v.selection(ctx, l.filters); err != nil {
					return false, err
				}
			}
			return true, l.read(c, v.view, selected)
		})
	}()
	if done || err != nil {
		return done, err
	}
	return false, l.update(ctx, v)
}

// lookOnce brings the view to the state that a connection sees and reads it with the same
// connection. It reports false if the dataset is another one by now.
func (l *looking) lookOnce(ctx context.Context) (done bool, err error) {
	v := l.viewsOf(ctx).get(l.at.seq)
	if err := v.lock(ctx, true); err != nil {
		return false, err
	}
	defer v.unlock()
	shared := false
	return l.connected(ctx, func(c *file.Conn) (bool, error) {
		// A lock of another process may have made it begin again.
		if l.at.seq != v.dataset || shared && l.at.revision != v.revision {
			return false, nil
		}
		if !shared {
			if err := l.bring(ctx, c, v); err != nil {
				return false, err
			}
			v.share()
			shared = true
		}
		selected, err := v.selection(ctx, l.filters)
		if err != nil {
			return false, err
		}
		return true, l.read(c, v.view, selected)
	})
}

func (l *looking) searchesTexts() bool {
	return slices.ContainsFunc(l.filters, func(f metadata.Filter) bool { return f.Op == metadata.OpContains })
}

// connected calls do with a connection, having set l.at to the dataset that it sees.
func (l *looking) connected(ctx context.Context, do func(*file.Conn) (bool, error)) (done bool, err error) {
	l.at = audioDataset{}
	err = l.within(ctx, l.org, l.dataset, func(c *file.Conn, d *audioDataset) (err error) {
		l.at = *d
		done, err = do(c)
		return err
	})
	return done, err
}

// update brings a view to the state that a connection sees.
func (l *looking) update(ctx context.Context, v *sharedView) error {
	if err := v.lock(ctx, true); err != nil {
		return err
	}
	defer v.unlock()
	_, err := l.connected(ctx, func(c *file.Conn) (bool, error) {
		if l.at.seq != v.dataset { // the dataset is another one by now
			return true, nil
		}
		return true, l.bring(ctx, c, v)
	})
	return err
}

// bring is update with a connection, for who has locked the view.
func (l *looking) bring(ctx context.Context, c *file.Conn, v *sharedView) error {
	if v.revision >= l.at.revision { // somebody was faster
		return nil
	}
	if err := v.view.update(ctx, c, &l.at); err != nil {
		v.view = newView(v.dataset, v.vocabularies)
		return err
	}
	l.viewsOf(ctx).count(v, v.view.bytes)
	return nil
}
