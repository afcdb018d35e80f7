package postgres

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/seed-6363c74e/mortise"
)

// Queue returns a queue over this database's jobs, of all kinds. Options may be nil. A job
// wakes the idle consumers of this process at once, and those of others by NOTIFY.
func (db *DB) Queue(opts *mortise.LeaseOptions) *mortise.LeaseQueue {
	return mortise.NewLeaseQueue(db.Jobs(), opts)
}

// Jobs returns the table of jobs, of all kinds.
func (db *DB) Jobs() *Jobs { return &Jobs{db: db} }

// Jobs implements [mortise.Leases], [mortise.Sharer] and [mortise.JobNotifier].
type Jobs struct{ db *DB }

var (
	_ mortise.Leases      = (*Jobs)(nil)
	_ mortise.Sharer      = (*Jobs)(nil)
	_ mortise.JobNotifier = (*Jobs)(nil)
)

// Shares implements [mortise.Sharer].
func (t *Jobs) Shares(store any) bool {
	s, ok := store.(interface{ database() *DB })
	return ok && s.database() == t.db && t.db.opts.Queue == nil
}

// NotifyJobs implements [mortise.JobNotifier].
func (t *Jobs) NotifyJobs(wake func(kind string)) (stop func()) { return t.db.added.listen(wake) }

// A job is ready if it has become claimable and is not held. A claim first makes jobs
// ready, and then looks at those only. Their index begins with the kind and the
// organization, so that a claim steps from one organization to the next without a look at
// the jobs between, or at organizations of which no job is ready.
//
// $1 is the time of a clock that a test has set, and NULL otherwise.
const (
	jobNow = "coalesce($1::timestamptz, statement_timestamp())"

	// Its arguments are newJob's. It can stand in a WITH, and returns a row if it adds one.
	insertJob = insertJobFrom + insertJobEnd

	insertJobFrom = "INSERT INTO @.jobs (id, kind, organization, claimable_at, ready, deliveries, dead, trace)" +
		" SELECT $2, $3, $4, t.at, t.at <= " + jobNow + ", 0, false, $6" +
		" FROM (SELECT coalesce($5::timestamptz, " + jobNow + ") AS at) AS t" // a condition may follow
	insertJobEnd = " ON CONFLICT DO NOTHING RETURNING ready"

	// The same job in a transaction of the host's, which tells of it when it is committed.
	insertJobNotify = "WITH job AS (" + insertJob + ") SELECT pg_notify($7, $8) FROM job WHERE ready"

	readyJobs = "UPDATE @.jobs SET ready = true WHERE seq IN (SELECT seq FROM @.jobs" +
		" WHERE NOT dead AND NOT ready AND claimable_at <= " + jobNow + " ORDER BY claimable_at LIMIT 1000 FOR UPDATE SKIP LOCKED)"
	readyAtOnce = 1000

	jobHeld = " WHERE id = $2 AND kind = $3 AND organization = $4 AND token = $5 AND NOT dead"

	cancelJob  = "DELETE FROM @.jobs WHERE id = $1 AND kind = $2 AND organization = $3 AND token IS NULL AND NOT dead"
	laterJob   = "UPDATE @.jobs SET claimable_at = " + jobNow + " + $6::bigint * interval '1 microsecond'"
	extendJob  = laterJob + ", ready = false" + jobHeld
	releaseJob = laterJob + ", token = NULL, ready = false, seq = DEFAULT" + jobHeld

	// heldArgs are their arguments, $1 to $4. They can stand in a WITH.
	removeJob              = deleteJob + " WHERE " + jobIsHeld
	buryJob                = makeJobDead + " WHERE " + jobIsHeld
	deleteJob, makeJobDead = "DELETE FROM @.jobs", "UPDATE @.jobs SET dead = true, token = NULL"
	jobIsHeld              = "id = $1 AND kind = $2 AND organization = $3 AND token = $4 AND NOT dead"
)

