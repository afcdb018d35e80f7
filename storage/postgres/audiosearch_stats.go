package postgres

import (
	"context"
	"math"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
)

// Each number is counted along an index, and no further than a limit, as in countEvents.
const (
	// For an organization and a limit.
	countDatasets = "SELECT count(*), coalesce(sum(videos), 0)::bigint FROM (" +
		"SELECT videos FROM @.audiosearch_datasets WHERE organization = $1 AND " + audioNotDeleted + " ORDER BY id LIMIT $2) AS d"
	countRuns = "SELECT" +
		" (SELECT count(*) FROM (SELECT 1" + runsOpen + "IN ('PENDING', 'QUEUED') LIMIT $2) AS n)," +
		" (SELECT count(*) FROM (SELECT 1" + runsOpen + "IN ('RUNNING', 'TERMINATING') LIMIT $2) AS n)," +
		" (SELECT count(*) FROM (SELECT 1" + runsEnded + "'SUCCESS' LIMIT $2) AS n)," +
		" (SELECT count(*) FROM (SELECT 1" + runsEnded + "'CLIENT_ERROR' LIMIT $2) AS n)," +
		" (SELECT count(*) FROM (SELECT 1" + runsEnded + "'INTERNAL_ERROR' LIMIT $2) AS n)," +
		" least((SELECT created_at" + runsOpen + "= 'PENDING' AND created_at IS NOT NULL ORDER BY created_at LIMIT 1)," +
		" (SELECT created_at" + runsOpen + "= 'QUEUED' AND created_at IS NOT NULL ORDER BY created_at LIMIT 1))" +
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

// Stats implements [audiosearch.Counter].
func (a *AudioSearch) Stats(ctx context.Context, org string, most int) (stats audiosearch.Stats, err error) {
	var n [5]int
	var datasets, videos int
	var oldest pgtype.Timestamptz
	limit := min(most, math.MaxInt-1) + 1
	err = a.db.snapshot(ctx, org, func(s *session) error {
		if err := s.row(countDatasets, []any{bytes(org), limit}, &datasets, &videos); err != nil {
			return err
		}
		return s.row(countRuns, []any{bytes(org), limit}, &n[0], &n[1], &n[2], &n[3], &n[4], &oldest)
	})
	if isNoRow(err) {
		return audiosearch.Stats{}, nil // it was deleted
	}
	if err != nil {
		return audiosearch.Stats{}, err
	}
	stats = audiosearch.Stats{
		Datasets: mortise.CountUpTo(datasets, most), Videos: mortise.CountUpTo(videos, most),
		Waiting: mortise.CountUpTo(n[0], most), Running: mortise.CountUpTo(n[1], most),
		Succeeded: mortise.CountUpTo(n[2], most), ClientErrors: mortise.CountUpTo(n[3], most), InternalErrors: mortise.CountUpTo(n[4], most),
		OldestWaiting: timeOf(oldest),
	}
	stats.Videos.More = stats.Videos.More || stats.Datasets.More
	return stats, nil
}

// StatsAll implements [audiosearch.Counter].
func (a *AudioSearch) StatsAll(ctx context.Context, most int) (audiosearch.AllStats, error) {
	var n [2]int
	var next pgtype.Timestamptz
	err := a.db.read(ctx, noOrg, func(s *session) error {
		return s.row(countAllRuns, []any{min(most, math.MaxInt-1) + 1}, &n[0], &n[1], &next)
	})
	if err != nil {
		return audiosearch.AllStats{}, err
	}
	return audiosearch.AllStats{Waiting: mortise.CountUpTo(n[0], most), Running: mortise.CountUpTo(n[1], most), NextDue: timeOf(next)}, nil
}
