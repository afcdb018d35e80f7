package postgres

import (
	"context"
	"sync"
)

// places keeps one organization from having all connections of the pool: it has half of
// them at a time at most, the rest of its calls wait here. Those that have a place queue at
// the pool, which serves them in the order in which they come. So how long an organization
// waits depends on how many others ask, and not on how much they ask.
type places struct {
	most int // of an organization

	mu   sync.Mutex
	orgs map[string]*place
}

// place is what an organization has.
type place struct {
	slots chan struct{}
	users int // that have a slot or wait for one
}

func newPlaces(conns int) *places {
	return &places{most: max(1, conns/2), orgs: make(map[string]*place)}
}

// take waits for a place. The caller gives it back, unless there is an error: ctx's cause,
// or ErrClosed if ended is closed. Maintenance, which belongs to no organization, takes
// places as an organization does.
func (p *places) take(ctx context.Context, ended <-chan struct{}, org string) error {
	p.mu.Lock()
	o := p.orgs[org]
	if o == nil {
		o = &place{slots: make(chan struct{}, p.most)}
		p.orgs[org] = o
	}
	o.users++
	p.mu.Unlock()
	err := error(ErrClosed)
	select {
	case o.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-ended:
	}
	p.leave(org, o)
	return err
}

func (p *places) give(org string) {
	p.mu.Lock()
	o := p.orgs[org]
	p.mu.Unlock()
	<-o.slots
	p.leave(org, o)
}

func (p *places) leave(org string, o *place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if o.users--; o.users == 0 {
		delete(p.orgs, org)
	}
}
