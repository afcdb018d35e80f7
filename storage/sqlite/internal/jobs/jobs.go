// Package jobs keeps the jobs of all kinds in a file of SQLite's, and who holds them.
package jobs

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/tracetext"
	"github.com/seed-6363c74e/mortise/storage/leases"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
)

// Jobs implements [mortise.JobTable], [mortise.Sharer] and [leases.JobNotifier].
type Jobs struct {
	db      *file.File
	now     func() time.Time
	added   *Notifier
	turns   jobTurns                              // of the writer
	sharers []any                                 // see SharedBy
	claimed func(*file.Tx, []mortise.Lease) error // see New
}

var (
	_ mortise.JobTable   = (*Jobs)(nil)
	_ mortise.Sharer     = (*Jobs)(nil)
	_ leases.JobNotifier = (*Jobs)(nil)
)

// New returns the table of jobs. claimed is called with the jobs that a claim has taken,
// in its transaction.
func New(db *file.File, added *Notifier, now func() time.Time, claimed func(*file.Tx, []mortise.Lease) error) *Jobs {
	return &Jobs{db: db, now: now, added: added, claimed: claimed}
}

// SharedBy names the stores over the same file.
func (t *Jobs) SharedBy(stores ...any) { t.sharers = stores }

// Shares implements [mortise.Sharer].
func (t *Jobs) Shares(store any) bool {
	return slices.Contains(t.sharers, store) // itself: a type that embeds one has methods of its own
}

// NotifyJobs implements [leases.JobNotifier].
func (t *Jobs) NotifyJobs(wake func(kind string)) (stop func()) { return t.added.listen(wake) }

// A job is ready if it has become claimable and is not held. A claim first makes jobs
// ready, and then looks at those only. Their index begins with the kind and the
// organization, so that a claim steps from one organization to the next without a look at
// the jobs between, or at organizations of which no job is ready.
const (
	insertJob = "INSERT INTO mortise_jobs (id, kind, organization, claimable_at, ready, deliveries, dead, trace)" +
		" VALUES (?,?,?,?,?,0,0,?) ON CONFLICT DO NOTHING"

	// Makes jobs ready that are claimable at a time, so many at most.
	readyJobs = "UPDATE mortise_jobs SET ready = 1 WHERE seq IN (SELECT seq FROM mortise_jobs" +
		" WHERE dead = 0 AND ready = 0 AND claimable_at <= ? ORDER BY claimable_at LIMIT 0 + ?)"

	// The organization, and the time of its first ready job, of the first organization
	// behind one, in the order of names; or from that one on.
	nextOrg   = "SELECT organization, claimable_at" + readyOfKind + "> ?" + firstReady
	firstOrg  = "SELECT organization, claimable_at" + readyOfKind + ">= ?" + firstReady
	firstJobs = "SELECT seq, claimable_at, id, deliveries + 1, trace" + readyOfKind +
		"= ? AND claimable_at <= ? ORDER BY claimable_at, seq LIMIT 0 + ?"
	readyOfKind = " FROM mortise_jobs WHERE dead = 0 AND ready = 1 AND kind = ? AND organization "
	firstReady  = " ORDER BY organization, claimable_at, seq LIMIT 1"

	takeJob = "UPDATE mortise_jobs SET claimable_at = ?, token = ?, deliveries = deliveries + 1, ready = 0 WHERE seq = ?"

	jobByID = " WHERE id = ? AND kind = ? AND organization = ? AND dead = 0"
	jobHeld = jobByID + " AND token = ?"

	cancelJob  = "DELETE FROM mortise_jobs" + jobByID + " AND token IS NULL"
	extendJob  = "UPDATE mortise_jobs SET claimable_at = ?" + jobHeld
	releaseJob = "UPDATE mortise_jobs SET claimable_at = ?, token = NULL, ready = 0, seq = " + nextSeq + jobHeld
	nextSeq    = "(SELECT max(seq) + 1 FROM mortise_jobs)"
	removeJob  = "DELETE FROM mortise_jobs" + jobHeld
	buryJob    = "UPDATE mortise_jobs SET dead = 1, token = NULL" + jobHeld
)

// time returns the time by the clock of the jobs, as it is stored.
func (t *Jobs) time() int64 { return t.now().UnixMicro() }

