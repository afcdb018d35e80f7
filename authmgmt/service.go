package authmgmt

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/internal/seldom"
	"github.com/seed-6363c74e/mortise/internal/uuid7"
)

// Service manages clients, invitations and access tokens. It is safe for concurrent use
// and starts no goroutine.
type Service struct {
	store     Store
	directory Directory // nil: every organization has role-based access control
	catalogue *access.Catalogue
	opts      Options
	ids       uuid7.Source
	verified  tokenCache
	rbac      rbacMemo
	keys      []InvitationKey // that open links: Options.InvitationKey, and the others
	keyFits   atomic.Bool     // the store's invitations were made with one of the keys
	failed    seldom.Lines    // of the log, about grants, by organization
}

// Caller is who asks for a change. Nobody can give away, or end, more than their Access
// covers.
type Caller struct {
	Actor  mortise.Actor // who it is
	Access access.Access
}

// New returns a Service over a backend. It fails if that has no Store, if there is an
// AcceptURL and no InvitationKey, if a key is there twice, or if a setting is out of its
// bounds. Options may be nil.
func New(b Backend, opts *Options) (*Service, error) {
	if err := errors.Join(b.validate(), opts.validate()); err != nil {
		return nil, err
	}
	s := &Service{store: b.Store, directory: b.Directory, opts: opts.withDefaults()}
	s.catalogue = s.opts.Catalogue
	if s.opts.GrantToken > 0 {
		s.opts.Grant = s.grantToken
	}
	s.verified.keep = s.opts.TokenCache
	s.keys, _ = s.opts.linkKeys() // validate has found no fault in them
	return s, nil
}

// Catalogue returns the roles that the service knows.
func (s *Service) Catalogue() *access.Catalogue { return s.catalogue }

// AcceptURL returns what an invitation's link begins with, "" if there are no
// invitations.
func (s *Service) AcceptURL() string { return s.opts.AcceptURL }

// GrantToken returns Options.GrantToken, the lifetime of the access token that an accepted
// invitation gives. With 0 an invitation gives the reply of Options.Grant.
func (s *Service) GrantToken() time.Duration { return s.opts.GrantToken }

// hosted reports whether calls under ctx are part of a transaction of the host's. What they
// see is not to be remembered: it may be rolled back.
func (s *Service) hosted(ctx context.Context) bool {
	store, ok := s.store.(mortise.HostTx)
	return ok && store.AfterCommit(ctx, nil)
}

// now returns the time with the precision that stores keep.
func (s *Service) now() time.Time { return s.opts.Now().UTC().Truncate(time.Microsecond) }

// newID returns a new ID. Those of a service are in the order in which they were made.
func (s *Service) newID(now time.Time) (uuid.UUID, error) { return s.ids.New(s.opts.Rand, now) }

// Ping returns nil if the store answers.
func (s *Service) Ping(ctx context.Context) error {
	_, err := s.store.Client(ctx, "", "")
	if errors.Is(err, mortise.ErrNotFound) {
		return nil
	}
	return unavailable("ping", err)
}

// refusal keeps the error of an update function apart from those of the store.
type refusal struct{ err error }

// of returns the update function's error if it is what the store returned, else the
// store's, marked.
func (r *refusal) of(what string, err error) error {
	if err != nil && r.err != nil && errors.Is(err, r.err) {
		return r.err
	}
	return unavailable(what, err)
}
