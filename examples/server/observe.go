package main

import (
	"context"
	"errors"
	"log/slog"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
)

// env is the environment of all services: one logger, and one observer, which
// counts for /metrics and the first page. It logs the refusal of a change that gives or
// takes more than the caller holds: an operator may want to know.
func (s *settings) env(log *slog.Logger) mortise.Env {
	observe := func(ctx context.Context, o mortise.Observation) {
		s.meters.observe(&o)
		if o.Err == nil && o.Kind.TakesAway() {
			s.seen.note(ctx)
		}
		if o.Err == nil || o.Kind == mortise.KindIngested { // a recording that was scored in part
			s.tally.add(o.Organization, o.Service, string(o.Kind), max(o.Items, 1))
		}
		if errors.Is(o.Err, authmgmt.ErrForbidden) {
			log.WarnContext(ctx, "change refused: it gives or takes more than the caller holds", "kind", string(o.Kind),
				"organization", o.Organization, "actor", o.Actor, "target", o.Object)
		}
	}
	return mortise.Env{Observer: observe, Logger: log}
}
