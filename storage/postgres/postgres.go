package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/turns"
)

// Options are the settings of New and Migrate. The zero value means the defaults.
type Options struct {
	// Schema is the name of the schema that has the tables: "mortise". It is 1 to 63 of
	// a-z, 0-9 and '_', and does not begin with a digit or with "pg_".
	Schema string

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

// TxQueue is a queue that can add a job in a transaction on the database of the stores. Its
// Shares, as a [mortise.Sharer], asks the store: see [Trigger.SharesWith]. If it has also
//
//	EnqueueManyTx(ctx context.Context, tx pgx.Tx, jobs []mortise.Job) error
//
// then events that many callers submit at a time, and their jobs, share a transaction. ctx is
// then none of the callers'; after an error each job comes once more by itself. The job of a
// caller who meets no others comes before its event is known to be new: the first
// statement of tx takes the event to the server with it, and fails if there is nothing to
// add a job for. If it cannot be sent at all, the job comes once more. So such a queue
// must go by the methods of tx, and leave tx.Conn() alone. The event may wait for other
// transactions: if tx has a method WhenReady(func()), that calls the function when the
// time of the queue's own statement begins, and never if it does not come to that.
type TxQueue interface {
	mortise.Queue

	// EnqueueTx does Enqueue in tx: the job is there once that is committed, and never if
	// it is rolled back.
	EnqueueTx(ctx context.Context, tx pgx.Tx, j mortise.Job) error
}

// manyTxQueue is a TxQueue that can add many jobs at once.
type manyTxQueue interface {
	EnqueueManyTx(ctx context.Context, tx pgx.Tx, jobs []mortise.Job) error
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

// DB is the tables in a database. It is safe for concurrent use.
type DB struct {
	pool *pgxpool.Pool
	opts Options

	texts sync.Map // of statements: as they are written here, as they are sent
	// places: one organization has half of the connections at a time at most. Calls that
	// have a place queue at the pool, which serves them in order.
	places *turns.Turns
	group  *group

	withJobs *group // of operations with jobs for Options.Queue

	added   *jobNotifier
	commits *commits
	turns   jobTurns
	clock   jobClock

	names    audioNames
	catalogs audioCatalogs

	hosted func(ctx context.Context, do func(context.Context) error) error // nil; or what makes a call, in a test

	closing sync.Once
	closed  chan struct{}
}

// ErrClosed is the error of a call after Close.
var ErrClosed = errors.New("postgres: the database is closed")

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
	err = db.read(ctx, noOrg, func(s *session) error {
		missing, err := inspect(s.ctx, s.q, db.opts.Schema)
		if err == nil && len(missing) > 0 {
			err = fmt.Errorf("%w of %s in schema %q: run postgres.Migrate", ErrNoTables, missing[0].domain, db.opts.Schema)
		}
		return err
	})
	if err != nil {
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
	db := &DB{
		pool: pool, opts: o, closed: make(chan struct{}),
		places: turns.New(math.MaxInt, int(pool.Config().MaxConns)/2), catalogs: audioCatalogs{limit: o.AudioSearchMemory}, turns: jobTurns{of: make(map[string]*kindTurns)},
	}
	db.group, db.withJobs = newGroup(db, db.sendPipeline), newGroup(db, db.sendWithJobs)
	db.added = newJobNotifier(db)
	db.commits = newCommits(db)
	return db, nil
}

// Close waits for the group of writes that is under way, and ends what runs in the
// background. Calls that come later fail with [ErrClosed]. It does not close the pool.
func (db *DB) Close() error {
	db.closing.Do(func() {
		close(db.closed)
		db.group.close()
		db.withJobs.close()
		db.added.close()
		db.commits.close()
	})
	return nil
}

// Ping returns an error unless the database answers and can be written, and has the tables
// with their columns.
func (db *DB) Ping(ctx context.Context) error {
	return db.read(ctx, noOrg, func(s *session) error {
		var standby bool
		var rows []bool
		if err := s.row(ping, nil, &standby, &rows); err != nil {
			return err
		}
		if standby {
			return errors.New("postgres: the database is a standby, or read-only: promote it, or point the pool to the primary")
		}
		return nil
	})
}
