package turns

import (
	"container/list"
	"context"
	"runtime"
	"time"
)

type key struct{}

type ask struct {
	turns *Turns
	org   string
}

// With returns a context: work that is begun with it takes turns of the organization.
func (t *Turns) With(ctx context.Context, org string) context.Context {
	return context.WithValue(ctx, key{}, ask{t, org})
}

const (
	look  = 100_000              // nanoseconds of work, as Step is told, between looks at the context
	slice = 4 * time.Millisecond // of work in one turn
)

// Turn is a piece of work. It takes a place once Step was told of a tenth of a millisecond
// of work, so that light work never waits. It is for one goroutine. A nil Turn never ends
// and never gives way.
type Turn struct {
	ask
	ctx   context.Context
	held  bool
	spent int
	since time.Time
	err   error
}

// Begin begins a piece of work. It takes no place yet. A caller ends one piece of work
// before it begins another.
func Begin(ctx context.Context) (*Turn, error) {
	t := &Turn{ctx: ctx, since: time.Now()}
	t.ask, _ = ctx.Value(key{}).(ask)
	t.err = ctx.Err()
	return t, t.err
}

// End gives the place back. It may be called more than once, and the work may go on: the
// next Step that is due waits for a place again.
func (t *Turn) End() {
	if t != nil && t.held {
		t.held = false
		t.turns.Give(t.org)
	}
}

// Step notes that about so many nanoseconds of work have been done, or come next, and
// waits for a place if it is time. Once the context has ended, it gives the place back and
// returns the context's error, now and at each later call.
func (t *Turn) Step(nanoseconds int) error {
	if t == nil {
		return nil
	}
	if t.spent += nanoseconds; t.spent < look || t.err != nil {
		return t.err
	}
	t.spent = 0
	if t.err = t.ctx.Err(); t.err != nil {
		t.End()
		return t.err
	}
	switch {
	case t.turns != nil && !t.held:
		t.take()
	case time.Since(t.since) < slice:
	case t.turns != nil && t.turns.waits():
		// Behind the work that waits: of two organizations with equally many places, the
		// other one has its turn now.
		t.giveWay()
	default:
		runtime.Gosched() // for work that needs no place
		t.since = time.Now()
	}
	return t.err
}

func (t *Turn) take() {
	s := t.turns
	s.mu.Lock()
	own := s.shareOf(t.org)
	if s.takeNow(own) {
		s.mu.Unlock()
		t.held, t.since = true, time.Now()
		return
	}
	place := s.enqueue(own, false)
	s.mu.Unlock()
	t.wait(own, place)
}

// giveWay gives the place back, and waits for the next one.
func (t *Turn) giveWay() {
	s := t.turns
	s.mu.Lock()
	own := s.shares[t.org]
	place := s.enqueue(own, false)
	s.release(own)
	s.mu.Unlock()
	t.held = false
	t.wait(own, place)
}

func (t *Turn) wait(own *share, place *list.Element) {
	select {
	case <-place.Value.(chan struct{}):
		t.held = true
	case <-t.ctx.Done():
		t.err = t.ctx.Err()
		t.turns.leave(own, place)
	}
	t.since = time.Now()
}

// waits reports whether any caller waits.
func (t *Turns) waits() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.queue) > 0
}
