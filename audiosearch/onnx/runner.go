package onnx

import (
	"context"
	"errors"
	"sync"

	"github.com/seed-6363c74e/mortise/audiosearch/inference"
)

// errClosed is the error of a run after Close.
var errClosed = errors.New("onnx: the scorer is closed")

// runner runs a session, so many times at once. It implements [inference.Runner].
type runner struct {
	network *inference.Network
	session *session
	slots   chan struct{} // as many as there may be runs; who has put one in may run
	closing chan struct{}
	close   func() error
}

func newRunner(n *inference.Network, s *session, parallel int) *runner {
	r := &runner{network: n, session: s, slots: make(chan struct{}, parallel), closing: make(chan struct{})}
	r.close = sync.OnceValue(func() error {
		close(r.closing)
		for range cap(r.slots) { // and keep them: nothing runs any more
			r.slots <- struct{}{}
		}
		return s.destroy()
	})
	return r
}

// Run implements [inference.Runner].
func (r *runner) Run(ctx context.Context, clips int, input, output []float32) error {
	select {
	case <-r.closing:
		return errClosed
	default:
	}
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-r.closing:
		return errClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return r.session.run(ctx, r.network.InputShape(clips), input, r.network.OutputShape(clips), output)
}
