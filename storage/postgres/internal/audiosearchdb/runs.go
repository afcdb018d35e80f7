package audiosearchdb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/internal/pages"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/engine"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/sqltext"
)

// runChanges are what an update of a run changes. It may change runRequest as well, which
// nobody does.
const (
	runChanges = "state, termination, message, done, total, attempts, updated_at, started_at, finished_at, trace, due_at, wake_at," +
		" sound_done, sound_total, sound_speed, result_set"
	runRequest = "actor, query, dataset"
	runColumns = "id, organization, created_at, " + runRequest + ", " + runChanges
	runsFrom   = "SELECT " + runColumns + " FROM @.audiosearch_runs AS r"
	runByID    = runsFrom + " WHERE r.organization || '' = $1 AND r.id = $2 AND " + runNotDeleted
)

var (
	insertRun = "INSERT INTO @.audiosearch_runs (" + runColumns + ") VALUES (" + parameters(22) + ")"
	updateRun = "UPDATE @.audiosearch_runs SET " + sqltext.Assign(runRequest+", "+runChanges, 2) + " WHERE id = $1"
)

// parameters returns $1 to $n.
func parameters(n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = sqltext.Parameter(i + 1)
	}
	return strings.Join(all, ", ")
}

var errNoResultSet = errors.New("postgres: a run names a set of results into which nothing was put")

// CreateRun implements [audiosearch.Runs].
func (a *Store) CreateRun(ctx context.Context, r audiosearch.Run, maxWaiting int) error {
	return a.createRun(ctx, &r, maxWaiting, nil)
}

// CreateRunAndAdd implements [audiosearch.TxStore].
func (a *Store) CreateRunAndAdd(ctx context.Context, r audiosearch.Run, maxWaiting int, j mortise.Job) error {
	return a.createRun(ctx, &r, maxWaiting, &j)
}

// For an organization and a limit.
const waitingRuns = "SELECT count(*) FROM (SELECT 1 FROM @.audiosearch_runs WHERE organization = $1 AND state <> 'TERMINATED' LIMIT $2) AS n"

// createRun adds a job, if there is one, to the run that it makes.
func (a *Store) createRun(ctx context.Context, r *audiosearch.Run, maxWaiting int, j *mortise.Job) error {
	args, err := runArgs(r)
	if err != nil {
		return err
	}
	if r.ResultSet != uuid.Nil {
		return errNoResultSet
	}
	org := r.Organization
	full := func(s *engine.Session) error {
		var waiting int
		err := s.Row(waitingRuns, []any{org, max(maxWaiting, 0)}, &waiting)
		if err == nil && waiting >= maxWaiting {
			err = audiosearch.ErrTooManyRuns
		}
		return err
	}
	return a.db.Transact(ctx, org, func(s *engine.Session) error {
		if err := keepAudio(s, org); err != nil {
			return err
		}
		var taken bool
		if err := s.Row("SELECT EXISTS (SELECT FROM @.audiosearch_runs WHERE id = $1)", []any{r.ID}, &taken); err != nil {
			return err
		}
		if taken {
			return mortise.ErrExists
		}
		// Once before the lock, so that whoever has too many holds up nobody.
		if err := full(s); err != nil {
			return err
		}
		if err := s.Lock("audiosearch runs", org, false); err != nil {
			return err
		}
		if err := full(s); err != nil {
			return err
		}
		err := s.Insert(insertRun+" ON CONFLICT DO NOTHING", append([]any{r.ID, org, sqltext.Stamp(r.CreatedAt)}, args...)...)
		if err != nil || j == nil {
			return err
		}
		return a.jobs.AddIn(s, j)
	})
}

// Run implements [audiosearch.Runs].
func (a *Store) Run(ctx context.Context, org string, id int64) (audiosearch.Run, error) {
	found, err := a.runs(ctx, org, runByID, org, id)
	if err == nil && len(found) == 0 {
		err = audiosearch.ErrRunNotFound
	}
	if err != nil {
		return audiosearch.Run{}, err
	}
	return found[0], nil
}

func (a *Store) runs(ctx context.Context, org, statement string, args ...any) ([]audiosearch.Run, error) {
	return engine.ListOf(ctx, a.db, org, scanRun, statement, args...)
}

// UpdateRun implements [audiosearch.Runs].
func (a *Store) UpdateRun(ctx context.Context, org string, id int64, update func(*audiosearch.Run) error) error {
	return a.db.Transact(ctx, org, func(s *engine.Session) error { return changeRun(s, org, id, update) })
}

