package turns

import (
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

// Take waits for a place. Who has one must end it.
func (s *Turns) Take(ctx context.Context, org string) (*Place, error) {
	p := &Place{turns: s, org: org}
	s.mu.Lock()
	if s.free > 0 {
		s.free--
		p.held, p.since = true, time.Now()
		s.mu.Unlock()
		return p, nil
	}
	place, l := make(chan struct{}), s.lineOf(org)
	l.waiting = append(l.waiting, place)
	s.mu.Unlock()
	return p, p.wait(ctx, place)
}

// GiveWay lets another organization have the place if one waits, and the place is held for
// that long at least. Then it waits for the next turn of its own organization, in which it
// comes first: what is begun is finished before other work of the same one begins.
func (p *Place) GiveWay(ctx context.Context, least time.Duration) error {
	s := p.turns
	s.mu.Lock()
	isOurs := func(l *line) bool { return l.org == p.org }
	ours := slices.IndexFunc(s.lines, isOurs)
	others := len(s.lines)
	if ours >= 0 {
		others--
	}
	if !p.held || others == 0 || time.Since(p.since) < least {
		s.mu.Unlock()
		return nil
	}
	if ours >= 0 { // it has its turn now
		l := s.lines[ours]
		s.lines = append(slices.Delete(s.lines, ours, ours+1), l)
	}
	place, l := make(chan struct{}), s.lineOf(p.org)
	l.waiting = slices.Insert(l.waiting, 0, place)
	p.held = false
	s.give()
	s.mu.Unlock()
	return p.wait(ctx, place)
}

// wait waits until it is given a place.
func (p *Place) wait(ctx context.Context, place chan struct{}) error {
	select {
	case <-place:
	case <-ctx.Done():
		p.turns.leave(p.org, place)
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
		p.turns.give()
	}
}
