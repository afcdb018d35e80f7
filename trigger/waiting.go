package trigger

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/seed-6363c74e/mortise/internal/failure"
)

// ErrTooManyWaiting: the organization has [Options].MaxWaiting events that wait for a worker.
// Submit again later.
var ErrTooManyWaiting = errors.New("trigger: too many events of the organization are waiting")

// waiting remembers how many more events each organization may submit before its waiting
// events are counted again. A count costs as much as there may be events, so a quarter of the
// free places is given out before the next one, within a second.
type waiting struct {
	mu   sync.Mutex
	orgs map[string]*allowance
}

// allowance is of one organization.
type allowance struct {
	mu        sync.Mutex // held while events are counted
	left      int        // -1: the count found no free place
	at        time.Time  // of the count
	submitted int        // events that are being stored, which a count may miss
}

const (
	// countFor is how long a count holds.
	countFor = time.Second

	// maxAllowances bounds the memory of waiting.
	maxAllowances = 10_000
)

func (w *waiting) of(org string) *allowance {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.orgs == nil || len(w.orgs) >= maxAllowances {
		w.orgs = make(map[string]*allowance)
	}
	if w.orgs[org] == nil {
		w.orgs[org] = new(allowance)
	}
	return w.orgs[org]
}

// mayWait returns ErrTooManyWaiting if n more events of the organization may not wait. stored
// is to be called when they are stored, or not.
func (s *Service) mayWait(ctx context.Context, org string, n int, now time.Time) (stored func(), err error) {
	if s.opts.MaxWaiting == 0 {
		return func() {}, nil
	}
	a := s.waiting.of(org)
	a.mu.Lock()
	defer a.mu.Unlock()
	if age := now.Sub(a.at).Abs(); age >= countFor || a.left >= 0 && a.left < n {
		counts, err := s.store.Counts(ctx, org, s.opts.MaxWaiting)
		if err != nil {
			return nil, failure.Unavailable("count waiting events", err)
		}
		free := s.opts.MaxWaiting - counts.Waiting.N - a.submitted
		if a.at, a.left = now, n+(free-n)/4; free < n {
			a.left = min(free-1, 0)
		}
	}
	if a.left < n {
		return nil, ErrTooManyWaiting
	}
	a.left -= n
	a.submitted += n
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.submitted -= n
	}, nil
}
