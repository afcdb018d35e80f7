package mortise

import (
	"context"
	"time"
)

// Tracer carries a trace across the queue of a domain, from the request that makes a job
// to the worker that does it. It is the host's, over OpenTelemetry, say. A panic of it is
// logged, and changes nothing.
type Tracer interface {
	// Inject writes the trace of ctx into the carrier, which is stored with the job: at
	// most 1 KiB of keys and values in all; more is dropped.
	Inject(ctx context.Context, carrier map[string]string)

	// Start begins a span that continues the carrier's trace. The function ends the span,
	// with the error of the work.
	Start(ctx context.Context, w Work, carrier map[string]string) (context.Context, func(error))
}

// Work is an attempt that a span is about. Its fields are attributes for a span, and but
// for Op and Kind too many for a metric.
type Work struct {
	Op           string // "trigger.process" or "audiosearch.run"
	Kind         string // of the job: "trigger" or "audiosearch"
	Organization string
	ID           string    // of the event or the run
	Attempt      int       // from 1
	Due          time.Time // when the attempt might have begun
}