// claimJobs takes jobs of organizations in turn. It picks without locks, and then locks what
// is still ready. What another claim has locked at that moment it leaves.
//
// $2 are the kinds, $3 is the organization that was served last, $4 are those that are left
// out, $5 is how many jobs at most, $6 for how many microseconds, $7 the token.
const claimJobs = `
WITH RECURSIVE behind AS (
	(` + firstOrg + ` organization > $3` + inOrder + `)
	UNION ALL
	SELECT n.organization FROM behind o CROSS JOIN LATERAL (` + firstOrg + ` organization > o.organization` + inOrder + `) n
), before AS (
	(` + firstOrg + ` organization <= $3` + inOrder + `)
	UNION ALL
	SELECT n.organization FROM before o
	CROSS JOIN LATERAL (` + firstOrg + ` organization > o.organization AND organization <= $3` + inOrder + `) n
), turns AS MATERIALIZED (
	SELECT organization, row_number() OVER () AS turn FROM (
		SELECT organization FROM (SELECT organization FROM behind UNION ALL SELECT organization FROM before) a
		WHERE organization <> ALL ($4::bytea[]) LIMIT $5
	) o
), picked AS MATERIALIZED (
	SELECT j.seq, t.turn, row_number() OVER (PARTITION BY t.turn ORDER BY j.claimable_at, j.seq) AS round
	FROM turns t CROSS JOIN LATERAL (
		SELECT f.seq, f.claimable_at FROM unnest($2::text[]) AS k (kind) CROSS JOIN LATERAL (
			SELECT seq, claimable_at FROM @.jobs
			WHERE kind = k.kind AND organization = t.organization AND NOT dead AND ready AND claimable_at <= ` + jobNow + `
			ORDER BY claimable_at, seq LIMIT $5
		) f ORDER BY f.claimable_at, f.seq LIMIT $5
	) j ORDER BY round, turn LIMIT $5
), locked AS MATERIALIZED (
	SELECT seq FROM @.jobs WHERE seq IN (SELECT seq FROM picked) AND ready AND NOT dead FOR UPDATE SKIP LOCKED
)
UPDATE @.jobs j SET claimable_at = ` + jobNow + ` + $6::bigint * interval '1 microsecond',
	token = $7, deliveries = j.deliveries + 1, ready = false
FROM picked p WHERE p.seq = j.seq AND j.seq IN (SELECT seq FROM locked)
RETURNING p.round, p.turn, j.kind, j.organization, j.id, j.deliveries, j.trace`

// unsynced makes a transaction not wait for the disk: a claim, and a notice. If the database
// loses a claim in a crash, the job is ready again, as it would be when the lease has ended.
// What a worker then stores comes behind the claim in the log: it is never there without it.
const unsynced = "SELECT set_config('synchronous_commit', 'off', true)"

// claimSettings hold for one claim, which is planned once on a connection: planning takes
// longer than the claim. With any number of jobs it goes by the same indexes.
const claimSettings = unsynced + ", set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true)"

// The first of the organizations that have a ready job of one of the kinds.
const (
	firstOrg = `SELECT n.organization FROM unnest($2::text[]) AS k (kind) CROSS JOIN LATERAL (
		SELECT organization FROM @.jobs WHERE kind = k.kind AND NOT dead AND ready AND`
	inOrder = ` ORDER BY organization LIMIT 1) n ORDER BY n.organization LIMIT 1`
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
	args []any // of insertJob
}

func (db *DB) newJob(j *mortise.Job) *newJob {
	var at any
	if !j.At.IsZero() {
		at = j.At.UTC().Truncate(time.Microsecond)
	}
	return &newJob{kind: j.Kind, args: []any{db.clock.arg(), []byte(j.ID), j.Kind, []byte(j.Organization), at, traceText(j.Trace)}}
}

// notifyArgs are those of insertJobNotify.
func (n *newJob) notifyArgs(db *DB) []any {
	return append(slices.Clone(n.args), db.added.channel(), hostNotice+n.kind)
}

// addJob adds a job, unless it is there. The end of the transaction wakes those who wait for
// one.
func (b *batch) addJob(n *newJob) {
	if b.host {
		b.exec(nil, insertJobNotify, n.notifyArgs(b.db)...)
		return
	}
	b.query(func(r pgx.Rows) error { return b.jobAdded(n.kind, r) }, insertJob, n.args...)
}

// jobAdded reads a row of insertJob.
func (b *batch) jobAdded(kind string, r pgx.Rows) error {
	var ready bool
	err := r.Scan(&ready)
	if err == nil && ready {
		b.committed(func() { b.db.added.added(kind) })
	}
	return err
}

// endJob returns the statement that removes a job if the lease still holds it.
func endJob(dead bool) (text string) {
	if dead {
		return buryJob
	}
	return removeJob
}

// heldArgs are the arguments of jobIsHeld: copies of what a caller passed.
func heldArgs(l *mortise.Lease) []any {
	return []any{[]byte(l.Job.ID), l.Job.Kind, []byte(l.Job.Organization), l.Token}
}

// Add implements [mortise.Leases].
func (t *Jobs) Add(ctx context.Context, j mortise.Job) error {
	n := t.db.newJob(&j)
	return t.db.together(ctx, j.Organization, 512, func(b *batch) { b.addJob(n) })
}

