// Package turns shares the processors between organizations: what takes long is done in
// slices of a few milliseconds, and between them it is somebody else's turn.
//
// Whoever has a place must not wait for a lock or a connection, because its holder may be
// waiting for a place. So take locks and connections first, and the place last.
package turns

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"
)

// Turns has a number of places, which are given to organizations in turn. It is safe for
// concurrent use.
type Turns struct {
	mu    sync.Mutex
	free  int
	lines []*line // the organizations that wait; the first one is next
}

// line is the work of one organization that waits for a place.
type line struct {
	org     string
	waiting []chan struct{} // in the order of arrival; each is closed when it gets a place
}

// New returns Turns with the given number of places, at least one.
func New(places int) *Turns { return &Turns{free: max(places, 1)} }

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

// Begin begins a piece of work. It takes no place yet. Whoever has begun one must end it
// before they begin another.
func Begin(ctx context.Context) (*Turn, error) {
	t := &Turn{ctx: ctx, since: time.Now()}
	t.ask, _ = ctx.Value(key{}).(ask)
	t.err = ctx.Err()
	return t, t.err
}

// End gives the place back. It may be called more than once, and the work may go on: the
// next Step that is due waits for a place again.
func (t *Turn) End() {
	if t == nil || !t.held {
		return
	}
	t.held = false
	t.turns.mu.Lock()
	t.turns.give()
	t.turns.mu.Unlock()
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
	if !t.held && t.turns != nil {
		t.turns.mu.Lock()
		t.wait(false)
		return t.err
	}
	if time.Since(t.since) < slice {
		return nil
	}
	if t.turns == nil {
		runtime.Gosched()
		t.since = time.Now()
		return nil
	}
	t.turns.mu.Lock()
	if len(t.turns.lines) == 0 {
		t.turns.mu.Unlock()
		runtime.Gosched() // for those who need no place
		t.since = time.Now()
		return nil
	}
	t.wait(true)
	return t.err
}

// wait gives back the place if the turn is holding one, and takes a place behind all who
// wait. The caller has locked mu; wait unlocks it.
func (t *Turn) wait(holding bool) {
	s := t.turns
	if !holding && s.free > 0 {
		s.free--
		s.mu.Unlock()
		t.held, t.since = true, time.Now()
		return
	}
	place := make(chan struct{})
	l := s.lineOf(t.org)
	l.waiting = append(l.waiting, place)
	if t.held = false; holding {
		s.give()
	}
	s.mu.Unlock()
	select {
	case <-place:
		t.held = true
	case <-t.ctx.Done():
		t.err = t.ctx.Err()
		s.leave(t.org, place)
	}
	t.since = time.Now()
}

// lineOf returns the line of an organization, which is the last one if it is new. The caller
// has locked mu.
func (s *Turns) lineOf(org string) *line {
	at := slices.IndexFunc(s.lines, func(l *line) bool { return l.org == org })
	if at < 0 {
		at = len(s.lines)
		s.lines = append(s.lines, &line{org: org})
	}
	return s.lines[at]
}

// give gives a place to whoever is next. The caller has locked mu.
func (s *Turns) give() {
	if len(s.lines) == 0 {
		s.free++
		return
	}
	l := s.lines[0]
	s.lines = s.lines[1:]
	close(l.waiting[0])
	if l.waiting = l.waiting[1:]; len(l.waiting) > 0 {
		s.lines = append(s.lines, l)
	}
}

// leave ends the waiting for a place.
func (s *Turns) leave(org string, place chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-place: // it came in the same moment
		s.give()
		return
	default:
	}
	at := slices.IndexFunc(s.lines, func(l *line) bool { return l.org == org })
	l := s.lines[at]
	l.waiting = slices.DeleteFunc(l.waiting, func(p chan struct{}) bool { return p == place })
	if len(l.waiting) == 0 {
		s.lines = slices.Delete(s.lines, at, at+1)
	}
}
