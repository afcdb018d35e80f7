package jobs

import (
	"cmp"
	"context"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/pages"
	"github.com/seed-6363c74e/mortise/internal/tracetext"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
)

// The statements of dead jobs.
const (
	deadJobs  = "SELECT seq, organization, id, deliveries, trace FROM mortise_jobs WHERE dead = 1 AND kind = ? AND seq > ? ORDER BY seq LIMIT 0 + ?"
	countDead = "SELECT count(*) FROM (SELECT 1 FROM mortise_jobs WHERE dead = 1 AND kind = ? LIMIT 0 + ?)"
	reviveJob = "UPDATE mortise_jobs SET dead = 0, claimable_at = ?, ready = 1, deliveries = 0, seq = " + nextSeq +
		" WHERE id = ? AND kind = ? AND organization = ? AND dead = 1"
)

// ListDead implements [mortise.DeadJobs].
func (t *Jobs) ListDead(ctx context.Context, kind string, after mortise.Cursor, limit int) (page mortise.Page[mortise.DeadJob], err error) {
	_, n, _, err := pages.ByNumber(after)
	if err := cmp.Or(err, pages.CheckLimit(limit)); err != nil {
		return page, err
	}
	var dead []mortise.DeadJob
	err = t.db.List(ctx, "", deadJobs, []any{kind, n, limit + 1}, func(r *file.Row) (err error) {
		d := mortise.DeadJob{Number: file.Cell[int64](r, 0), Deliveries: r.Number(3)}
		d.Job = mortise.Job{Kind: kind, Organization: r.Text(1), ID: r.Text(2)}
		if !r.Null(4) {
			d.Job.Trace, err = tracetext.Parse(r.Text(4))
		}
		dead = append(dead, d)
		return err
	})
	if err != nil {
		return page, err
	}
	return pages.Cut(dead, limit, (*mortise.DeadJob).Position), nil
}

// CountDead implements [mortise.DeadJobs].
func (t *Jobs) CountDead(ctx context.Context, kind string, most int) (mortise.Count, error) {
	n := 0
	err := t.db.List(ctx, "", countDead, []any{kind, most + 1}, func(r *file.Row) error {
		n = r.Number(0)
		return nil
	})
	if err != nil {
		return mortise.Count{}, err
	}
	return mortise.CountUpTo(n, most), nil
}

// Revive implements [mortise.DeadJobs].
func (t *Jobs) Revive(ctx context.Context, j mortise.Job) error {
	return t.db.Write(ctx, func(tx *file.Tx) error {
		revived, err := tx.Exec(reviveJob, t.time(), j.ID, j.Kind, j.Organization)
		if revived > 0 {
			t.tell(tx, j.Kind)
		}
		return err
	})
}
