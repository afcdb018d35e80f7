package authmgmt

import (
	"context"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/failure"
	"github.com/seed-6363c74e/mortise/internal/hook"
)

func (s *Service) observe(ctx context.Context, o mortise.Observation) {
	o.Service, o.Reason = "authmgmt", failure.Reason(o.Err, reasons)
	if o.Kind == mortise.KindGrantFailed || o.Kind == mortise.KindDeliveryFailed { // the host's own error
		o.Reason = mortise.ReasonFailed
	}
	hook.Observe(ctx, &s.opts.Env, s.store, o.Err == nil, o)
}

// observeChange reports the end of a change.
func (s *Service) observeChange(ctx context.Context, start time.Time, org string, kind mortise.Kind, by Caller, object string, e *AuditEvent, err error) {
	if s.opts.Observer == nil {
		return
	}
	o := mortise.Observation{
		Kind: kind, Organization: org, Actor: by.Actor, Object: object,
		Duration: s.opts.Now().Sub(start), Err: err,
	}
	if err == nil && e.Kind != "" {
		event := e.Clone()
		o.Detail = &event
	}
	s.observe(ctx, o)
}
