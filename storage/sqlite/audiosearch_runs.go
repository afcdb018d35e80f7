package sqlite

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch"
)

const (
	// runChanges are those that an update of a run may change.
	runChanges = "actor, query, state, termination, message, done, total, attempts, updated_at, started_at, finished_at, trace"
	runColumns = "id, organization, created_at, " + runChanges

	insertRun  = "INSERT INTO audiosearch_runs (" + runColumns + ") VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT DO NOTHING"
	updateRun  = "UPDATE audiosearch_runs SET (" + runChanges + ") = (?,?,?,?,?,?,?,?,?,?,?,?) WHERE id = ?"
	runByID    = "SELECT " + runColumns + " FROM audiosearch_runs WHERE organization = ? AND id = ?"
	staleRuns  = "SELECT " + runColumns + " FROM audiosearch_runs WHERE state <> 'TERMINATED' AND updated_at < ? ORDER BY updated_at, id LIMIT ?"
	putResults = "INSERT INTO audiosearch_results (run, results) VALUES (?,?) ON CONFLICT DO UPDATE SET results = excluded.results"
	resultsOf  = "SELECT x.results FROM audiosearch_runs r LEFT JOIN audiosearch_results x ON x.run = r.id WHERE r.organization = ? AND r.id = ?"

	prunedRuns   = "(SELECT id FROM audiosearch_runs WHERE finished_at < ? ORDER BY finished_at LIMIT ?)"
	pruneResults = "DELETE FROM audiosearch_results WHERE run IN " + prunedRuns
	pruneRuns    = "DELETE FROM audiosearch_runs WHERE id IN " + prunedRuns
)

// CreateRun implements [audiosearch.Runs].
func (a *AudioSearch) CreateRun(ctx context.Context, r audiosearch.Run) error {
	changing, err := runArgs(&r)
	if err != nil {
		return err
	}
	results, err := resultsText(r.Results)
	if err != nil {
		return err
	}
	id, args := r.ID, append([]any{r.ID, r.Organization, micros(r.CreatedAt)}, changing...)
	return a.db.writer.write(ctx, func(tx *tx) error {
		created, err := tx.exec(insertRun, args...)
		if err == nil && created == 0 {
			err = audiosearch.ErrRunExists
		}
		if err != nil {
			return err
		}
		return tx.putResults(id, results)
	})
}

// putResults stores the results of a run, unless they are nil.
func (t *tx) putResults(run int64, results any) error {
	if results == nil {
		return nil
	}
	_, err := t.exec(putResults, run, results)
	return err
}

// Run implements [audiosearch.Runs].
func (a *AudioSearch) Run(ctx context.Context, org string, id int64) (audiosearch.Run, error) {
	var found audiosearch.Run
	err := a.db.find(ctx, runByID, []any{org, id}, func(r *row) error { return scanRun(r, &found) })
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
		var results any
		err = tx.host(func() (err error) {
			if err := update(&was); err != nil {
				return err
			}
			if args, err = runArgs(&was); err != nil {
				return err
			}
			results, err = resultsText(was.Results)
			return err
		})
		if err != nil {
			return err
		}
		if _, err := tx.exec(updateRun, append(args, id)...); err != nil {
			return err
		}
		return tx.putResults(id, results)
	})
}

// RunResults implements [audiosearch.Runs].
func (a *AudioSearch) RunResults(ctx context.Context, org string, id int64) ([]audiosearch.Result, error) {
	var results []audiosearch.Result
	found := false
	err := a.db.find(ctx, resultsOf, []any{org, id}, func(r *row) (err error) {
		found = true
		results, err = scanResults(r, 0)
		return err
	})
	if err == nil && !found {
		err = audiosearch.ErrRunNotFound
	}
	if err != nil {
		return nil, err
	}
	return results, nil
}

// StaleRuns implements [audiosearch.Runs].
func (a *AudioSearch) StaleRuns(ctx context.Context, before time.Time, limit int) ([]audiosearch.Run, error) {
	var runs []audiosearch.Run
	err := a.db.list(ctx, staleRuns, []any{ceilMicros(before), max(limit, 0)}, func(r *row) error {
		runs = append(runs, audiosearch.Run{})
		return scanRun(r, &runs[len(runs)-1])
	})
	if err != nil {
		return nil, err
	}
	return runs, nil
}

// PruneRuns implements [audiosearch.RunPruner].
func (a *AudioSearch) PruneRuns(ctx context.Context, before time.Time, limit int) (removed int, err error) {
	for removed < limit {
		step := min(pruneStep, limit-removed)
		var n int64
		err := a.db.writer.write(ctx, func(tx *tx) (err error) {
			if _, err = tx.exec(pruneResults, ceilMicros(before), step); err != nil {
				return err
			}
			n, err = tx.exec(pruneRuns, ceilMicros(before), step)
			return err
		})
		if err != nil {
			return removed, err
		}
		if removed += int(n); n < int64(step) {
			break
		}
	}
	return removed, ctx.Err()
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
	if err := json.Unmarshal(r.bytes(4), &run.Query); err != nil {
		return fmt.Errorf("sqlite: a row is damaged: column 4 is no query: %w", err)
	}
	return nil
}

// storedResults is how results are stored: a video may be in a thousand of them, and its metadata stands once.
type storedResults struct {
	Metadata []audiosearch.Metadata
	Results  []storedResult
}

type storedResult struct {
	audiosearch.Result
	Metadata int `json:",omitempty"` // its place in the list, from 1; 0: nil
}

// resultsText writes results as JSON. It is nil for nil.
func resultsText(results []audiosearch.Result) (any, error) {
	if results == nil {
		return nil, nil
	}
	stored := storedResults{Results: make([]storedResult, len(results))}
	places := make(map[string]int) // of the metadata of videos
	for i, r := range results {
		stored.Results[i].Result = r
		if r.Metadata == nil {
			continue
		}
		place, known := places[r.VideoID]
		if !known || !maps.Equal(stored.Metadata[place-1], r.Metadata) {
			stored.Metadata = append(stored.Metadata, r.Metadata)
			place = len(stored.Metadata)
			places[r.VideoID] = place
		}
		stored.Results[i].Metadata = place
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(stored); err != nil {
		return nil, fmt.Errorf("sqlite: write the results of a run: %w", err)
	}
	return b.String(), nil
}

func scanResults(r *row, i int) ([]audiosearch.Result, error) {
	if r.null(i) {
		return nil, nil
	}
	var stored storedResults
	if err := json.Unmarshal(r.bytes(i), &stored); err != nil {
		return nil, fmt.Errorf("sqlite: a row is damaged: column %d holds no results: %w", i, err)
	}
	results := make([]audiosearch.Result, len(stored.Results))
	for i, s := range stored.Results {
		results[i] = s.Result
		if s.Metadata > 0 && s.Metadata <= len(stored.Metadata) {
			results[i].Metadata = maps.Clone(stored.Metadata[s.Metadata-1])
		}
	}
	return results, nil
}
