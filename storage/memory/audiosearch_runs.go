package memory

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
)

// audioRun is a run with what its attempts found.
type audioRun struct {
	run  audiosearch.Run
	sets map[uuid.UUID]*audioResults
}

// CreateRun implements [audiosearch.Runs].
func (a *AudioSearch) CreateRun(ctx context.Context, r audiosearch.Run, maxWaiting int) error {
	db, err := a.db.write(ctx)
	if err != nil {
		return err
	}
	defer db.end()
	return db.audio.createRun(&r, maxWaiting)
}

// CreateRunAndAdd implements [audiosearch.TxStore].
func (a *AudioSearch) CreateRunAndAdd(
	ctx context.Context, r audiosearch.Run, maxWaiting int, j mortise.Job,
) error {
	db, err := a.db.write(ctx)
	if err != nil {
		return err
	}
	defer db.end()
	if err = db.audio.createRun(&r, maxWaiting); err == nil {
		db.addJob(j)
	}
	return err
}

func (t *audioTables) createRun(given *audiosearch.Run, maxWaiting int) error {
	r := withoutResults(given)
	if t.gone(r.Organization) {
		return mortise.ErrDeleted
	}
	if _, ok := t.runs[r.ID]; ok {
		return mortise.ErrExists
	}
	if t.waiting[r.Organization] >= maxWaiting {
		return audiosearch.ErrTooManyRuns
	}
	if r.ResultSet != uuid.Nil {
		return errNoResultSet
	}
	stored := &audioRun{run: r, sets: make(map[uuid.UUID]*audioResults)}
	t.runs[r.ID] = stored
	t.list(stored)
	t.count(&r, 1)
	return nil
}

var errNoResultSet = errors.New("memory: a run names a set of results into which nothing was put")

// count adds n to the number of the organization's runs that have not ended, if r has
// not.
func (t *audioTables) count(r *audiosearch.Run, n int) {
	if r.State == audiosearch.StateTerminated {
		return
	}
	if t.waiting[r.Organization] += n; t.waiting[r.Organization] == 0 {
		delete(t.waiting, r.Organization)
	}
}

// findRun returns a run of the organization.
func (t *audioTables) findRun(org string, id int64) (*audioRun, error) {
	r, ok := t.runs[id]
	if !ok || r.run.Organization != org || t.gone(org) {
		return nil, audiosearch.ErrRunNotFound
	}
	return r, nil
}

// removeRun forgets a run and what it found. It stays listed until unlist.
func (t *audioTables) removeRun(id int64) {
	t.count(&t.runs[id].run, -1)
	delete(t.runs, id)
}

// withoutResults is a copy of a run as it is stored.
func withoutResults(r *audiosearch.Run) audiosearch.Run {
	bare := *r
	bare.Results = nil
	return bare.Clone()
}

// Run implements [audiosearch.Runs].
func (a *AudioSearch) Run(ctx context.Context, org string, id int64) (audiosearch.Run, error) {
	db, err := a.db.read(ctx)
	if err != nil {
		return audiosearch.Run{}, err
	}
	defer db.end()
	r, err := db.audio.findRun(org, id)
	if err != nil {
		return audiosearch.Run{}, err
	}
	return r.run.Clone(), nil
}

// UpdateRun implements [audiosearch.Runs].
func (a *AudioSearch) UpdateRun(ctx context.Context, org string, id int64, update func(*audiosearch.Run) error) error {
	db, err := a.db.write(ctx)
	if err != nil {
		return err
	}
	defer db.end()
	return db.audio.updateRun(org, id, update)
}

// UpdateRunAndJobs implements [audiosearch.TxStore].
func (a *AudioSearch) UpdateRunAndJobs(
	ctx context.Context, org string, id int64, update func(*audiosearch.Run) ([]mortise.Job, error), l mortise.Lease,
) error {
	db, err := a.db.write(ctx)
	if err != nil {
		return err
	}
	defer db.end()
	var jobs []mortise.Job
	err = db.audio.updateRun(org, id, func(r *audiosearch.Run) (err error) {
		jobs, err = update(r)
		return err
	})
	if err != nil {
		return err
	}
	db.endJob(l, false)
	for _, j := range jobs {
		db.addJob(j)
	}
	return nil
}

func (t *audioTables) updateRun(org string, id int64, update func(*audiosearch.Run) error) error {
	stored, err := t.findRun(org, id)
	if err != nil {
		return err
	}
	theirs := stored.run.Clone()
	if err := update(&theirs); err != nil {
		return err
	}
	changed := withoutResults(&theirs)
	changed.Organization, changed.ID, changed.CreatedAt = stored.run.Organization, stored.run.ID, stored.run.CreatedAt
	if changed.ResultSet != uuid.Nil && stored.sets[changed.ResultSet] == nil {
		return errNoResultSet
	}
	t.count(&stored.run, -1)
	stored.run = changed
	t.count(&stored.run, 1)
	if changed.State == audiosearch.StateTerminated {
		for set := range stored.sets {
			if set != changed.ResultSet {
				delete(stored.sets, set)
			}
		}
	}
	return nil
}

// Overdue implements [audiosearch.Runs].
func (a *AudioSearch) Overdue(ctx context.Context, before time.Time, limit int) ([]audiosearch.Run, error) {
	db, err := a.db.read(ctx)
	if err != nil {
		return nil, err
	}
	defer db.end()
	var found []audiosearch.Run
	for _, r := range db.audio.runs {
		if at := r.run.WakeAt; !at.IsZero() && at.Before(before) && !db.audio.gone(r.run.Organization) {
			found = append(found, r.run)
		}
	}
	slices.SortFunc(found, func(x, y audiosearch.Run) int { return x.WakeAt.Compare(y.WakeAt) })
	found = found[:min(limit, len(found))]
	for i := range found {
		found[i] = found[i].Clone()
	}
	return found, nil
}
