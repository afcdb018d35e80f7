package main

import (
	"context"
	"errors"
	"sync"
	"time"
)

// How many pictures, and how many sounds, are made at a time. Each is a program at work.
const (
	allPlaces  = 3
	ownPlaces  = 2  // that one organization has at most
	ownWaiting = 32 // of one organization; a browser asks for six at a time
	placeWait  = 20 * time.Second
)

var (
	errCrowded = errors.New("too many of this organization wait already")
	errWaited  = errors.New("no place became free in time")
)

// places lets a few work at a time, and shares that out: no organization has all places,
// and those that wait for one get theirs in turn, however many of another organization
// came before.
type places struct {
	mu      sync.Mutex
	free    int
	held    map[string]int           // by organization
	waiting map[string][]*placeGrant // by organization, who came first in front; no list is empty
	turns   []string                 // the organizations in waiting, whose turn is next in front
}

// placeGrant is one that waits.
type placeGrant struct {
	granted chan struct{} // closed when it has its place
}

func newPlaces() *places {
	return &places{free: allPlaces, held: make(map[string]int), waiting: make(map[string][]*placeGrant)}
}

// take returns once an organization has a place, or an error: errCrowded, errWaited, or
// that of ctx. The place is to be given back.
func (p *places) take(ctx context.Context, organization string) error {
	p.mu.Lock()
	if len(p.waiting[organization]) >= ownWaiting {
		p.mu.Unlock()
		return errCrowded
	}
	grant := &placeGrant{granted: make(chan struct{})}
	if len(p.waiting[organization]) == 0 {
		p.turns = append(p.turns, organization)
	}
	p.waiting[organization] = append(p.waiting[organization], grant)
	p.shareOut()
	p.mu.Unlock()

	limit := time.NewTimer(placeWait)
	defer limit.Stop()
	select {
	case <-grant.granted:
		return nil
	case <-ctx.Done():
		return p.leave(organization, grant, ctx.Err())
	case <-limit.C:
		return p.leave(organization, grant, errWaited)
	}
}

// giveBack ends what take began.
func (p *places) giveBack(organization string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held[organization]--; p.held[organization] == 0 {
		delete(p.held, organization)
	}
	p.free++
	p.shareOut()
}

// shareOut gives free places to those whose turn it is. p.mu is locked.
func (p *places) shareOut() {
	for i := 0; i < len(p.turns) && p.free > 0; {
		organization := p.turns[i]
		if p.held[organization] >= ownPlaces {
			i++
			continue
		}
		first := p.waiting[organization][0]
		p.free--
		p.held[organization]++
		p.remove(organization, 0)
		if len(p.waiting[organization]) > 0 { // and now it is the turn of all others
			p.turns = append(append(p.turns[:i:i], p.turns[i+1:]...), organization)
		}
		close(first.granted)
		i = 0
	}
}

// leave is for one that waits no longer. If it got its place at the last moment it keeps
// it, and there is no error.
func (p *places) leave(organization string, grant *placeGrant, why error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, g := range p.waiting[organization] {
		if g == grant {
			p.remove(organization, i)
			return why
		}
	}
	return nil
}

// remove takes one out of those that wait, and its organization if it was the last one.
// p.mu is locked.
func (p *places) remove(organization string, i int) {
	list := p.waiting[organization]
	if list = append(list[:i:i], list[i+1:]...); len(list) > 0 {
		p.waiting[organization] = list
		return
	}
	delete(p.waiting, organization)
	for i, name := range p.turns {
		if name == organization {
			p.turns = append(p.turns[:i:i], p.turns[i+1:]...)
			return
		}
	}
}
