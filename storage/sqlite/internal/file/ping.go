package file

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	modernc "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"
)

// How long Ping trusts the outcome of a write, one that went well and one that failed.
const (
	goodFor = 5 * time.Second
	badFor  = time.Second
)

// Ping is sqlite.DB.Ping.
func (db *File) Ping(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := db.checker.err(); err != nil {
		return err
	}
	if err := db.checkTables(ctx); err != nil {
		return fmt.Errorf("sqlite: %w", err)
	}
	p, err := db.writer.health.ask(time.Now(), db.probe)
	if p == nil {
		return err
	}
	select {
	case <-p.done:
		return p.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// checkTables looks whether the tables are as the scripts made them. Another process may have
// dropped one, or put a view in its place.
func (db *File) checkTables(ctx context.Context) error {
	want, err := db.plan.objects()
	if err != nil {
		return err
	}
	return db.finder.use(ctx, db.busy, NoOrg, func(c *Conn) error {
		found, err := objects(ctx, c)
		if err == nil {
			err = compare(found, want)
		}
		return err
	})
}

// probe makes a small write. It leaves nothing behind, but reaches the disk all the same:
// an UPDATE to what is there already would not, since SQLite then writes no page.
func (db *File) probe() error {
	return db.writer.write(context.Background(), func(t *Tx) error {
		if _, err := t.Exec(noteScript, "probe", "", "", ""); err != nil {
			return err
		}
		_, err := t.Exec("DELETE FROM " + scriptsTable + " WHERE domain = 'probe'")
		return err
	})
}

// health is how the writes of a DB go.
type health struct {
	mu      sync.Mutex
	at      time.Time // when last was noted
	last    error
	probing *probing // under way, or nil
}

// probing is a write of Ping's own.
type probing struct {
	done chan struct{} // closed when err is set
	err  error
}

// note keeps the outcome of a write.
func (h *health) note(now time.Time, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.at, h.last = now, err
}

// ask returns what is known, or a probing that will say.
func (h *health) ask(now time.Time, probe func() error) (*probing, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	age := now.Sub(h.at)
	switch {
	case h.probing != nil:
		return h.probing, nil
	case h.last == nil && age < goodFor:
		return nil, nil
	case h.last != nil && age < badFor:
		return nil, fmt.Errorf("sqlite: a write has failed: %w", h.last)
	}
	p := &probing{done: make(chan struct{})}
	h.probing = p
	go func() {
		err := probe()
		h.mu.Lock()
		defer h.mu.Unlock()
		h.probing = nil
		if err != nil {
			// The writer does not note a write that did not even begin.
			h.at, h.last = time.Now(), err
			p.err = fmt.Errorf("sqlite: a write has failed: %w", err)
		}
		close(p.done)
	}()
	return p, nil
}

// isFault reports whether an error comes from the file or the disk, and not from what was
// to be written.
func isFault(err error) bool {
	var e *modernc.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code() & 0xff {
	case codes.SQLITE_IOERR, codes.SQLITE_FULL, codes.SQLITE_READONLY, codes.SQLITE_CANTOPEN, codes.SQLITE_CORRUPT, codes.SQLITE_NOTADB,
		codes.SQLITE_PERM, codes.SQLITE_PROTOCOL, codes.SQLITE_NOMEM:
		return true
	}
	return false
}
