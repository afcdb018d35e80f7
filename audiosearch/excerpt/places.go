package excerpt

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// How many excerpts are made at a time. Each may be a program at work.
const (
	allPlaces  = 3
	ownPlaces  = 2  // that one organization has at most
	ownWaiting = 32 // of one organization; a browser asks for six at a time
	placeWait  = 20 * time.Second
)

// Why there is no place.
var (
	ErrCrowded = errors.New("excerpt: too many of this organization wait already")
	ErrWaited  = errors.New("excerpt: no place became free in time")
)

// Places lets three work at a time, and shares that out between organizations: none has
// more than two places, and no more than two of each stand in the line for them, so
// that a long line of one does not hold up the others. It is safe for concurrent use.
type Places struct {
	all *semaphore.Weighted

	mu  sync.Mutex
	own map[string]*ownLine // by organization, as long as it has or wants a place
}

// ownLine is where those of one organization wait until they may stand in the line of
// all.
type ownLine struct {
	*semaphore.Weighted
	length int // with those who are served
}

// NewPlaces returns places that are free. Several Makers may share them, and whatever
// else of a host must not be done too often at a time.
func NewPlaces() *Places {
	return &Places{all: semaphore.NewWeighted(allPlaces), own: make(map[string]*ownLine)}
}

// Take returns once an organization has a place, which is to be given back, once. The
// error is [ErrCrowded] if 32 of the organization wait, [ErrWaited] after 20 s, or that
// of ctx.
func (p *Places) Take(ctx context.Context, organization string) (giveBack func(), err error) {
	p.mu.Lock()
	own := p.own[organization]
	if own == nil {
		own = &ownLine{Weighted: semaphore.NewWeighted(ownPlaces)}
		p.own[organization] = own
	}
	if own.length >= ownPlaces+ownWaiting {
		p.mu.Unlock()
		return nil, ErrCrowded
	}
	own.length++
	p.mu.Unlock()
	leave := func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if own.length--; own.length == 0 {
			delete(p.own, organization)
		}
	}

	limited, cancel := context.WithTimeoutCause(ctx, placeWait, ErrWaited)
	defer cancel()
	if own.Acquire(limited, 1) != nil {
		leave()
		return nil, context.Cause(limited)
	}
	if p.all.Acquire(limited, 1) != nil {
		own.Release(1)
		leave()
		return nil, context.Cause(limited)
	}
	return func() {
		p.all.Release(1)
		own.Release(1)
		leave()
	}, nil
}
