package audiosearchdb

import (
	"context"
	"slices"
	"sync"
)

// viewLock lets readers in together and a writer alone, in the order in which they come.
// Whoever waits for it leaves when their context ends.
type viewLock struct {
	mu      sync.Mutex
	readers int
	writing bool
	waiting []*viewWaiter
}

type viewWaiter struct {
	writes bool
	in     chan struct{} // closed when it is let in
}

// lock waits until the caller is let in. The caller calls unlock, unless there is an error.
func (l *viewLock) lock(ctx context.Context, writes bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w := &viewWaiter{writes, make(chan struct{})}
	l.mu.Lock()
	l.waiting = append(l.waiting, w)
	l.admit()
	l.mu.Unlock()
	select {
	case <-w.in:
		return nil
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-w.in: // in the same moment
		l.release()
	default:
		l.waiting = slices.DeleteFunc(l.waiting, func(other *viewWaiter) bool { return other == w })
		l.admit()
	}
	return ctx.Err()
}

func (l *viewLock) unlock() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.release()
}

// share makes a reader of the writer, and so lets in the readers who are next.
func (l *viewLock) share() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writing = false
	l.readers++
	l.admit()
}

func (l *viewLock) release() {
	if l.writing {
		l.writing = false
	} else {
		l.readers--
	}
	l.admit()
}

// admit lets in who is next.
func (l *viewLock) admit() {
	for len(l.waiting) > 0 && !l.writing && !(l.waiting[0].writes && l.readers > 0) {
		w := l.waiting[0]
		l.waiting = l.waiting[1:]
		if l.writing = w.writes; !w.writes {
			l.readers++
		}
		close(w.in)
	}
}
