package memory

import (
	"context"
	"strconv"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
)

// gone reports whether an organization is deleted.
func (t *audioTables) gone(org string) bool {
	_, deleted := t.deleted[org]
	return deleted
}

// runsOf returns the runs of an organization, oldest first; none if it is deleted.
func (t *audioTables) runsOf(org string) []*audioRun {
	if t.gone(org) {
		return nil
	}
	return t.order[org]
}

// MarkDeleted implements [audiosearch.Deletion]. Calls that have found a dataset already
// go on as if they had come before.
func (a *AudioSearch) MarkDeleted(ctx context.Context, org string, at time.Time) (since time.Time, err error) {
	db, err := a.db.write(ctx)
	if err != nil {
		return time.Time{}, err
	}
	defer db.end()
	if !db.audio.gone(org) {
		db.audio.deleted[org] = at
		db.revocations.count(at)
	}
	return db.audio.deleted[org], nil
}

// RemoveDeleted implements [audiosearch.Deletion]. To forget a dataset or a run takes no
// time, however much is in it.
func (a *AudioSearch) RemoveDeleted(ctx context.Context, org string, limit int) (n int, more bool, err error) {
	db, err := a.db.write(ctx)
	if err != nil {
		return 0, false, err
	}
	defer db.end()
	t := &db.audio
	if !t.gone(org) {
		return 0, false, mortise.ErrNotFound
	}
	step := boundedStep{limit: limit}
	for id := range t.datasets {
		if step.takes(id.org == org) {
			delete(t.datasets, id)
		}
	}
	for _, r := range t.order[org] {
		if !step.takes(true) {
			break
		}
		t.removeRun(r.run.ID)
		job := jobKey{audiosearch.JobKind, org, strconv.FormatInt(r.run.ID, 10)}
		if j, ok := db.jobs.all[job]; ok {
			db.jobs.drop(j)
		}
	}
	t.unlist(org)
	return step.n, step.more, nil
}
