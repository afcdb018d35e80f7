package main

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"
)

const extractsBytes = 16 << 20 // that are kept in memory

// extracts has pictures or sounds made, a few at a time, and keeps the latest. Whoever
// asks for one that is being made waits for that one; when nobody waits any more, its
// program is ended.
type extracts struct {
	places *places

	mu     sync.Mutex
	making map[extractKey]*making
	kept   map[extractKey][]byte
	order  []extractKey // in which they came
	bytes  int
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

// making is an extract that is not there yet.
type making struct {
	wanted int // how many wait for it
	cancel context.CancelFunc

	done    chan struct{} // closed when the rest is set
	content []byte
	err     error
}

func newExtracts() *extracts {
	return &extracts{places: newPlaces(), making: make(map[extractKey]*making), kept: make(map[extractKey][]byte)}
}

// get returns one that is kept, or has it made and keeps it. It returns when ctx ends,
// whatever cut does.
func (e *extracts) get(ctx context.Context, key extractKey, cut func(context.Context) ([]byte, error)) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	e.mu.Lock()
	if content, ok := e.kept[key]; ok {
		e.mu.Unlock()
		return content, nil
	}
	m, ok := e.making[key]
	if !ok {
		m = e.begin(context.WithoutCancel(ctx), key, cut)
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
		e.forget(key, m) // who comes now wants one that is not about to end
	}
	return nil, ctx.Err()
}

// begin starts to make one, for whoever waits for it. e.mu is locked.
func (e *extracts) begin(ctx context.Context, key extractKey, cut func(context.Context) ([]byte, error)) *making {
	ctx, cancel := context.WithCancel(ctx)
	m := &making{cancel: cancel, done: make(chan struct{})}
	e.making[key] = m
	go func() {
		defer cancel()
		content, err := e.inPlace(ctx, key.organization, cut)
		e.mu.Lock()
		defer e.mu.Unlock()
		if err == nil {
			e.keep(key, content)
		}
		e.forget(key, m)
		m.content, m.err = content, err
		close(m.done)
	}()
	return m
}

// inPlace calls cut when the organization has a place.
func (e *extracts) inPlace(ctx context.Context, organization string, cut func(context.Context) ([]byte, error)) (content []byte, err error) {
	if err := e.places.take(ctx, organization); err != nil {
		return nil, err
	}
	defer e.places.giveBack(organization)
	defer func() {
		// net/http recovers panics on the goroutine of a request only.
		if p := recover(); p != nil {
			content, err = nil, fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return cut(ctx)
}

// forget lets the next one who asks begin anew. e.mu is locked.
func (e *extracts) forget(key extractKey, m *making) {
	if e.making[key] == m {
		delete(e.making, key)
	}
}

// keep stores one, in the place of the oldest if there is no room. e.mu is locked.
func (e *extracts) keep(key extractKey, content []byte) {
	if _, ok := e.kept[key]; ok {
		return
	}
	e.kept[key] = content
	e.order = append(e.order, key)
	e.bytes += len(content)
	for e.bytes > extractsBytes {
		oldest := e.order[0]
		e.order = e.order[1:]
		e.bytes -= len(e.kept[oldest])
		delete(e.kept, oldest)
	}
}