// NewJob is a job to be added: copies of what a caller passed.
type NewJob struct {
	job   mortise.Job
	trace any
}

func NewJobOf(j *mortise.Job) *NewJob {
	n := &NewJob{job: *j, trace: file.Text(tracetext.Format(j.Trace), j.Trace != nil)}
	n.job.Trace = nil
	return n
}

// AddIn adds a job in a transaction, whose end wakes those who wait for one: also when
// the caller has left by then.
func (t *Jobs) AddIn(tx *file.Tx, n *NewJob) error {
	at, ready, now := n.job.At.UnixMicro(), 0, t.time()
	if n.job.At.IsZero() {
		at = now
	}
	if at <= now {
		ready = 1
	}
	added, err := tx.Exec(insertJob, n.job.ID, n.job.Kind, n.job.Organization, at, ready, n.trace)
	if added > 0 {
		t.tell(tx, n.job.Kind)
	}
	return err
}

// tell wakes the listeners when a transaction ends that has made a job claimable.
func (t *Jobs) tell(tx *file.Tx, kind string) {
	told := file.MemoryOf[toldOf](tx.Shared())
	tx.OnCommit(func() {
		if told.kind != kind {
			told.kind = kind
			t.added.notify(kind)
		}
	})
}

// toldOf is the last kind of job for which a transaction has woken the listeners.
type toldOf struct{ kind string }

// EndIn removes a job if the lease still holds it, and reports whether it did.
func (t *Jobs) EndIn(tx *file.Tx, l *mortise.Lease, dead bool) (ended bool, err error) {
	statement := removeJob
	if dead {
		statement = buryJob
	}
	n, err := tx.Exec(statement, heldArgs(l)...)
	return n > 0, err
}

// heldArgs are the values of jobHeld, after others.
func heldArgs(l *mortise.Lease, before ...any) []any {
	return append(before, l.Job.ID, l.Job.Kind, l.Job.Organization, l.Token[:])
}

// Add implements [mortise.Leases].
func (t *Jobs) Add(ctx context.Context, j mortise.Job) error {
	n := NewJobOf(&j)
	return t.db.Write(ctx, func(tx *file.Tx) error { return t.AddIn(tx, n) })
}

// Cancel implements [mortise.Leases].
func (t *Jobs) Cancel(ctx context.Context, j mortise.Job) error {
	return t.db.Write(ctx, func(tx *file.Tx) error {
		_, err := tx.Exec(cancelJob, j.ID, j.Kind, j.Organization)
		return err
	})
}

// Extend implements [mortise.Holder].
func (t *Jobs) Extend(ctx context.Context, l mortise.Lease, ttl time.Duration) error {
	return t.later(ctx, &l, extendJob, ttl)
}

// Release implements [mortise.Holder].
func (t *Jobs) Release(ctx context.Context, l mortise.Lease, after time.Duration) error {
	return t.later(ctx, &l, releaseJob, after)
}

// later runs a statement that makes a job claimable later, if the lease still holds it.
func (t *Jobs) later(ctx context.Context, l *mortise.Lease, statement string, after time.Duration) error {
	return t.db.Write(ctx, func(tx *file.Tx) error {
		changed, err := tx.Exec(statement, heldArgs(l, t.time()+after.Microseconds())...)
		if err == nil && changed == 0 {
			err = mortise.ErrLeaseLost
		}
		return err
	})
}

// Remove implements [mortise.Holder].
func (t *Jobs) Remove(ctx context.Context, l mortise.Lease, dead bool) error {
	return t.db.Write(ctx, func(tx *file.Tx) error {
		ended, err := t.EndIn(tx, &l, dead)
		if err == nil && !ended {
			err = mortise.ErrLeaseLost
		}
		return err
	})
}

// Claim implements [mortise.Leases].
func (t *Jobs) Claim(ctx context.Context, c mortise.Claim) ([]mortise.Lease, error) {
	c.Kinds, c.Except = slices.Compact(slices.Sorted(slices.Values(c.Kinds))), slices.Clone(c.Except)
	var leases []mortise.Lease
	var more bool
	step := func(tx *file.Tx) (err error) {
		if leases, more, err = claimJobs(tx, &c, t.time(), &t.turns); err != nil {
			return err
		}
		return t.claimed(tx, leases)
	}
	for {
		if err := t.db.Write(ctx, step); err != nil {
			return nil, err
		}
		if !more {
			return leases, nil
		}
	}
}

