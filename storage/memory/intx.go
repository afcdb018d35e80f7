package memory

import (
	"context"
	"errors"
	"sync"
)

// InTx calls f with a context under which the calls of db's stores and queues are part of one
// transaction, over all domains and the jobs. They see what they have written. If f returns
// nil, all that is committed; if f returns an error, panics or ends its goroutine, or ctx has
// ended, nothing of it is left. InTx returns f's error, or that of ctx.
//
// Meanwhile calls under other contexts read what was committed before, and those that write
// wait for the end of the transaction, or of their context. So f must not wait for such a
// write: it would wait forever. f makes one call at a time; a call from within another one,
// or after InTx has returned, is an error, and so is InTx within InTx, as on SQLite.
//
// Other effects of f, such as a change of a map of the host's, are not undone. Consumers
// hear of the jobs that were committed once they are. [mortise.Observer] says what an
// Observer hears.
//
// It is slow, and for tests: it copies all that is kept, but for datasets, of which it copies
// those that the transaction writes to.
func (db *DB) InTx(ctx context.Context, f func(ctx context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if tx := db.txOf(ctx); tx != nil {
		if tx.isOver() {
			return errTxEnded
		}
		return errors.New("memory: InTx within InTx: use the transaction that is there")
	}
	if err := db.lock(ctx); err != nil {
		return err
	}
	tx := &hostTx{db: db, tables: db.kept.clone(), own: make(map[*audioDataset]bool), ended: make(chan struct{})}
	db.open = tx
	db.mu.Unlock()
	if err := tx.run(ctx, f); err != nil {
		return err
	}
	db.notified.tell(tx.added...)
	for _, f := range tx.after {
		f()
	}
	return nil
}

// The errors of calls that cannot be part of a transaction.
var (
	errTxEnded = errors.New("memory: the transaction of InTx has ended")
	errInside  = errors.New("memory: a call within another call of the same transaction: an update function must not use the store")
)

// hostTx is a transaction of InTx. There is one at a time.
type hostTx struct {
	db     *DB
	tables *tables                // that only the transaction sees
	own    map[*audioDataset]bool // those in tables that only it sees
	inside sync.Mutex             // held by the call that is under way
	ended  chan struct{}          // closed at the end
	added  []string               // kinds of jobs that are committed
	after  []func()               // to be called when it is committed; DB.mu guards it
}

type txKey struct{ db *DB }

// txOf returns the transaction that calls under ctx are part of, or nil.
func (db *DB) txOf(ctx context.Context) *hostTx {
	tx, _ := ctx.Value(txKey{db}).(*hostTx)
	return tx
}

// run calls f, and ends the transaction.
func (tx *hostTx) run(ctx context.Context, f func(ctx context.Context) error) error {
	committed := false
	defer func() { tx.end(committed) }() // also if f does not return
	if err := f(context.WithValue(ctx, txKey{tx.db}, tx)); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	committed = true
	return nil
}

// end ends the transaction, after the call that is under way.
func (tx *hostTx) end(committed bool) {
	tx.inside.Lock()
	defer tx.inside.Unlock()
	tx.db.mu.Lock()
	defer tx.db.mu.Unlock()
	if committed {
		tx.added, tx.tables.jobs.added = tx.tables.jobs.added, nil
		tx.db.kept = tx.tables
	}
	tx.db.open = nil
	close(tx.ended)
}

func (tx *hostTx) isOver() bool {
	select {
	case <-tx.ended:
		return true
	default:
		return false
	}
}

// begin begins a call that is part of the transaction.
func (tx *hostTx) begin() (call, error) {
	if !tx.inside.TryLock() {
		return call{}, errInside
	}
	if tx.isOver() {
		tx.inside.Unlock()
		return call{}, errTxEnded
	}
	return call{tables: tx.tables, db: tx.db, tx: tx}, nil
}

// afterCommit implements [mortise.HostTx] for the stores.
func (db *DB) afterCommit(ctx context.Context, f func(ctx context.Context)) bool {
	tx := db.txOf(ctx)
	if tx != nil && f != nil {
		outside := context.WithValue(context.WithoutCancel(ctx), txKey{db}, nil)
		db.mu.Lock()
		defer db.mu.Unlock()
		if db.open == tx {
			tx.after = append(tx.after, func() { f(outside) })
		}
	}
	return tx != nil
}
