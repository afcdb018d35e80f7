package sqlite

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	modernc "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"
)

// How long the outcome of a write says how the next one would end.
const (
	goodFor = 5 * time.Second
	badFor  = time.Second
)

// Ping reports whether writes succeed, by how the last one ended. If that was a while
// ago, 5 s where it went well and 1 s where it failed, it makes one of its own, which all
// callers share that come meanwhile: a row of the table of versions is written as it is.
// So a full disk, or one that fails, is noticed within seconds while anybody writes or
// asks; and so is its end. With an error of ctx, it is not known.
func (db *DB) Ping(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
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

// probe is a small write. It changes nothing, and is on the disk all the same.
func (db *DB) probe() error {
	return db.writer.write(context.Background(), func(t *tx) error {
		_, err := t.exec("UPDATE mortise_versions SET version = version WHERE domain = (SELECT min(domain) FROM mortise_versions)")
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
			h.at, h.last = time.Now(), err // one that did not even begin is a failure, too
			p.err = fmt.Errorf("sqlite: a write has failed: %w", err)
		}
		close(p.done)
	}()
	return p, nil
}

// isFault reports whether an error says that the file, or the disk, does not do what it
// should. Others are of what was to be written.
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
