package main

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/seed-6363c74e/mortise/audiosearch"
)

// cutter makes an extract of a file, for a time in it.
type cutter = func(ctx context.Context, file string, at, to time.Duration) ([]byte, error)

const extractsBytes = 16 << 20 // that are kept in memory

// extracts has pictures or sounds made, a few at a time, and keeps the latest. Whoever
// asks for one that is being made waits for that one; when nobody waits any more, its
// program is ended.
type extracts struct {
	name string // in messages
	// Whether there is one for these times; bounds what can be asked for. to is 0 if a
	// request does not say it.
	has    func(scoring *audiosearch.Scoring, at, to time.Duration) bool
	cut    cutter
	places *places

	mu    sync.Mutex
	made  map[extractKey]*made // and being made
	kept  []extractKey         // that are there, in the order in which they came
	bytes int                  // of those
}

// extractKey names an extract: whose it is, and of what file. So nobody gets what was cut
// out of the file of another organization, even if the two were the same once, and a file
// that changes has other extracts.
type extractKey struct {
	organization, dataset, video string
	digest                       [32]byte // of the file as it was scored
	size, modified               int64    // likewise; the time in microseconds
	at, to                       time.Duration
}

// made is an extract, or is going to be one.
type made struct {
	wanted int // how many wait for it; one more at its end, when nobody can end it any more
	cancel context.CancelFunc

	done    chan struct{} // closed when the rest is set
	content []byte
	err     error
}

func newExtracts(name string, has func(*audiosearch.Scoring, time.Duration, time.Duration) bool, cut cutter) *extracts {
	return &extracts{name: name, has: has, cut: cut, places: newPlaces(), made: make(map[extractKey]*made)}
}

// get returns one that is kept, or has it made and keeps it. It returns when ctx ends,
// whatever cut does.
func (e *extracts) get(ctx context.Context, key extractKey, cut func(context.Context) ([]byte, error)) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	e.mu.Lock()
	m, ok := e.made[key]
	if !ok {
		m = &made{done: make(chan struct{})}
		var shared context.Context
		shared, m.cancel = context.WithCancel(context.WithoutCancel(ctx))
		e.made[key] = m
		go func() {
			defer m.cancel()
			m.content, m.err = e.inPlace(shared, key.organization, cut)
			e.keep(key, m)
			close(m.done)
		}()
	}
	m.wanted++
	e.mu.Unlock()

	select {
	case <-m.done:
		return m.content, m.err
	case <-ctx.Done():
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if m.wanted--; m.wanted == 0 {
		m.cancel()
		delete(e.made, key) // who comes now wants one that is not about to end
	}
	return nil, ctx.Err()
}

// inPlace calls cut when the organization has a place.
func (e *extracts) inPlace(ctx context.Context, organization string, cut func(context.Context) ([]byte, error)) (content []byte, err error) {
	giveBack, err := e.places.take(ctx, organization)
	if err != nil {
		return nil, err
	}
	defer giveBack()
	defer func() {
		// net/http recovers panics on the goroutine of a request only.
		if p := recover(); p != nil {
			content, err = nil, fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return cut(ctx)
}

// keep keeps what was made, in the place of the oldest if there is no room. After a failure
// the next one who asks begins anew.
func (e *extracts) keep(key extractKey, m *made) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.made[key] != m { // all have left
		return
	}
	if m.wanted++; m.err != nil {
		delete(e.made, key)
		return
	}
	e.kept = append(e.kept, key)
	for e.bytes += len(m.content); e.bytes > extractsBytes; e.kept = e.kept[1:] {
		e.bytes -= len(e.made[e.kept[0]].content)
		delete(e.made, e.kept[0])
	}
}

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
// and no more than a few of each stand in the line for them, so that a long line of one
// does not hold up the others.
type places struct {
	all *semaphore.Weighted

	mu  sync.Mutex
	own map[string]*ownLine // by organization, as long as it has or wants a place
}

// ownLine is where those of one organization wait until they may stand in the line of all.
type ownLine struct {
	*semaphore.Weighted
	length int // with those who are served
}

func newPlaces() *places {
	return &places{all: semaphore.NewWeighted(allPlaces), own: make(map[string]*ownLine)}
}

// take returns once an organization has a place, or an error: errCrowded, errWaited, or
// that of ctx. The place is to be given back.
func (p *places) take(ctx context.Context, organization string) (giveBack func(), err error) {
	p.mu.Lock()
	own := p.own[organization]
	if own == nil {
		own = &ownLine{Weighted: semaphore.NewWeighted(ownPlaces)}
		p.own[organization] = own
	}
	if own.length >= ownPlaces+ownWaiting {
		p.mu.Unlock()
		return nil, errCrowded
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

	limited, cancel := context.WithTimeoutCause(ctx, placeWait, errWaited)
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
