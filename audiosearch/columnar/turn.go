package columnar

import (
	"context"

	"github.com/seed-6363c74e/mortise/internal/turns"
)

// Turn is a piece of work that may take long. The contexts that [audiosearch.Service]
// hands to a store make organizations take turns: Step waits for a place on a processor
// once the work is no longer light, and after a few milliseconds it gives the place to
// the next one and waits for another. Select and Rank do so by themselves.
//
// Who has a place waits for nothing else: what they need, locks and connections, they
// have before. A Turn is for one goroutine.
type Turn struct{ turn *turns.Turn }

// Begin begins a piece of work. With a context that is not a service's it never waits.
// The error is the context's. It must not be called by who has begun another one.
func Begin(ctx context.Context) (*Turn, error) {
	t, err := turns.Begin(ctx)
	if err != nil {
		return nil, err
	}
	return &Turn{t}, nil
}

// Step is to be called before or after each part of the work, which should not be over
// 100 microseconds, with the nanoseconds that it takes, about. The error is the
// context's: then the work is to end.
func (t *Turn) Step(nanoseconds int) error { return t.turn.Step(nanoseconds) }

// End gives the place back.
func (t *Turn) End() { t.turn.End() }
