package sqlite

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
)

const (
	// runChanges are those that an update of a run changes. It may change runRequest as
	// well, which nobody does: most indexes are over that, and are left alone.
	runChanges = "state, termination, message, done, total, attempts," +
		" updated_at, started_at, finished_at, trace, due_at, checked_at," +
		" sound_done, sound_total, sound_speed"
	runRequest = "actor, query, dataset"
	runColumns = "id, organization, created_at, " + runRequest + ", " + runChanges
	runSelect  = "SELECT " + runColumns +
		", (SELECT token FROM audiosearch_result_sets WHERE seq = result_set)"
	runRow = runSelect + " FROM audiosearch_runs"

	insertRun = "INSERT INTO audiosearch_runs (" + runColumns + ")" +
		" VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
	runTaken  = "SELECT 1 FROM audiosearch_runs WHERE id = ?"
	updateRun = "UPDATE audiosearch_runs SET (" + runChanges + ", result_set)" +
		" = (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) WHERE id = ?"
	updateRequest = "UPDATE audiosearch_runs SET (" + runRequest + ") = (?,?,?) WHERE id = ?"
	runByID       = runRow + " WHERE organization = ? AND id = ?" + runThere
	waitingRun    = "SELECT 1 FROM audiosearch_runs WHERE organization = ? AND state <> 'TERMINATED'" +
		" AND" + notGone + " WHERE organization = ?) LIMIT 1 OFFSET ?"

	// For a limit, a time of being due, and one of checks. Runs that were never checked
	// are few where anybody asks, and stand among all that have not ended.
	staleRuns = "SELECT * FROM (" + neverChecked + ")" +
		" UNION ALL SELECT * FROM (" + checkedRuns + ") LIMIT 0 + ?1"

	neverChecked = runRow + " INDEXED BY audiosearch_runs_waiting" +
		" WHERE state <> 'TERMINATED' AND checked_at IS NULL AND" + dueBefore + andOfKept +
		" ORDER BY organization LIMIT 0 + ?1"
	checkedRuns = runRow +
		" WHERE state <> 'TERMINATED' AND checked_at < ?3 AND" + dueBefore + andOfKept +
		" ORDER BY checked_at, id LIMIT 0 + ?1"
	dueBefore = " (due_at IS NULL OR due_at < ?2)"
)

// CreateRun implements [audiosearch.Runs].
func (a *AudioSearch) CreateRun(ctx context.Context, r audiosearch.Run, maxWaiting int) error {
	return a.createRun(ctx, &r, maxWaiting, nil)
}

// CreateRunAndAdd implements [audiosearch.TxStore].
func (a *AudioSearch) CreateRunAndAdd(
	ctx context.Context, r audiosearch.Run, maxWaiting int, j mortise.Job,
) error {
	return a.createRun(ctx, &r, maxWaiting, newJobOf(&j))
}

// createRun adds a job, if there is one, to the run that it makes.
func (a *AudioSearch) createRun(
	ctx context.Context, r *audiosearch.Run, maxWaiting int, job *newJob,
) error {
	request, err := requestArgs(r)
	if err != nil {
		return err
	}
	if r.ResultSet != uuid.Nil {
		return errNoResultSet
	}
	id, org := r.ID, r.Organization
	args := slices.Concat([]any{id, org, micros(r.CreatedAt)}, request, runArgs(r))
	room := func(query func(text string, args []any, each func(*row) error) error) error {
		full := maxWaiting < 1
		err := query(waitingRun, []any{org, org, max(maxWaiting, 1) - 1}, func(*row) error {
			full = true // as an error it would cost the connection
			return nil
		})
		if err == nil && full {
			err = audiosearch.ErrTooManyRuns
		}
		return err
	}
	// Whoever has too many does not come as far as the writer.
	err = room(func(text string, args []any, each func(*row) error) error {
		return a.db.find(ctx, org, text, args, each)
	})
	if err != nil {
		return err
	}
	return a.db.bring(ctx, org, func(tx *tx) error {
		if err := tx.orgThere(org); err != nil {
			return err
		}
		if taken, err := tx.number(runTaken, id); err != nil || taken != 0 {
			return cmp.Or(err, mortise.ErrExists)
		}
		if err := room(tx.query); err != nil {
			return err
		}
		if _, err := tx.exec(insertRun, args...); err != nil || job == nil {
			return err
		}
		return a.jobs.add(tx, job)
	})
}

// Run implements [audiosearch.Runs].
func (a *AudioSearch) Run(ctx context.Context, org string, id int64) (audiosearch.Run, error) {
	var found audiosearch.Run
	err := a.db.find(ctx, org, runByID, []any{org, id}, func(r *row) error { return scanRun(r, &found) })
	if err == nil && found.ID == 0 {
		err = audiosearch.ErrRunNotFound
	}
	if err != nil {
		return audiosearch.Run{}, err
	}
	return found, nil
}

