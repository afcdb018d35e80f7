// Package fake is what the fakes of all domains have in common: parts that can be broken,
// a record of what their services did, and trails of all organizations.
package fake

import (
	"context"
	"slices"
	"sync"
)

// Parts are the parts of a fake that are broken. The zero value has none. It is safe for
// concurrent use.
type Parts[P ~string] struct {
	mu     sync.Mutex
	broken map[P]int // how often
}

// Break makes a part broken until heal is called. A part that was broken twice must be
// healed twice.
func (p *Parts[P]) Break(part P) (heal func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.broken == nil {
		p.broken = make(map[P]int)
	}
	p.broken[part]++
	return sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.broken[part]--
	})
}

// Broken reports whether a part is broken.
func (p *Parts[P]) Broken(part P) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.broken[part] > 0
}

// Record keeps what an observer hears. The zero value is empty. It is safe for concurrent
// use.
type Record[O any] struct {
	mu    sync.Mutex
	heard []O
}

// Observer returns an observer that keeps what it hears and passes it on to next, if that
// is not nil.
func (r *Record[O]) Observer(next func(ctx context.Context, o O)) func(ctx context.Context, o O) {
	return func(ctx context.Context, o O) {
		r.mu.Lock()
		r.heard = append(r.heard, o)
		r.mu.Unlock()
		if next != nil {
			next(ctx, o)
		}
	}
}

// All returns what was heard, in order.
func (r *Record[O]) All() []O {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.heard)
}

// Trail returns what list returns of all organizations that something was heard of, in the
// order of compare. An organization whose list fails is left out.
func Trail[O, E any](r *Record[O], organization func(O) string,
	list func(organization string) ([]E, error), compare func(a, b E) int) (trail []E) {
	listed := make(map[string]bool)
	for _, o := range r.All() {
		org := organization(o)
		if listed[org] {
			continue
		}
		listed[org] = true
		if events, err := list(org); err == nil {
			trail = append(trail, events...)
		}
	}
	slices.SortStableFunc(trail, compare)
	return trail
}
