package file

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

	"github.com/seed-6363c74e/mortise/internal/turns"
)

// File is an open database file: connections, the group commit, reads, transactions of the
// host's, checks and backups. It knows the scripts of the tables, and no table.
type File struct {
	plan   *blueprint
	busy   time.Duration
	finder *reader // for what an index answers at once
	lister *reader // for what may take long, so that it does not keep the others waiting
	writer *writer
	intake *turns.Turns // see Bring

	working func() bool // see Options

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

// Options are the settings of Open. All are needed.
type Options struct {
	BusyTimeout, TxTime time.Duration // see sqlite.Options
	SkipCheck, Adopt    bool
	Domains             []string

	Working func() bool            // whether workers of this process take work up
	Forgets func(text string) bool // whether a statement may change what a [forgetter] remembers
}

// Open opens the file at path, creating it if it is not there.
func Open(ctx context.Context, path string, o *Options) (*File, error) {
	return openWith(ctx, path, o, usual)
}

func openWith(ctx context.Context, path string, o *Options, k checks) (*File, error) {
	if path == "" {
		return nil, errors.New("sqlite: Open needs the path of a file")
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("sqlite: %w", err)
	}
	fail := func(err error) (*File, error) { return nil, fmt.Errorf("sqlite: open %s: %w", path, explain(err)) }
	if err := create(path); err != nil {
		return fail(err)
	}
	left, err := inspect(ctx, path, o, k)
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
	write.forgets = o.Forgets
	read, err := newSource(path, url.Values{"_query_only": {"1"}})
	if err != nil {
		return fail(err)
	}
	c, err := prepare(ctx, write, o)
	if err != nil {
		return fail(err)
	}
	conns := max(4, runtime.NumCPU())
	// Half the processors for the lists of one organization, and one connection for the
	// others, see turns.
	lists := conns/2 + 1
	f := &File{plan: of(o.Domains), busy: o.BusyTimeout, finder: newReader(read, conns, checker), lister: newReader(read, lists, checker),
		intake: turns.New(maxIntake, maxIntake-1), checker: checker, txTime: o.TxTime, working: o.Working}
	// From here on a reader is connected. With the last connection of all, SQLite would
	// take down the files beside the database, and the writer drops its own whenever
	// something fails.
	if err := f.Find(ctx, NoOrg, notedScripts, nil, func(*Row) error { return nil }); err != nil {
		return fail(errors.Join(err, f.finder.close(), c.Close()))
	}
	f.writer = startWriter(write, c, o.BusyTimeout, checker)
	checker.start(left)
	f.checkpointer = startCheckpointer(f, logLimit)
	return f, nil
}

// creating keeps a second Open of a new file from using it before the first one has
// closed its descriptor: that drops the locks which the process holds on the file.
var creating sync.Mutex

// create makes an empty file that only its owner can read, if the file is missing. SQLite gives
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
func prepare(ctx context.Context, write source, o *Options) (*Conn, error) {
	var c *Conn
	err := retryBusy(ctx, nil, time.Now().Add(o.BusyTimeout), func() (err error) {
		if c == nil {
			if c, err = write.connect(); err != nil {
				return err
			}
		}
		if err := checkMode(ctx, c); err != nil {
			return err
		}
		return of(o.Domains).prepare(ctx, c, o.Adopt)
	})
	if err != nil && c != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, err
}

// checkMode refuses a file on which WAL does not work: then commits would not be what
// this package promises.
func checkMode(ctx context.Context, c *Conn) error {
	return c.Query(ctx, "PRAGMA journal_mode", nil, func(r *Row) error {
		if mode := r.Text(0); mode != "wal" {
			return fmt.Errorf("%w: the file system does not support write-ahead logging (journal mode is %q)", ErrUnusable, mode)
		}
		return nil
	})
}

// Close is sqlite.DB.Close.
func (f *File) Close() (err error) {
	f.closing.Do(func() {
		f.checker.close()
		f.checkpointer.close() // before the readers, whose connections it may hold
		f.writer.close()
		if f.hostConn != nil {
			f.hostConn.close()
		}
		release := f.checker.keepLog()
		err = errors.Join(f.lister.close(), f.finder.close())
		release()
	})
	return err
}
