package authmgmt

import (
	"context"
	"time"

	"github.com/seed-6363c74e/mortise/internal/hook"
)

// Observer hears of what the service does: for metrics, alerts or a host's own audit. It
// is called on the goroutine that did it, after it is stored, must be safe for concurrent
// use, and should return quickly.
//
// It hears of a change in a transaction of the host's ([mortise.HostTx]) once that is
// committed, on any goroutine, with a context that is not part of it, and never if it is
// rolled back, or if the store does not learn of the commit. It hears of refusals and
// failures at once.
type Observer func(ctx context.Context, o Observation)

// Kind is what happened: a change, which has an [AuditEvent], or one of the last four, a
// refusal or a failure.
type Kind string

// The kinds.
const (
	KindClientCreated       Kind = "client_created"
	KindClientUpdated       Kind = "client_updated"
	KindSecretRotated       Kind = "client_secret_rotated"
	KindSecretRevoked       Kind = "client_secret_revoked"
	KindClientDeleted       Kind = "client_deleted"
	KindTokenIssued         Kind = "token_issued"
	KindTokenRevoked        Kind = "token_revoked"
	KindInvited             Kind = "invitation_created"
	KindResent              Kind = "invitation_resent"
	KindCancelled           Kind = "invitation_cancelled"
	KindAccepted            Kind = "invitation_accepted"
	KindGranted             Kind = "invitation_granted"
	KindOrganizationUpdated Kind = "organization_updated"
	KindOrganizationDeleted Kind = "organization_deleted"
	KindLoginRefused        Kind = "login_refused"   // no organization is known
	KindTokenRefused        Kind = "token_refused"   // a token that is unknown, expired or revoked
	KindGrantFailed         Kind = "grant_failed"    // Err is the host's own; it is tried again
	KindDeliveryFailed      Kind = "delivery_failed" // Err is the host's own; resend the invitation
)

// Observation is one thing that happened. It never holds a secret or an invitation's
// link.
type Observation struct {
	Kind         Kind
	Organization string // "" if it is not known
	Actor        Actor
	Target       string        // an ID; of a refused login the client ID, as Login returns it
	Duration     time.Duration // of the call
	Err          error         // why it did not happen; nil if it did
	Event        *AuditEvent   // what is stored of it; nil if it did not happen, or is not a change
}

func (s *Service) observe(ctx context.Context, o Observation) {
	if s.opts.Observer != nil {
		hook.Observe(ctx, s.opts.Logger, s.store, o.Err == nil, func(ctx context.Context) { s.opts.Observer(ctx, o) })
	}
}

// observeChange reports the end of a change.
func (s *Service) observeChange(ctx context.Context, start time.Time, org string, kind Kind, by Caller, target string, e *AuditEvent, err error) {
	if s.opts.Observer == nil {
		return
	}
	o := Observation{
		Kind: kind, Organization: org, Actor: by.Actor, Target: target,
		Duration: s.opts.Now().Sub(start), Err: err,
	}
	if err == nil && e.Kind != "" {
		event := e.Clone()
		o.Event = &event
	}
	s.observe(ctx, o)
}
