package mutate

import (
	"context"
	"reflect"
	"sync"
)

// Hosted gives a backend of functions transactions of a host's, which those that mutants are
// made of do not have: a transaction has a backend of its own, on which everything was
// repeated that was called so far. Its calls are repeated when it is committed. It is for a
// few calls of methods that do not end their goroutines.
type Hosted struct {
	mu    sync.Mutex
	calls []func(backend any) // so far
}

type (
	hostedKey struct{}
	hostedTx  struct {
		backend any
		calls   []func(backend any)
		after   []func(context.Context)
	}
)

func hostedTxOf(ctx context.Context) *hostedTx {
	tx, _ := ctx.Value(hostedKey{}).(*hostedTx)
	return tx
}

// Go is c.Go, or the same within a transaction.
func (h *Hosted) Go(c *Call) {
	call := func(backend any) []reflect.Value { return reflect.ValueOf(backend).MethodByName(c.Method).Call(c.In) }
	again := func(backend any) { call(backend) }
	tx := hostedTxOf(*Get[context.Context](c.In))
	if tx == nil {
		h.mu.Lock()
		h.calls = append(h.calls, again)
		h.mu.Unlock()
		c.Go()
		return
	}
	tx.calls = append(tx.calls, again)
	for i, result := range call(tx.backend) {
		c.Out[i].Set(result)
	}
}

// InTx calls do in a transaction, and commits it to backend if do returns nil. empty is a
// backend without anything.
func (h *Hosted) InTx(ctx context.Context, backend, empty any, do func(ctx context.Context) error) error {
	tx := &hostedTx{backend: empty}
	h.mu.Lock()
	for _, again := range h.calls {
		again(empty)
	}
	h.mu.Unlock()
	if err := do(context.WithValue(ctx, hostedKey{}, tx)); err != nil {
		return err
	}
	for _, again := range tx.calls {
		again(backend)
	}
	h.mu.Lock()
	h.calls = append(h.calls, tx.calls...)
	h.mu.Unlock()
	for _, f := range tx.after {
		f(ctx)
	}
	return nil
}

// AfterCommit implements mortise.HostTx.
func (h *Hosted) AfterCommit(ctx context.Context, f func(ctx context.Context)) bool {
	tx := hostedTxOf(ctx)
	if tx != nil && f != nil {
		tx.after = append(tx.after, f)
	}
	return tx != nil
}
