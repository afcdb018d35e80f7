package file

import (
	"errors"
	"io/fs"
	"os"
	"time"
)

// logLimit is the length of the log, in bytes, from which on checkpointer makes room for
// it to begin anew. SQLite begins anew by itself as soon as nobody reads from the log;
// but if reads overlap all the time, that moment never comes
// (https://www.sqlite.org/wal.html#avoiding_excessively_large_wal_files).
const logLimit = 64 << 20

// logPause is how long new reads wait at most for those that are under way, so that
// nobody reads.
const logPause = 200 * time.Millisecond

// checkpointer looks after the files once a second: it keeps the log short, and notices
// when somebody has removed it or moved the database. The writer looks for the database
// itself, at every commit; but not for the log, because Linux makes the first write after
// a look more expensive (multigrain timestamps).
type checkpointer struct {
	db      *File
	limit   int64
	stop    chan struct{}
	stopped chan struct{}
}

func startCheckpointer(db *File, limit int64) *checkpointer {
	c := &checkpointer{db: db, limit: limit, stop: make(chan struct{}), stopped: make(chan struct{})}
	go c.run()
	return c
}

// close ends the goroutine. It is called once.
func (c *checkpointer) close() {
	close(c.stop)
	<-c.stopped
}

func (c *checkpointer) run() {
	defer close(c.stopped)
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-c.stop:
			return
		case <-ticker.C:
		}
		w := c.db.writer
		moved := w.source.inPlace() != nil
		c.db.finder.moved.Store(moved)
		c.db.lister.moved.Store(moved)
		opened := w.log.Load()
		if opened == nil {
			continue
		}
		now, err := os.Stat(w.source.path + "-wal")
		if err != nil && !errors.Is(err, fs.ErrNotExist) || w.log.Load() != opened { // who knows, or the writer has reconnected
			continue
		}
		here := err == nil && os.SameFile(now, *opened)
		w.logGone.Store(!here)
		if here && now.Size() > c.limit && c.db.checker.err() == nil {
			c.shorten()
		}
	}
}

// shorten holds reads back and lets the writer fold the log into the database. If a read
// goes on for long, or another process reads, it is left for the next time.
func (c *checkpointer) shorten() {
	deadline := time.NewTimer(logPause)
	defer deadline.Stop()
	for _, r := range []*reader{c.db.lister, c.db.finder} { // so that a long list costs only lists
		if !r.turns.Pause(deadline.C, c.stop) {
			return
		}
		defer r.turns.Resume()
	}
	done := make(chan struct{})
	select {
	case c.db.writer.tasks <- func(conn *Conn) {
		defer close(done)
		if conn == nil {
			return
		}
		// Its row says whether it was kept from it; then there is a next time.
		_ = conn.Query(unbounded, "PRAGMA wal_checkpoint(TRUNCATE)", nil, func(*Row) error { return nil })
	}:
		<-done
	case <-deadline.C: // the writer waits for a lock
	case <-c.stop:
	}
}
