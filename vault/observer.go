package vault

import (
	"context"
	"slices"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/failure"
	"github.com/seed-6363c74e/mortise/internal/hook"
)

func (s *Service) observe(ctx context.Context, start time.Time, o mortise.Observation) {
	if s.opts.Observer == nil {
		return
	}
	o.Service, o.Reason = "vault", failure.Reason(o.Err, reasons)
	o.Duration = s.opts.Now().Sub(start)
	o.Err = withoutNames(o.Err)
	change := o.Err == nil && !slices.Contains(noChanges, o.Kind)
	hook.Observe(ctx, &s.opts.Env, s.store, change, o)
}

// noChanges: the kinds that change nothing, or report progress.
var noChanges = []mortise.Kind{mortise.KindTokenized, mortise.KindDetokenized, mortise.KindExported, mortise.KindBackfilling, mortise.KindRewrapping, mortise.KindKeyRetiring}

// start is the time for an Observation.
func (s *Service) start() time.Time {
	if s.opts.Observer == nil {
		return time.Time{}
	}
	return s.opts.Now()
}
