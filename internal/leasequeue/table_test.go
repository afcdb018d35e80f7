package leasequeue_test

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"
)

var (
	errLost  = errors.New("lost")
	errTable = errors.New("the table fails")
)

// lease is a claimed job of table.
type lease struct {
	job   string
	token uuid.UUID
}

// table is the plainest Table. Jobs are claimed in the order of their adding.
type table struct {
	mu    sync.Mutex
	order []string
	at    map[string]time.Time // when each job is claimable
	token map[string]uuid.UUID
	dead  []string
	calls []string
	fail  map[string]error // by method
}

func newTable(jobs ...string) *table {
	tb := &table{at: make(map[string]time.Time), token: make(map[string]uuid.UUID), fail: make(map[string]error)}
	for _, job := range jobs {
		tb.add(job)
	}
	return tb
}

func (tb *table) add(job string) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	tb.order = append(tb.order, job)
	tb.at[job] = time.Now().Truncate(time.Microsecond) // as the engine counts
}

// set makes a method fail, or not.
func (tb *table) set(method string, err error) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	tb.fail[method] = err
}

// steal gives a job to somebody else.
func (tb *table) steal(job string) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	tb.token[job] = uuid.New()
}

func (tb *table) count(method string) (n int) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	for _, call := range tb.calls {
		if call == method {
			n++
		}
	}
	return n
}

func (tb *table) left() int {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	return len(tb.at)
}

func (tb *table) Claim(ctx context.Context, token uuid.UUID, now, until time.Time, limit int, except ...string) (claimed []lease, err error) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	tb.calls = append(tb.calls, "Claim")
	if err := errors.Join(ctx.Err(), tb.fail["Claim"]); err != nil {
		return nil, err
	}
	for _, job := range tb.order {
		if at, ok := tb.at[job]; ok && len(claimed) < limit && !at.After(now) {
			tb.at[job], tb.token[job] = until, token
			claimed = append(claimed, lease{job, token})
		}
	}
	return claimed, nil
}

func (tb *table) held(ctx context.Context, method string, l lease, do func()) error {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	tb.calls = append(tb.calls, method)
	if err := errors.Join(ctx.Err(), tb.fail[method]); err != nil {
		return err
	}
	if _, ok := tb.at[l.job]; !ok || tb.token[l.job] != l.token {
		return errLost
	}
	do()
	return nil
}

func (tb *table) Extend(ctx context.Context, l lease, until time.Time) error {
	return tb.held(ctx, "Extend", l, func() { tb.at[l.job] = until })
}

func (tb *table) Release(ctx context.Context, l lease, at time.Time) error {
	return tb.held(ctx, "Release", l, func() { tb.at[l.job], tb.token[l.job] = at, uuid.Nil })
}

func (tb *table) Remove(ctx context.Context, l lease, dead bool) error {
	return tb.held(ctx, "Remove", l, func() {
		delete(tb.at, l.job)
		if dead {
			tb.dead = append(tb.dead, l.job)
		}
	})
}
