package sqlite

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise/trigger"
)

var triggerJobs = newOldJobTable("trigger_jobs", true, trigger.ErrLeaseLost, "event", "generation")

// Add implements [trigger.Leases].
func (t *Trigger) Add(ctx context.Context, j trigger.Job, at time.Time) error {
	return t.db.writer.write(ctx, func(tx *tx) error { return t.addJob(tx, j, at) })
}

func (t *Trigger) addJob(tx *tx, j trigger.Job, at time.Time) error {
	return tx.oldAddJob(triggerJobs, &t.db.triggerJobs, j.Organization, at, j.EventID[:], j.Generation)
}

// NotifyJobs implements [trigger.JobNotifier].
func (t *Trigger) NotifyJobs(wake func()) (stop func()) { return t.db.triggerJobs.listen(wake) }

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
func (t *Trigger) Claim(ctx context.Context, token uuid.UUID, now, until time.Time, limit int, except ...string) ([]trigger.Lease, error) {
	c := &oldClaim{triggerJobs, now, until, limit, except}
	return oldClaimJobs(ctx, t.db, &t.db.triggerTurns, c, token, func(r *row, first int) trigger.Lease {
		l := trigger.Lease{Token: token}
		r.blob(first, l.Job.EventID[:])
		l.Job.Generation, l.Job.Organization, l.Deliveries = r.number(first+1), r.text(first+2), r.number(first+3)
		return l
	})
}

// Extend implements [trigger.Leases].
func (t *Trigger) Extend(ctx context.Context, l trigger.Lease, until time.Time) error {
	return t.held(ctx, l, triggerJobs.extend, until.UnixMicro())
}

// Release implements [trigger.Leases].
func (t *Trigger) Release(ctx context.Context, l trigger.Lease, at time.Time) error {
	return t.held(ctx, l, triggerJobs.release, at.UnixMicro())
}

// Remove implements [trigger.Leases].
func (t *Trigger) Remove(ctx context.Context, l trigger.Lease, dead bool) error {
	if dead {
		return t.held(ctx, l, triggerJobs.bury)
	}
	return t.held(ctx, l, triggerJobs.remove)
}

func (t *Trigger) held(ctx context.Context, l trigger.Lease, statement string, args ...any) error {
	return t.db.oldChangeHeld(ctx, triggerJobs, statement, append(args, l.Job.EventID[:], l.Job.Generation, l.Token[:])...)
}