// UpdateRunAndJobs implements [audiosearch.TxStore].
func (a *Store) UpdateRunAndJobs(
	ctx context.Context, org string, id int64, update func(*audiosearch.Run) ([]mortise.Job, error), l mortise.Lease,
) error {
	return a.db.Transact(ctx, org, func(s *engine.Session) error {
		var added []mortise.Job
		err := changeRun(s, org, id, func(r *audiosearch.Run) (err error) {
			added, err = update(r)
			return err
		})
		if err != nil {
			return err
		}
		if l.Token != uuid.Nil {
			if err := a.jobs.EndIn(s, &l, false); err != nil {
				return err
			}
		}
		for i := range added {
			if err := a.jobs.AddIn(s, &added[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// For a run and a set, which may be NULL.
const dropOtherSets = "DELETE FROM @.audiosearch_result_sets WHERE run = $1 AND token IS DISTINCT FROM $2"

func changeRun(s *engine.Session, org string, id int64, update func(*audiosearch.Run) error) error {
	found, err := engine.Collect(s, scanRun, runByID+" FOR UPDATE OF r", org, id)
	if err == nil && len(found) == 0 {
		err = audiosearch.ErrRunNotFound
	}
	if err != nil {
		return err
	}
	r := found[0]
	if err := update(&r); err != nil {
		return err
	}
	if r.ResultSet != uuid.Nil {
		var there bool
		if err := s.Row("SELECT EXISTS (SELECT FROM @.audiosearch_result_sets WHERE run = $1 AND token = $2)", []any{id, r.ResultSet}, &there); err != nil {
			return err
		}
		if !there {
			return errNoResultSet
		}
	}
	args, err := runArgs(&r)
	if err != nil {
		return err
	}
	if _, err := s.Exec(updateRun, append([]any{id}, args...)...); err != nil {
		return err
	}
	if r.State == audiosearch.StateTerminated {
		_, err = s.Exec(dropOtherSets, id, uuidIf(r.ResultSet))
	}
	return err
}

func uuidIf(id uuid.UUID) any {
	if id == uuid.Nil {
		return nil
	}
	return id
}

// runArgs returns the values of runRequest and runChanges.
func runArgs(r *audiosearch.Run) ([]any, error) {
	query, err := json.Marshal(r.Query)
	if err != nil {
		return nil, fmt.Errorf("postgres: write the query of a run: %w", err)
	}
	return []any{
		string(r.Actor), string(query), r.Query.Dataset,
		string(r.State), string(r.Termination), sqltext.Bytes(r.Message), r.Done, r.Total, r.Attempts,
		sqltext.Stamp(r.UpdatedAt), sqltext.Stamp(r.StartedAt), sqltext.Stamp(r.FinishedAt), sqltext.TraceText(r.Trace), sqltext.Stamp(r.DueAt), sqltext.Stamp(r.WakeAt),
		int64(r.Sound.Done), int64(r.Sound.Total), r.Sound.Speed, uuidIf(r.ResultSet),
	}, nil
}

// scanRun reads runColumns.
func scanRun(rows pgx.Rows) (r audiosearch.Run, err error) {
	var org, actor, query, dataset, message, trace []byte
	var created, updated, started, finished, due, wake pgtype.Timestamptz
	var set uuid.NullUUID
	err = rows.Scan(&r.ID, &org, &created, &actor, &query, &dataset, &r.State, &r.Termination, &message, &r.Done, &r.Total, &r.Attempts,
		&updated, &started, &finished, &trace, &due, &wake, &r.Sound.Done, &r.Sound.Total, &r.Sound.Speed, &set)
	if err != nil {
		return r, err
	}
	r.Organization, r.Actor, r.Message, r.ResultSet = string(org), mortise.Actor(actor), string(message), set.UUID
	r.CreatedAt, r.UpdatedAt, r.StartedAt, r.FinishedAt = sqltext.TimeOf(created), sqltext.TimeOf(updated), sqltext.TimeOf(started), sqltext.TimeOf(finished)
	r.DueAt, r.WakeAt = sqltext.TimeOf(due), sqltext.TimeOf(wake)
	if r.Trace, err = sqltext.TraceMap(trace); err != nil {
		return r, fmt.Errorf("postgres: a row is damaged: the trace of a run: %w", err)
	}
	if err := json.Unmarshal(query, &r.Query); err != nil {
		return r, fmt.Errorf("postgres: a row is damaged: the query of a run: %w", err)
	}
	return r, nil
}

// ListRuns implements [audiosearch.Runs].
func (a *Store) ListRuns(ctx context.Context, org string, q audiosearch.RunQuery) (page mortise.Page[audiosearch.Run], err error) {
	before, id, behind, err := pages.ByNumber(q.After)
	switch {
	case err != nil:
		return page, err
	case !behind:
		before, id = sqltext.EndOfTime, math.MaxInt64
	}
	from := sqltext.FirstTime
	if !q.From.IsZero() {
		from = sqltext.Ceil(q.From)
	}
	args := []any{org, sqltext.Upper(before), id, sqltext.Bound(from), q.Limit + 1}
	statement := runsFrom + " WHERE r.organization = $1 AND " + audioNotDeleted + " AND (r.created_at, r.id) < ($2, $3) AND r.created_at >= $4"
	add := func(condition string, value any) {
		args = append(args, value)
		statement += " AND " + condition + sqltext.Parameter(len(args))
	}
	if q.Dataset != "" {
		add("r.dataset = ", q.Dataset)
	}
	if q.Actor != "" {
		add("r.actor = ", string(q.Actor))
	}
	if q.State != "" {
		add("r.state = ", string(q.State))
	}
	if q.Open {
		statement += " AND r.state <> 'TERMINATED'"
	}
	runs, err := a.runs(ctx, org, statement+" ORDER BY r.created_at DESC, r.id DESC LIMIT $5", args...)
	if err != nil {
		return page, err
	}
	return pages.Cut(runs, q.Limit, (*audiosearch.Run).Position), nil
}

// For a time and a limit.
const overdueRuns = runsFrom + " WHERE r.wake_at < $1 AND " + runNotDeleted + " ORDER BY r.wake_at LIMIT $2"

// Overdue implements [audiosearch.Runs].
func (a *Store) Overdue(ctx context.Context, before time.Time, limit int) ([]audiosearch.Run, error) {
	return a.runs(ctx, engine.NoOrg, overdueRuns, sqltext.Upper(before), max(limit, 0))
}

const (
	// For a time, and a limit. In one condition the two would read all runs that have ended.
	pruneRuns = "WITH endless AS (SELECT id FROM @.audiosearch_runs WHERE state = 'TERMINATED' AND finished_at IS NULL AND wake_at IS NULL LIMIT $2 FOR UPDATE SKIP LOCKED)," +
		" gone AS (SELECT id FROM @.audiosearch_runs WHERE state = 'TERMINATED' AND finished_at < $1 AND wake_at IS NULL ORDER BY finished_at LIMIT $2 FOR UPDATE SKIP LOCKED)" +
		" DELETE FROM @.audiosearch_runs WHERE id = ANY (ARRAY(SELECT id FROM endless UNION ALL SELECT id FROM gone LIMIT $2))"

	// For how many are kept, and a limit.
	trimRuns = "WITH gone AS (SELECT o.id FROM (SELECT id, finished_at, row_number() OVER (PARTITION BY organization ORDER BY finished_at DESC NULLS LAST, id DESC) AS place" +
		" FROM @.audiosearch_runs WHERE state = 'TERMINATED') AS o WHERE o.place > $1" +
		" AND NOT EXISTS (SELECT FROM @.audiosearch_runs AS r WHERE r.id = o.id AND r.wake_at IS NOT NULL) ORDER BY o.finished_at NULLS FIRST, o.id LIMIT $2)" +
		" DELETE FROM @.audiosearch_runs WHERE id = ANY (ARRAY(SELECT id FROM gone))"
)

// PruneRuns implements [audiosearch.Pruner].
func (a *Store) PruneRuns(ctx context.Context, before time.Time, limit int) (n int, more bool, err error) {
	return a.removeRuns(ctx, pruneRuns, sqltext.Upper(before), limit)
}

// TrimRuns implements [audiosearch.Pruner].
func (a *Store) TrimRuns(ctx context.Context, keep, limit int) (n int, more bool, err error) {
	return a.removeRuns(ctx, trimRuns, max(keep, 0), limit)
}

// removeRuns runs a statement that is for something and a limit.
func (a *Store) removeRuns(ctx context.Context, statement string, of any, limit int) (n int, more bool, err error) {
	return a.db.RemoveSome(ctx, engine.NoOrg, limit, func(s *engine.Session) (int, error) {
		removed, err := s.Exec(statement, of, limit)
		return int(removed), err
	})
}
