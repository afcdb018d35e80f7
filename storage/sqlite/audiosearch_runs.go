package sqlite

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise/audiosearch"
)

const (
	// runChanges are those that an update of a run may change.
	runChanges = "actor, query, state, termination, message, done, total, attempts, updated_at, started_at, finished_at, trace"
	runColumns = "id, organization, created_at, " + runChanges
	runRow     = "SELECT " + runColumns + ", (SELECT token FROM audiosearch_result_sets WHERE seq = result_set) FROM audiosearch_runs"

	insertRun  = "INSERT INTO audiosearch_runs (" + runColumns + ") VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
	runTaken   = "SELECT 1 FROM audiosearch_runs WHERE id = ?"
	updateRun  = "UPDATE audiosearch_runs SET (" + runChanges + ", result_set) = (?,?,?,?,?,?,?,?,?,?,?,?,?) WHERE id = ?"
	runByID    = runRow + " WHERE organization = ? AND id = ?"
	staleRuns  = runRow + " WHERE state <> 'TERMINATED' AND updated_at < ? ORDER BY updated_at, id LIMIT ?"
	waitingRun = "SELECT 1 FROM audiosearch_runs WHERE organization = ? AND state <> 'TERMINATED' LIMIT 1 OFFSET ?"
)

// CreateRun implements [audiosearch.Runs].
func (a *AudioSearch) CreateRun(ctx context.Context, r audiosearch.Run, maxWaiting int) error {
	changing, err := runArgs(&r)
	if err != nil {
		return err
	}
	if r.ResultSet != uuid.Nil {
		return errNoResultSet
	}
	id, org, args := r.ID, r.Organization, append([]any{r.ID, r.Organization, micros(r.CreatedAt)}, changing...)
	room := func(query func(text string, args []any, each func(*row) error) error) error {
		full := maxWaiting < 1
		err := query(waitingRun, []any{org, max(maxWaiting, 1) - 1}, func(*row) error {
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
	return a.db.writer.write(ctx, func(tx *tx) error {
		if taken, err := tx.number(runTaken, id); err != nil || taken != 0 {
			return cmp.Or(err, audiosearch.ErrRunExists)
		}
		if err := room(tx.query); err != nil {
			return err
		}
		_, err := tx.exec(insertRun, args...)
		return err
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
	return a.db.writer.write(ctx, func(tx *tx) error {
		var was audiosearch.Run
		err := tx.query(runByID, []any{org, id}, func(r *row) error { return scanRun(r, &was) })
		if err == nil && was.ID == 0 {
			err = audiosearch.ErrRunNotFound
		}
		if err != nil {
			return err
		}
		var args []any
		var state audiosearch.State
		var token uuid.UUID
		err = tx.host(func() (err error) {
			if err := update(&was); err != nil {
				return err
			}
			state, token = was.State, was.ResultSet
			args, err = runArgs(&was)
			return err
		})
		if err != nil {
			return err
		}
		set, err := tx.namedSet(id, token)
		if err != nil {
			return err
		}
		if _, err := tx.exec(updateRun, append(args, set, id)...); err != nil {
			return err
		}
		if state == audiosearch.StateTerminated {
			_, err = tx.exec(leaveOthers, id, set)
		}
		return err
	})
}

// StaleRuns implements [audiosearch.Runs].
func (a *AudioSearch) StaleRuns(ctx context.Context, before time.Time, limit int) ([]audiosearch.Run, error) {
	var runs []audiosearch.Run
	err := a.db.list(ctx, noOrg, staleRuns, []any{ceilMicros(before), max(limit, 0)}, func(r *row) error {
		runs = append(runs, audiosearch.Run{})
		return scanRun(r, &runs[len(runs)-1])
	})
	if err != nil {
		return nil, err
	}
	return runs, nil
}

// runArgs returns the values of runChanges. They hold nothing that the caller could change.
func runArgs(r *audiosearch.Run) ([]any, error) {
	query, err := json.Marshal(r.Query)
	if err != nil {
		return nil, fmt.Errorf("sqlite: write the query of a run: %w", err)
	}
	return []any{r.Actor, string(query), string(r.State), string(r.Termination), r.Message, r.Done, r.Total, r.Attempts,
		micros(r.UpdatedAt), micros(r.StartedAt), micros(r.FinishedAt), traceText(r.Trace)}, nil
}

// scanRun reads a row of runColumns.
func scanRun(r *row, run *audiosearch.Run) (err error) {
	*run = audiosearch.Run{
		ID: cell[int64](r, 0), Organization: r.text(1), CreatedAt: r.moment(2),
		Actor: r.text(3), State: audiosearch.State(r.text(5)), Termination: audiosearch.Termination(r.text(6)), Message: r.text(7),
		Done: r.number(8), Total: r.number(9), Attempts: r.number(10),
		UpdatedAt: r.moment(11), StartedAt: r.moment(12), FinishedAt: r.moment(13),
	}
	if !r.null(14) {
		if run.Trace, err = traceMap(r.text(14)); err != nil {
			return err
		}
	}
	if !r.null(15) {
		r.blob(15, run.ResultSet[:])
	}
	if err := json.Unmarshal(r.bytes(4), &run.Query); err != nil {
		return fmt.Errorf("sqlite: a row is damaged: column 4 is no query: %w", err)
	}
	return nil
}
