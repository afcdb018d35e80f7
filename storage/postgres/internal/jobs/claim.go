package jobs

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/engine"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/sqltext"
)

// A claim looks for organizations with claimable jobs, and then takes jobs of the
// organizations whose turn it is. The process remembers these organizations: so a look is at
// jobs that have become claimable since the last look.
const (
	// $2 are the kinds, $3 and $4 the times from which on it looks at free and held jobs, $5
	// the time from which on jobs came that were committed late, or NULL, and $6 how many
	// microseconds ago the first of them began to be stored. The last row is the time.
	freshJobs = "SELECT organization, min(claimable_at), max(claimable_at) FROM (" +
		jobsSince + "1" + sinceTime + "least($3, $5, " + jobNow + " - $6::bigint * interval '1 microsecond')" + inUTC + " UNION ALL " +
		jobsSince + "0" + sinceTime + "$4::timestamptz" + inUTC +
		") j WHERE kind = ANY ($2) GROUP BY organization UNION ALL SELECT NULL, " + jobNow + ", NULL"

	jobsSince = "SELECT kind, organization, claimable_at FROM @.jobs WHERE (token IS NULL)::integer = "
	sinceTime = " AND claimable_at" + inUTC + " <= " + jobNow + inUTC + " AND claimable_at" + inUTC + " >= "
	inUTC     = " AT TIME ZONE 'UTC'"

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

// takeJobs picks jobs without locks, of the organizations in turn, and locks as many of them
// as it is to take. It leaves jobs that another claim has locked. It finds the picked jobs by
// their place in the table, so that no plan can look for them elsewhere.
//
// $2 are the kinds, $3 the organizations, $4 from when on each has jobs, $5 how many jobs to
// take, $6 for how many microseconds, $7 the token, $8 how many to pick, $9 of one organization.
const takeJobs = `
WITH picked AS MATERIALIZED (
	SELECT j.*, t.turn - 1 AS turn, row_number() OVER (PARTITION BY t.turn ORDER BY j.claimable_at, j.seq) AS round
	FROM unnest($3::text[], $4::timestamptz[]) WITH ORDINALITY AS t (organization, since, turn) CROSS JOIN LATERAL (
		SELECT f.* FROM unnest($2::text[]) AS k (kind) CROSS JOIN LATERAL (
			SELECT ctid AS place, id, kind, organization, claimable_at, seq FROM @.jobs
			WHERE kind || '' = k.kind AND organization || '' = t.organization AND NOT dead
				AND claimable_at >= t.since AND claimable_at <= ` + jobNow + `
			ORDER BY claimable_at, seq LIMIT $9
		) f ORDER BY f.claimable_at, f.seq LIMIT $9
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
SELECT p.turn, p.round, p.claimable_at, t.deliveries, p.kind, p.id, t.trace
FROM picked p LEFT JOIN taken t USING (id, kind, organization)`

// unsynced makes a transaction not wait for the disk: a claim, and a notice. If the database
// loses a claim in a crash, the job is ready again, as it would be when the lease has ended.
// The log has the claim before the results of its work, so a result never comes without it.
const unsynced = "SELECT set_config('synchronous_commit', 'off', true)"

// claimSettings hold for one statement of a claim, which is planned once on a connection:
// planning takes longer than the claim. With any number of jobs it goes by the same indexes.
const claimSettings = unsynced + ", set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true)" +
	", set_config('enable_bitmapscan', 'off', true)"

// Claim implements [mortise.Leases].
func (t *Jobs) Claim(ctx context.Context, c mortise.Claim) ([]mortise.Lease, error) {
	kinds := slices.Compact(slices.Sorted(slices.Values(c.Kinds)))
	of := t.turns.turns(kinds)
	if engine.IsInTx(ctx) { // whose transaction may be rolled back
		of = newKindTurns(kinds)
	}
	if err := t.look(ctx, of, false); err != nil {
		return nil, err
	}
	met, looks := 0, 0
	for organizations := c.Limit; ; organizations = min(2*organizations, maxAsked) {
		next, times, oneOfEach := of.next(organizations, c.Except)
		if len(next) == 0 {
			if !of.cut() || looks == maxLooks {
				return nil, nil
			}
			if err := t.look(ctx, of, true); err != nil {
				return nil, err
			}
			looks++
			continue
		}
		most := c.Limit * times
		each := most
		if oneOfEach {
			each = times
		}
		picks, err := t.take(ctx, &c, of, next, most, each)
		if err != nil {
			return nil, err
		}
		leases := settle(of, next, picks, c.Limit, most, each)
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

const (
	// maxMet is how often a claim tries again that met others, each time with twice as many
	// jobs to choose from.
	maxMet = 5

	// maxAsked is how many organizations a statement asks for jobs at most. It asks twice as
	// many as the last one that found none, so organizations whose jobs are gone cost little.
	maxAsked = 1000

	maxLooks = 3 // of a claim that may serve no organization in line
)

// look finds out which organizations have claimable jobs. on: the claim may serve none of the
// organizations in line.
func (t *Jobs) look(ctx context.Context, of *kindTurns, on bool) error {
	clock := t.clock.now
	if clock == nil {
		clock = time.Now
	}
	l, begun := of.begin(clock, on)
	if !begun {
		return nil
	}
	text, args := freshJobs, []any{t.clock.arg(), of.kinds, l.free, l.held, l.late.time(), l.late.age().Microseconds()}
	if l.all {
		text, args = allJobs, []any{t.clock.arg(), of.kinds, l.after, maxTurns}
	}
	var found []finding
	err := t.claiming(ctx, of, text, args, func() { found = nil }, func(r pgx.Rows) error {
		var f finding
		var last *time.Time // NULL with the time
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

// claiming makes a statement of a claim, and calls each for its rows. It may do so again, and
// then calls anew before.
func (t *Jobs) claiming(ctx context.Context, of *kindTurns, text string, args []any, anew func(), each func(pgx.Rows) error) error {
	tries := 0
	return t.db.Read(ctx, engine.NoOrg, func(s *engine.Session) error {
		if tries++; tries > 1 {
			anew()
			of.anew()
		}
		if s.Hosted() {
			return s.Query(each, text, args...)
		}
		q := s.Queued()
		q.Add(claimSettings)
		q.Query(each, text, args...)
		return q.Send()
	})
}

// pick is a job that a claim has picked, and taken if it has a lease.
type pick struct {
	turn, round int
	since       time.Time
	lease       *mortise.Lease
}

// take takes jobs of the next organizations. It picks at most so many in all, and of each.
func (t *Jobs) take(ctx context.Context, c *mortise.Claim, of *kindTurns, next []turn, most, each int) (picks []pick, err error) {
	orgs, since := make([]string, len(next)), make([]time.Time, len(next))
	for i, o := range next {
		orgs[i], since[i] = o.org, o.from
	}
	args := []any{t.clock.arg(), of.kinds, orgs, since, c.Limit, c.TTL.Microseconds(), c.Token, most, each}
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
	l.Job.Trace, err = sqltext.TraceMap(trace)
	p.lease = &l
	return p, err
}

// settle returns the leases among the picks, and tells the fate of each turn. limit is how
// many jobs could be taken, and most and each how many could be picked.
func settle(of *kindTurns, next []turn, picks []pick, limit, most, each int) (leases []mortise.Lease) {
	picked, taken, last := make([]int, len(next)), make([]int, len(next)), -1
	for i := range picks {
		p := &picks[i]
		if picked[p.turn]++; p.lease == nil {
			continue
		}
		leases = append(leases, *p.lease)
		last = p.turn
		// Jobs before the first one that is left are gone.
		if taken[p.turn]++; taken[p.turn] == picked[p.turn] && p.since.After(next[p.turn].from) {
			next[p.turn].from = p.since
		}
	}
	fates := make([]fate, len(next))
	for i := range next {
		// Picks may be cut off in the last round, behind the turn of the last one.
		all := picked[i] < each
		if n := len(picks); n == most {
			end := picks[n-1]
			all = all && (picked[i] < end.round-1 || picked[i] == end.round-1 && i < end.turn)
		}
		switch {
		case all && taken[i] == picked[i]:
			fates[i] = leaves
		case taken[i] == 0 && picked[i] > 0 && len(leases) < limit:
			fates[i] = locked
		case i <= last:
			fates[i] = served
		}
	}
	of.settle(next, fates, len(leases) < limit && len(leases) < len(picks))
	return leases
}
