package engine

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Probe is a DB as the tests of the whole see it. Nothing else uses it.
type Probe struct{ db *DB }

// Probe returns the DB's.
func (db *DB) Probe() Probe { return Probe{db} }

// CallsInTx has each call of the stores and queues made in a transaction of the host's, which
// commits it whatever its error is: a call is a savepoint. So the suites find the calls
// that do not work there.
func (p Probe) CallsInTx() {
	p.db.hosted = func(ctx context.Context, do func(context.Context) error) error {
		for tries := 1; ; tries++ {
			var failed error
			begun := false
			err := pgx.BeginFunc(context.WithoutCancel(ctx), p.db.pool, func(tx pgx.Tx) error {
				begun = true
				failed = do(InTx(ctx, tx))
				return nil
			})
			// A pool may have connections that ended while the database was away.
			if err == nil || begun || tries > int(p.db.pool.Config().MaxConns) {
				return errors.Join(failed, err)
			}
		}
	}
}

// ExpectGroup has the next group wait for so many operations until a time, and tells of the
// size of each group. It waits for the end of earlier groups.
func (p Probe) ExpectGroup(operations int, until time.Time, each func(size int)) {
	g := p.db.group
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.running {
		g.mu.Unlock()
		time.Sleep(time.Millisecond)
		g.mu.Lock()
	}
	g.latest, g.until = operations, until
	g.send = func(ctx context.Context, conn *pgxpool.Conn, ops []*op, alone bool) (bool, error) {
		each(len(ops))
		return p.db.sendPipeline(ctx, conn, ops, alone)
	}
}

// SQL returns a statement as it is sent.
func (p Probe) SQL(text string) string { return p.db.sql(text) }

// Note adds the statements that were sent, as they are written in the program.
func (p Probe) Note(to *sync.Map) {
	for text := range p.db.texts.Range {
		to.Store(text, true)
	}
}

// Settings are the statements that come before lists that keep their plans, and before a group.
func (Probe) Settings() (kept, group string) { return byKeptPlans, groupSettings }

// Timeout is why a call ends that takes longer than its time.
func (Probe) Timeout() error { return errTimeout }

// Describe returns the lines of migrations/tables.txt for a schema.
func (Probe) Describe(ctx context.Context, conn *pgx.Conn, schema string) ([]string, error) {
	return describe(ctx, conn, schema, nil)
}
