package postgres

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

	"github.com/seed-6363c74e/mortise/internal/turns"
)

// engine is a schema of the host's database as the rooms of this package use it: transactions
// on the pool's connections, the group commit, transactions of the host's, and notices. It knows
// the scripts of the tables, and no table of a domain.
type engine struct {
	pool     *pgxpool.Pool
	schema   string
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

func newEngine(pool *pgxpool.Pool, schema string, timeout time.Duration, listenBy *pgx.ConnConfig, queue TxQueue) *engine {
	db := &engine{
		pool: pool, schema: schema, timeout: timeout, listenBy: listenBy, queue: queue,
		places: turns.New(math.MaxInt, int(pool.Config().MaxConns)/2), closed: make(chan struct{}),
	}
	db.group, db.withJobs = newGroup(db, db.sendPipeline), newGroup(db, db.sendWithJobs)
	db.commits = newCommits(db)
	return db
}

// close waits for the groups of writes that are under way, and ends the listening for commits.
func (db *engine) close() {
	db.closing.Do(func() {
		close(db.closed)
		db.group.close()
		db.withJobs.close()
		db.commits.close()
	})
}

// check returns an error unless the schema has the tables as Migrate made them.
func (db *engine) check(ctx context.Context) error {
	return db.read(ctx, noOrg, func(s *session) error {
		missing, err := inspect(s.ctx, s.q, db.schema)
		if err == nil && len(missing) > 0 {
			err = fmt.Errorf("%w of %s in schema %q: run postgres.Migrate", ErrNoTables, missing[0].domain, db.schema)
		}
		return err
	})
}

// ping returns the error of [DB.Ping].
func (db *engine) ping(ctx context.Context) error {
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

// $1 is the schema. PostgreSQL tells of the transactions of other roles only to a role with
// pg_read_all_stats.
const deadRows = "SELECT (SELECT coalesce(sum(n_dead_tup), 0)::bigint FROM pg_stat_user_tables WHERE schemaname = $1)," +
	" (SELECT statement_timestamp() - min(since) FROM (" +
	"SELECT xact_start AS since FROM pg_stat_activity WHERE (backend_xmin IS NOT NULL OR backend_xid IS NOT NULL) AND datname = current_database() AND pid <> pg_backend_pid()" +
	" UNION ALL SELECT prepared FROM pg_prepared_xacts WHERE database = current_database()) AS t)"

// deadRows returns the answer of [DB.DeadRows].
func (db *engine) deadRows(ctx context.Context) (rows int64, oldest time.Duration, err error) {
	var since pgtype.Interval
	err = db.read(ctx, noOrg, func(s *session) error {
		return s.row(deadRows, []any{db.schema}, &rows, &since)
	})
	if err != nil {
		return 0, 0, err
	}
	day := 24 * time.Hour
	return rows, time.Duration(since.Days)*day + time.Duration(since.Microseconds)*time.Microsecond, nil
}
