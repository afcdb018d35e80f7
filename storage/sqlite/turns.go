package sqlite

import (
	"container/list"
	"context"
	"slices"
	"sync"
	"time"
)

// turns shares a number of places among organizations, so that what one of them asks for
// does not hold up the others. An organization has at most all places but one. The last
// one is for the others, who then need not wait for its queries to end. (If there is a
// single place, anybody may have it.) A caller who finds no place waits. A place that
// becomes free goes to the organization that has the fewest places; among equals, to the
// one that has waited for its turn longest; and there to the caller who came first. So how
// long an organization waits depends on how many others ask, and not on how much they ask.
//
// Any number of callers may wait. They are goroutines of the host's, which bounds them,
// and their contexts end the waiting.
//
// What belongs to no organization takes turns as an organization does, see noOrg.
type turns struct {
	mu     sync.Mutex
	places int
	free   int
	paused bool
	empty  chan struct{}     // of a pause: closed when all places are free
	shares map[string]*share // of the organizations that have a place, or wait for one
	queue  []*share          // of those that wait, the one whose turn is longest due first
}

// noOrg stands in place of an organization for maintenance, and for lookups by the digest
// of a secret.
const noOrg = ""

// share is what an organization has of the places.
type share struct {
	org     string
	has     int
	waiting list.List // of chan struct{}, in the order of arrival; each is closed when the caller has a place
}

func newTurns(places int) *turns {
	return &turns{places: places, free: places, shares: make(map[string]*share)}
}

// most is how many places one organization can have.
func (t *turns) most() int { return max(1, t.places-1) }

// take waits for a place. The caller gives it back, unless there is an error: ctx's, or
// ErrClosed if ended is closed.
func (t *turns) take(ctx context.Context, ended <-chan struct{}, org string) error {
	t.mu.Lock()
	s := t.shares[org]
	if s == nil {
		s = &share{org: org}
		t.shares[org] = s
	}
	// Nobody is passed by: if others wait although a place is free, they have as many as
	// they may have.
	if !t.paused && t.free > 0 && s.has < t.most() {
		t.free--
		s.has++
		t.mu.Unlock()
		return nil
	}
	granted := make(chan struct{})
	place := s.waiting.PushBack(granted)
	if s.waiting.Len() == 1 {
		t.queue = append(t.queue, s)
	}
	t.mu.Unlock()
	err := error(ErrClosed)
	select {
	case <-granted:
		return nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-ended:
	}
	t.leave(s, place)
	return err
}

// leave ends the waiting of a caller, and gives back the place if it came at the same
// moment.
func (t *turns) leave(s *share, place *list.Element) {
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

// give gives a place back.
func (t *turns) give(org string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.release(t.shares[org])
}

func (t *turns) release(s *share) {
	s.has--
	t.free++
	t.drop(s)
	if t.paused && t.free == t.places {
		close(t.empty)
	}
	t.grant()
}

// drop forgets an organization that has nothing and waits for nothing.
func (t *turns) drop(s *share) {
	if s.has == 0 && s.waiting.Len() == 0 {
		delete(t.shares, s.org)
	}
}

// grant hands out what is free.
func (t *turns) grant() {
	for !t.paused && t.free > 0 {
		next := -1
		for i, s := range t.queue {
			if s.has < t.most() && (next < 0 || s.has < t.queue[next].has) {
				if next = i; s.has == 0 { // none can have fewer
					break
				}
			}
		}
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

// pause hands out no more places and waits until nobody has one. It reports false, and the
// pause is over, if one of the channels, which may be nil, is ready before that. Otherwise
// resume ends the pause. One caller at a time may pause.
func (t *turns) pause(deadline <-chan time.Time, stop <-chan struct{}) bool {
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
	t.resume()
	return false
}

// resume ends a pause.
func (t *turns) resume() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.paused = false
	t.grant()
}
