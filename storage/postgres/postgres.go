package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-6363c74e/mortise/internal/tables"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/audiosearchdb"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/authmgmtdb"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/engine"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/jobs"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/triggerdb"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/vaultdb"
)

// Options are the settings of New and Migrate. The zero value means the defaults.
type Options struct {
	// Schema is the name of the schema that has the tables: "mortise". It is 1 to 63 of
	// a-z, 0-9 and '_', and does not begin with a digit or with "pg_".
	Schema string

	// Domains are the packages whose tables there are to be: "trigger", "authmgmt", "vault",
	// "audiosearch". None: all. Jobs always have theirs. The New of another package fails with
	// the Backend of this database.
	Domains []string

	// Queue is where stores add jobs, in their own transactions: a queue on the same
	// database that is not of this package, such as that of storage/river. It is then the
	// one in [DB.Trigger] and [DB.AudioSearch], too. Nil: the jobs of this package.
	Queue TxQueue

	// Timeout bounds each call, the waiting for a connection included, unless its context
	// ends before: 3 s. So there is an answer before the 5 s after which many HTTP clients
	// give up.
	Timeout time.Duration

	// AudioSearchMemory bounds the memory in bytes, about, for the metadata of datasets that
	// were searched before: 256 MiB. If it is too little, the organization with most of it
	// waits while those of its dataset are read again. A dataset that takes more than half
	// of it counts as half.
	AudioSearchMemory int

	// Listen says how to connect for LISTEN, by which jobs that other processes add are
	// heard of at once, and the commits of a host's transactions where the queue is
	// elsewhere ([InTx]). Nil: as the pool does. It is one connection while a queue has
	// consumers, and one from the first such transaction on. Neither is the pool's.
	Listen *pgx.ConnConfig

	Logger *slog.Logger // slog.Default()
}

// withDefaults returns the settings with what is not set, or an error if they are wrong.
func (o *Options) withDefaults() (Options, error) {
	var s Options
	if o != nil {
		s = *o
	}
	if s.Schema == "" {
		s.Schema = "mortise"
	}
	if s.Timeout <= 0 {
		s.Timeout = 3 * time.Second
	}
	if s.AudioSearchMemory <= 0 {
		s.AudioSearchMemory = 256 << 20
	}
	if s.Logger == nil {
		s.Logger = slog.Default()
	}
	var err error
	if s.Domains, err = tables.Named(s.Domains); err != nil {
		return s, fmt.Errorf("postgres: %w", err)
	}
	return s, checkSchema(s.Schema)
}

// checkSchema keeps a name out that would have to be quoted, or that PostgreSQL keeps for
// itself.
func checkSchema(name string) error {
	ok := len(name) <= 63 && (len(name) < 3 || name[:3] != "pg_")
	for i := range len(name) {
		c := name[i]
		ok = ok && ('a' <= c && c <= 'z' || c == '_' || i > 0 && '0' <= c && c <= '9')
	}
	if !ok {
		return fmt.Errorf("postgres: the name of a schema is 1 to 63 of a-z, 0-9 and '_', "+
			"and begins with a letter or '_' but not with pg_; not %.80q", name)
	}
	return nil
}

var (
	// ErrClosed is the error of a call after Close.
	ErrClosed = engine.ErrClosed

	// ErrNoTables is the error of New for a schema that lacks tables: run [Migrate].
	ErrNoTables = engine.ErrNoTables

	// ErrUnusable is the error of New and Migrate for a schema whose tables another version
	// has made, or that somebody has changed. Trying again is of no use.
	ErrUnusable = engine.ErrUnusable
)

// DB is the tables in a database. It is safe for concurrent use.
type DB struct {
	domains     []string // of which there are tables
	engine      *engine.DB
	queue       TxQueue // Options.Queue
	jobs        *jobs.Jobs
	trigger     *triggerdb.Store
	authmgmt    *authmgmtdb.Store
	vault       *vaultdb.Store
	audiosearch *audiosearchdb.Store
}

