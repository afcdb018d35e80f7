package audiosearch

import (
	"context"
	"fmt"
	"strconv"

	"github.com/seed-6363c74e/mortise"
)

// Queue hands out the jobs of runs ([Run.Job]). All domains have the same one:
// [mortise.Queue] says what it promises, and package storage/queuetest proves it.
type Queue = mortise.Queue

// JobKind is the kind of the jobs of runs.
const JobKind = "audiosearch"

// Job returns the job of the run. Its ID is the run's, in decimal. It is due at once,
// unless the run is due later than its latest sign of life: then at DueAt.
func (r *Run) Job() mortise.Job {
	j := mortise.Job{
		Kind: JobKind, Organization: r.Organization, ID: strconv.FormatInt(r.ID, 10), Trace: r.Trace,
	}
	if r.DueAt.After(r.UpdatedAt) {
		j.At = r.DueAt
	}
	return j
}

// parseJobID returns the run of a job.
func parseJobID(id string) (int64, error) {
	n, err := strconv.ParseInt(id, 10, 64)
	if err == nil && n >= 1 && n <= maxRunID && strconv.FormatInt(n, 10) == id {
		return n, nil
	}
	return 0, fmt.Errorf("audiosearch: %.80q is not the ID of a run's job", id)
}

// TxStore is a Store that can add and remove jobs in its own transactions. The service
// uses it if the queue is a [mortise.Sharer] that says so. Otherwise it stores first and
// enqueues then, and a [Sweeper] looks for what a crash left between.
type TxStore interface {
	// CreateRunAndAdd does CreateRun and, if that created the run, [mortise.Leases].Add,
	// in one transaction.
	CreateRunAndAdd(ctx context.Context, r Run, maxWaiting int, j mortise.Job) error

	// UpdateRunAndJobs does UpdateRun and, if that succeeded, removes the job of a lease by
	// [mortise.Holder].Remove, and adds the jobs that update has returned by
	// [mortise.Leases].Add: in one transaction. That the lease is lost, or its token is
	// uuid.Nil, is not an error: the run is changed all the same, the jobs are added, and
	// the job stays with its holder.
	UpdateRunAndJobs(
		ctx context.Context, org string, id int64, update func(*Run) ([]mortise.Job, error), l mortise.Lease,
	) error
}
