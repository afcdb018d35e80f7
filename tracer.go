package mortise

import "context"

// Tracer carries a trace across the queue of a domain, from the request that makes a job
// to the worker that does it. It is the host's, over OpenTelemetry, say. A panic of it is
// logged, and changes nothing.
type Tracer interface {
	// Inject writes the trace of ctx into the carrier, which is stored with the job: at
	// most 1 KiB of keys and values in all; more is dropped.
	Inject(ctx context.Context, carrier map[string]string)

	// Start begins a span that continues the carrier's trace. op names what is done:
	// "trigger.process", "audiosearch.run". The function ends the span, with the error of
	// what was done.
	Start(ctx context.Context, op string, carrier map[string]string) (context.Context, func(error))
}
