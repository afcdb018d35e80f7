// Package turns shares places among organizations, so that the work of one organization
// does not hold up the others: the connections of a database, or the processors. Work on
// the processors is done in slices of a few milliseconds, and between two slices it is the
// turn of another organization.
//
// A caller that has a place for a processor must not wait for a lock or a connection,
// because its holder may be waiting for a place. So take locks and connections first, and
// the place last.
package turns

import (
	"container/list"
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// Turns shares a number of places among organizations. A caller that finds no place waits.
// A place that becomes free goes to the organization that has waited for its turn longest,
// of those that may have another place, and there to the caller that came first. So how
// long an organization waits depends on how many others ask, and not on how much they ask.
//
// Any number of callers may wait. They are goroutines of the host's, which bounds them,
// and their contexts end the waiting. Work of no organization takes turns as an
// organization does, under the name "". Turns are safe for concurrent use.
type Turns struct {
	mu     sync.Mutex
	places int
	most   int // places that one organization can have
	free   int
	paused bool
	empty  chan struct{}     // of a pause: closed when all places are free
	shares map[string]*share // of the organizations that have a place, or wait for one
	queue  []*share          // of the organizations that wait, the next one first
}

// share is the part of an organization in the places.
type share struct {
	org     string
	has     int
	waiting list.List // of chan struct{}, the next one first; each is closed when its caller has a place
}

// ErrEnded: the places were closed while the caller waited.
var ErrEnded = errors.New("turns: no places are given any more")

// New returns Turns with a number of places, of which one organization can have at most so
// many at a time; at least one of each.
func New(places, most int) *Turns {
	places = max(places, 1)
	return &Turns{places: places, most: min(max(most, 1), places), free: places, shares: make(map[string]*share)}
}

// Take waits for a place. The caller gives it back, unless there is an error: the cause of
// the context's end, or ErrEnded once ended is closed, which may be nil.
func (t *Turns) Take(ctx context.Context, ended <-chan struct{}, org string) error {
	t.mu.Lock()
	s := t.shareOf(org)
	if t.takeNow(s) {
		t.mu.Unlock()
		return nil
	}
	place := t.enqueue(s, false)
	t.mu.Unlock()
	err := ErrEnded
	select {
	case <-place.Value.(chan struct{}):
		return nil
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-ended:
	}
	t.leave(s, place)
	return err
}

// Give gives a place back.
func (t *Turns) Give(org string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.release(t.shares[org])
}

// Pause gives no more places and waits until all are free. It reports false, and the pause
// is over, if one of the channels, which may be nil, is ready before. Otherwise Resume ends
// the pause. One caller at a time may pause.
func (t *Turns) Pause(deadline <-chan time.Time, stop <-chan struct{}) bool {
	t.mu.Lock()
	t.paused, t.empty = true, make(chan struct{})
	if t.free == t.places {
		close(t.empty)
	}
	empty := t.empty
	t.mu.Unlock()
	select {
	case <-empty:
		return true
	case <-deadline:
	case <-stop:
	}
	t.Resume()
	return false
}

// Resume ends a pause.
func (t *Turns) Resume() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.paused = false
	t.grant()
}

// State returns how many places are free, and how many organizations wait.
func (t *Turns) State() (free, waiting int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.free, len(t.queue)
}

// The functions below are called under the lock.

func (t *Turns) shareOf(org string) *share {
	s := t.shares[org]
	if s == nil {
		s = &share{org: org}
		t.shares[org] = s
	}
	return s
}

// takeNow takes a place if one is free. It passes by no other organization: if others wait
// although a place is free, they have as many as they may have.
func (t *Turns) takeNow(s *share) bool {
	if t.paused || t.free == 0 || s.has >= t.most {
		return false
	}
	t.free--
	s.has++
	return true
}

// enqueue makes a caller wait, as the first or the last one of its organization.
func (t *Turns) enqueue(s *share, first bool) *list.Element {
	if s.waiting.Len() == 0 {
		t.queue = append(t.queue, s)
	}
	if first {
		return s.waiting.PushFront(make(chan struct{}))
	}
	return s.waiting.PushBack(make(chan struct{}))
}

// release gives back a place of an organization.
func (t *Turns) release(s *share) {
	s.has--
	t.free++
	t.drop(s)
	if t.paused && t.free == t.places {
		close(t.empty)
	}
	t.grant()
}

// drop forgets an organization that has nothing and waits for nothing.
func (t *Turns) drop(s *share) {
	if s.has == 0 && s.waiting.Len() == 0 {
		delete(t.shares, s.org)
	}
}

// grant hands out the free places.
func (t *Turns) grant() {
	for !t.paused && t.free > 0 {
		next := slices.IndexFunc(t.queue, func(s *share) bool { return s.has < t.most })
		if next < 0 {
			return
		}
		s := t.queue[next]
		t.queue = slices.Delete(t.queue, next, next+1)
		t.free--
		s.has++
		close(s.waiting.Remove(s.waiting.Front()).(chan struct{}))
		if s.waiting.Len() > 0 {
			t.queue = append(t.queue, s)
		}
	}
}

// leave ends the waiting of a caller, without the lock. It gives back the place if that
// came at the same moment.
func (t *Turns) leave(s *share, place *list.Element) {
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case <-place.Value.(chan struct{}):
		t.release(s)
		return
	default:
	}
	if s.waiting.Remove(place); s.waiting.Len() == 0 {
		i := slices.Index(t.queue, s)
		t.queue = slices.Delete(t.queue, i, i+1)
	}
	t.drop(s)
}
