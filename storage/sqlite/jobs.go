package sqlite

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"
)

// jobTable is a domain's table of jobs. It has the columns seq, organization, claimable_at, token and deliveries, those that a job is known by
// (its key), and dead if there are dead letters.
type jobTable struct {
	lost error // tells who holds a lease no more

	insert    string // for the key, an organization and a time
	claimable string // those claimable at a time, so many at most: their keys, organizations, and deliveries with the coming one
	take      string // sets the time and the token of those that claimable returns for a time and a limit
	extend    string // sets the time of a job that is held, by key and token
	release   string // the same, and gives it back
	bury      string // by key and token
	remove    string // by key and token
}

// newJobTable makes the statements for a table.
func newJobTable(table string, deadLetters bool, lost error, key ...string) *jobTable {
	columns := strings.Join(key, ", ")
	alive, and := "", ""
	deadColumn, deadValue := "", ""
	if deadLetters {
		alive, and = "dead = 0", " AND "
		deadColumn, deadValue = ", dead", ",0"
	}
	due := " FROM " + table + " WHERE " + alive + and + "claimable_at <= ? ORDER BY claimable_at, seq LIMIT ?"
	held := " WHERE " + strings.Join(key, " = ? AND ") + " = ? AND token = ?" + and + alive
	return &jobTable{
		lost: lost,
		insert: "INSERT INTO " + table + " (" + columns + ", organization, claimable_at, deliveries" + deadColumn + ") VALUES (" +
			strings.Repeat("?,", len(key)) + "?,?,0" + deadValue + ") ON CONFLICT DO NOTHING",
		claimable: "SELECT " + columns + ", organization, deliveries + 1" + due,
		take:      "UPDATE " + table + " SET claimable_at = ?, token = ?, deliveries = deliveries + 1 WHERE seq IN (SELECT seq" + due + ")",
		extend:    "UPDATE " + table + " SET claimable_at = ?" + held,
		release:   "UPDATE " + table + " SET claimable_at = ?, token = NULL, seq = (SELECT max(seq) + 1 FROM " + table + ")" + held,
		bury:      "UPDATE " + table + " SET dead = 1, token = NULL" + held,
		remove:    "DELETE FROM " + table + held,
	}
}

// addJob adds a job in a transaction, whose end wakes those who wait for one: also when the caller has left by then.
func (t *tx) addJob(jobs *jobTable, added *notifier, org string, at time.Time, key ...any) error {
	n, err := t.exec(jobs.insert, append(key, org, at.UnixMicro())...)
	if n > 0 {
		t.op.wakes = added
	}
	return err
}

// claimJobs takes jobs, and has each of them read by scan, from a row of claimable.
func claimJobs[L any](ctx context.Context, db *DB, jobs *jobTable, token uuid.UUID, now, until time.Time, limit int, scan func(*row) L) ([]L, error) {
	var leases []L
	err := db.writer.write(ctx, func(tx *tx) error {
		leases = nil
		err := tx.query(jobs.claimable, []any{now.UnixMicro(), max(limit, 0)}, func(r *row) error {
			leases = append(leases, scan(r))
			return nil
		})
		if err != nil || len(leases) == 0 {
			return err
		}
		_, err = tx.exec(jobs.take, until.UnixMicro(), token[:], now.UnixMicro(), limit)
		return err
	})
	if err != nil {
		return nil, err
	}
	return leases, nil
}

// changeHeld runs a statement that changes a job if the lease still holds it. args end with the job's key and the lease's token.
func (db *DB) changeHeld(ctx context.Context, jobs *jobTable, statement string, args ...any) error {
	return db.writer.write(ctx, func(tx *tx) error {
		changed, err := tx.exec(statement, args...)
		if err == nil && changed == 0 {
			err = jobs.lost
		}
		return err
	})
}
