package postgres

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/seed-6363c74e/mortise"
)

// A claim looks for the organizations with claimable jobs, and then takes jobs of those
// whose turn it is. Which ones have some, the process remembers: so a look is at the jobs
// that have become claimable since the last one.
const (
	// $2 are the kinds, $3 and $4 the times up to which free and held jobs have been looked
	// at, $5 the time from which on jobs came that were committed late, or NULL, and $6 how
	// many microseconds ago the first of them began to be stored. The last row is the time.
	newJobs = "SELECT organization, min(claimable_at), max(claimable_at) FROM (" +
		"SELECT kind, organization, claimable_at FROM @.jobs WHERE (token IS NULL)::integer = 1 AND claimable_at <= " + jobNow +
		" AND claimable_at >= least($3, $5, " + jobNow + " - $6::bigint * interval '1 microsecond')" +
		" UNION ALL " +
		"SELECT kind, organization, claimable_at FROM @.jobs WHERE (token IS NULL)::integer = 0 AND claimable_at <= " + jobNow +
		" AND claimable_at >= $4) j WHERE kind = ANY ($2) GROUP BY organization UNION ALL SELECT NULL, " + jobNow + ", NULL"

	// $2 are the kinds, $3 is the organization behind which it begins. It steps from one
	// organization to the next, and finds so many at most.
	allJobs = "WITH RECURSIVE steps AS ((" + firstOrg + "$3" + inOrder + ")" +
		" UNION ALL SELECT n.* FROM steps s CROSS JOIN LATERAL (" + firstOrg + "s.organization" + inOrder + ") n)" +
		" (SELECT organization, claimable_at, claimable_at FROM steps WHERE claimable_at <= " + jobNow + " LIMIT $4)" +
		" UNION ALL SELECT NULL, " + jobNow + ", NULL"

	// The next organization with jobs, and when the first of them is claimable.
	firstOrg = "SELECT n.organization, n.claimable_at FROM unnest($2::text[]) AS k (kind) CROSS JOIN LATERAL (" +
		"SELECT organization, claimable_at FROM @.jobs WHERE kind || '' = k.kind AND NOT dead AND organization || '' > "
	inOrder = " ORDER BY organization || '', claimable_at, seq LIMIT 1) n ORDER BY n.organization, n.claimable_at LIMIT 1"
)

// takeJobs picks jobs without locks, of the organizations in turn, and locks so many of them
// as it is to take. Those that another claim has locked at that moment it leaves. They are
// found by their place in the table, so that no plan can look for them elsewhere.
//
// $2 are the kinds, $3 the organizations, $4 from when on each has jobs, $5 how many jobs to
// take, $6 for how many microseconds, $7 the token, $8 how many to pick.
const takeJobs = `
WITH picked AS MATERIALIZED (
	SELECT j.*, t.turn - 1 AS turn, row_number() OVER (PARTITION BY t.turn ORDER BY j.claimable_at, j.seq) AS round
	FROM unnest($3::bytea[], $4::timestamptz[]) WITH ORDINALITY AS t (organization, since, turn) CROSS JOIN LATERAL (
		SELECT f.* FROM unnest($2::text[]) AS k (kind) CROSS JOIN LATERAL (
			SELECT ctid AS place, id, kind, organization, claimable_at, seq FROM @.jobs
			WHERE kind || '' = k.kind AND organization || '' = t.organization AND NOT dead
				AND claimable_at >= t.since AND claimable_at <= ` + jobNow + `
			ORDER BY claimable_at, seq LIMIT $8
		) f ORDER BY f.claimable_at, f.seq LIMIT $8
	) j ORDER BY round, turn LIMIT $8
), locked AS MATERIALIZED (
	SELECT l.place FROM picked p CROSS JOIN LATERAL (
		SELECT j.ctid AS place FROM @.jobs j
		WHERE j.ctid = p.place AND NOT j.dead AND j.claimable_at <= ` + jobNow + ` FOR UPDATE SKIP LOCKED
	) l LIMIT $5
), taken AS (
	UPDATE @.jobs SET claimable_at = ` + jobNow + ` + $6::bigint * interval '1 microsecond', token = $7, deliveries = deliveries + 1
	WHERE ctid = ANY (ARRAY(SELECT place FROM locked))
	RETURNING id, kind, organization, deliveries, trace
)
SELECT p.turn, p.round, p.claimable_at, t.deliveries, p.kind, p.id, t.trace FROM picked p LEFT JOIN taken t USING (id, kind, organization)`

// unsynced makes a transaction not wait for the disk: a claim, and a notice. If the database
// loses a claim in a crash, the job is ready again, as it would be when the lease has ended.
// What a worker then stores comes behind the claim in the log: it is never there without it.
const unsynced = "SELECT set_config('synchronous_commit', 'off', true)"

// claimSettings hold for one statement of a claim, which is planned once on a connection:
// planning takes longer than the claim. With any number of jobs it goes by the same indexes.
const claimSettings = unsynced + ", set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true)" +
	", set_config('enable_bitmapscan', 'off', true)"