// UpdateRun implements [audiosearch.Runs].
func (a *AudioSearch) UpdateRun(ctx context.Context, org string, id int64, update func(*audiosearch.Run) error) error {
	return a.db.writer.write(ctx, func(tx *tx) error { return tx.updateRun(org, id, update) })
}

// UpdateRunAndRemove implements [audiosearch.TxStore].
func (a *AudioSearch) UpdateRunAndRemove(
	ctx context.Context, org string, id int64, update func(*audiosearch.Run) error, l mortise.Lease,
) error {
	return a.db.writer.write(ctx, func(tx *tx) error {
		err := tx.updateRun(org, id, update)
		if err == nil {
			_, err = a.jobs.end(tx, &l, false)
		}
		return err
	})
}

func (t *tx) updateRun(org string, id int64, update func(*audiosearch.Run) error) error {
	var was audiosearch.Run
	var stored []any
	err := t.query(runByID, []any{org, id}, func(r *row) error {
		stored = []any{r.text(3), r.text(4), r.text(5)}
		return scanRun(r, &was)
	})
	if err == nil && was.ID == 0 {
		err = audiosearch.ErrRunNotFound
	}
	if err != nil {
		return err
	}
	var request, args []any
	var state audiosearch.State
	var token uuid.UUID
	err = t.host(func() (err error) {
		if err := update(&was); err != nil {
			return err
		}
		state, token = was.State, was.ResultSet
		args = runArgs(&was)
		request, err = requestArgs(&was)
		return err
	})
	if err != nil {
		return err
	}
	set, err := t.namedSet(id, token)
	if err != nil {
		return err
	}
	if _, err := t.exec(updateRun, append(args, set, id)...); err != nil {
		return err
	}
	if !slices.Equal(request, stored) {
		if _, err := t.exec(updateRequest, append(request, id)...); err != nil {
			return err
		}
	}
	if state == audiosearch.StateTerminated {
		_, err = t.exec(leaveOthers, id, set)
	}
	return err
}

// StaleRuns implements [audiosearch.Runs].
func (a *AudioSearch) StaleRuns(
	ctx context.Context, checked, due time.Time, limit int,
) ([]audiosearch.Run, error) {
	dueBefore := int64(math.MaxInt64)
	if !due.IsZero() {
		dueBefore = ceilMicros(due)
	}
	var runs []audiosearch.Run
	args := []any{max(limit, 0), dueBefore, ceilMicros(checked)}
	err := a.db.list(ctx, noOrg, staleRuns, args, func(r *row) error {
		runs = append(runs, audiosearch.Run{})
		return scanRun(r, &runs[len(runs)-1])
	})
	if err != nil {
		return nil, err
	}
	return runs, nil
}

// requestArgs returns the values of runRequest.
func requestArgs(r *audiosearch.Run) ([]any, error) {
	query, err := json.Marshal(r.Query)
	if err != nil {
		return nil, fmt.Errorf("sqlite: write the query of a run: %w", err)
	}
	return []any{string(r.Actor), string(query), r.Query.Dataset}, nil
}

// runArgs returns the values of runChanges. They hold nothing that the caller could
// change.
func runArgs(r *audiosearch.Run) []any {
	return []any{string(r.State), string(r.Termination), r.Message, r.Done, r.Total, r.Attempts,
		micros(r.UpdatedAt), micros(r.StartedAt), micros(r.FinishedAt), traceText(r.Trace),
		micros(r.DueAt), micros(r.CheckedAt),
		r.Sound.Done.Milliseconds(), r.Sound.Total.Milliseconds(), r.Sound.Speed}
}

// scanRun reads a row of runColumns.
func scanRun(r *row, run *audiosearch.Run) (err error) {
	*run = audiosearch.Run{
		ID: cell[int64](r, 0), Organization: r.text(1), CreatedAt: r.moment(2), Actor: mortise.Actor(r.text(3)),
		State: audiosearch.State(r.text(6)), Termination: audiosearch.Termination(r.text(7)),
		Message: r.text(8), Done: r.number(9), Total: r.number(10), Attempts: r.number(11),
		UpdatedAt: r.moment(12), StartedAt: r.moment(13), FinishedAt: r.moment(14),
		DueAt: r.moment(16), CheckedAt: r.moment(17),
		Sound: audiosearch.SoundProgress{Done: r.milliseconds(18), Total: r.milliseconds(19), Speed: cell[float64](r, 20)},
	}
	if !r.null(15) {
		if run.Trace, err = traceMap(r.text(15)); err != nil {
			return err
		}
	}
	if !r.null(21) {
		r.blob(21, run.ResultSet[:])
	}
	if err := json.Unmarshal(r.bytes(4), &run.Query); err != nil {
		return fmt.Errorf("sqlite: a row is damaged: column 4 is no query: %w", err)
	}
	return nil
}
