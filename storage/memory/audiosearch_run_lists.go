package memory

import (
	"context"
	"slices"
	"sort"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
)

// list enters a new run into the list of its organization.
func (t *audioTables) list(r *audioRun) {
	runs, p := t.order[r.run.Organization], r.run.Position()
	at := sort.Search(len(runs), func(i int) bool { return runs[i].run.Position().Compare(p) > 0 })
	t.order[r.run.Organization] = slices.Insert(runs, at, r)
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
) ([]audiosearch.Run, error) {
	if err := ctx.Err(); err != nil || q.Limit <= 0 {
		return nil, err
	}
	var after *mortise.Position
	if !q.After.IsZero() {
		after = &q.After
	}
	var found []audiosearch.Run
	err := newestFirst(ctx, a.db, after, func(t *tables) []*audioRun { return t.audio.runsOf(org) },
		func(r **audioRun) mortise.Position { return (*r).run.Position() },
		func(r **audioRun) (more bool) {
			if q.Matches(&(*r).run) {
				found = append(found, (*r).run.Clone())
			}
			return len(found) < q.Limit && !(*r).run.CreatedAt.Before(q.From)
		})
	if err != nil {
		return nil, err
	}
	return found, nil
}
