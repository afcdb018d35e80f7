package hook

import (
	"context"

	"github.com/seed-6363c74e/mortise"
)

const tracer = "the tracer"

// maxTrace bounds a trace carrier: the bytes of its keys and values.
const maxTrace = 1024

// Inject returns the carrier to store with a job. It is nil without a tracer, if the
// tracer filled in nothing or panicked, or if the carrier is too large.
func Inject(ctx context.Context, env *mortise.Env) map[string]string {
	if env.Tracer == nil {
		return nil
	}
	carrier := inject(ctx, env)
	size := 0
	for k, v := range carrier {
		size += len(k) + len(v)
	}
	if size > maxTrace {
		env.Logger.WarnContext(ctx, "trace carrier dropped: larger than 1 KiB", "bytes", size)
		return nil
	}
	if size == 0 {
		return nil
	}
	return carrier
}

func inject(ctx context.Context, env *mortise.Env) (carrier map[string]string) {
	defer Recover(ctx, env.Logger, tracer, nil)
	filled := make(map[string]string)
	env.Tracer.Inject(ctx, filled)
	return filled
}

// Start begins a span. Without a tracer, and if the tracer panics, the work goes on
// without a span.
func Start(ctx context.Context, env *mortise.Env, w mortise.Work, carrier map[string]string) (traced context.Context, end func(error)) {
	if env.Tracer == nil {
		return ctx, func(error) {}
	}
	traced, ended := start(ctx, env, w, carrier)
	return traced, func(err error) {
		defer Recover(ctx, env.Logger, tracer, nil)
		if ended != nil {
			ended(err)
		}
	}
}

func start(ctx context.Context, env *mortise.Env, w mortise.Work, carrier map[string]string) (traced context.Context, end func(error)) {
	traced = ctx
	defer Recover(ctx, env.Logger, tracer, nil)
	began, ended := env.Tracer.Start(ctx, w, carrier)
	if began == nil {
		began = ctx
	}
	return began, ended
}
