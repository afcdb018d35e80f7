package jobs

import (
	"cmp"
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/pages"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/engine"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/sqltext"
)

// The statements of dead jobs.
const (
	deadJobs  = "SELECT seq, organization, id, deliveries, trace" + deadOfKind + " AND seq > $2 ORDER BY seq LIMIT $3"
	countDead = "SELECT count(*) FROM (SELECT" + deadOfKind + " LIMIT $2) d"

	deadOfKind = " FROM @.jobs WHERE kind || '' = $1 AND dead"

	// The comparison is for the primary key: the index of the dead jobs cannot serve it.
	reviveJob = "UPDATE @.jobs SET dead = false, claimable_at = " + jobNow + ", deliveries = 0, seq = DEFAULT" +
		" WHERE id = $2 AND kind = $3 AND organization = $4 AND dead::integer = 1 RETURNING claimable_at"

	// The same in a transaction of the host's, which tells of the job when it is committed.
	reviveJobNotify = "WITH job AS (" + reviveJob + ") SELECT pg_notify($5, $6 || ' ' || " + jobMicros + ") FROM job"
)

// ListDead implements [mortise.DeadJobs].
func (t *Jobs) ListDead(ctx context.Context, kind string, after mortise.Cursor, limit int) (page mortise.Page[mortise.DeadJob], err error) {
	_, n, _, err := pages.ByNumber(after)
	if err := cmp.Or(err, pages.CheckLimit(limit)); err != nil {
		return page, err
	}
	dead, err := engine.ListOf(ctx, t.db, engine.NoOrg, func(rows pgx.Rows) (d mortise.DeadJob, err error) {
		var org, id, trace []byte
		if err := rows.Scan(&d.Number, &org, &id, &d.Deliveries, &trace); err != nil {
			return d, err
		}
		d.Job = mortise.Job{Kind: kind, Organization: string(org), ID: string(id)}
		d.Job.Trace, err = sqltext.TraceMap(trace)
		return d, err
	}, deadJobs, kind, n, limit+1)
	if err != nil {
		return page, err
	}
	return pages.Cut(dead, limit, (*mortise.DeadJob).Position), nil
}

// CountDead implements [mortise.DeadJobs].
func (t *Jobs) CountDead(ctx context.Context, kind string, most int) (mortise.Count, error) {
	n, err := engine.FirstOf(ctx, t.db, engine.NoOrg, func(rows pgx.Rows) (n int, err error) {
		err = rows.Scan(&n)
		return n, err
	}, countDead, kind, most+1)
	if err != nil {
		return mortise.Count{}, err
	}
	return mortise.CountUpTo(n, most), nil
}

// Revive implements [mortise.DeadJobs].
func (t *Jobs) Revive(ctx context.Context, j mortise.Job) error {
	args := []any{t.clock.arg(), j.ID, j.Kind, j.Organization}
	n := &newJob{kind: j.Kind, came: arrival{began: time.Now()}}
	return t.db.Together(ctx, j.Organization, 256, func(b *engine.Batch) {
		b.Seek()
		if b.Hosted() {
			b.Exec(nil, reviveJobNotify, append(args, t.Added.channel(), hostNotice+n.kind)...)
			return
		}
		b.Query(func(pgx.Rows) error {
			b.OnCommit(func() { t.Added.Added(n) })
			return nil
		}, reviveJob, args...)
	})
}
