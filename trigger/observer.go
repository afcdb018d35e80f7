package trigger

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise/internal/hook"
)

// Observer hears of what the service, its workers and its sweeper do: for metrics, alerts
// or a host's own audit. It is called on the goroutine that did it, must be safe for
// concurrent use, and should return quickly.
//
// It hears of a change in a transaction of the host's ([mortise.HostTx]) once that is
// committed, on any goroutine, with a context that is not part of it, and never if it is
// rolled back, or if the store does not learn of the commit. It hears of refusals at once.
type Observer func(ctx context.Context, o Observation)

// Kind is what happened.
type Kind string

// The kinds of observations.
const (
	KindSubmitted Kind = "submitted" // accepted as a new event; Duration: of Submit
	KindReplayed  Kind = "replayed"  // answered with an earlier event of the same idempotency key
	KindRefused   Kind = "refused"   // not accepted; Err says why
	KindStarted   Kind = "started"   // an attempt begins; Duration: since the event was submitted
	KindCompleted Kind = "completed" // Duration: of the attempt
	KindRetrying  Kind = "retrying"  // an attempt failed or was cut off, another one follows; Duration: of the attempt
	KindFailed    Kind = "failed"    // given up: a dead letter; Duration: of the attempt
	KindSwept     Kind = "swept"     // the sweeper queued an event that had no job; Duration: how long it had none
	KindRetried   Kind = "retried"   // sent back to the queue by [Service.Retry]

	KindKeyIssued  Kind = "key_issued"  // or imported
	KindKeyRevoked Kind = "key_revoked" // for the first time

	KindOrganizationUpdated Kind = "organization_updated"
	KindOrganizationDeleted Kind = "organization_deleted" // see [Service.DeleteOrganization]
)

// Actor is who does something, as the host names them: for the Observer and the log. It
// gives no rights. "" is nobody in particular.
type Actor string

// Observation is one thing that happened. It never holds instructions, context or an API
// key. Err of a failed attempt is the Processor's own error.
type Observation struct {
	Kind         Kind
	Organization string
	Actor        Actor     // who called the Service; "" if it was a worker or a sweeper
	EventID      uuid.UUID // uuid.Nil if there is none
	KeyID        uuid.UUID // of an API key; uuid.Nil if there is none
	Attempt      int       // 0 outside of attempts
	Duration     time.Duration
	Err          error
}

// maxTrace bounds a trace carrier: the bytes of its keys and values.
const maxTrace = 1024

func (s *Service) observe(ctx context.Context, o Observation) {
	if s.opts.Observer != nil {
		hook.Observe(ctx, s.opts.Logger, s.store, o.Err == nil, func(ctx context.Context) { s.opts.Observer(ctx, o) })
	}
}

// trace returns the carrier to store with a new event, nil if there is none or it is too
// large.
func (s *Service) trace(ctx context.Context) map[string]string {
	if s.opts.Tracer == nil {
		return nil
	}
	carrier := hook.Inject(ctx, s.opts.Logger, s.opts.Tracer)
	size := 0
	for k, v := range carrier {
		size += len(k) + len(v)
	}
	if size == 0 {
		return nil
	}
	if size > maxTrace {
		s.opts.Logger.WarnContext(ctx, "trace carrier dropped: larger than 1 KiB", "bytes", size)
		return nil
	}
	return carrier
}