// Claim implements [mortise.Leases].
func (t *Jobs) Claim(ctx context.Context, c mortise.Claim) ([]mortise.Lease, error) {
	turns := t.db.turns.turns(slices.Compact(slices.Sorted(slices.Values(c.Kinds))))
	if err := t.look(ctx, turns); err != nil {
		return nil, err
	}
	for met := 0; ; {
		next, times := turns.next(c.Limit, c.Except)
		if len(next) == 0 {
			more, err := t.lookOn(ctx, turns)
			if err != nil || !more {
				return nil, err
			}
			continue
		}
		picks, err := t.take(ctx, &c, turns, next, c.Limit*times)
		if err != nil {
			return nil, err
		}
		leases := settle(turns, next, picks, c.Limit, c.Limit*times)
		if len(leases) > 0 {
			return leases, nil
		}
		if len(picks) > 0 { // other claims were taking all of them
			if met++; met > maxMet {
				return nil, nil
			}
			select {
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			case <-time.After(rand.N(time.Millisecond)):
			}
		}
	}
}

// maxMet is how often a claim tries again that met others, each time with twice as many jobs
// to choose from.
const maxMet = 5

// look finds out which organizations have claimable jobs.
func (t *Jobs) look(ctx context.Context, of *turns) error {
	now := time.Now()
	if t.db.clock.now != nil {
		now = t.db.clock.now()
	}
	l := of.begin(now)
	text, args := newJobs, []any{t.db.clock.arg(), of.kinds, l.free, l.held, l.late.time(), l.late.age().Microseconds()}
	if l.all {
		text, args = allJobs, []any{t.db.clock.arg(), of.kinds, l.after, maxTurns}
	}
	var found []finding
	err := t.claiming(ctx, of, text, args, func() { found = nil }, func(r pgx.Rows) error {
		var f finding
		var last *time.Time
		err := r.Scan(&f.org, &f.first, &last)
		if last != nil {
			f.last = *last
		}
		found = append(found, f)
		return err
	})
	if err != nil {
		of.anew()
		return err
	}
	n := len(found) - 1
	of.ended(&l, found[n].first, found[:n], l.all && n == maxTurns)
	return nil
}

// lookOn looks at all jobs behind those that were looked at, if there may be more.
func (t *Jobs) lookOn(ctx context.Context, of *turns) (more bool, err error) {
	of.mu.Lock()
	more = of.more && len(of.line) == 0
	of.mu.Unlock()
	if more {
		err = t.look(ctx, of)
	}
	return more, err
}

// claiming makes a statement of a claim, and calls each for its rows. It may do so again, and
// then calls anew before.
func (t *Jobs) claiming(ctx context.Context, of *turns, text string, args []any, anew func(), each func(pgx.Rows) error) error {
	tries := 0
	return t.db.read(ctx, noOrg, func(s *session) error {
		if tries++; tries > 1 {
			anew()
			of.anew()
		}
		if s.host {
			return s.query(each, text, args...)
		}
		q := &queued{s: s}
		q.add(claimSettings)
		q.query(each, text, args...)
		return q.send()
	})
}

// pick is a job that a claim has picked, and taken if it has a lease.
type pick struct {
	turn, round int
	since       time.Time
	lease       *mortise.Lease
}

// take takes jobs of the next organizations, and picks so many at most.
func (t *Jobs) take(ctx context.Context, c *mortise.Claim, of *turns, next []turn, most int) (picks []pick, err error) {
	orgs, since := make([][]byte, len(next)), make([]time.Time, len(next))
	for i, o := range next {
		orgs[i], since[i] = []byte(o.org), o.from
	}
	args := []any{t.db.clock.arg(), of.kinds, orgs, since, c.Limit, c.TTL.Microseconds(), c.Token, most}
	err = t.claiming(ctx, of, takeJobs, args, func() { picks = nil }, func(r pgx.Rows) error {
		p, err := scanPick(r, next, c.Token)
		picks = append(picks, p)
		return err
	})
	if err != nil {
		of.anew()
		return nil, err
	}
	slices.SortFunc(picks, func(a, b pick) int { return cmp.Or(cmp.Compare(a.round, b.round), cmp.Compare(a.turn, b.turn)) })
	return picks, nil
}

func scanPick(r pgx.Rows, next []turn, token uuid.UUID) (p pick, err error) {
	var deliveries *int
	var id, trace []byte
	l := mortise.Lease{Token: token}
	if err := r.Scan(&p.turn, &p.round, &p.since, &deliveries, &l.Job.Kind, &id, &trace); err != nil || deliveries == nil {
		return p, err
	}
	l.Job.Organization, l.Job.ID, l.Deliveries = next[p.turn].org, string(id), *deliveries
	l.Job.Trace, err = traceMap(trace)
	p.lease = &l
	return p, err
}

// settle takes the leases from the picks, and tells the turns what has become of them. limit is
// how many jobs could be taken, and most how many could be picked.
func settle(of *turns, next []turn, picks []pick, limit, most int) (leases []mortise.Lease) {
	picked, left, last := make([]int, len(next)), make([]bool, len(next)), -1
	rounds := 0
	for i := range picks {
		p := &picks[i]
		picked[p.turn]++
		rounds = max(rounds, p.round)
		if p.lease != nil {
			leases = append(leases, *p.lease)
			last = p.turn
		}
	}
	for i := range picks {
		p := &picks[i]
		switch {
		case p.lease == nil: // it is left, or another claim was taking it
			left[p.turn] = true
		case !left[p.turn] && p.since.After(next[p.turn].from):
			next[p.turn].from = p.since
		}
	}
	empty := make([]bool, len(next))
	for i := range next {
		// The last round may be cut off, and leave out jobs; the first one is not.
		all := len(picks) < most || picked[i] == 0 || picked[i] < rounds-1
		empty[i] = all && !left[i]
	}
	of.served(next, empty, last, len(leases) < limit && len(leases) < len(picks))
	return leases
}
