package sqlite

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise/trigger"
)

const (
	insertJob = "INSERT INTO trigger_jobs (event, generation, organization, claimable_at, deliveries, dead) VALUES (?,?,?,?,0,0) ON CONFLICT DO NOTHING"

	claimable  = " FROM trigger_jobs WHERE dead = 0 AND claimable_at <= ? ORDER BY claimable_at, seq LIMIT ?"
	jobsToTake = "SELECT event, generation, organization, deliveries + 1" + claimable
	takeJobs   = "UPDATE trigger_jobs SET claimable_at = ?, token = ?, deliveries = deliveries + 1 WHERE seq IN (SELECT seq" + claimable + ")"

	held       = " WHERE event = ? AND generation = ? AND token = ? AND dead = 0"
	extendJob  = "UPDATE trigger_jobs SET claimable_at = ?" + held
	releaseJob = "UPDATE trigger_jobs SET claimable_at = ?, token = NULL, seq = (SELECT max(seq) + 1 FROM trigger_jobs)" + held
	buryJob    = "UPDATE trigger_jobs SET dead = 1, token = NULL" + held
	deleteJob  = "DELETE FROM trigger_jobs" + held
)

// Add implements [trigger.Leases].
func (t *Trigger) Add(ctx context.Context, j trigger.Job, at time.Time) error {
	return t.db.writer.write(ctx, func(tx *tx) error { return t.addJob(tx, j, at) })
}

// addJob adds the job in a transaction, whose end wakes those who wait for one: also when the caller has left by then.
func (t *Trigger) addJob(tx *tx, j trigger.Job, at time.Time) error {
	added, err := tx.exec(insertJob, j.EventID[:], j.Generation, j.Organization, at.UnixMicro())
	if added > 0 {
		tx.op.wakes = &t.db.jobs
	}
	return err
}

// NotifyJobs implements [trigger.JobNotifier].
func (t *Trigger) NotifyJobs(wake func()) (stop func()) { return t.db.jobs.listen(wake) }

// Shares implements [trigger.TxLeases].
func (t *Trigger) Shares(s trigger.Store) bool {
	other, ok := s.(*Trigger)
	return ok && other.db == t.db
}

// CreateAndAdd implements [trigger.TxLeases].
func (t *Trigger) CreateAndAdd(ctx context.Context, e trigger.Event, keySince time.Time, j trigger.Job, at time.Time) (trigger.Event, bool, error) {
	c, err := newCreation(&e, keySince)
	if err != nil {
		return trigger.Event{}, false, err
	}
	err = t.db.writer.write(ctx, func(tx *tx) error {
		if err := c.do(tx); err != nil || !c.created {
			return err
		}
		return t.addJob(tx, j, at)
	})
	if err != nil {
		return trigger.Event{}, false, err
	}
	return c.result(&e)
}

// Claim implements [trigger.Leases].
func (t *Trigger) Claim(ctx context.Context, token uuid.UUID, now, until time.Time, limit int) ([]trigger.Lease, error) {
	var leases []trigger.Lease
	err := t.db.writer.write(ctx, func(tx *tx) error {
		leases = nil
		err := tx.query(jobsToTake, []any{now.UnixMicro(), max(limit, 0)}, func(r *row) error {
			l := trigger.Lease{Token: token}
			r.blob(0, l.Job.EventID[:])
			l.Job.Generation, l.Job.Organization, l.Deliveries = r.number(1), r.text(2), r.number(3)
			leases = append(leases, l)
			return nil
		})
		if err != nil || len(leases) == 0 {
			return err
		}
		_, err = tx.exec(takeJobs, until.UnixMicro(), token[:], now.UnixMicro(), limit)
		return err
	})
	if err != nil {
		return nil, err
	}
	return leases, nil
}

// Extend implements [trigger.Leases].
func (t *Trigger) Extend(ctx context.Context, l trigger.Lease, until time.Time) error {
	return t.held(ctx, l, extendJob, until.UnixMicro())
}

// Release implements [trigger.Leases].
func (t *Trigger) Release(ctx context.Context, l trigger.Lease, at time.Time) error {
	return t.held(ctx, l, releaseJob, at.UnixMicro())
}

// Remove implements [trigger.Leases].
func (t *Trigger) Remove(ctx context.Context, l trigger.Lease, dead bool) error {
	if dead {
		return t.held(ctx, l, buryJob)
	}
	return t.held(ctx, l, deleteJob)
}

// held runs a statement that changes the job if l still holds it.
func (t *Trigger) held(ctx context.Context, l trigger.Lease, statement string, args ...any) error {
	args = append(args, l.Job.EventID[:], l.Job.Generation, l.Token[:])
	return t.db.writer.write(ctx, func(tx *tx) error {
		changed, err := tx.exec(statement, args...)
		if err == nil && changed == 0 {
			err = trigger.ErrLeaseLost
		}
		return err
	})
}
