package audiosearchdb

import (
	"context"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
)

// Each number of these is counted by entries of an index that stand side by side, and no
// further than a limit.
const (
	// For an organization and a limit.
	countRuns = "SELECT" +
		" (SELECT count(*) FROM (" + openIn + waitingStates + ofOrg + "))," +
		" (SELECT count(*) FROM (" + openIn + runningStates + ofOrg + "))," +
		" (SELECT count(*) FROM (" + endedBy + "'SUCCESS' LIMIT 0 + ?2))," +
		" (SELECT count(*) FROM (" + endedBy + "'CLIENT_ERROR' LIMIT 0 + ?2))," +
		" (SELECT count(*) FROM (" + endedBy + "'INTERNAL_ERROR' LIMIT 0 + ?2))" +
		" WHERE TRUE" + andThere

	// For a limit. Whose run it is, is looked at only while a deleted organization has
	// some.
	countOpenRuns = "SELECT" + openWaiting + upTo + openRunning + upTo + nextDue + ") WHERE" + noneLeft +
		" UNION ALL SELECT" + openWaiting + runThere + upTo + openRunning + runThere + upTo + nextDue + runThere + ") WHERE NOT" + noneLeft

	openWaiting = " (SELECT count(*) FROM (" + openIn + waitingStates
	openRunning = " (SELECT count(*) FROM (" + openIn + runningStates
	upTo        = " LIMIT 0 + ?1)),"
	nextDue     = " (SELECT min(due_at) FROM audiosearch_runs INDEXED BY audiosearch_runs_due" +
		" WHERE state IN " + waitingStates + " AND due_at IS NOT NULL"

	openIn        = "SELECT 1 FROM audiosearch_runs INDEXED BY audiosearch_runs_states WHERE state <> 'TERMINATED' AND state IN "
	waitingStates = "('PENDING', 'QUEUED')"
	runningStates = "('RUNNING', 'TERMINATING')"
	ofOrg         = " AND organization = ?1 LIMIT 0 + ?2"
	endedBy       = "SELECT 1 FROM audiosearch_runs INDEXED BY audiosearch_runs_terminations" +
		" WHERE state = 'TERMINATED' AND organization = ?1 AND termination = "
)

// Counts implements [audiosearch.Counter].
func (a *Store) Counts(ctx context.Context, org string, most int) (counts audiosearch.Counts, err error) {
	err = a.db.List(ctx, org, countRuns, []any{org, most + 1}, func(r *file.Row) error {
		for i, count := range []*mortise.Count{
			&counts.Waiting, &counts.Running, &counts.Succeeded, &counts.ClientErrors, &counts.InternalErrors,
		} {
			*count = mortise.CountUpTo(r.Number(i), most)
		}
		return nil
	})
	if err != nil {
		return audiosearch.Counts{}, err
	}
	return counts, nil
}

// Backlog implements [audiosearch.Counter].
func (a *Store) Backlog(ctx context.Context, most int) (backlog mortise.Backlog, err error) {
	err = a.db.List(ctx, file.NoOrg, countOpenRuns, []any{most + 1}, func(r *file.Row) error {
		backlog.Waiting = mortise.CountUpTo(r.Number(0), most)
		backlog.Running = mortise.CountUpTo(r.Number(1), most)
		backlog.NextDue = r.Moment(2)
		return nil
	})
	if err != nil {
		return mortise.Backlog{}, err
	}
	return backlog, nil
}
