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

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/turns"
)

// Options are the settings of Open. The zero value means the defaults.
type Options struct {
	// BusyTimeout is how long a call waits for a lock that another process holds, unless
	// its context ends before: 3 s. So there is an answer before the 5 s after which many
	// HTTP clients give up. What it waits for within this process does not count.
	BusyTimeout time.Duration

	// SkipCheck leaves out every integrity check (PRAGMA quick_check): that of Open, and
	// what would be checked behind the calls.
	SkipCheck bool

	// AudioSearchMemory bounds the memory for the metadata of datasets that were
	// searched, in bytes, about: 256 MB. Those that were not searched for the longest
	// time are forgotten, and read again when they are. The dataset searched last stays,
	// whatever its size.
	AudioSearchMemory int

	// Adopt lets Open put its tables into a file that has tables of the host's, and none of
	// this package's. Without it such a file is [ErrUnusable]. The file becomes one with a
	// write-ahead log. See [DB.InTx], and the package's documentation for connections of
	// the host's own.
	Adopt bool

	// TxTime is how long a transaction of [DB.InTx] may be open: 2 s.
	TxTime time.Duration

	Now func() time.Time // the clock of the jobs: time.Now
}

// DB is an open database file. It is safe for concurrent use.
type DB struct {
	busy   time.Duration
	finder *reader // for what an index answers at once
	lister *reader // for what may take long, so that it does not keep the others waiting
	writer *writer
	intake *turns.Turns // see bring

	now      func() time.Time                 // the clock of the jobs
	added    *jobNotifier                     // of jobs that were added
	working  func() bool                      // whether workers of this process take work up
	claimed  func(*tx, []mortise.Lease) error // called with jobs that a claim has taken, in its transaction
	jobTurns jobTurns

	views views

	txTime   time.Duration
	hostConn *hostConn // of InTx, kept for the next one; for whom the writer stands aside

	checker      *checker
	checkpointer *checkpointer
	closing      sync.Once
}

var (
	// ErrClosed is the error of a call after Close.
	ErrClosed = errors.New("sqlite: the database is closed")

	// ErrUnusable is the error of Open for a file that is damaged or no database, that
	// belongs to another program or was made by another development version of this one,
	// whose tables another program has changed, or that cannot be written; and of every call
	// after damage was found later. Trying again is of no use. Other errors of Open, a lock
	// or a full disk, may pass.
	ErrUnusable = errors.New("unusable file")
)

// Open opens the database file at path, creating it if it is not there (mode 0600; its
// folder must exist, see [MakeFolder]). Options may be nil.
//
// Until the first release no file is brought up to date: Open refuses one whose tables were
// made by other scripts than those of this program. It refuses, too, a thing that has the name
// of a table or index of this package and is not as this package made it, one that is missing,
// and any trigger of another program on its tables.
//
// A file that it refuses ([ErrUnusable]) is not changed, but for the rollback of a change
// that a crash has cut off. The error wraps that of the operating system or of the
// driver, too. ctx bounds the opening only.
//
// Of a file that was closed in peace, Open checks header, schema and freelist. After any
// other end, or while another process has the file open, it checks what it can in 2 s,
// and what is left is checked behind the calls, table by table. See the package's
// documentation.
func Open(ctx context.Context, path string, opts *Options) (*DB, error) {
	return open(ctx, path, opts, usual)
}

