package excerpt

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"
)

// kept has excerpts made, each once, and keeps the latest.
type kept struct {
	most   int // bytes
	places *Places

	mu    sync.Mutex
	made  map[name]*made // and being made
	order []name         // of those that are there, as they came
	bytes int            // of those
}

// name names an excerpt: whose it is, and of what file. So nobody gets what was cut out
// of the file of another organization, even if the two were the same once, and a file
// that changes has other excerpts.
type name struct {
	organization, dataset, video string
	digest                       [32]byte // of the file as it was scored
	size, modified               int64    // likewise; the time in microseconds
	from, to                     time.Duration
}

// made is an excerpt, or is going to be one.
type made struct {
	wanted int // how many wait for it; one more at its end, when nobody can end it any more
	cancel context.CancelFunc

	done    chan struct{} // closed when the rest is set
	content []byte
	err     error
}

func newKept(most int, places *Places) *kept {
	return &kept{most: most, places: places, made: make(map[name]*made)}
}

// get returns one that is kept, or has it made and keeps it. It returns when ctx ends,
// whatever cut does.
func (k *kept) get(ctx context.Context, key name, cut func(context.Context) ([]byte, error)) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	k.mu.Lock()
	m, ok := k.made[key]
	if !ok {
		m = &made{done: make(chan struct{})}
		var shared context.Context
		shared, m.cancel = context.WithCancel(context.WithoutCancel(ctx))
		k.made[key] = m
		go func() {
			defer m.cancel()
			m.content, m.err = k.inPlace(shared, key.organization, cut)
			k.keep(key, m)
			close(m.done)
		}()
	}
	m.wanted++
	k.mu.Unlock()

	select {
	case <-m.done:
		return m.content, m.err
	case <-ctx.Done():
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if m.wanted--; m.wanted == 0 {
		m.cancel()
		delete(k.made, key) // who comes now wants one that is not about to end
	}
	return nil, ctx.Err()
}

// inPlace calls cut when the organization has a place.
func (k *kept) inPlace(
	ctx context.Context, organization string, cut func(context.Context) ([]byte, error),
) (content []byte, err error) {
	giveBack, err := k.places.Take(ctx, organization)
	if err != nil {
		return nil, err
	}
	defer giveBack()
	defer func() {
		// A host recovers panics on the goroutines that it has begun only.
		if p := recover(); p != nil {
			content, err = nil, fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return cut(ctx)
}

// keep keeps what was made, in the place of the oldest if there is no room. After a
// failure the next one who asks begins anew.
func (k *kept) keep(key name, m *made) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.made[key] != m { // all have left
		return
	}
	if m.wanted++; m.err != nil {
		delete(k.made, key)
		return
	}
	k.order = append(k.order, key)
	for k.bytes += len(m.content); k.bytes > k.most; k.order = k.order[1:] {
		k.bytes -= len(k.made[k.order[0]].content)
		delete(k.made, k.order[0])
	}
}
