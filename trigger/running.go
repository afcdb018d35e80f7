package trigger

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise/internal/failure"
)

// running are the attempts that run in this process. While there are any, a goroutine asks
// the store every so often whether their events have ended: it needs no help of a queue.
type running struct {
	mu       sync.Mutex
	attempts map[*attempt]bool
	stop     func() // ends the goroutine; nil: none runs
}

// attempt is one that runs.
type attempt struct {
	event      uuid.UUID
	generation int
	cancel     context.CancelCauseFunc
}

// askEvery is how often the store is asked about the running attempts, and askAtOnce about
// how many at a time.
const (
	askEvery  = 5 * time.Second
	askAtOnce = 1000
)

// watch has the context of an attempt end with ErrCancelled when the event is cancelled, until
// done is called.
func (s *Service) watch(event uuid.UUID, generation int, cancel context.CancelCauseFunc) (done func()) {
	r, a := &s.running, &attempt{event, generation, cancel}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.attempts[a] = true
	if r.stop == nil {
		ctx, stop := context.WithCancel(context.Background())
		r.stop = stop
		go s.askAgain(ctx)
	}
	return func() { r.remove(a) }
}

func (r *running) remove(a *attempt) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if delete(r.attempts, a); len(r.attempts) == 0 {
		r.stop()
		r.stop = nil
	}
}

// end ends the attempts that are not wanted any more.
func (r *running) end(unwanted func(*attempt) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for a := range r.attempts {
		if unwanted(a) {
			a.cancel(ErrCancelled)
		}
	}
}

// askAgain asks until ctx ends.
func (s *Service) askAgain(ctx context.Context) {
	ticker := time.NewTicker(askEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if err := s.askStore(ctx); err != nil && ctx.Err() == nil {
			s.opts.Logger.WarnContext(ctx, "cannot see whether running events were cancelled; asking again",
				"in", askEvery.String(), "error", err)
		}
	}
}

// askStore ends the running attempts whose events have ended, or wait as a new generation.
func (s *Service) askStore(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, askEvery)
	defer cancel()
	var ids []uuid.UUID
	s.running.mu.Lock()
	for a := range s.running.attempts {
		ids = append(ids, a.event)
	}
	s.running.mu.Unlock()
	for len(ids) > 0 {
		n := min(len(ids), askAtOnce)
		found, err := s.store.Progress(ctx, ids[:n])
		if err != nil {
			return failure.Unavailable("read the progress of events", err)
		}
		s.running.end(func(a *attempt) bool {
			p, ok := found[a.event]
			return ok && (p.Generation > a.generation || p.Generation == a.generation && p.Status == StatusCancelled)
		})
		ids = ids[n:]
	}
	return nil
}
