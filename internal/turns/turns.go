// Package turns shares the processors between organizations: what takes long is done in
// slices of a few milliseconds, and between them it is somebody else's turn.
//
// Who has a place must not wait for anything that somebody may hold who waits for a
// place: a lock, or a connection. So a place comes last: first the locks, then the place.
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

// line is what waits of one organization, the first one next.
type line struct {
	org     string
	waiting []chan struct{} // closed with a place
}

// New returns turns with so many places.
func New(places int) *Turns { return &Turns{free: max(places, 1)} }

type key struct{}

type ask struct {
	turns *Turns
	org   string
}

// With returns a context in which what is begun takes turns of the organization.
func (t *Turns) With(ctx context.Context, org string) context.Context {
	return context.WithValue(ctx, key{}, ask{t, org})
}

// The bounds of what is done without a look at the context, and in one turn.
const (
	look  = 100_000 // nanoseconds, as Step is told them
	slice = 4 * time.Millisecond
)

// Turn is a piece of work, which has a place when it has been going on for the tenth of a
// millisecond. So what is light never waits. It is for one goroutine. Nil is one that
// never ends and never gives way.
type Turn struct {
	ask
	ctx   context.Context
	held  bool
	spent int
	since time.Time
	err   error
}

// Begin begins a piece of work. It must not be called by who has begun another one.
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

// Step notes that so many nanoseconds of work have been done, or are next, about, and
// waits for a place if it is time. It returns an error when the context has ended: from
// then on always, and the place is gone then.
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

// wait takes a place, behind all who wait, and gives back one before if there is one to
// give. The caller has locked mu.
func (t *Turn) wait(holding bool) {
	s := t.turns
	if !holding && s.free > 0 {
		s.free--
		s.mu.Unlock()
		t.held, t.since = true, time.Now()
		return
	}
	place := make(chan struct{})
	at := slices.IndexFunc(s.lines, func(l *line) bool { return l.org == t.org })
	if at < 0 {
		at = len(s.lines)
		s.lines = append(s.lines, &line{org: t.org})
	}
	s.lines[at].waiting = append(s.lines[at].waiting, place)
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

// give gives a place to who is next.
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

// leave is for who waits no longer.
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
