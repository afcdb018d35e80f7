package authmgmt

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/uuid7"
)

// Options are the optional parts and settings of a Service. The zero value means the defaults.
//
// A panic of what a host plugs in is recovered where it happens and logged with its stack
// at ERROR, without what it panicked with. That of a Directory or of Admit is answered
// like a directory that is away ([ErrUnavailable]); that of Grant or Deliver is a failed
// attempt; that of an Observer changes nothing. Stores must not panic.
type Options struct {
	Catalogue *Catalogue // DefaultCatalogue()
	Directory Directory  // nil: every organization has role-based access control; if one has it, that holds for a second

	// AcceptURL is what an invitation's link begins with; the link's token is put behind it. It must be an absolute http or https URL that
	// ends in /, = or #: "https://app.example.com/join/". It never comes from a request. Without it there are no invitations.
	AcceptURL string

	// InvitationKey is what the links are computed from: the same one at every start and
	// on every machine, until it is changed. It is needed with AcceptURL. See
	// [InvitationKeyFromFile].
	InvitationKey InvitationKey

	// OtherInvitationKeys open links and make none: earlier keys, while some of their links
	// have not expired, and the next key, while not every server has it. There are at most
	// 8. The key is changed in three steps. Finish each on every server before the next:
	//
	//  1. Put the new key here. (If there is one server only, leave this step out.)
	//  2. Make it the InvitationKey, and put the old one here.
	//  3. Leave the old one out once its links have expired: after the longest lifetime of
	//     an invitation, 30 days at most.
	//
	// If a key was stolen, its links have to end at once. Call [Service.CheckKey] of a
	// Service that has the new key as InvitationKey and the stolen one here, and serves
	// nobody: then the store knows the new key. Start every server with the new key
	// alone, and resend the invitations.
	OtherInvitationKeys []InvitationKey
	InvitationLifetime  time.Duration // of an invitation that asks for no other: 7 days

	// Admit says whether a person may accept an invitation. It is asked at every Accept, and the person's subject may be empty. An error keeps
	// the invitation as it is and goes back to the caller of Accept. Nil admits everybody who has the link.
	Admit func(ctx context.Context, i Invitation, by Person) error

	// Deliver sends an invitation's link, after it was made or resent. The invitation stands even if that fails; then resend it. Nil sends
	// nothing: whoever reads the invitation can pass the link on.
	Deliver func(ctx context.Context, i Invitation, url mortise.Secret) error

	// Grant hands out what an accepted invitation gives: a membership, an account, a token. It runs at least once for each accepted
	// invitation, until it returns without error: first while the person waits, later by Service.Run, never twice at the same time unless
	// it overstays GrantTimeout. So it must be idempotent.
	// The reply is for the person alone, and may be an access token; zero is none. Nil
	// gives nothing.
	Grant        func(ctx context.Context, a Acceptance) (reply mortise.Secret, err error)
	GrantTimeout time.Duration // of one attempt: 30 s; at most 1 h
	GrantRetry   time.Duration // the wait after a first failure, doubled with each further one, up to an hour: 5 s

	// TokenLifetime is that of an access token that asks for no other: 1 h. One from Login
	// ends with its secret at the latest.
	TokenLifetime time.Duration

	// TokenCache is how long VerifyToken may take another process's change of a token or its
	// client for not made, at most 1 min. With 0 each call reads the token; else those that
	// are remembered only ask the store whether the organization was deleted, which counts
	// at once.
	TokenCache    time.Duration
	SecretOverlap time.Duration // how long the secret before keeps working after RotateSecret: 24 h
	TokenPrefix   string        // of access tokens: "at-"
	SecretPrefix  string        // of client secrets: "cs-"

	Retention Retention     // what Run forgets; the default keeps everything
	RunEvery  time.Duration // how often Run looks for work: 15 s

	Now      func() time.Time // time.Now
	Rand     io.Reader        // crypto/rand.Reader; must be safe for concurrent use
	Observer Observer         // none
	Logger   *slog.Logger     // slog.Default()
}

// MaxInvitationLifetime bounds how long an invitation can be pending.
const MaxInvitationLifetime = 30 * 24 * time.Hour

// MaxSecretOverlap bounds how long two secrets of a client work beside each other.
const MaxSecretOverlap = 90 * 24 * time.Hour

const (
	maxGrantTimeout = time.Hour
	maxTokenCache   = time.Minute
)

// Service manages clients, invitations and access tokens. It is safe for concurrent use and starts no goroutine.
type Service struct {
	store     Store
	catalogue *Catalogue
	opts      Options
	ids       uuid7.Source
	verified  tokenCache
	rbac      rbacMemo
	keys      []InvitationKey // that open links: Options.InvitationKey, and the others
	keyFits   atomic.Bool     // the store's invitations were made with one of the keys
}

