package memory

import (
	"context"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
)

// Counts implements [audiosearch.Counter].
func (a *AudioSearch) Counts(ctx context.Context, org string, most int) (audiosearch.Counts, error) {
	db, err := a.db.read(ctx)
	if err != nil {
		return audiosearch.Counts{}, err
	}
	defer db.end()
	var open openRuns
	ended := make(map[audiosearch.Termination]int)
	for _, r := range db.audio.runsOf(org) {
		if r.run.State == audiosearch.StateTerminated {
			ended[r.run.Termination]++
		} else {
			open.add(&r.run)
		}
	}
	return audiosearch.Counts{
		Waiting: mortise.CountUpTo(open.waiting, most), Running: mortise.CountUpTo(open.running, most),
		Succeeded:      mortise.CountUpTo(ended[audiosearch.Success], most),
		ClientErrors:   mortise.CountUpTo(ended[audiosearch.ClientError], most),
		InternalErrors: mortise.CountUpTo(ended[audiosearch.InternalError], most),
	}, nil
}

// Backlog implements [audiosearch.Counter].
func (a *AudioSearch) Backlog(ctx context.Context, most int) (mortise.Backlog, error) {
	db, err := a.db.read(ctx)
	if err != nil {
		return mortise.Backlog{}, err
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
	return mortise.Backlog{
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