// New returns the tables in the database that pool connects to. The pool stays the host's,
// who closes it after the DB. Options may be nil, and must name the schema that [Migrate]
// was given.
//
// New changes nothing. The error is [ErrNoTables] if tables are missing. It is [ErrUnusable] if
// another version made the tables, if a table, an index or a sequence of Mortise is not as
// Migrate made it, and if one of its tables has a trigger, a rule or a policy, which would run
// unseen with the program's statements. Other tables, views and indexes in the schema are the
// host's, and so are triggers on its own tables. Any other error means that the database could
// not be asked, or that it refuses the role; ctx and Options.Timeout bound that.
func New(ctx context.Context, pool *pgxpool.Pool, opts *Options) (*DB, error) {
	db, err := open(pool, opts)
	if err != nil {
		return nil, err
	}
	if err := db.engine.Check(ctx); err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	return db, nil
}

// open returns a DB that has not looked at the database.
func open(pool *pgxpool.Pool, opts *Options) (*DB, error) {
	o, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	if pool == nil {
		return nil, errors.New("postgres: New needs a pool")
	}
	e := engine.New(pool, o.Schema, o.Domains, o.Timeout, o.Listen, o.Queue)
	jobs := jobs.New(e)
	db := &DB{
		domains: o.Domains, engine: e, queue: o.Queue, jobs: jobs,
		trigger:     triggerdb.New(e, jobs),
		authmgmt:    authmgmtdb.New(e),
		vault:       vaultdb.New(e),
		audiosearch: audiosearchdb.New(e, jobs, o.AudioSearchMemory),
	}
	if o.Queue == nil {
		jobs.SharedBy(db.trigger, db.audiosearch)
	}
	return db, nil
}

// Close waits for the group of writes that is under way, and ends what runs in the
// background. Calls that come later fail with [ErrClosed]. It does not close the pool.
func (db *DB) Close() error {
	db.engine.Close(db.jobs.Close)
	return nil
}

// Ping returns an error unless the database answers and can be written, and has the tables
// with their columns.
func (db *DB) Ping(ctx context.Context) error { return db.engine.Ping(ctx) }

// DeadRows returns about how many dead rows the tables keep, and for how long the oldest
// transaction has run that may see dead rows; 0 without such a transaction. Autovacuum removes rows
// that no transaction can see. Sessions of other roles count if the role of the pool has
// pg_read_all_stats; standbys with feedback and replication slots, which keep rows as well,
// do not.
func (db *DB) DeadRows(ctx context.Context) (rows int64, oldest time.Duration, err error) {
	return db.engine.DeadRows(ctx)
}

// Migrate makes the schema if it is not there, and the tables that it lacks, all in one
// transaction. Options may be nil. Where several programs do it at once, one does the work
// and the others wait for it, until ctx ends.
//
// Until the first release a table is never brought up to date: a schema that another version
// has made is refused ([ErrUnusable]) before anything is written, and so is one that is not as
// Migrate makes it, as [New] says.
//
// The role needs the right to create a schema in the database, or to create tables in the
// schema that is there. The programs may have another role, with fewer rights. With
// the schema's default name, and the tables made by the role "owner", they need:
//
//	GRANT USAGE ON SCHEMA mortise TO program;
//	GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA mortise TO program;
//	GRANT USAGE ON ALL SEQUENCES IN SCHEMA mortise TO program;
//	-- and what later versions make:
//	ALTER DEFAULT PRIVILEGES FOR ROLE owner IN SCHEMA mortise
//		GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO program;
//	ALTER DEFAULT PRIVILEGES FOR ROLE owner IN SCHEMA mortise
//		GRANT USAGE ON SEQUENCES TO program;
func Migrate(ctx context.Context, conn *pgx.Conn, opts *Options) error {
	o, err := opts.withDefaults()
	if err != nil {
		return err
	}
	made, err := engine.Migrate(ctx, conn, o.Schema, o.Domains)
	if err != nil {
		return fmt.Errorf("postgres: migrate: %w", err)
	}
	for _, domain := range made {
		o.Logger.InfoContext(ctx, "made the tables", "schema", o.Schema, "domain", domain)
	}
	return nil
}
