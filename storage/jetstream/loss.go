package jetstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// lossMargin is added to times of the server's clock, which others are compared with.
const lossMargin = 5 * time.Second

// acknowledged notes the sequence of a message that was stored. before is the greatest one
// that was known when it was sent: the stream has lost messages if it is not greater.
func (q *Queue) acknowledged(before, seq uint64) {
	if seq <= before {
		q.lose(before, seq)
		return
	}
	for {
		last := q.last.Load()
		if seq <= last || q.last.CompareAndSwap(last, seq) {
			return
		}
	}
}

func (q *Queue) lose(before, seq uint64) {
	if !q.last.CompareAndSwap(before, seq) {
		return // others have noticed, or have gone on
	}
	now := time.Now()
	q.lost.Store(&now)
	q.opts.Logger.Warn("the stream of jobs has lost messages; unfinished work is queued again", "stream", q.opts.Name,
		"sequence", seq, "after", before)
}

// LostJobs implements [mortise.LossReporter]. Jobs may be gone that were added
//
//   - before the stream was created;
//   - before this queue noticed that the stream's sequence had gone back: the server has
//     crashed before it synced, or a backup was put back;
//   - before New, unless Options.Synced: what was lost while no program was connected
//     leaves no trace.
//
// A stream that is gone is created anew.
func (q *Queue) LostJobs(ctx context.Context) (time.Time, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	before := q.last.Load()
	stream, err := q.js.Stream(ctx, q.opts.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		if err = q.ensure(ctx); err == nil {
			stream, err = q.js.Stream(ctx, q.opts.Name)
		}
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("jetstream: look at the stream %s: %w", q.opts.Name, err)
	}
	info := stream.CachedInfo()
	if info.State.LastSeq < before {
		q.lose(before, info.State.LastSeq)
	}
	lost := info.Created.Add(lossMargin)
	if !q.opts.Synced && q.began.After(lost) {
		lost = q.began
	}
	if at := q.lost.Load(); at != nil && at.After(lost) {
		lost = *at
	}
	return lost, nil
}
