package audiosearchdb

import (
	"context"
	"math"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/engine"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/sqltext"
)

// Each number is counted along an index, and no further than a limit, as in countEvents.
const (
	// For an organization and a limit.
	countRuns = "SELECT" +
		" (SELECT count(*) FROM (SELECT 1" + runsOpen + "IN ('PENDING', 'QUEUED') LIMIT $2) AS n)," +
		" (SELECT count(*) FROM (SELECT 1" + runsOpen + "IN ('RUNNING', 'TERMINATING') LIMIT $2) AS n)," +
		" (SELECT count(*) FROM (SELECT 1" + runsEnded + "'SUCCESS' LIMIT $2) AS n)," +
		" (SELECT count(*) FROM (SELECT 1" + runsEnded + "'CLIENT_ERROR' LIMIT $2) AS n)," +
		" (SELECT count(*) FROM (SELECT 1" + runsEnded + "'INTERNAL_ERROR' LIMIT $2) AS n)" +
		" WHERE " + audioNotDeleted
	runsOpen  = " FROM @.audiosearch_runs WHERE organization = $1 AND state <> 'TERMINATED' AND state "
	runsEnded = " FROM @.audiosearch_runs WHERE organization = $1 AND state = 'TERMINATED' AND termination = "

	// For a limit.
	countAllRuns = "SELECT" +
		" (SELECT count(*) FROM (SELECT 1" + runsOfAll + "AND state IN ('PENDING', 'QUEUED') LIMIT $1) AS n)," +
		" (SELECT count(*) FROM (SELECT 1" + runsOfAll + "AND state IN ('RUNNING', 'TERMINATING') LIMIT $1) AS n)," +
		" least((SELECT due_at" + runsOfAll + "AND state = 'PENDING' AND due_at IS NOT NULL ORDER BY due_at LIMIT 1)," +
		" (SELECT due_at" + runsOfAll + "AND state = 'QUEUED' AND due_at IS NOT NULL ORDER BY due_at LIMIT 1))"
	runsOfAll = " FROM @.audiosearch_runs AS r WHERE state <> 'TERMINATED' AND " + runNotDeleted + " "
)

// Counts implements [audiosearch.Counter].
func (a *Store) Counts(ctx context.Context, org string, most int) (audiosearch.Counts, error) {
	var n [5]int
	err := a.db.Read(ctx, org, func(s *engine.Session) error {
		return s.Row(countRuns, []any{org, min(most, math.MaxInt-1) + 1}, &n[0], &n[1], &n[2], &n[3], &n[4])
	})
	if engine.IsNoRow(err) {
		return audiosearch.Counts{}, nil // it was deleted
	}
	if err != nil {
		return audiosearch.Counts{}, err
	}
	return audiosearch.Counts{
		Waiting: mortise.CountUpTo(n[0], most), Running: mortise.CountUpTo(n[1], most),
		Succeeded: mortise.CountUpTo(n[2], most), ClientErrors: mortise.CountUpTo(n[3], most), InternalErrors: mortise.CountUpTo(n[4], most),
	}, nil
}

// Backlog implements [audiosearch.Counter].
func (a *Store) Backlog(ctx context.Context, most int) (mortise.Backlog, error) {
	var n [2]int
	var next pgtype.Timestamptz
	err := a.db.Read(ctx, engine.NoOrg, func(s *engine.Session) error {
		return s.Row(countAllRuns, []any{min(most, math.MaxInt-1) + 1}, &n[0], &n[1], &next)
	})
	if err != nil {
		return mortise.Backlog{}, err
	}
	return mortise.Backlog{Waiting: mortise.CountUpTo(n[0], most), Running: mortise.CountUpTo(n[1], most), NextDue: sqltext.TimeOf(next)}, nil
}
