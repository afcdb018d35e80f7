package audiosearchdb

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/internal/tracetext"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/jobs"
)

const (
	// runChanges are those that an update of a run changes. It may change runRequest as
	// well, which nobody does: most indexes are over that, and are left alone.
	runChanges = "state, termination, message, done, total, attempts," +
		" updated_at, started_at, finished_at, trace, due_at, wake_at," +
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

	overdueRuns = runRow + " WHERE wake_at < ?" + andOfKept + " ORDER BY wake_at LIMIT 0 + ?"
)

// CreateRun implements [audiosearch.Runs].
func (a *Store) CreateRun(ctx context.Context, r audiosearch.Run, maxWaiting int) error {
	return a.createRun(ctx, &r, maxWaiting, nil)
}

// CreateRunAndAdd implements [audiosearch.TxStore].
func (a *Store) CreateRunAndAdd(
	ctx context.Context, r audiosearch.Run, maxWaiting int, j mortise.Job,
) error {
	return a.createRun(ctx, &r, maxWaiting, jobs.NewJobOf(&j))
}

// createRun adds a job, if there is one, to the run that it makes.
func (a *Store) createRun(
	ctx context.Context, r *audiosearch.Run, maxWaiting int, job *jobs.NewJob,
) error {
	request, err := requestArgs(r)
	if err != nil {
		return err
	}
	if r.ResultSet != uuid.Nil {
		return errNoResultSet
	}
	id, org := r.ID, r.Organization
	args := slices.Concat([]any{id, org, file.Micros(r.CreatedAt)}, request, runArgs(r))
	room := func(query func(text string, args []any, each func(*file.Row) error) error) error {
		full := maxWaiting < 1
		err := query(waitingRun, []any{org, org, max(maxWaiting, 1) - 1}, func(*file.Row) error {
			full = true // as an error it would cost the connection
			return nil
		})
		if err == nil && full {
			err = audiosearch.ErrTooManyRuns
		}
		return err
	}
	// Whoever has too many does not come as far as the writer.
	err = room(func(text string, args []any, each func(*file.Row) error) error {
		return a.db.Find(ctx, org, text, args, each)
	})
	if err != nil {
		return err
	}
	return a.db.Bring(ctx, org, func(tx *file.Tx) error {
		if err := orgThere(tx, org); err != nil {
			return err
		}
		if taken, err := number(tx, runTaken, id); err != nil || taken != 0 {
			return cmp.Or(err, mortise.ErrExists)
		}
		if err := room(tx.Query); err != nil {
			return err
		}
		if _, err := tx.Exec(insertRun, args...); err != nil || job == nil {
			return err
		}
		return a.jobs.AddIn(tx, job)
	})
}

// Run implements [audiosearch.Runs].
func (a *Store) Run(ctx context.Context, org string, id int64) (audiosearch.Run, error) {
	var found audiosearch.Run
	err := a.db.Find(ctx, org, runByID, []any{org, id}, func(r *file.Row) error { return scanRun(r, &found) })
	if err == nil && found.ID == 0 {
		err = audiosearch.ErrRunNotFound
	}
	if err != nil {
		return audiosearch.Run{}, err
	}
	return found, nil
}

// UpdateRun implements [audiosearch.Runs].
func (a *Store) UpdateRun(ctx context.Context, org string, id int64, update func(*audiosearch.Run) error) error {
	return a.db.Write(ctx, func(tx *file.Tx) error { return changeRun(tx, org, id, update) })
}

// UpdateRunAndJobs implements [audiosearch.TxStore].
func (a *Store) UpdateRunAndJobs(
	ctx context.Context, org string, id int64, update func(*audiosearch.Run) ([]mortise.Job, error), l mortise.Lease,
) error {
	return a.db.Write(ctx, func(tx *file.Tx) error {
		var added []*jobs.NewJob
		err := changeRun(tx, org, id, func(r *audiosearch.Run) error {
			list, err := update(r)
			added = nil
			for i := range list {
				added = append(added, jobs.NewJobOf(&list[i]))
			}
			return err
		})
		if err != nil {
			return err
		}
		if l.Token != uuid.Nil {
			if _, err := a.jobs.EndIn(tx, &l, false); err != nil {
				return err
			}
		}
		for _, j := range added {
			if err := a.jobs.AddIn(tx, j); err != nil {
				return err
			}
		}
		return nil
	})
}

func changeRun(t *file.Tx, org string, id int64, update func(*audiosearch.Run) error) error {
	var was audiosearch.Run
	var stored []any
	err := t.Query(runByID, []any{org, id}, func(r *file.Row) error {
		stored = []any{r.Text(3), r.Text(4), r.Text(5)}
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
	err = t.Host(func() (err error) {
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
	set, err := namedSet(t, id, token)
	if err != nil {
		return err
	}
	if _, err := t.Exec(updateRun, append(args, set, id)...); err != nil {
		return err
	}
	if !slices.Equal(request, stored) {
		if _, err := t.Exec(updateRequest, append(request, id)...); err != nil {
			return err
		}
	}
	if state == audiosearch.StateTerminated {
		_, err = t.Exec(leaveOthers, id, set)
	}
	return err
}

// Overdue implements [audiosearch.Runs].
func (a *Store) Overdue(ctx context.Context, before time.Time, limit int) ([]audiosearch.Run, error) {
	var runs []audiosearch.Run
	args := []any{file.CeilMicros(before), max(limit, 0)}
	err := a.db.List(ctx, file.NoOrg, overdueRuns, args, func(r *file.Row) error {
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
		file.Micros(r.UpdatedAt), file.Micros(r.StartedAt), file.Micros(r.FinishedAt), file.Text(tracetext.Format(r.Trace), r.Trace != nil),
		file.Micros(r.DueAt), file.Micros(r.WakeAt),
		r.Sound.Done.Milliseconds(), r.Sound.Total.Milliseconds(), r.Sound.Speed}
}

// scanRun reads a row of runColumns.
func scanRun(r *file.Row, run *audiosearch.Run) (err error) {
	*run = audiosearch.Run{
		ID: file.Cell[int64](r, 0), Organization: r.Text(1), CreatedAt: r.Moment(2), Actor: mortise.Actor(r.Text(3)),
		State: audiosearch.State(r.Text(6)), Termination: audiosearch.Termination(r.Text(7)),
		Message: r.Text(8), Done: r.Number(9), Total: r.Number(10), Attempts: r.Number(11),
		UpdatedAt: r.Moment(12), StartedAt: r.Moment(13), FinishedAt: r.Moment(14),
		DueAt: r.Moment(16), WakeAt: r.Moment(17),
		Sound: audiosearch.SoundProgress{Done: r.Milliseconds(18), Total: r.Milliseconds(19), Speed: file.Cell[float64](r, 20)},
	}
	if !r.Null(15) {
		if run.Trace, err = tracetext.Parse(r.Text(15)); err != nil {
			return err
		}
	}
	if !r.Null(21) {
		r.Blob(21, run.ResultSet[:])
	}
	if err := json.Unmarshal(r.Bytes(4), &run.Query); err != nil {
		return fmt.Errorf("sqlite: a row is damaged: column 4 is no query: %w", err)
	}
	return nil
}
