package sqlite

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise/audiosearch"
)

var audioJobs = newOldJobTable("audiosearch_jobs", false, audiosearch.ErrLeaseLost, "run")

// Queue returns a queue over this database's jobs. Options may be nil. A job wakes the idle consumers of this process at once, and
// those of other processes at their next poll (LeaseOptions.Poll).
func (a *AudioSearch) Queue(opts *audiosearch.LeaseOptions) audiosearch.Queue {
	return audiosearch.LeaseQueue(a, opts)
}

// AddJob implements [audiosearch.Leases].
func (a *AudioSearch) AddJob(ctx context.Context, j audiosearch.Job, at time.Time) error {
	return a.db.writer.write(ctx, func(tx *tx) error {
		return tx.oldAddJob(audioJobs, &a.db.audioJobs, j.Organization, at, j.RunID)
	})
}

// NotifyJobs implements [audiosearch.JobNotifier].
func (a *AudioSearch) NotifyJobs(wake func()) (stop func()) { return a.db.audioJobs.listen(wake) }

// Claim implements [audiosearch.Leases].
func (a *AudioSearch) Claim(ctx context.Context, token uuid.UUID, now, until time.Time, limit int, except ...string) ([]audiosearch.Lease, error) {
	c := &oldClaim{audioJobs, now, until, limit, except}
	return oldClaimJobs(ctx, a.db, &a.db.audioTurns, c, token, func(r *row, first int) audiosearch.Lease {
		return audiosearch.Lease{
			Job:   audiosearch.Job{RunID: cell[int64](r, first), Organization: r.text(first + 1)},
			Token: token, Deliveries: r.number(first + 2),
		}
	})
}

// Extend implements [audiosearch.Leases].
func (a *AudioSearch) Extend(ctx context.Context, l audiosearch.Lease, until time.Time) error {
	return a.held(ctx, l, audioJobs.extend, until.UnixMicro())
}

// Release implements [audiosearch.Leases].
func (a *AudioSearch) Release(ctx context.Context, l audiosearch.Lease, at time.Time) error {
	return a.held(ctx, l, audioJobs.release, at.UnixMicro())
}

// Remove implements [audiosearch.Leases].
func (a *AudioSearch) Remove(ctx context.Context, l audiosearch.Lease) error {
	return a.held(ctx, l, audioJobs.remove)
}

func (a *AudioSearch) held(ctx context.Context, l audiosearch.Lease, statement string, args ...any) error {
	return a.db.oldChangeHeld(ctx, audioJobs, statement, append(args, l.Job.RunID, l.Token[:])...)
}
