package leasequeue

import (
	"context"
	"sync"
	"time"
)

// Share tells the engine which organization a lease is of. Then, while one organization
// has all of several workers, Consume hands out one more job: one of another organization.
func (e *Engine[L]) Share(org func(L) string) *Engine[L] {
	e.org = org
	return e
}

func (e *Engine[L]) organization(l L) string {
	if e.org == nil {
		return ""
	}
	return e.org(l)
}

// holders counts how many workers each organization has.
type holders struct {
	workers int
	changed chan struct{} // holds a token if a count has changed

	mu    sync.Mutex
	busy  int
	byOrg map[string]int
}

func newHolders(workers int) *holders {
	return &holders{workers: workers, changed: make(chan struct{}, 1), byOrg: make(map[string]int)}
}

func (h *holders) add(org string, n int) {
	h.mu.Lock()
	h.busy += n
	if h.byOrg[org] += n; h.byOrg[org] == 0 {
		delete(h.byOrg, org)
	}
	h.mu.Unlock()
	signal(h.changed)
}

// only returns the organization that has all workers, if one has.
func (h *holders) only() (org string, all bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.busy == h.workers && len(h.byOrg) == 1 {
		for org := range h.byOrg {
			return org, true
		}
	}
	return "", false
}

// consumeOthers handles jobs of other organizations, one at a time, whenever one
// organization has all workers. It returns when ctx has ended.
func (e *Engine[L]) consumeOthers(ctx context.Context, held *holders, handle func(context.Context, L) Verdict) {
	for ctx.Err() == nil {
		poll := time.NewTimer(time.Hour)
		if org, all := held.only(); all {
			leases, until, err := e.claim(ctx, 1, org)
			if ctx.Err() != nil {
				e.giveBack(ctx, leases)
				return
			}
			if err == nil && len(leases) > 0 {
				e.handleOther(ctx, leases[0], until, handle)
				continue
			}
			poll.Reset(e.opts.Poll)
		}
		select {
		case <-ctx.Done():
		case <-held.changed:
		case <-e.more:
		case <-poll.C:
		}
		poll.Stop()
	}
}

// handleOther handles a job on a goroutine of its own, which the handler may end
// (runtime.Goexit).
func (e *Engine[L]) handleOther(ctx context.Context, l L, until time.Time, handle func(context.Context, L) Verdict) {
	var ended sync.WaitGroup
	ended.Go(func() {
		if v, held := e.handle(ctx, l, until, handle, true); held {
			_ = e.settle(context.WithoutCancel(ctx), l, v) // logged
		}
	})
	ended.Wait()
}
