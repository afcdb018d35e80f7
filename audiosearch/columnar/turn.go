package columnar

import (
	"context"

	"github.com/seed-6363c74e/mortise/internal/turns"
)

// Turn is a piece of work that may take long. The contexts that an audiosearch.Service
// hands to a store make organizations take turns. Once the work is no longer light, Step
// waits for a place on a processor. After a few milliseconds it gives the place to the
// next one and waits for another. Select and Rank do so by themselves.
//
// Take locks and connections before the work begins: whoever has a place must not wait for
// them, because their holder may be waiting for a place. A Turn is for one goroutine.
type Turn struct{ turn *turns.Turn }

// Begin begins a piece of work. With a context that is not a service's it never waits for
// a place. The error is the context's. Whoever has begun one must end it before they begin
// another, or call Select or Rank.
func Begin(ctx context.Context) (*Turn, error) {
	t, err := turns.Begin(ctx)
	if err != nil {
		return nil, err
	}
	return &Turn{t}, nil
}

// Step is called before or after each part of the work with the nanoseconds that the part
// takes, about. A part should take no more than 100 microseconds. The error is the
// context's: then the work is to end.
func (t *Turn) Step(nanoseconds int) error { return t.turn.Step(nanoseconds) }

// End gives the place back.
func (t *Turn) End() { t.turn.End() }