// jobTurns knows which organization was served last, by the kinds that were claimed: a
// claim of other kinds may pass organizations by that these have jobs of. Only the writer
// uses it.
type jobTurns struct{ last map[string]string }

// foundJob is a job that a claim may take.
type foundJob struct {
	seq, at int64
	lease   mortise.Lease
}

// claimJobs takes jobs. If more is true it has taken none, and is to be called again, so
// that others write in between. The kinds are sorted, each of them once.
func claimJobs(t *file.Tx, c *mortise.Claim, now int64, turns *jobTurns) (leases []mortise.Lease, more bool, err error) {
	const atOnce = 1000
	n, err := t.Exec(readyJobs, now, atOnce)
	if n == atOnce || err != nil {
		return nil, true, err
	}
	turn := strings.Join(c.Kinds, " ")
	orgs, err := orgsInTurn(t, c, now, turns.last[turn])
	if err != nil {
		return nil, false, err
	}
	jobs := make([][]foundJob, len(orgs))
	for i, org := range orgs {
		if jobs[i], err = findFirstJobs(t, c, now, org, c.Limit-len(orgs)+1); err != nil {
			return nil, false, err
		}
	}
	until := now + c.TTL.Microseconds()
	for round, left := 0, true; left && len(leases) < c.Limit; round++ {
		left = false
		for i := range jobs {
			if round >= len(jobs[i]) || len(leases) == c.Limit {
				continue
			}
			j := &jobs[i][round]
			if _, err := t.Exec(takeJob, until, c.Token[:], j.seq); err != nil {
				return nil, false, err
			}
			leases, left = append(leases, j.lease), true
			turns.served(turn, orgs[i])
		}
	}
	return leases, false, nil
}

func (t *jobTurns) served(turn, org string) {
	if t.last == nil {
		t.last = make(map[string]string)
	}
	t.last[turn] = org
}

// orgsInTurn returns the organizations that have claimable jobs, at most as many as the
// limit, from the one behind the last on.
func orgsInTurn(t *file.Tx, c *mortise.Claim, now int64, last string) (orgs []string, err error) {
	after, statement, wrapped := last, nextOrg, false
	for len(orgs) < c.Limit {
		org, at, found, err := findNextOrg(t, c.Kinds, statement, after)
		switch {
		case err != nil:
			return nil, err
		case !found && !wrapped:
			after, statement, wrapped = "", firstOrg, true
			continue
		case !found || wrapped && org > last:
			return orgs, nil
		}
		if at <= now && !slices.Contains(c.Except, org) {
			orgs = append(orgs, org)
		}
		after, statement = org, nextOrg
	}
	return orgs, nil
}

// findNextOrg asks for each kind, and returns the first organization.
func findNextOrg(t *file.Tx, kinds []string, statement, after string) (org string, at int64, found bool, err error) {
	for _, kind := range kinds {
		err := t.Query(statement, []any{kind, after}, func(r *file.Row) error {
			o, its := r.Text(0), file.Cell[int64](r, 1)
			if found && o == org {
				at = min(at, its)
			} else if !found || o < org {
				org, at, found = o, its, true
			}
			return nil
		})
		if err != nil {
			return "", 0, false, err
		}
	}
	return org, at, found, nil
}

// findFirstJobs returns the jobs of an organization in the order in which they are to be
// claimed, so many at most.
func findFirstJobs(t *file.Tx, c *mortise.Claim, now int64, org string, limit int) (jobs []foundJob, err error) {
	for _, kind := range c.Kinds {
		err := t.Query(firstJobs, []any{kind, org, now, limit}, func(r *file.Row) (err error) {
			l := mortise.Lease{Deliveries: r.Number(3), Token: c.Token}
			l.Job.Kind, l.Job.Organization, l.Job.ID = kind, org, r.Text(2)
			if !r.Null(4) {
				l.Job.Trace, err = tracetext.Parse(r.Text(4))
			}
			jobs = append(jobs, foundJob{seq: file.Cell[int64](r, 0), at: file.Cell[int64](r, 1), lease: l})
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if len(c.Kinds) > 1 {
		slices.SortFunc(jobs, func(a, b foundJob) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.seq, b.seq)) })
		jobs = jobs[:min(limit, len(jobs))]
	}
	return jobs, nil
}
