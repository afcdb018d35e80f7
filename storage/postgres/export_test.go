package postgres

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// CallsInTx has each call of the stores and queues made in a transaction of the host's, which
// commits it whatever its error is: a call is a savepoint. So the suites find out what does
// not work there.
func CallsInTx(db *DB) {
	db.hosted = func(ctx context.Context, do func(context.Context) error) error {
		for tries := 1; ; tries++ {
			var failed error
			begun := false
			err := pgx.BeginFunc(context.WithoutCancel(ctx), db.pool, func(tx pgx.Tx) error {
				begun = true
				failed = do(InTx(ctx, tx))
				return nil
			})
			// A pool may have connections that ended while the database was away.
			if err == nil || begun || tries > int(db.pool.Config().MaxConns) {
				return errors.Join(failed, err)
			}
		}
	}
}

// Open is New without the comparison of the tables, for schemas that the tests have made.
func Open(pool *pgxpool.Pool, opts *Options) (*DB, error) { return open(pool, opts) }

// ErrTimeout is why a call ends that takes longer than Options.Timeout.
var ErrTimeout = errTimeout

// SetNow makes now the clock of the jobs, or the database's again if now is nil.
func (db *DB) SetNow(now func() time.Time) { db.jobs.clock.now = now }

// LookedAtAll returns when a claim of a kind has looked at all jobs.
func (db *DB) LookedAtAll(kind string) time.Time {
	of := db.jobs.turns.turns([]string{kind})
	of.mu.Lock()
	defer of.mu.Unlock()
	return of.all
}

// ExpectGroup has the next group wait for so many operations until a time, and tells of the
// size of each group. It waits for the end of those before.
func (db *DB) ExpectGroup(operations int, until time.Time, each func(size int)) {
	db.group.mu.Lock()
	defer db.group.mu.Unlock()
	for db.group.running {
		db.group.mu.Unlock()
		time.Sleep(time.Millisecond)
		db.group.mu.Lock()
	}
	db.group.latest, db.group.until = operations, until
	db.group.send = func(ctx context.Context, conn *pgxpool.Conn, ops []*op, alone bool) (bool, error) {
		each(len(ops))
		return db.sendPipeline(ctx, conn, ops, alone)
	}
}

// Describe returns the lines of expected for a schema.
func Describe(ctx context.Context, conn *pgx.Conn, schema string) ([]string, error) {
	return describe(ctx, conn, schema, nil)
}

// Statements are those that DBs were told to note, as they are written in the package.
var Statements sync.Map

// Note adds the statements that a DB has sent.
func Note(db *DB) {
	for text := range db.texts.Range {
		Statements.Store(text, true)
	}
}
