package file

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync/atomic"
	"time"

	modernc "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"
)

// How long a checker rests.
const (
	afterTable  = time.Second // at most: as long as the table took
	afterFault  = 10 * time.Second
	afterRumour = time.Minute // until it believes the next one
)

// checker looks for damage behind the calls: in the tables that Open had no time for, and
// in all of them once a statement has met damage. It reads one table after the other, on
// a connection of its own. Damage is found for good: every call fails from then on.
//
// A file that was closed in peace is not checked when it is opened, and the mark of that
// is that nothing stands beside it. So while something is left to check, and when there
// is damage, Close leaves the log there, empty.
type checker struct {
	path   string
	source source
	table  func(ctx context.Context, c *Conn, name string) error

	ctx     context.Context // ends when close is called
	cancel  context.CancelFunc
	stopped chan struct{} // closed when the goroutine has ended

	found     atomic.Pointer[error] // the damage
	unchecked atomic.Bool           // nobody knows whether there is any
	rumours   chan struct{}         // buffered: a statement has met damage; nil: none is heard

	conn *Conn // belongs to the goroutine; nil: none yet, or the last one failed
}

// newChecker returns a checker for a file of which some tables are left to check. If it
// is to skip that, it only leaves the mark.
func newChecker(path string, left []string, skip bool, check checks) (*checker, error) {
	s, err := newSource(path, url.Values{"_query_only": {"1"}, "_pragma": {"journal_size_limit(0)"}})
	if err != nil {
		return nil, err
	}
	c := &checker{path: path, source: s, table: check.table, stopped: make(chan struct{})}
	if !skip {
		c.rumours = make(chan struct{}, 1)
	}
	c.ctx, c.cancel = context.WithCancel(unbounded)
	c.unchecked.Store(len(left) > 0)
	return c, nil
}

// err returns the damage, in the words of Open, or nil.
func (c *checker) err() error {
	if found := c.found.Load(); found != nil {
		return *found
	}
	return nil
}

// hear takes note of an error of a statement. SQLite also calls a file damaged that
// somebody has replaced, so this alone is no proof.
func (c *checker) hear(err error) {
	if c.rumours == nil || !isDamage(err) {
		return
	}
	select {
	case c.rumours <- struct{}{}:
	default:
	}
}

// start begins to check what is left.
func (c *checker) start(left []string) {
	if c.rumours == nil {
		close(c.stopped)
		return
	}
	go c.run(left)
}

// close ends the check that is under way. It is called once.
func (c *checker) close() {
	c.cancel()
	<-c.stopped
}

func (c *checker) run(left []string) {
	defer close(c.stopped)
	if !c.checkAll(left) {
		return
	}
	for {
		select {
		case <-c.rumours:
		case <-c.ctx.Done():
			return
		}
		c.unchecked.Store(true)
		listed := c.try(func(ctx context.Context, conn *Conn) (err error) {
			left, err = allTables(ctx, conn)
			return err
		})
		if !listed || !c.checkAll(left) || !c.rest(afterRumour) {
			return
		}
	}
}

// checkAll reports whether it checked all the tables. Otherwise one is damaged, or close
// was called.
func (c *checker) checkAll(names []string) bool {
	defer c.disconnect()
	for _, name := range names {
		begun := time.Now()
		if !c.try(func(ctx context.Context, conn *Conn) error { return c.table(ctx, conn, name) }) ||
			!c.rest(min(time.Since(begun), afterTable)) {
			return false
		}
	}
	c.unchecked.Store(false)
	return true
}

// try does something that reads, again after a fault that may pass. Damage counts if it
// is found twice, by connections that know nothing of each other.
func (c *checker) try(read func(context.Context, *Conn) error) bool {
	seen := false
	for {
		err := c.once(read)
		var e *modernc.Error
		switch {
		case err == nil:
			return true
		case c.ctx.Err() != nil:
			return false
		case isDamage(err) && seen:
			err = fmt.Errorf("sqlite: open %s: %w", c.path, explain(err))
			c.found.Store(&err)
			return false
		case isDamage(err):
			seen = true
		case errors.As(err, &e) && e.Code() == codes.SQLITE_ERROR: // another process has dropped the table
			return true
		case !c.rest(afterFault):
			return false
		}
	}
}

// once connects if need be. After an error it disconnects.
func (c *checker) once(read func(context.Context, *Conn) error) (err error) {
	if c.conn == nil {
		if c.conn, err = c.source.connect(); err != nil {
			return err
		}
	}
	if err = read(c.ctx, c.conn); err != nil {
		c.disconnect()
	}
	return err
}

func (c *checker) disconnect() {
	if c.conn != nil {
		_ = c.conn.Close() // it has written nothing
		c.conn = nil
	}
}

// rest reports whether it lasted to its end.
func (c *checker) rest(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return c.ctx.Err() == nil
	case <-c.ctx.Done():
		return false
	}
}

// keepLog returns what closes a connection. If that is the last one of all, the log stays
// beside the file, as the mark that it is not known to be whole. If it is, there is no
// such connection.
func (c *checker) keepLog() (release func()) {
	if !c.unchecked.Load() && c.err() == nil && len(c.rumours) == 0 {
		return func() {}
	}
	conn, err := c.source.connect()
	if err != nil { // then nobody can leave a mark
		return func() {}
	}
	if control, ok := conn.conn.(modernc.FileControl); ok {
		_, _ = control.FileControlPersistWAL("main", 1)
	}
	// A connection that has read nothing has not opened the log.
	_ = conn.Query(unbounded, "PRAGMA schema_version", nil, func(*Row) error { return nil })
	return func() { _ = conn.Close() }
}
