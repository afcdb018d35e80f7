// Package flights has a video scored once for all who wait for it ([Group]), and tells them
// how far the scoring is ([Hearing]).
package flights

import (
	"context"
	"errors"
	"sync"

	"github.com/seed-6363c74e/mortise/internal/watch"
)

// Group does a piece of work once for all who wait for it. Unlike in a singleflight.Group,
// the work does not depend on who came first: it goes on as long as anybody waits, and
// ends when nobody does.
type Group[K comparable, V any] struct {
	mu  sync.Mutex
	all map[K]*flight[V]
}

type flight[V any] struct {
	waiting int
	cancel  context.CancelCauseFunc
	gauge   *Gauge
	done    chan struct{}
	result  V     // once done is closed
	err     error // the same
}

// ErrAbandoned is why work is cut off that nobody waits for any more.
var ErrAbandoned = errors.New("audiosearch: nobody waits for it any more")

// Do returns what work returns, or why ctx ended. work runs once at a time for each key,
// with the values of the first caller's context. When nobody waits any more, its own
// context ends with ErrAbandoned. join is called with the first caller's gauge, which that
// work sets. leave is told what this caller gets.
func (f *Group[K, V]) Do(
	ctx context.Context, key K, g *Gauge, join func(*Gauge) (leave func(V, error)),
	work func(ctx context.Context) (V, error),
) (v V, err error) {
	f.mu.Lock()
	if f.all == nil {
		f.all = make(map[K]*flight[V])
	}
	fl, ok := f.all[key]
	if !ok {
		running, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
		fl = &flight[V]{cancel: cancel, gauge: g, done: make(chan struct{})}
		f.all[key] = fl
		go func() {
			fl.err = watch.ErrGoexit
			defer func() {
				f.mu.Lock()
				if f.all[key] == fl {
					delete(f.all, key)
				}
				f.mu.Unlock()
				cancel(nil)
				close(fl.done)
			}()
			fl.result, fl.err = work(running)
		}()
	}
	fl.waiting++
	f.mu.Unlock()
	leave := join(fl.gauge)
	defer func() { leave(v, err) }()

	select {
	case <-fl.done:
		return fl.result, fl.err
	case <-ctx.Done():
	}
	f.mu.Lock()
	fl.waiting--
	last := fl.waiting == 0
	if last && f.all[key] == fl {
		delete(f.all, key) // who comes now must not wait for what is being cut off
	}
	f.mu.Unlock()
	if last {
		fl.cancel(ErrAbandoned)
		<-fl.done // work is watched, so it does not take for ever
	}
	return v, context.Cause(ctx)
}
