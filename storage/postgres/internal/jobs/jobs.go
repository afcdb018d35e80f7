// Package jobs keeps the jobs of all kinds in PostgreSQL: claim.go takes them, turns.go knows whose
// turn it is, and notify.go tells of new ones, here and in other processes.
package jobs

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/leases"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/engine"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/sqltext"
)

// Jobs implements [mortise.JobTable], [mortise.Sharer] and [leases.JobNotifier].
type Jobs struct {
	db      *engine.DB
	clock   jobClock
	turns   jobTurns
	Added   *jobNotifier
	sharers []any // the stores that add their jobs here
}

var (
	_ mortise.JobTable   = (*Jobs)(nil)
	_ mortise.Sharer     = (*Jobs)(nil)
	_ leases.JobNotifier = (*Jobs)(nil)
)

func New(db *engine.DB) *Jobs {
	t := &Jobs{db: db, turns: jobTurns{of: make(map[string]*kindTurns)}}
	t.Added = newJobNotifier(db, &t.turns)
	return t
}

// SharedBy sets the stores that add their jobs here, in their own transactions.
func (t *Jobs) SharedBy(stores ...any) { t.sharers = stores }

// Close waits until other processes have been told of the jobs that were added.
func (t *Jobs) Close() { t.Added.close() }

// Shares implements [mortise.Sharer].
func (t *Jobs) Shares(store any) bool {
	return slices.Contains(t.sharers, store) // itself: a type that embeds one has methods of its own
}

// NotifyJobs implements [leases.JobNotifier].
func (t *Jobs) NotifyJobs(wake func(kind string)) (stop func()) { return t.Added.listen(wake) }

// A job is claimable from its claimable_at on: the time that it is due, or the end of its
// lease. $1 is the time of a clock that a test has set, and NULL otherwise.
const (
	jobNow = "coalesce($1::timestamptz, statement_timestamp())"

	// Its arguments are newJob's. It can stand in a WITH, and returns a row if it adds one.
	insertJob = InsertJobFrom + InsertJobEnd

	InsertJobFrom = "INSERT INTO @.jobs (id, kind, organization, claimable_at, deliveries, dead, trace)" +
		" SELECT $2, $3, $4, coalesce($5::timestamptz, " + jobNow + "), 0, false, $6" // a condition may follow
	InsertJobEnd = " ON CONFLICT DO NOTHING RETURNING claimable_at <= " + jobNow + " AS ready"

	// The same job in a transaction of the host's, which tells of it when it is committed.
	insertJobNotify = "WITH job AS (" + insertJob + ", claimable_at) SELECT pg_notify($7, $8 || ' ' || " + jobMicros + ") FROM job WHERE ready"
	jobMicros       = "(extract(epoch FROM claimable_at) * 1000000)::bigint"

	// A dead job has no token, so these need not say NOT dead. It would have the planner take
	// the index of all jobs that are not dead into account.
	jobHeld = " WHERE id = $2 AND kind = $3 AND organization = $4 AND token = $5"

	cancelJob  = "DELETE FROM @.jobs WHERE id = $1 AND kind = $2 AND organization = $3 AND token IS NULL AND dead IS NOT TRUE" // likewise
	laterJob   = "UPDATE @.jobs SET claimable_at = " + jobNow + " + $6::bigint * interval '1 microsecond'"
	extendJob  = laterJob + jobHeld
	releaseJob = laterJob + ", token = NULL, seq = DEFAULT" + jobHeld

	// HeldArgs are their arguments, $1 to $4. They can stand in a WITH.
	removeJob              = DeleteJob + " WHERE " + JobIsHeld
	buryJob                = MakeJobDead + " WHERE " + JobIsHeld
	DeleteJob, MakeJobDead = "DELETE FROM @.jobs", "UPDATE @.jobs SET dead = true, token = NULL"
	JobIsHeld              = "id = $1 AND kind = $2 AND organization = $3 AND token = $4"
)

// jobClock is the clock of the jobs, if it is not the database's.
type jobClock struct{ now func() time.Time }

func (c *jobClock) arg() any {
	if c.now == nil {
		return nil
	}
	return c.now()
}

// newJob is a job to be added: a copy of what a caller passed.
type newJob struct {
	kind string
	came arrival
	Args []any // of insertJob
}

func (t *Jobs) NewJob(j *mortise.Job) *newJob {
	var at any
	came := arrival{began: time.Now()}
	if !j.At.IsZero() {
		came.at = j.At.UTC().Truncate(time.Microsecond)
		at = came.at
	}
	return &newJob{kind: j.Kind, came: came, Args: []any{t.clock.arg(), j.ID, j.Kind, j.Organization, at, sqltext.TraceText(j.Trace)}}
}

