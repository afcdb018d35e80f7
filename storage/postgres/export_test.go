package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// ErrTimeout is why a call ends that takes longer than Options.Timeout.
var ErrTimeout = errTimeout

// SetNow makes now the clock of the jobs, or the database's again if now is nil.
func (db *DB) SetNow(now func() time.Time) { db.clock.now = now }

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
