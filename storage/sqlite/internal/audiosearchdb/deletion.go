package audiosearchdb

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
)

const (
	insertDeletedOrg = "INSERT INTO audiosearch_deleted (organization, at) VALUES (?,?) ON CONFLICT DO NOTHING"
	deletedOrg       = "SELECT at FROM audiosearch_deleted WHERE organization = ?"
	allRemoved       = "UPDATE audiosearch_deleted SET removed = 1 WHERE organization = ? AND removed = 0"

	// For the end of a condition: unless the organization was deleted. That is ?1, or
	// that of the row. (The driver is slower with numbered parameters.)
	andThere     = " AND" + notGone + " WHERE organization = ?1)"
	datasetThere = " AND" + notGone + " gone WHERE gone.organization = audiosearch_datasets.organization)"
	runThere     = " AND" + notGone + runGone
	// And for the runs of all organizations, where each is looked at only if one may be
	// left.
	andOfKept = " AND (" + noneLeft + " OR" + notGone + runGone + ")"
	noneLeft  = notGone + " WHERE removed = 0)"

	notGone = " NOT EXISTS (SELECT 1 FROM audiosearch_deleted"
	runGone = " gone WHERE gone.organization = audiosearch_runs.organization)"

	firstRun     = "SELECT id FROM audiosearch_runs WHERE organization = ? LIMIT 1"
	firstSet     = "SELECT seq FROM audiosearch_result_sets WHERE run = ? LIMIT 1"
	removeRun    = "DELETE FROM audiosearch_runs WHERE id = ?"
	removeRunJob = "DELETE FROM mortise_jobs WHERE id = ? AND kind = ? AND organization = ?"
	firstDataset = "SELECT seq, revision, forgotten, created_at FROM audiosearch_datasets WHERE organization = ? LIMIT 1"
)

// orgThere returns ErrDeleted if the organization was deleted.
func orgThere(t *file.Tx, org string) (err error) {
	deleted := false
	err = t.Query(deletedOrg, []any{org}, func(*file.Row) error {
		deleted = true
		return nil
	})
	if err == nil && deleted {
		err = mortise.ErrDeleted
	}
	return err
}

// MarkDeleted implements [audiosearch.Deletion].
func (a *Store) MarkDeleted(ctx context.Context, org string, at time.Time) (since time.Time, err error) {
	args := []any{org, at.UnixMicro()}
	var micros int64
	err = a.db.Write(ctx, func(tx *file.Tx) error {
		marked, err := tx.Exec(insertDeletedOrg, args...)
		if err == nil && marked > 0 {
			err = tx.Apply(file.TookAway(at))
		}
		if err != nil {
			return err
		}
		micros, err = number(tx, deletedOrg, org)
		return err
	})
	if err != nil { // the writer may still be at it
		return time.Time{}, err
	}
	return time.UnixMicro(micros).UTC(), nil
}

// RemoveDeleted implements [audiosearch.Deletion]. Runs go first, and with them their
// jobs. What was left of other things before, of this organization or another one, does
// not say whose it was. So it goes, too, before there is no more.
func (a *Store) RemoveDeleted(ctx context.Context, org string, limit int) (n int, more bool, err error) {
	limit = min(limit, removeAtOnce)
	var r *removal
	err = a.db.Write(ctx, func(tx *file.Tx) (err error) {
		r = &removal{Tx: tx, org: org, left: removable{limit, freedAtOnce}}
		return r.step()
	})
	if err != nil { // the writer may still be at it
		return 0, false, err
	}
	for _, dataset := range r.datasets {
		a.views.forget(dataset)
	}
	return limit - r.left.rows, r.more, nil
}

// removal is a step that removes what a deleted organization has.
type removal struct {
	*file.Tx
	org  string
	left removable

	more     bool
	datasets []int64 // that are gone
}

func (r *removal) step() error {
	switch err := orgThere(r.Tx, r.org); {
	case err == nil:
		return mortise.ErrNotFound
	case !errors.Is(err, mortise.ErrDeleted):
		return err
	}
	r.more = true
	for _, each := range [...]func() (done bool, err error){r.removeRun, r.removeDataset} {
		for {
			if !r.left.some() {
				return nil
			}
			done, err := each()
			if err != nil {
				return err
			}
			if done {
				break
			}
		}
	}
	for _, each := range [...]func() (rows int, err error){
		func() (int, error) { return dropResults(r.Tx, r.left) },
		func() (int, error) { return sweep(r.Tx, r.left.rows) },
		func() (int, error) { return removeParts(r.Tx, time.Time{}, r.left.rows) },
	} {
		rows, err := each()
		if r.left.rows -= rows; rows > 0 || err != nil {
			return err
		}
	}
	r.more = false
	_, err := r.Exec(allRemoved, r.org)
	return err
}

// removeRun removes some of what a run has found, and at the end the run.
func (r *removal) removeRun() (done bool, err error) {
	run, err := number(r.Tx, firstRun, r.org)
	if err != nil || run == 0 {
		return err == nil, err
	}
	set, err := number(r.Tx, firstSet, run)
	if err != nil {
		return false, err
	}
	if set != 0 {
		return false, dropSet(r.Tx, set, &r.left)
	}
	r.left.rows--
	return false, r.Apply(
		file.Do(removeRun, run),
		file.Do(removeRunJob, strconv.FormatInt(run, 10), audiosearch.JobKind, r.org),
	)
}

// removeDataset removes some of what a dataset has, and at the end the dataset.
func (r *removal) removeDataset() (done bool, err error) {
	var d audioDataset
	if err := r.Query(firstDataset, []any{r.org}, d.scan); err != nil || d.seq == 0 {
		return err == nil, err
	}
	gone, err := sweepDataset(r.Tx, &d, &r.left)
	if gone {
		r.datasets = append(r.datasets, d.seq)
	}
	return false, err
}
