package sqlite

import (
	"context"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
)

// Each number of these is counted by entries of an index that stand side by side, and no
// further than a limit. A statement has one snapshot for all of its numbers.
const (
	// For an organization and a limit.
	countStats = "SELECT" +
		" (SELECT count(*) FROM (" + someDatasets + "))," +
		" (SELECT count(*) FROM (SELECT 1 FROM (" + someDatasets + ") d CROSS JOIN audiosearch_videos v" +
		" ON v.dataset = d.seq LIMIT 0 + ?2))," +
		" (SELECT count(*) FROM (" + openIn + waitingStates + ofOrg + "))," +
		" (SELECT count(*) FROM (" + openIn + runningStates + ofOrg + "))," +
		" (SELECT count(*) FROM (" + endedBy + "'SUCCESS' LIMIT 0 + ?2))," +
		" (SELECT count(*) FROM (" + endedBy + "'CLIENT_ERROR' LIMIT 0 + ?2))," +
		" (SELECT count(*) FROM (" + endedBy + "'INTERNAL_ERROR' LIMIT 0 + ?2))," +
		" (" + oldestIn + "'PENDING')," +
		" (" + oldestIn + "'QUEUED') WHERE TRUE" + andThere

	// For a limit. Whose run it is, is looked at only while a deleted organization has
	// some.
	countOpenRuns = "SELECT" + openWaiting + upTo + openRunning + upTo + nextDue + ") WHERE" + noneLeft +
		" UNION ALL SELECT" + openWaiting + runThere + upTo + openRunning + runThere + upTo + nextDue + runThere + ") WHERE NOT" + noneLeft

	openWaiting = " (SELECT count(*) FROM (" + openIn + waitingStates
	openRunning = " (SELECT count(*) FROM (" + openIn + runningStates
	upTo        = " LIMIT 0 + ?1)),"
	nextDue     = " (SELECT min(due_at) FROM audiosearch_runs INDEXED BY audiosearch_runs_due" +
		" WHERE state IN " + waitingStates + " AND due_at IS NOT NULL"

	someDatasets  = "SELECT seq FROM audiosearch_datasets WHERE organization = ?1 LIMIT 0 + ?2"
	openRuns      = " FROM audiosearch_runs INDEXED BY audiosearch_runs_states WHERE state <> 'TERMINATED'"
	openIn        = "SELECT 1" + openRuns + " AND state IN "
	waitingStates = "('PENDING', 'QUEUED')"
	runningStates = "('RUNNING', 'TERMINATING')"
	ofOrg         = " AND organization = ?1 LIMIT 0 + ?2"
	oldestIn      = "SELECT min(created_at)" + openRuns + " AND organization = ?1 AND state = "
	endedBy       = "SELECT 1 FROM audiosearch_runs INDEXED BY audiosearch_runs_terminations" +
		" WHERE state = 'TERMINATED' AND organization = ?1 AND termination = "
)

// Stats implements [audiosearch.Counter].
func (a *AudioSearch) Stats(
	ctx context.Context, org string, most int,
) (stats audiosearch.Stats, err error) {
	err = a.db.list(ctx, org, countStats, []any{org, most + 1}, func(r *row) error {
		for i, count := range []*mortise.Count{
			&stats.Datasets, &stats.Videos, &stats.Waiting, &stats.Running,
			&stats.Succeeded, &stats.ClientErrors, &stats.InternalErrors,
		} {
			*count = mortise.CountUpTo(r.number(i), most)
		}
		// The videos of the first most+1 datasets were counted.
		stats.Videos.More = stats.Videos.More || stats.Datasets.More
		stats.OldestWaiting = earlier(r.moment(7), r.moment(8))
		return nil
	})
	if err != nil {
		return audiosearch.Stats{}, err
	}
	return stats, nil
}

// StatsAll implements [audiosearch.Counter].
func (a *AudioSearch) StatsAll(ctx context.Context, most int) (open audiosearch.AllStats, err error) {
	err = a.db.list(ctx, noOrg, countOpenRuns, []any{most + 1}, func(r *row) error {
		open.Waiting = mortise.CountUpTo(r.number(0), most)
		open.Running = mortise.CountUpTo(r.number(1), most)
		open.NextDue = r.moment(2)
		return nil
	})
	if err != nil {
		return audiosearch.AllStats{}, err
	}
	return open, nil
}

// earlier returns the earlier one of two times, of which those that are zero are none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
