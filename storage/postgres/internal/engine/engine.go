package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/turns"
)

// DB is a schema of the host's database as the rooms of this package use it: transactions
// on the pool's connections, the group commit, transactions of the host's, and notices. It knows
// the scripts of the tables, and no table of a domain.
type DB struct {
	pool     *pgxpool.Pool
	schema   string
	domains  []string        // of which there are tables
	timeout  time.Duration   // of a call
	listenBy *pgx.ConnConfig // Options.Listen
	queue    TxQueue         // Options.Queue

	texts sync.Map // of statements: as they are written here, as they are sent
	// places: one organization has half of the connections at a time at most. Calls that
	// have a place queue at the pool, which serves them in order.
	places *turns.Turns

	group    *group
	withJobs *group // of operations with jobs for the host's queue
	commits  *commits

	hosted func(ctx context.Context, do func(context.Context) error) error // makes a call, in a test; or nil

	closing sync.Once
	closed  chan struct{}
}

// ErrClosed is the error of a call after Close.
var ErrClosed = errors.New("postgres: the database is closed")

func New(pool *pgxpool.Pool, schema string, domains []string, timeout time.Duration, listenBy *pgx.ConnConfig, queue TxQueue) *DB {
	db := &DB{
		pool: pool, schema: schema, domains: domains, timeout: timeout, listenBy: listenBy, queue: queue,
		places: turns.New(math.MaxInt, int(pool.Config().MaxConns)/2), closed: make(chan struct{}),
	}
	db.group, db.withJobs = newGroup(db, db.sendPipeline), newGroup(db, db.sendWithJobs)
	db.commits = newCommits(db)
	return db
}

// Close waits for the groups of writes that are under way, calls rooms, which ends the rooms'
// own goroutines, and ends the listening for commits, whose functions may take long.
func (db *DB) Close(rooms func()) {
	db.closing.Do(func() {
		close(db.closed)
		db.group.close()
		db.withJobs.close()
		rooms()
		db.commits.close()
	})
}

// Schema is the name of the schema.
func (db *DB) Schema() string { return db.schema }

// Closed is closed by Close.
func (db *DB) Closed() <-chan struct{} { return db.closed }

// QueueIs reports whether q is the host's queue.
func (db *DB) QueueIs(q mortise.Queue) bool {
	return db.queue != nil && mortise.Queue(db.queue) == q
}

// HasQueue reports whether the host has a queue, and whether it takes many jobs at a time.
func (db *DB) HasQueue() (has, takesMany bool) {
	_, takesMany = db.queue.(manyTxQueue)
	return db.queue != nil, takesMany
}

// Aside calls do with a connection, for no caller and beside their turns, also after close. do
// may run twice.
func (db *DB) Aside(do func(*Session) error) error {
	ctx, cancel := context.WithTimeoutCause(context.Background(), db.timeout, errTimeout)
	defer cancel()
	return db.try(ctx, func(s *Session) (committing bool, err error) { return false, do(s) })
}

// Check returns an error unless the schema has the tables as Migrate made them.
func (db *DB) Check(ctx context.Context) error {
	return db.Read(ctx, NoOrg, func(s *Session) error {
		missing, err := inspect(s.ctx, s.q, db.schema, db.domains)
		if err == nil && len(missing) > 0 {
			err = fmt.Errorf("%w of %s in schema %q: run postgres.Migrate", ErrNoTables, missing[0].domain, db.schema)
		}
		return err
	})
}

// Ping returns the error of [DB.Ping].
func (db *DB) Ping(ctx context.Context) error {
	return db.Read(ctx, NoOrg, func(s *Session) error {
		var standby bool
		var rows []bool
		if err := s.Row(ping(db.domains), nil, &standby, &rows); err != nil {
			return err
		}
		if standby {
			return errors.New("postgres: the database is a standby, or read-only: promote it, or point the pool to the primary")
		}
		return nil
	})
}

// $1 is the schema. PostgreSQL tells of the transactions of other roles only to a role with
// pg_read_all_stats.
const deadRows = "SELECT (SELECT coalesce(sum(n_dead_tup), 0)::bigint FROM pg_stat_user_tables WHERE schemaname = $1)," +
	" (SELECT statement_timestamp() - min(since) FROM (" +
	"SELECT xact_start AS since FROM pg_stat_activity WHERE (backend_xmin IS NOT NULL OR backend_xid IS NOT NULL) AND datname = current_database() AND pid <> pg_backend_pid()" +
	" UNION ALL SELECT prepared FROM pg_prepared_xacts WHERE database = current_database()) AS t)"

// DeadRows returns the answer of [DB.DeadRows].
func (db *DB) DeadRows(ctx context.Context) (rows int64, oldest time.Duration, err error) {
	var since pgtype.Interval
	err = db.Read(ctx, NoOrg, func(s *Session) error {
		return s.Row(deadRows, []any{db.schema}, &rows, &since)
	})
	if err != nil {
		return 0, 0, err
	}
	day := 24 * time.Hour
	return rows, time.Duration(since.Days)*day + time.Duration(since.Microseconds)*time.Microsecond, nil
}