// Cancel implements [mortise.Leases].
func (t *Jobs) Cancel(ctx context.Context, j mortise.Job) error {
	args := []any{[]byte(j.ID), j.Kind, []byte(j.Organization)}
	return t.db.together(ctx, j.Organization, 256, func(b *batch) {
		b.seek()
		b.exec(nil, cancelJob, args...)
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
	return append(append([]any{t.db.clock.arg()}, heldArgs(l)...), after.Microseconds())
}

// Remove implements [mortise.Holder].
func (t *Jobs) Remove(ctx context.Context, l mortise.Lease, dead bool) error {
	return t.held(ctx, &l, endJob(dead), heldArgs(&l))
}

// held runs a statement that changes the job if the lease still holds it.
func (t *Jobs) held(ctx context.Context, l *mortise.Lease, statement string, args []any) error {
	var changed atomic.Int64
	err := t.db.together(ctx, l.Job.Organization, 512, func(b *batch) {
		b.seek()
		b.exec(changed.Store, statement, args...)
	})
	if err == nil && changed.Load() == 0 {
		err = mortise.ErrLeaseLost
	}
	return err
}

// jobTurns knows which organization was served last, by the kinds that were claimed: a
// claim of other kinds may pass organizations by that these have jobs of.
type jobTurns struct {
	mu   sync.Mutex
	last map[string][]byte
	many bool // more jobs had become claimable than one claim makes ready
}

// claimed is a row of claimJobs.
type claimed struct {
	round, turn int64
	lease       mortise.Lease
}

// Claim implements [mortise.Leases].
func (t *Jobs) Claim(ctx context.Context, c mortise.Claim) ([]mortise.Lease, error) {
	c.Kinds = slices.Compact(slices.Sorted(slices.Values(c.Kinds)))
	turns, kinds := &t.db.turns, strings.Join(c.Kinds, " ")
	for {
		jobs, again, err := t.claim(ctx, &c, kinds)
		if err != nil || again && len(jobs) == 0 {
			if err == nil {
				continue
			}
			return nil, err
		}
		slices.SortFunc(jobs, func(a, b claimed) int { return cmp.Or(cmp.Compare(a.round, b.round), cmp.Compare(a.turn, b.turn)) })
		leases := make([]mortise.Lease, len(jobs))
		for i := range jobs {
			leases[i] = jobs[i].lease
		}
		if n := len(leases); n > 0 {
			turns.mu.Lock()
			turns.last[kinds] = []byte(leases[n-1].Job.Organization)
			turns.mu.Unlock()
		}
		return leases, nil
	}
}

// claim makes jobs ready and takes some, in one transaction. again is true if it took none
// because there were too many to be made ready.
func (t *Jobs) claim(ctx context.Context, c *mortise.Claim, kinds string) (jobs []claimed, again bool, err error) {
	turns := &t.db.turns
	turns.mu.Lock()
	last, many := turns.last[kinds], turns.many
	turns.mu.Unlock()
	if last == nil {
		last = []byte{}
	}
	except := make([][]byte, len(c.Except))
	for i, org := range c.Except {
		except[i] = []byte(org)
	}
	err = t.db.read(ctx, noOrg, func(s *session) error {
		jobs = nil
		b, now := new(pgx.Batch), t.db.clock.arg()
		if !s.host {
			b.Queue(claimSettings)
		}
		b.Queue(s.db.sql(readyJobs), now).Exec(func(tag pgconn.CommandTag) error {
			again = tag.RowsAffected() == readyAtOnce
			return nil
		})
		if !many {
			b.Queue(s.db.sql(claimJobs), now, c.Kinds, last, except, c.Limit, c.TTL.Microseconds(), c.Token).Query(func(r pgx.Rows) (err error) {
				jobs, err = scanClaimed(r, c.Token)
				return err
			})
		}
		return s.q.SendBatch(s.ctx, b).Close()
	})
	if err == nil {
		turns.mu.Lock()
		turns.many = again
		turns.mu.Unlock()
	}
	return jobs, again || many, err
}

func scanClaimed(r pgx.Rows, token uuid.UUID) (jobs []claimed, err error) {
	for r.Next() {
		j := claimed{lease: mortise.Lease{Token: token}}
		var org, id, trace []byte
		if err := r.Scan(&j.round, &j.turn, &j.lease.Job.Kind, &org, &id, &j.lease.Deliveries, &trace); err != nil {
			return nil, err
		}
		j.lease.Job.Organization, j.lease.Job.ID = string(org), string(id)
		if j.lease.Job.Trace, err = traceMap(trace); err != nil {
			return nil, err
		}
		jobs = append(jobs, j)
	}
	return jobs, r.Err()
}

// traceText is how a trace carrier is stored.
func traceText(trace map[string]string) []byte {
	if len(trace) == 0 {
		return nil
	}
	values := make(url.Values, len(trace))
	for k, v := range trace {
		values.Set(k, v)
	}
	return []byte(values.Encode())
}

func traceMap(text []byte) (map[string]string, error) {
	if text == nil {
		return nil, nil
	}
	values, err := url.ParseQuery(string(text))
	if err != nil {
		return nil, err
	}
	trace := make(map[string]string, len(values))
	for k, v := range values {
		trace[k] = v[0]
	}
	return trace, nil
}
