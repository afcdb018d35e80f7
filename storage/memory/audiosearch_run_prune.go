package memory

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch"
)

// PruneRuns implements [audiosearch.Pruner].
func (a *AudioSearch) PruneRuns(ctx context.Context, before time.Time, limit int) (n int, more bool, err error) {
	db, err := a.db.write(ctx)
	if err != nil {
		return 0, false, err
	}
	defer db.end()
	step, orgs := boundedStep{limit: limit}, make(map[string]bool)
	for id, r := range db.audio.runs {
		if step.takes(r.run.State == audiosearch.StateTerminated && r.run.WakeAt.IsZero() && r.run.FinishedAt.Before(before)) {
			db.audio.removeRun(id)
			orgs[r.run.Organization] = true
		}
	}
	for org := range orgs {
		db.audio.unlist(org)
	}
	return step.n, step.more, nil
}

// TrimRuns implements [audiosearch.Pruner].
func (a *AudioSearch) TrimRuns(ctx context.Context, keep, limit int) (n int, more bool, err error) {
	db, err := a.db.write(ctx)
	if err != nil {
		return 0, false, err
	}
	defer db.end()
	ended := make(map[string][]*audiosearch.Run)
	for _, r := range db.audio.runs {
		if r.run.State == audiosearch.StateTerminated {
			ended[r.run.Organization] = append(ended[r.run.Organization], &r.run)
		}
	}
	step := boundedStep{limit: limit}
	for org, runs := range ended {
		if len(runs) <= keep {
			continue
		}
		slices.SortFunc(runs, func(x, y *audiosearch.Run) int { // oldest first
			return cmp.Or(x.FinishedAt.Compare(y.FinishedAt), cmp.Compare(x.ID, y.ID))
		})
		for _, r := range runs[:len(runs)-keep] {
			if step.takes(r.WakeAt.IsZero()) {
				db.audio.removeRun(r.ID)
			}
		}
		db.audio.unlist(org)
	}
	return step.n, step.more, nil
}
