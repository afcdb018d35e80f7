package memory

import (
	"context"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
)

// Stats implements [audiosearch.Counter].
func (a *AudioSearch) Stats(
	ctx context.Context, org string, most int,
) (stats audiosearch.Stats, err error) {
	db, err := a.db.read(ctx)
	if err != nil {
		return stats, err
	}
	defer db.end()
	datasets, videos := 0, 0
	for id, d := range db.audio.datasets {
		if id.org == org && !db.audio.gone(org) {
			datasets++
			videos += int(d.count.Load())
		}
	}
	var open openRuns
	ended := make(map[audiosearch.Termination]int)
	for _, r := range db.audio.runsOf(org) { // oldest first
		if r.run.State == audiosearch.StateTerminated {
			ended[r.run.Termination]++
		} else if open.add(&r.run) && open.waiting == 1 {
			stats.OldestWaiting = r.run.CreatedAt
		}
	}
	for count, n := range map[*mortise.Count]int{
		&stats.Datasets: datasets, &stats.Videos: videos,
		&stats.Waiting: open.waiting, &stats.Running: open.running,
		&stats.Succeeded:      ended[audiosearch.Success],
		&stats.ClientErrors:   ended[audiosearch.ClientError],
		&stats.InternalErrors: ended[audiosearch.InternalError],
	} {
		*count = mortise.CountUpTo(n, most)
	}
	return stats, nil
}

// StatsAll implements [audiosearch.Counter].
func (a *AudioSearch) StatsAll(ctx context.Context, most int) (audiosearch.AllStats, error) {
	db, err := a.db.read(ctx)
	if err != nil {
		return audiosearch.AllStats{}, err
	}
	defer db.end()
	var open openRuns
	var next time.Time
	for _, r := range db.audio.runs {
		if db.audio.gone(r.run.Organization) {
			continue
		}
		due := r.run.DueAt
		if open.add(&r.run) && !due.IsZero() && (next.IsZero() || due.Before(next)) {
			next = due
		}
	}
	return audiosearch.AllStats{
		Waiting: mortise.CountUpTo(open.waiting, most),
		Running: mortise.CountUpTo(open.running, most), NextDue: next,
	}, nil
}

// openRuns counts runs that have not ended.
type openRuns struct{ waiting, running int }

// add counts a run and reports whether it waits.
func (o *openRuns) add(r *audiosearch.Run) (waits bool) {
	switch r.State {
	case audiosearch.StatePending, audiosearch.StateQueued:
		o.waiting++
		return true
	case audiosearch.StateRunning, audiosearch.StateTerminating:
		o.running++
	}
	return false
}
