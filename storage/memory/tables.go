package memory

import (
	"context"
	"time"
)

// tables are what all domains keep.
type tables struct {
	trigger  triggerTables
	authmgmt authmgmtTables
	vault    vaultTables
	audio    audioTables
	jobs     jobTable

	revocations revocations

	now func() time.Time // the clock of the jobs
}

// clone returns tables in which whatever is done leaves t as it is, but for what is done to
// a dataset: see hostTx.own.
func (t *tables) clone() *tables {
	return &tables{
		trigger: t.trigger.clone(), authmgmt: t.authmgmt.clone(), vault: t.vault.clone(),
		audio: t.audio.clone(), jobs: t.jobs.clone(), revocations: t.revocations, now: t.now,
	}
}

// call is a call of a store, with the tables that it sees.
type call struct {
	*tables
	db     *DB
	tx     *hostTx // that it is part of, or nil
	writes bool
}

// read begins a call that changes nothing.
func (db *DB) read(ctx context.Context) (call, error) {
	if err := ctx.Err(); err != nil {
		return call{}, err
	}
	if tx := db.txOf(ctx); tx != nil {
		return tx.begin()
	}
	db.mu.RLock()
	return call{tables: db.kept, db: db}, nil
}

// write begins a call that may change the tables, alone.
func (db *DB) write(ctx context.Context) (call, error) {
	if err := ctx.Err(); err != nil {
		return call{}, err
	}
	if tx := db.txOf(ctx); tx != nil {
		return tx.begin()
	}
	if err := db.lock(ctx); err != nil {
		return call{}, err
	}
	return call{tables: db.kept, db: db, writes: true}, nil
}

// lock takes the lock while no transaction of InTx is open.
func (db *DB) lock(ctx context.Context) error {
	for {
		db.mu.Lock()
		tx := db.open
		if tx == nil {
			return nil
		}
		db.mu.Unlock()
		select {
		case <-tx.ended:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// end ends the call, and tells of the jobs that it has added.
func (c call) end() {
	switch {
	case c.tx != nil:
		c.tx.inside.Unlock()
	case c.writes:
		added := c.jobs.added
		c.jobs.added = nil
		c.db.mu.Unlock()
		c.db.notified.tell(added...)
	default:
		c.db.mu.RUnlock()
	}
}

// copies are copies of what pointers point to, one of each.
type copies[T any] map[*T]*T

// of returns the copy of what p points to, which is nil for nil.
func (c copies[T]) of(p *T) *T {
	if p == nil {
		return nil
	}
	if c[p] == nil {
		copied := *p
		c[p] = &copied
	}
	return c[p]
}

// all returns a list of the copies of what a list points to.
func (c copies[T]) all(list []*T) []*T {
	copied := make([]*T, len(list))
	for i, p := range list {
		copied[i] = c.of(p)
	}
	return copied
}

// mapped returns a map with what of returns of each value.
func mapped[M ~map[K]V, K comparable, V any](m M, of func(V) V) M {
	if m == nil {
		return nil
	}
	copied := make(M, len(m))
	for k, v := range m {
		copied[k] = of(v)
	}
	return copied
}
