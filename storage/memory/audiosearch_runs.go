package memory

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise/audiosearch"
)

// CreateRun implements [audiosearch.Runs].
func (a *AudioSearch) CreateRun(ctx context.Context, r audiosearch.Run) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r = r.Clone()
	a.db.mu.Lock()
	defer a.db.mu.Unlock()
	if _, ok := a.db.audio.runs[r.ID]; ok {
		return audiosearch.ErrRunExists
	}
	a.db.audio.runs[r.ID] = &r
	return nil
}

// findRun returns a run of the organization.
func (t *audioTables) findRun(org string, id int64) (*audiosearch.Run, error) {
	r, ok := t.runs[id]
	if !ok || r.Organization != org {
		return nil, audiosearch.ErrRunNotFound
	}
	return r, nil
}

// withoutResults is a copy of a run as callers get it.
func withoutResults(r *audiosearch.Run) audiosearch.Run {
	bare := *r
	bare.Results = nil
	return bare.Clone()
}

// Run implements [audiosearch.Runs].
func (a *AudioSearch) Run(ctx context.Context, org string, id int64) (audiosearch.Run, error) {
	if err := ctx.Err(); err != nil {
		return audiosearch.Run{}, err
	}
	a.db.mu.RLock()
	defer a.db.mu.RUnlock()
	r, err := a.db.audio.findRun(org, id)
	if err != nil {
		return audiosearch.Run{}, err
	}
	return withoutResults(r), nil
}

// UpdateRun implements [audiosearch.Runs].
func (a *AudioSearch) UpdateRun(ctx context.Context, org string, id int64, update func(*audiosearch.Run) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	a.db.mu.Lock()
	defer a.db.mu.Unlock()
	stored, err := a.db.audio.findRun(org, id)
	if err != nil {
		return err
	}
	theirs := withoutResults(stored)
	if err := update(&theirs); err != nil {
		return err
	}
	changed := theirs.Clone()
	changed.Organization, changed.ID, changed.CreatedAt = stored.Organization, stored.ID, stored.CreatedAt
	if changed.Results == nil {
		changed.Results = stored.Results
	}
	*stored = changed
	return nil
}

// RunResults implements [audiosearch.Runs].
func (a *AudioSearch) RunResults(ctx context.Context, org string, id int64) ([]audiosearch.Result, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	a.db.mu.RLock()
	defer a.db.mu.RUnlock()
	r, err := a.db.audio.findRun(org, id)
	if err != nil {
		return nil, err
	}
	return audiosearch.CloneResults(r.Results), nil
}

// StaleRuns implements [audiosearch.Runs].
func (a *AudioSearch) StaleRuns(ctx context.Context, before time.Time, limit int) ([]audiosearch.Run, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	a.db.mu.RLock()
	defer a.db.mu.RUnlock()
	var stale []audiosearch.Run
	for _, r := range a.db.audio.runs {
		if r.State != audiosearch.StateTerminated && r.UpdatedAt.Before(before) {
			stale = append(stale, withoutResults(r))
		}
	}
	slices.SortFunc(stale, func(x, y audiosearch.Run) int {
		return cmp.Or(x.UpdatedAt.Compare(y.UpdatedAt), cmp.Compare(x.ID, y.ID))
	})
	return stale[:min(limit, len(stale))], nil
}

// PruneRuns implements [audiosearch.RunPruner].
func (a *AudioSearch) PruneRuns(ctx context.Context, before time.Time, limit int) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	a.db.mu.Lock()
	defer a.db.mu.Unlock()
	n := 0
	for id, r := range a.db.audio.runs {
		if n < limit && r.State == audiosearch.StateTerminated && r.FinishedAt.Before(before) {
			delete(a.db.audio.runs, id)
			n++
		}
	}
	return n, nil
}

// audioJobs and audioJob are the table of jobs and a row of it.
type (
	audioJobs = jobTable[int64, audiosearch.Job]
	audioJob  = job[int64, audiosearch.Job]
)

// NotifyJobs implements [audiosearch.JobNotifier].
func (a *AudioSearch) NotifyJobs(wake func()) (stop func()) { return a.db.audioWakers.add(wake) }

// AddJob implements [audiosearch.Leases].
func (a *AudioSearch) AddJob(ctx context.Context, j audiosearch.Job, at time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	a.db.mu.Lock()
	added := a.db.audio.jobs.add(j.RunID, j, at)
	a.db.mu.Unlock()
	if added {
		a.db.audioWakers.wake()
	}
	return nil
}

// Claim implements [audiosearch.Leases].
func (a *AudioSearch) Claim(ctx context.Context, token uuid.UUID, now, until time.Time, limit int) ([]audiosearch.Lease, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	a.db.mu.Lock()
	defer a.db.mu.Unlock()
	var leases []audiosearch.Lease
	for _, j := range a.db.audio.jobs.claim(token, now, until, limit) {
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
