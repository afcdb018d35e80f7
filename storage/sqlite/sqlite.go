// Package sqlite keeps everything in one file on disk, by way of SQLite (https://www.sqlite.org) compiled to Go: no cgo, no server.
//
// A call that returned without error is on the disk: the database runs in WAL mode with synchronous=FULL, so every commit ends
// with an fsync. To be fast all the same, one goroutine does all writes of the process and puts what waits at the moment into one
// transaction (group commit). Reads have connections of their own and never wait for a write. While a read goes on, the write-ahead log
// beside the file cannot be used anew and grows; so a long one (a backup) costs space, and gives it back afterwards.
//
// Several processes may open one file, on one machine. SQLite's locks keep their transactions apart, and the leases of jobs
// end by time, so that one process takes over what another one left. Network file systems are not for this.
//
// A full disk, a locked or a read-only file makes calls fail with an error that is no sentinel: "unavailable" to the services.
// Nothing that was acknowledged is lost by it, and calls succeed again once the cause is gone, without a restart.
//
// Do not open and close the database file by other means within the process, not even to copy it: on most systems that drops
// the locks that SQLite holds on it (https://www.sqlite.org/howtocorrupt.html, 2.2). [DB.Backup] makes copies.
package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	modernc "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"
)

// Options are the settings of Open. The zero value means the defaults.
type Options struct {
	// BusyTimeout is how long a call waits for a lock that another process holds, unless its context ends before: 10 s.
	BusyTimeout time.Duration

	// ReadConns is how many reads run at a time; others wait. The default is 4, or the number of processors if that is more.
	ReadConns int

	// SkipCheck leaves out the integrity check of Open (PRAGMA quick_check), which reads the whole file: 1 to 2 s a GB if it is in memory, and as
	// long as the disk needs if it is not.
	SkipCheck bool
}

// DB is an open database file. It is safe for concurrent use.
type DB struct {
	busy   time.Duration
	reader *reader
	writer *writer
	jobs   notifier // of trigger jobs that were added
}

// ErrClosed is the error of a call after Close.
var ErrClosed = errors.New("sqlite: the database is closed")

// Open opens the database file at path, creating it if it is not there (mode 0600; its folder must exist), and brings its tables
// up to date. Options may be nil.
//
// It fails if the file is no database, belongs to another program, is damaged, cannot be written, is locked for longer than
// BusyTimeout, or was written by a newer version of this package. The error wraps that of the operating system or of the driver. ctx
// bounds the opening only.
func Open(ctx context.Context, path string, opts *Options) (*DB, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.BusyTimeout <= 0 {
		o.BusyTimeout = 10 * time.Second
	}
	if o.ReadConns <= 0 {
		o.ReadConns = max(4, runtime.NumCPU())
	}
	if path == "" {
		return nil, errors.New("sqlite: Open needs the path of a file")
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("sqlite: %w", err)
	}
	if err := create(path); err != nil {
		return nil, fmt.Errorf("sqlite: %w", err)
	}
	fail := func(err error) (*DB, error) { return nil, fmt.Errorf("sqlite: open %s: %w%s", path, err, advice(err)) }
	write, err := newSource(path, url.Values{"_journal": {"WAL"}, "_sync": {"FULL"}, "_fk": {"1"},
		"_pragma": {"journal_size_limit(67108864)"}, // bytes to which the log is cut after a long read has let it grow
	})
	if err != nil {
		return fail(err)
	}
	read, err := newSource(path, url.Values{"_query_only": {"1"}})
	if err != nil {
		return fail(err)
	}
	c, err := prepareFile(ctx, write, &o)
	if err != nil {
		return fail(err)
	}
	db := &DB{busy: o.BusyTimeout, reader: newReader(read, o.ReadConns)}
	// From here on a reader is connected. With the last connection of all, SQLite would take down the files beside the database, and
	// the writer drops its own whenever something fails.
	if err := db.find(ctx, "SELECT domain FROM mortise_versions", nil, func(*row) error { return nil }); err != nil {
		return fail(errors.Join(err, db.reader.close(), c.close()))
	}
	db.writer = startWriter(write, c, o.BusyTimeout)
	return db, nil
}

// creating keeps a second Open of a new file from using it before the first one has closed its descriptor: that drops the locks which
// the process holds on the file.
var creating sync.Mutex

// create makes an empty file that only its owner can read. SQLite gives the files that it puts beside it the same mode.
func create(path string) error {
	creating.Lock()
	defer creating.Unlock()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// prepareFile checks the file and migrates it. It returns the connection, for the writer.
func prepareFile(ctx context.Context, write source, o *Options) (*conn, error) {
	var c *conn
	prepare := func() (err error) {
		if c == nil {
			if c, err = write.connect(); err != nil {
				return err
			}
		}
		if err := checkMode(ctx, c); err != nil {
			return err
		}
		if !o.SkipCheck {
			if err := checkIntegrity(ctx, c); err != nil {
				return err
			}
		}
		return migrate(ctx, c, migrations)
	}
	err := retryBusy(ctx, nil, time.Now().Add(o.BusyTimeout), prepare)
	if err != nil && c != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, err
}

// checkMode refuses a file on which WAL does not work: then commits would not be what this package promises.
func checkMode(ctx context.Context, c *conn) error {
	return c.query(ctx, "PRAGMA journal_mode", nil, func(r *row) error {
		if mode := r.text(0); mode != "wal" {
			return fmt.Errorf("the file system does not support write-ahead logging (journal mode is %q)", mode)
		}
		return nil
	})
}

// checkIntegrity reads the whole file.
func checkIntegrity(ctx context.Context, c *conn) error {
	return c.query(ctx, "PRAGMA quick_check(1)", nil, func(r *row) error {
		if found := r.text(0); found != "ok" {
			return fmt.Errorf("%w: %s", errDamaged, found)
		}
		return nil
	})
}

var errDamaged = errors.New("the file is damaged")

// advice says what to do about an error of Open.
func advice(err error) string {
	var e *modernc.Error
	code := 0
	if errors.As(err, &e) {
		code = e.Code()
	}
	switch {
	case errors.Is(err, errDamaged), code&0xff == codes.SQLITE_CORRUPT, code&0xff == codes.SQLITE_NOTADB:
		return ". Restore a backup, or recover what is readable with the sqlite3 program's .recover"
	case code == codes.SQLITE_IOERR_SHMSIZE, code == codes.SQLITE_IOERR_WRITE, code&0xff == codes.SQLITE_FULL:
		return ". Is the disk full?"
	case code&0xff == codes.SQLITE_CANTOPEN, code&0xff == codes.SQLITE_READONLY:
		return ". Can this user write the file and its folder?"
	}
	return ""
}

// Close waits for the writes that are under way and closes the file. Calls that come later fail with [ErrClosed].
func (db *DB) Close() error {
	db.writer.close()
	return db.reader.close()
}

// Trigger returns what package trigger stores.
func (db *DB) Trigger() *Trigger { return &Trigger{db: db} }
