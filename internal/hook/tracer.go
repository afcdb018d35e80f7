package hook

import (
	"context"
	"log/slog"
)

// Tracer has the methods of the domains' Tracer interfaces.
type Tracer interface {
	Inject(ctx context.Context, carrier map[string]string)
	Start(ctx context.Context, op string, carrier map[string]string) (context.Context, func(error))
}

const tracer = "the tracer"

// Inject returns the carrier that a tracer has filled, empty if it panicked.
func Inject(ctx context.Context, log *slog.Logger, t Tracer) (carrier map[string]string) {
	defer Recover(ctx, log, tracer, nil)
	filled := make(map[string]string)
	t.Inject(ctx, filled)
	return filled
}

// Start begins a span. If the tracer panics, the work goes on without one.
func Start(ctx context.Context, log *slog.Logger, t Tracer, op string, carrier map[string]string) (traced context.Context, end func(error)) {
	traced, ended := start(ctx, log, t, op, carrier)
	return traced, func(err error) {
		defer Recover(ctx, log, tracer, nil)
		if ended != nil {
			ended(err)
		}
	}
}

func start(ctx context.Context, log *slog.Logger, t Tracer, op string, carrier map[string]string) (traced context.Context, end func(error)) {
	traced = ctx
	defer Recover(ctx, log, tracer, nil)
	began, ended := t.Start(ctx, op, carrier)
	if began == nil {
		began = ctx
	}
	return began, ended
}