func open(ctx context.Context, path string, opts *Options, k checks) (*DB, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.BusyTimeout <= 0 {
		o.BusyTimeout = 3 * time.Second
	}
	if o.AudioSearchMemory <= 0 {
		o.AudioSearchMemory = 256 << 20
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.TxTime <= 0 {
		o.TxTime = 2 * time.Second
	}
	if path == "" {
		return nil, errors.New("sqlite: Open needs the path of a file")
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("sqlite: %w", err)
	}
	fail := func(err error) (*DB, error) { return nil, fmt.Errorf("sqlite: open %s: %w", path, explain(err)) }
	if err := create(path); err != nil {
		return fail(err)
	}
	left, err := inspect(ctx, path, &o, k)
	if err != nil {
		return fail(err)
	}
	checker, err := newChecker(path, left, o.SkipCheck, k)
	if err != nil {
		return fail(err)
	}
	defer checker.keepLog()() // if the rest fails
	write, err := newSource(path, url.Values{"_journal": {"WAL"}, "_sync": {"FULL"}, "_fk": {"1"},
		"_pragma": {
			"fullfsync(1)", "checkpoint_fullfsync(1)", // on macOS, where fsync does not reach the disk
			"journal_size_limit(67108864)", // bytes to which the log is cut after a long read has let it grow
		},
	})
	if err != nil {
		return fail(err)
	}
	write.forgets = vaultForgets
	read, err := newSource(path, url.Values{"_query_only": {"1"}})
	if err != nil {
		return fail(err)
	}
	c, err := prepare(ctx, write, &o)
	if err != nil {
		return fail(err)
	}
	conns := max(4, runtime.NumCPU())
	// Half the processors for the lists of one organization, and one connection for the
	// others, see turns.
	lists := conns/2 + 1
	db := &DB{busy: o.BusyTimeout, views: views{limit: o.AudioSearchMemory}, finder: newReader(read, conns, checker), lister: newReader(read, lists, checker),
		intake: turns.New(maxIntake, maxIntake-1), now: o.Now, added: new(jobNotifier), checker: checker, txTime: o.TxTime}
	// From here on a reader is connected. With the last connection of all, SQLite would
	// take down the files beside the database, and the writer drops its own whenever
	// something fails.
	if err := db.find(ctx, noOrg, notedScripts, nil, func(*row) error { return nil }); err != nil {
		return fail(errors.Join(err, db.finder.close(), c.close()))
	}
	db.working, db.claimed = db.added.heard, (*tx).readAhead
	db.writer = startWriter(write, c, o.BusyTimeout, checker)
	checker.start(left)
	db.checkpointer = startCheckpointer(db, logLimit)
	return db, nil
}

// creating keeps a second Open of a new file from using it before the first one has
// closed its descriptor: that drops the locks which the process holds on the file.
var creating sync.Mutex

// create makes an empty file that only its owner can read, if there is none. SQLite gives
// the files that it puts beside it the same mode.
func create(path string) error {
	creating.Lock()
	defer creating.Unlock()
	info, err := os.Stat(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%w: it is no file", ErrUnusable)
	}
	if err == nil && info.Size() > 0 {
		return nil
	}
	// SQLite takes an empty file for a new database, and would throw the log away.
	if log, err := os.Stat(path + "-wal"); err == nil && log.Size() > 0 {
		return fmt.Errorf("%w: it is missing or empty, and its log is there: put the database back beside %s, or move that away",
			ErrUnusable, log.Name())
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// prepare makes the tables of a new file, and returns a connection for the writer.
func prepare(ctx context.Context, write source, o *Options) (*conn, error) {
	var c *conn
	err := retryBusy(ctx, nil, time.Now().Add(o.BusyTimeout), func() (err error) {
		if c == nil {
			if c, err = write.connect(); err != nil {
				return err
			}
		}
		if err := checkMode(ctx, c); err != nil {
			return err
		}
		return ours.prepare(ctx, c, o.Adopt)
	})
	if err != nil && c != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, err
}

// checkMode refuses a file on which WAL does not work: then commits would not be what
// this package promises.
func checkMode(ctx context.Context, c *conn) error {
	return c.query(ctx, "PRAGMA journal_mode", nil, func(r *row) error {
		if mode := r.text(0); mode != "wal" {
			return fmt.Errorf("%w: the file system does not support write-ahead logging (journal mode is %q)", ErrUnusable, mode)
		}
		return nil
	})
}

// Close waits for the writes that are under way and closes the file. Calls that come
// later fail with [ErrClosed].
func (db *DB) Close() (err error) {
	db.closing.Do(func() {
		db.checker.close()
		db.checkpointer.close() // before the readers, whose connections it may hold
		db.writer.close()
		if db.hostConn != nil {
			db.hostConn.close()
		}
		release := db.checker.keepLog()
		err = errors.Join(db.lister.close(), db.finder.close())
		release()
	})
	return err
}
