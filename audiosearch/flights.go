package audiosearch

import (
	"context"
	"errors"
	"sync"

	"github.com/seed-6363c74e/mortise/internal/watch"
)

// flights lets everybody who wants the same video scored wait for one and the same scoring.
// Unlike in a singleflight.Group, the work does not depend on who came first: it goes on as
// long as anybody waits, and ends when nobody does.
type flights struct {
	mu  sync.Mutex
	all map[flightKey]*flight
}

type flightKey struct {
	org, dataset, video, path, model string

	alone *ingestion // which nobody joins; nil: whoever comes
}

type flight struct {
	waiting int
	cancel  context.CancelCauseFunc
	gauge   *gauge
	done    chan struct{}
	outcome *outcome // once done is closed
	err     error    // the same
}

// errAbandoned is why a flight ends that nobody waits for.
var errAbandoned = errors.New("audiosearch: nobody waits for it any more")

// do returns what work returns. work runs once at a time for each key; its context has the
// values of the first caller. h follows the gauge of the first caller, which work keeps.
func (f *flights) do(
	ctx context.Context, key flightKey, h *hearing, g *gauge, work func(ctx context.Context) (*outcome, error),
) (o *outcome, err error) {
	f.mu.Lock()
	if f.all == nil {
		f.all = make(map[flightKey]*flight)
	}
	fl, ok := f.all[key]
	if !ok {
		running, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
		fl = &flight{cancel: cancel, gauge: g, done: make(chan struct{})}
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
			fl.outcome, fl.err = work(running)
		}()
	}
	fl.waiting++
	f.mu.Unlock()
	leave := h.join(fl.gauge)
	defer func() { leave(o, err) }()

	select {
	case <-fl.done:
		return fl.outcome, fl.err
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
		fl.cancel(errAbandoned)
		<-fl.done // work is watched, so it does not take for ever
	}
	return nil, context.Cause(ctx)
}
