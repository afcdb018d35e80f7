package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-6363c74e/mortise/internal/tables"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/audiosearchdb"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/authmgmtdb"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/jobs"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/triggerdb"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/vaultdb"
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

	// Domains are the packages whose tables there are to be: "trigger", "authmgmt", "vault",
	// "audiosearch". None: all. Jobs always have theirs. The New of another package fails with
	// the Backend of this database.
	Domains []string

	// TxTime is how long a transaction of [DB.InTx] may be open: 2 s.
	TxTime time.Duration

	Now func() time.Time // the clock of the jobs: time.Now
}

var (
	// ErrClosed is the error of a call after Close.
	ErrClosed = file.ErrClosed

	// ErrUnusable is the error of Open for a file that is damaged or no database, that
	// belongs to another program or was made by another development version of this one,
	// whose tables another program has changed, or that cannot be written; and of every call
	// after damage was found later. Trying again is of no use. Other errors of Open, a lock
	// or a full disk, may pass.
	ErrUnusable = file.ErrUnusable

	// ErrTxTime is the error of InTx, and of every call in it, once the transaction has been
	// open for longer than Options.TxTime. It has been rolled back.
	ErrTxTime = file.ErrTxTime
)

// DB is an open database file. It is safe for concurrent use.
type DB struct {
	domains     []string // of which there are tables
	file        *file.File
	jobs        *jobs.Jobs
	trigger     *triggerdb.Store
	authmgmt    *authmgmtdb.Store
	vault       *vaultdb.Store
	audiosearch *audiosearchdb.Store
}

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
	domains, err := tables.Named(o.Domains)
	if err != nil {
		return nil, fmt.Errorf("sqlite: %w", err)
	}
	added := new(jobs.Notifier)
	f, err := file.Open(ctx, path, &file.Options{
		BusyTimeout: o.BusyTimeout, TxTime: o.TxTime, SkipCheck: o.SkipCheck, Adopt: o.Adopt, Domains: domains,
		Working: added.Heard, Forgets: vaultdb.Forgets,
	})
	if err != nil {
		return nil, err
	}
	jobs := jobs.New(f, added, o.Now, triggerdb.ReadAhead)
	db := &DB{
		domains: domains, file: f, jobs: jobs,
		trigger:     triggerdb.New(f, jobs),
		authmgmt:    authmgmtdb.New(f),
		vault:       vaultdb.New(f),
		audiosearch: audiosearchdb.New(f, jobs, o.AudioSearchMemory),
	}
	jobs.SharedBy(db.trigger, db.audiosearch)
	return db, nil
}

// Close waits for the writes that are under way and closes the file. Calls that come
// later fail with [ErrClosed].
func (db *DB) Close() error { return db.file.Close() }

// Ping returns nil if writes succeed. It goes by how the last write ended. If that was 5 s
// ago, or 1 s for a write that failed, it makes a write of its own, which all callers share
// that come meanwhile: it adds a row to the table of scripts, and removes it again. So it
// notices within seconds that the disk is full or fails, and that it works again. Each call
// looks whether the tables of all domains are as Open made them. If they are not, or if
// damage was found, it fails as Open would. An error of ctx tells nothing about the disk.
func (db *DB) Ping(ctx context.Context) error { return db.file.Ping(ctx) }

// Backup writes a copy of the database to a new file at path (mode 0600), while reads and
// writes go on: what was acknowledged before the call is in it. The copy is complete and
// on the disk when Backup returns. A file that is there already is not touched: the error
// is fs.ErrExist. Until it is complete, the copy has a name of its own in the same
// folder, which ends in ".partial"; a process that dies meanwhile leaves that behind.
//
// To restore a backup, stop every program that uses the database, remove the files beside
// it (its name with -wal and -shm added), and put the backup in its place. With the -wal
// file of another database beside it, SQLite would damage it. Everything that was revoked
// after the backup is there again: see [mortise.Revocations].
//
// It is VACUUM INTO (https://www.sqlite.org/lang_vacuum.html). A plain copy of the file
// while a program has it open is not whole: what is in the -wal file is missing.
func (db *DB) Backup(ctx context.Context, path string) error { return db.file.Backup(ctx, path) }