// notifyArgs are the arguments of insertJobNotify.
func (t *Jobs) notifyArgs(n *newJob) []any {
	return append(slices.Clone(n.Args), t.Added.channel(), hostNotice+n.kind)
}

// addTo adds a job in a group, unless it is there. Its commit wakes the listeners.
func (t *Jobs) addTo(b *engine.Batch, n *newJob) {
	if b.Hosted() {
		b.Exec(nil, insertJobNotify, t.notifyArgs(n)...)
		return
	}
	b.Query(func(r pgx.Rows) error {
		var ready bool
		err := r.Scan(&ready)
		if err == nil && ready {
			b.OnCommit(func() { t.Added.Added(n) })
		}
		return err
	}, insertJob, n.Args...)
}

// AddIn adds a job in the transaction of engine.DB.Transact, unless it is there: to Options.Queue
// if that is set.
func (t *Jobs) AddIn(s *engine.Session, j *mortise.Job) error {
	if elsewhere, err := s.Enqueue(j); elsewhere {
		return err
	}
	n := t.NewJob(j)
	if s.Hosted() {
		_, err := s.Exec(insertJobNotify, t.notifyArgs(n)...)
		return err
	}
	var ready bool
	err := s.Row(insertJob, n.Args, &ready)
	if engine.IsNoRow(err) {
		return nil
	}
	if err == nil && ready {
		s.OnCommit(func() { t.Added.Added(n) })
	}
	return err
}

// AddMany does AddIn of each job, in one round trip where they are kept here.
func (t *Jobs) AddMany(s *engine.Session, jobs []mortise.Job) error {
	inserts := s.Queued()
	for i := range jobs {
		if elsewhere, err := s.Enqueue(&jobs[i]); err != nil {
			return err
		} else if elsewhere {
			continue
		}
		n := t.NewJob(&jobs[i])
		if s.Hosted() {
			inserts.Add(insertJobNotify, t.notifyArgs(n)...)
			continue
		}
		inserts.Query(func(r pgx.Rows) error {
			var ready bool
			err := r.Scan(&ready)
			if err == nil && ready {
				s.OnCommit(func() { t.Added.Added(n) })
			}
			return err
		}, insertJob, n.Args...)
	}
	return inserts.Send()
}

// EndIn removes a job in the transaction of engine.DB.Transact, or makes it a dead letter, if the
// lease still holds it.
func (t *Jobs) EndIn(s *engine.Session, l *mortise.Lease, dead bool) error {
	_, err := s.Exec(endJob(dead), HeldArgs(l)...)
	return err
}

// endJob returns the statement that removes a job if the lease still holds it.
func endJob(dead bool) (text string) {
	if dead {
		return buryJob
	}
	return removeJob
}

// HeldArgs are the arguments of jobIsHeld: copies of what a caller passed.
func HeldArgs(l *mortise.Lease) []any {
	return []any{l.Job.ID, l.Job.Kind, l.Job.Organization, l.Token}
}

// Add implements [mortise.Leases].
func (t *Jobs) Add(ctx context.Context, j mortise.Job) error {
	n := t.NewJob(&j)
	return t.db.Together(ctx, j.Organization, 512, func(b *engine.Batch) { t.addTo(b, n) })
}

// Cancel implements [mortise.Leases].
func (t *Jobs) Cancel(ctx context.Context, j mortise.Job) error {
	args := []any{j.ID, j.Kind, j.Organization}
	return t.db.Together(ctx, j.Organization, 256, func(b *engine.Batch) {
		b.Seek()
		b.Exec(nil, cancelJob, args...)
	})
}

// Extend implements [mortise.Holder].
func (t *Jobs) Extend(ctx context.Context, l mortise.Lease, ttl time.Duration) error {
	return t.held(ctx, &l, extendJob, t.laterArgs(&l, ttl))
}

// Release implements [mortise.Holder].
func (t *Jobs) Release(ctx context.Context, l mortise.Lease, after time.Duration) error {
	return t.held(ctx, &l, releaseJob, t.laterArgs(&l, after))
}

func (t *Jobs) laterArgs(l *mortise.Lease, after time.Duration) []any {
	return append(append([]any{t.clock.arg()}, HeldArgs(l)...), after.Microseconds())
}

// Remove implements [mortise.Holder].
func (t *Jobs) Remove(ctx context.Context, l mortise.Lease, dead bool) error {
	return t.held(ctx, &l, endJob(dead), HeldArgs(&l))
}

// held runs a statement that changes the job if the lease still holds it.
func (t *Jobs) held(ctx context.Context, l *mortise.Lease, statement string, args []any) error {
	var changed atomic.Int64
	err := t.db.Together(ctx, l.Job.Organization, 512, func(b *engine.Batch) {
		b.Seek()
		b.Exec(changed.Store, statement, args...)
	})
	if err == nil && changed.Load() == 0 {
		err = mortise.ErrLeaseLost
	}
	return err
}
