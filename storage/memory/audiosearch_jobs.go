package memory

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise/audiosearch"
)

// audioJobs and audioJob are the table of jobs and a row of it.
type (
	audioJobs = oldJobTable[int64, audiosearch.Job]
	audioJob  = oldJob[int64, audiosearch.Job]
)

// NotifyJobs implements [audiosearch.JobNotifier].
func (a *AudioSearch) NotifyJobs(wake func()) (stop func()) { return a.db.audioWakers.add(wake) }

// AddJob implements [audiosearch.Leases].
func (a *AudioSearch) AddJob(ctx context.Context, j audiosearch.Job, at time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	a.db.mu.Lock()
	added := a.db.audio.jobs.add(j.RunID, j.Organization, j, at)
	a.db.mu.Unlock()
	if added {
		a.db.audioWakers.wake()
	}
	return nil
}

// Claim implements [audiosearch.Leases].
func (a *AudioSearch) Claim(ctx context.Context, token uuid.UUID, now, until time.Time, limit int, except ...string) ([]audiosearch.Lease, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	a.db.mu.Lock()
	defer a.db.mu.Unlock()
	var leases []audiosearch.Lease
	for _, j := range a.db.audio.jobs.claim(token, now, until, limit, except) {
		leases = append(leases, audiosearch.Lease{Job: j.job, Token: token, Deliveries: j.deliveries})
	}
	return leases, nil
}

// Extend implements [audiosearch.Leases].
func (a *AudioSearch) Extend(ctx context.Context, l audiosearch.Lease, until time.Time) error {
	return a.held(ctx, l, func(jobs *audioJobs, j *audioJob) { jobs.extend(j, until) })
}

// Release implements [audiosearch.Leases].
func (a *AudioSearch) Release(ctx context.Context, l audiosearch.Lease, at time.Time) error {
	return a.held(ctx, l, func(jobs *audioJobs, j *audioJob) { jobs.release(j, at) })
}

// Remove implements [audiosearch.Leases].
func (a *AudioSearch) Remove(ctx context.Context, l audiosearch.Lease) error {
	return a.held(ctx, l, func(jobs *audioJobs, j *audioJob) { jobs.remove(j, false) })
}

// held calls f with the job, if l still holds it.
func (a *AudioSearch) held(ctx context.Context, l audiosearch.Lease, f func(*audioJobs, *audioJob)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	a.db.mu.Lock()
	defer a.db.mu.Unlock()
	jobs := &a.db.audio.jobs
	j := jobs.held(l.Job.RunID, l.Token)
	if j == nil {
		return audiosearch.ErrLeaseLost
	}
	f(jobs, j)
	return nil
}
