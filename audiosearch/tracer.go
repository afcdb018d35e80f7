package audiosearch

import "context"

// Tracer carries a trace from the request that starts a run to the worker that carries it
// out.
type Tracer interface {
	// Inject writes the trace of ctx into the carrier, at most 1 KiB in all; more is
	// dropped.
	Inject(ctx context.Context, carrier map[string]string)

	// Start begins a span that continues the carrier's trace. The function ends it, with
	// the error of what was done.
	Start(ctx context.Context, op string, carrier map[string]string) (context.Context, func(error))
}
