package trigger

import (
	"sync"
	"time"
)

// places are the attempts that each organization has running.
type places struct {
	mu    sync.Mutex
	taken map[string]int
}

// placeWait is the longest wait of a job whose organization has no free place.
const placeWait = 30 * time.Second

// enter takes a place for an organization that may have most of them, and reports whether one
// was free. 0: no bound. leave gives the place back, once.
func (p *places) enter(org string, most int) (leave func(), placed bool) {
	if most <= 0 {
		return func() {}, true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken[org] >= most {
		return func() {}, false
	}
	if p.taken == nil {
		p.taken = make(map[string]int)
	}
	p.taken[org]++
	return sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.taken[org]--; p.taken[org] == 0 {
			delete(p.taken, org)
		}
	}), true
}
