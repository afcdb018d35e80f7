package memory

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise/trigger"
)

type jobID struct {
	event      uuid.UUID
	generation int
}

// Add implements [trigger.Leases].
func (t *Trigger) Add(ctx context.Context, j trigger.Job, at time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t.db.mu.Lock()
	added := t.db.trigger.addJob(j, at)
	t.db.mu.Unlock()
	if added {
		t.db.wakers.wake()
	}
	return nil
}

// addJob reports false if the job was there.
func (t *triggerTables) addJob(j trigger.Job, at time.Time) bool {
	return t.jobs.add(jobID{j.EventID, j.Generation}, j.Organization, j, at)
}

// forgetDead removes the dead jobs of an event, of all its generations.
func (t *triggerTables) forgetDead(e *trigger.Event) {
	for generation := range e.Generation + 1 {
		t.jobs.forget(jobID{e.ID, generation})
	}
}

// Shares implements [trigger.TxLeases].
func (t *Trigger) Shares(s trigger.Store) bool {
	other, ok := s.(*Trigger)
	return ok && other.db == t.db
}

// CreateAndAdd implements [trigger.TxLeases].
func (t *Trigger) CreateAndAdd(ctx context.Context, e trigger.Event, keySince time.Time, j trigger.Job, at time.Time) (trigger.Event, bool, error) {
	if err := ctx.Err(); err != nil {
		return trigger.Event{}, false, err
	}
	t.db.mu.Lock()
	stored, created := t.db.trigger.create(e, keySince)
	added := created && t.db.trigger.addJob(j, at)
	t.db.mu.Unlock()
	if added {
		t.db.wakers.wake()
	}
	return stored, created, nil
}

// NotifyJobs implements [trigger.JobNotifier].
func (t *Trigger) NotifyJobs(wake func()) (stop func()) { return t.db.wakers.add(wake) }

// Claim implements [trigger.Leases].
func (t *Trigger) Claim(ctx context.Context, token uuid.UUID, now, until time.Time, limit int, except ...string) ([]trigger.Lease, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	t.db.mu.Lock()
	defer t.db.mu.Unlock()
	var leases []trigger.Lease
	for _, j := range t.db.trigger.jobs.claim(token, now, until, limit, except) {
		leases = append(leases, trigger.Lease{Job: j.job, Token: token, Deliveries: j.deliveries})
	}
	return leases, nil
}

// triggerJobs and triggerJob are the table of jobs and a row of it.
type (
	triggerJobs = oldJobTable[jobID, trigger.Job]
	triggerJob  = oldJob[jobID, trigger.Job]
)

// Extend implements [trigger.Leases].
func (t *Trigger) Extend(ctx context.Context, l trigger.Lease, until time.Time) error {
	return t.held(ctx, l, func(jobs *triggerJobs, j *triggerJob) { jobs.extend(j, until) })
}

// Release implements [trigger.Leases].
func (t *Trigger) Release(ctx context.Context, l trigger.Lease, at time.Time) error {
	return t.held(ctx, l, func(jobs *triggerJobs, j *triggerJob) { jobs.release(j, at) })
}

// Remove implements [trigger.Leases].
func (t *Trigger) Remove(ctx context.Context, l trigger.Lease, dead bool) error {
	return t.held(ctx, l, func(jobs *triggerJobs, j *triggerJob) { jobs.remove(j, dead) })
}

// held calls f with the job, if l still holds it.
func (t *Trigger) held(ctx context.Context, l trigger.Lease, f func(*triggerJobs, *triggerJob)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t.db.mu.Lock()
	defer t.db.mu.Unlock()
	jobs := &t.db.trigger.jobs
	j := jobs.held(jobID{l.Job.EventID, l.Job.Generation}, l.Token)
	if j == nil {
		return trigger.ErrLeaseLost
	}
	f(jobs, j)
	return nil
}
