package custombackend

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/seed-6363c74e/mortise"
)

// ListDead implements [mortise.DeadJobs].
func (f *File) ListDead(ctx context.Context, kind string, after mortise.Cursor, limit int) (page mortise.Page[mortise.DeadJob], err error) {
	if err := ctx.Err(); err != nil {
		return page, err
	}
	if limit < 1 || limit > mortise.MaxPageSize {
		return page, &mortise.ValidationError{Problems: []mortise.Problem{{
			Path: mortise.Path{{Field: "limit"}}, Message: "must be between 1 and 1000",
		}}}
	}
	var last int64
	if after != "" {
		at, err := after.Position()
		if err != nil {
			return page, err
		}
		if last, err = at.Number(); err != nil {
			return page, err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, j := range f.jobs {
		if j.Dead && j.Job.Kind == kind && int64(j.Seq) > last {
			d := mortise.DeadJob{Job: j.Job, Deliveries: j.Deliveries, Number: int64(j.Seq)}
			d.Job.Trace = maps.Clone(d.Job.Trace)
			page.Items = append(page.Items, d)
		}
	}
	slices.SortFunc(page.Items, func(a, b mortise.DeadJob) int { return cmp.Compare(a.Number, b.Number) })
	if len(page.Items) > limit {
		page.Items, page.Next = page.Items[:limit], page.Items[limit-1].Position().Cursor()
	}
	return page, nil
}

// CountDead implements [mortise.DeadJobs].
func (f *File) CountDead(ctx context.Context, kind string, most int) (mortise.Count, error) {
	if err := ctx.Err(); err != nil {
		return mortise.Count{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, j := range f.jobs {
		if j.Dead && j.Job.Kind == kind {
			n++
		}
	}
	return mortise.CountUpTo(n, most), nil
}

// Revive implements [mortise.DeadJobs].
func (f *File) Revive(ctx context.Context, j mortise.Job) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	kept, ok := f.jobs[keyOf(j)]
	if !ok || !kept.Dead {
		return nil
	}
	kept.Dead, kept.At, kept.Seq, kept.Deliveries = false, f.now(), f.seq+1, 0
	return f.commit(record{Jobs: []row{kept}})
}
