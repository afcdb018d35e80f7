package turns

import (
	"container/list"
	"context"
	"slices"
	"time"
)

// Place is a place that is held for long, for hours perhaps. It is given away in between
// only to other organizations. It is safe for concurrent use.
type Place struct {
	turns *Turns
	org   string

	// Under the lock of turns.
	held, ended bool
	since       time.Time
}

// Hold waits for a place. The caller ends it, also after an error.
func (t *Turns) Hold(ctx context.Context, org string) (*Place, error) {
	p := &Place{turns: t, org: org}
	t.mu.Lock()
	s := t.shareOf(org)
	if t.takeNow(s) {
		p.held, p.since = true, time.Now()
		t.mu.Unlock()
		return p, nil
	}
	place := t.enqueue(s, false)
	t.mu.Unlock()
	return p, p.wait(ctx, s, place)
}

// GiveWay lets another organization have the place if one waits, and the place is held for
// that long at least. Then it waits for the next turn of its own organization, in which it
// comes first: work that has begun is finished before other work of the organization
// begins.
func (p *Place) GiveWay(ctx context.Context, least time.Duration) error {
	t := p.turns
	t.mu.Lock()
	others := slices.ContainsFunc(t.queue, func(s *share) bool { return s.org != p.org })
	if !p.held || !others || time.Since(p.since) < least {
		t.mu.Unlock()
		return nil
	}
	s := t.shares[p.org]
	if i := slices.Index(t.queue, s); i >= 0 { // it has its turn now
		t.queue = append(slices.Delete(t.queue, i, i+1), s)
	}
	place := t.enqueue(s, true)
	p.held = false
	t.release(s)
	t.mu.Unlock()
	return p.wait(ctx, s, place)
}

// wait waits until it is given a place.
func (p *Place) wait(ctx context.Context, s *share, place *list.Element) error {
	select {
	case <-place.Value.(chan struct{}):
	case <-ctx.Done():
		p.turns.leave(s, place)
		return context.Cause(ctx)
	}
	p.turns.mu.Lock()
	defer p.turns.mu.Unlock()
	p.held, p.since = true, time.Now()
	if p.ended {
		p.end()
	}
	return nil
}

// End gives the place back. It may be called more than once.
func (p *Place) End() {
	p.turns.mu.Lock()
	defer p.turns.mu.Unlock()
	p.end()
}

func (p *Place) end() {
	if p.ended = true; p.held {
		p.held = false
		p.turns.release(p.turns.shares[p.org])
	}
}
