package vault

import (
	"context"
	"time"

	"github.com/seed-6363c74e/mortise"
)

// Progress says how far a step of a rotation is.
type Progress struct {
	Done  int
	Total int // as it was when the step began; at least Done, and Done at the end of a step that has done all

	// Left estimates how long the rest takes at the mean speed of the call, in whole
	// seconds. It is 0 if that is not known yet, under half a second, and at the end.
	Left time.Duration
}

// teller tells how far a step of a rotation is: the function of the caller's after every
// batch, and the Observer about once a second.
type teller struct {
	service  *Service
	ctx      context.Context
	kind     mortise.Kind // of a step that goes on
	progress func(Progress)
	start    time.Time // of the call

	p     Progress
	found int       // of Done, before the call
	begun time.Time // when it was found
	told  time.Time // the Observer, last
}

func (s *Service) teller(ctx context.Context, kind mortise.Kind, progress func(Progress)) *teller {
	return &teller{service: s, ctx: ctx, kind: kind, progress: progress, start: s.start()}
}

// begin tells how much is to be done, and what earlier calls have done of it.
func (t *teller) begin(done, total int) {
	t.p, t.found = Progress{Done: done, Total: max(done, total)}, done
	t.begun = t.service.start()
	t.tell()
}

// add tells that n more are done.
func (t *teller) add(n int) {
	t.p.Done += n
	t.p.Total = max(t.p.Total, t.p.Done)
	t.tell()
}

func (t *teller) tell() {
	if t.progress != nil {
		t.progress(t.p)
	}
	now := t.service.start()
	if !t.told.IsZero() && now.Sub(t.told) < time.Second {
		return
	}
	t.told = now
	t.service.observe(t.ctx, t.start, mortise.Observation{Kind: t.kind, Detail: Progress{t.p.Done, t.p.Total, t.left(now)}})
}

// left estimates how long the rest takes if it goes on as it went since it began.
func (t *teller) left(now time.Time) time.Duration {
	new, took := t.p.Done-t.found, now.Sub(t.begun)
	if new <= 0 || took <= 0 {
		return 0
	}
	seconds := took.Seconds() * float64(t.p.Total-t.p.Done) / float64(new)
	if seconds > maxLeft.Seconds() {
		return 0
	}
	return time.Duration(seconds * float64(time.Second)).Round(time.Second)
}

// maxLeft is the longest time that is worth saying; a longer one could overflow.
const maxLeft = 10 * 365 * 24 * time.Hour

// end tells the Observer what came of the step. After one that has done everything,
// nothing is left: what others have done or deleted meanwhile counts as done.
func (t *teller) end(kind mortise.Kind, items int, err error) {
	if err == nil && t.p.Done < t.p.Total {
		t.p.Done = t.p.Total
		if t.progress != nil {
			t.progress(t.p)
		}
	}
	t.service.observe(t.ctx, t.start, mortise.Observation{Kind: kind, Items: items, Detail: t.p, Err: err})
}
