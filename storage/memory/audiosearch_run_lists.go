package memory

import (
	"context"
	"slices"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/internal/pages"
)

// Position returns the run's place in the list of its organization.
func (r *audioRun) Position() mortise.Position { return r.run.Position() }

// list enters a new run into the list of its organization.
func (t *audioTables) list(r *audioRun) {
	t.order[r.run.Organization] = insert(t.order[r.run.Organization], r)
}

// unlist takes runs that were removed out of the list of their organization.
func (t *audioTables) unlist(org string) {
	left := slices.DeleteFunc(t.order[org], func(r *audioRun) bool { return t.runs[r.run.ID] != r })
	if t.order[org] = left; len(left) == 0 {
		delete(t.order, org)
	}
}

// ListRuns implements [audiosearch.Runs].
func (a *AudioSearch) ListRuns(
	ctx context.Context, org string, q audiosearch.RunQuery,
) (page mortise.Page[audiosearch.Run], err error) {
	var runs []audiosearch.Run
	err = newestFirst(ctx, a.db, q.After, func(t *tables) []*audioRun { return t.audio.runsOf(org) },
		func(r **audioRun) mortise.Position { return (*r).Position() },
		func(r **audioRun) (more bool) {
			if q.Matches(&(*r).run) {
				runs = append(runs, (*r).run.Clone())
			}
			return len(runs) <= q.Limit && !(*r).run.CreatedAt.Before(q.From)
		})
	if err != nil {
		return page, err
	}
	return pages.Cut(runs, q.Limit, (*audiosearch.Run).Position), nil
}
