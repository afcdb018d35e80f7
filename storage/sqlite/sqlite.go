package sqlite

import (
	"context"
	"time"
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
	*file
	jobs        *Jobs
	trigger     *Trigger
	authmgmt    *AuthMgmt
	vault       *Vault
	audiosearch *AudioSearch
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
	f, err := openFile(ctx, path, &o, k, vaultForgets)
	if err != nil {
		return nil, err
	}
	jobs := &Jobs{db: f, now: o.Now, claimed: readAhead}
	f.working = jobs.added.heard
	db := &DB{
		file: f, jobs: jobs,
		trigger:     &Trigger{db: f, jobs: jobs},
		authmgmt:    &AuthMgmt{db: f},
		vault:       &Vault{db: f},
		audiosearch: &AudioSearch{db: f, jobs: jobs, views: &views{limit: o.AudioSearchMemory}},
	}
	jobs.sharers = []any{db.trigger, db.audiosearch}
	return db, nil
}