// Caller is who asks for a change. Nobody can give away, or end, more than their Access
// covers.
type Caller struct {
	Actor  Actor // who it is
	Access Access
}

// Actor is who does something, as the host names them: for the audit trail, the log and
// the [Observer]. It gives no rights. "" is nobody in particular.
type Actor string

// New returns a Service over a store. It fails if the store is nil, if there is an
// AcceptURL and no InvitationKey, if a key is there twice, or if a setting is out of its
// bounds.
func New(store Store, opts *Options) (*Service, error) {
	if store == nil {
		return nil, errors.New("authmgmt: New needs a store")
	}
	s := &Service{store: store}
	if opts != nil {
		s.opts = *opts
	}
	o := &s.opts
	if o.Catalogue == nil {
		o.Catalogue = DefaultCatalogue()
	}
	s.catalogue = o.Catalogue
	s.verified.keep = o.TokenCache
	setDuration(&o.InvitationLifetime, 7*24*time.Hour)
	setDuration(&o.GrantTimeout, 30*time.Second)
	setDuration(&o.GrantRetry, 5*time.Second)
	setDuration(&o.TokenLifetime, time.Hour)
	setDuration(&o.SecretOverlap, 24*time.Hour)
	setDuration(&o.RunEvery, 15*time.Second)
	if o.TokenPrefix == "" {
		o.TokenPrefix = "at-"
	}
	if o.SecretPrefix == "" {
		o.SecretPrefix = "cs-"
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.InvitationLifetime > MaxInvitationLifetime {
		return nil, fmt.Errorf("authmgmt: Options.InvitationLifetime is over %v", MaxInvitationLifetime)
	}
	if o.GrantTimeout > maxGrantTimeout {
		return nil, fmt.Errorf("authmgmt: Options.GrantTimeout is over %v", maxGrantTimeout)
	}
	if o.TokenCache > maxTokenCache {
		return nil, fmt.Errorf("authmgmt: Options.TokenCache is over %v", maxTokenCache)
	}
	if o.SecretOverlap > MaxSecretOverlap {
		return nil, fmt.Errorf("authmgmt: Options.SecretOverlap is over %v", MaxSecretOverlap)
	}
	if err := s.setKeys(); err != nil {
		return nil, err
	}
	if o.AcceptURL != "" {
		if o.InvitationKey.IsZero() {
			return nil, errors.New("authmgmt: Options.AcceptURL needs Options.InvitationKey, 32 random bytes: see InvitationKeyFromFile")
		}
		u, err := url.Parse(o.AcceptURL)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil {
			return nil, errors.New("authmgmt: Options.AcceptURL must be an absolute http or https URL without a user")
		}
		if !strings.ContainsAny(o.AcceptURL[len(o.AcceptURL)-1:], "/=#") {
			return nil, errors.New("authmgmt: Options.AcceptURL must end in /, = or #: the link's token is put behind it")
		}
	}
	return s, nil
}

func setDuration(d *time.Duration, fallback time.Duration) {
	if *d <= 0 {
		*d = fallback
	}
}

// Catalogue returns the roles that the service knows.
func (s *Service) Catalogue() *Catalogue { return s.catalogue }

// AcceptURL returns what an invitation's link begins with, "" if there are no invitations.
func (s *Service) AcceptURL() string { return s.opts.AcceptURL }

// now returns the time with the precision that stores keep.
func (s *Service) now() time.Time { return s.opts.Now().UTC().Truncate(time.Microsecond) }

// ceilMicro rounds a bound up to the precision of stored times, which selects the same events.
func ceilMicro(t time.Time) time.Time {
	if cut := t.Truncate(time.Microsecond); cut.Before(t) {
		t = cut.Add(time.Microsecond)
	}
	return t.UTC()
}

// newID returns a new ID. Those of a service are in the order in which they were made.
func (s *Service) newID(now time.Time) (uuid.UUID, error) { return s.ids.New(s.opts.Rand, now) }

// limit returns a page size with its default.
func (p *problems) limit(n int) int {
	switch {
	case n < 0 || n > MaxPageSize:
		p.add("limit", "must be between 1 and %d", MaxPageSize)
	case n == 0:
		return 50
	}
	return n
}

// Ping returns nil if the store answers.
func (s *Service) Ping(ctx context.Context) error {
	_, err := s.store.Client(ctx, "", "")
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return unavailable("ping", err)
}

// refusal keeps the error of an update function apart from those of the store.
type refusal struct{ err error }

// of returns the update function's error if it is what the store returned, else the store's, marked.
func (r *refusal) of(what string, err error) error {
	if err != nil && r.err != nil && errors.Is(err, r.err) {
		return r.err
	}
	return unavailable(what, err)
}
