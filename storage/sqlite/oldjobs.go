package sqlite

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// oldJobTable is a domain's table of jobs. It has the columns seq, organization, claimable_at, token and deliveries, those that a job is known by
// (its key), and dead if there are dead letters.
//
// A job is ready if it has become claimable and is not held. A claim first makes jobs
// ready, and then looks at those only. Their index begins with the organization, so that
// a claim steps from one organization to the next without a look at the jobs between, or
// at organizations of which no job is ready.
type oldJobTable struct {
	lost error // tells who holds a lease no more

	// For the key, an organization, a time, and whether it is ready.
	insert string

	// For a claim. ready makes jobs ready that are claimable at a time, so many at most.
	// next returns the organization and the time of the first ready job of the first
	// organization behind one, in the order of names; first does so from that
	// organization on. jobs returns those of an organization that are ready and claimable
	// at a time, so many at most: their seqs, keys, organizations, and deliveries with the
	// coming one. take sets the time and the token of a job by its seq.
	ready, next, first, jobs, take string

	extend  string // sets the time of a job that is held, by key and token
	release string // the same, and gives it back
	bury    string // by key and token
	remove  string // by key and token
}

// newOldJobTable makes the statements for a table.
func newOldJobTable(table string, deadLetters bool, lost error, key ...string) *oldJobTable {
	columns := strings.Join(key, ", ")
	alive, and := "", ""
	deadColumn, deadValue := "", ""
	if deadLetters {
		alive, and = "dead = 0", " AND "
		deadColumn, deadValue = ", dead", ",0"
	}
	from := " FROM " + table + " WHERE " + alive + and
	next := "SELECT organization, claimable_at" + from + "ready = 1 AND organization %s ? ORDER BY organization, claimable_at, seq LIMIT 1"
	held := " WHERE " + strings.Join(key, " = ? AND ") + " = ? AND token = ?" + and + alive
	return &oldJobTable{
		lost: lost,
		insert: "INSERT INTO " + table + " (" + columns + ", organization, claimable_at, ready, deliveries" + deadColumn + ") VALUES (" +
			strings.Repeat("?,", len(key)) + "?,?,?,0" + deadValue + ") ON CONFLICT DO NOTHING",
		ready: "UPDATE " + table + " SET ready = 1 WHERE seq IN (SELECT seq" + from + "ready = 0 AND claimable_at <= ? ORDER BY claimable_at LIMIT ?)",
		next:  fmt.Sprintf(next, ">"),
		first: fmt.Sprintf(next, ">="),
		jobs: "SELECT seq, " + columns + ", organization, deliveries + 1" + from +
			"ready = 1 AND organization = ? AND claimable_at <= ? ORDER BY claimable_at, seq LIMIT ?",
		take:    "UPDATE " + table + " SET claimable_at = ?, token = ?, deliveries = deliveries + 1, ready = 0 WHERE seq = ?",
		extend:  "UPDATE " + table + " SET claimable_at = ?" + held,
		release: "UPDATE " + table + " SET claimable_at = ?, token = NULL, ready = 0, seq = (SELECT max(seq) + 1 FROM " + table + ")" + held,
		bury:    "UPDATE " + table + " SET dead = 1, token = NULL" + held,
		remove:  "DELETE FROM " + table + held,
	}
}

// addJob adds a job in a transaction, whose end wakes those who wait for one: also when the caller has left by then.
func (t *tx) oldAddJob(jobs *oldJobTable, added *notifier, org string, at time.Time, key ...any) error {
	ready := 0
	if !at.After(time.Now()) {
		ready = 1
	}
	n, err := t.exec(jobs.insert, append(key, org, at.UnixMicro(), ready)...)
	if n > 0 {
		t.op.wakes = added
	}
	return err
}

// oldJobTurns knows which organization was served last. Only the writer uses it.
type oldJobTurns struct{ last string }

// claim is a call of oldClaimJobs.
type oldClaim struct {
	*oldJobTable
	now, until time.Time
	limit      int
	except     []string
}

// oldClaimJobs takes jobs, and has each of them read by scan, from a row of jobs without its seq.
func oldClaimJobs[L any](
	ctx context.Context, db *DB, turns *oldJobTurns, c *oldClaim, token uuid.UUID, scan func(r *row, first int) L,
) ([]L, error) {
	var leases []L
	var more bool
	step := func(tx *tx) error {
		leases, more = nil, false
		const atOnce = 1000
		n, err := tx.exec(c.ready, c.now.UnixMicro(), atOnce)
		if more = n == atOnce; more || err != nil { // others write in between
			return err
		}
		orgs, err := c.inTurn(tx, turns.last)
		if err != nil {
			return err
		}
		type found struct {
			seq   int64
			lease L
		}
		jobs := make([][]found, len(orgs))
		for i, org := range orgs {
			err := tx.query(c.jobs, []any{org, c.now.UnixMicro(), c.limit - len(orgs) + 1}, func(r *row) error {
				jobs[i] = append(jobs[i], found{cell[int64](r, 0), scan(r, 1)})
				return nil
			})
			if err != nil {
				return err
			}
		}
		for round, left := 0, true; left && len(leases) < c.limit; round++ {
			left = false
			for i := range jobs {
				if round >= len(jobs[i]) || len(leases) == c.limit {
					continue
				}
				if _, err := tx.exec(c.take, c.until.UnixMicro(), token[:], jobs[i][round].seq); err != nil {
					return err
				}
				leases, turns.last, left = append(leases, jobs[i][round].lease), orgs[i], true
			}
		}
		return nil
	}
	for {
		if err := db.writer.write(ctx, step); err != nil {
			return nil, err
		}
		if !more {
			return leases, nil
		}
	}
}

// inTurn returns the organizations that have claimable jobs, at most as many as the
// limit, from the one behind the last on.
func (c *oldClaim) inTurn(tx *tx, last string) (orgs []string, err error) {
	after, statement, wrapped := last, c.next, false
	for len(orgs) < c.limit {
		org, at, found := "", int64(0), false
		err := tx.query(statement, []any{after}, func(r *row) error {
			org, at, found = r.text(0), cell[int64](r, 1), true
			return nil
		})
		switch {
		case err != nil:
			return nil, err
		case !found && !wrapped:
			after, statement, wrapped = "", c.first, true
			continue
		case !found || wrapped && org > last:
			return orgs, nil
		}
		if at <= c.now.UnixMicro() && !slices.Contains(c.except, org) {
			orgs = append(orgs, org)
		}
		after, statement = org, c.next
	}
	return orgs, nil
}

// oldChangeHeld runs a statement that changes a job if the lease still holds it. args end with the job's key and the lease's token.
func (db *DB) oldChangeHeld(ctx context.Context, jobs *oldJobTable, statement string, args ...any) error {
	return db.writer.write(ctx, func(tx *tx) error {
		changed, err := tx.exec(statement, args...)
		if err == nil && changed == 0 {
			err = jobs.lost
		}
		return err
	})
}
