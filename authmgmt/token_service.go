package authmgmt

import (
	"context"
	"crypto/subtle"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/internal/name"
	"github.com/seed-6363c74e/mortise/internal/secret"
)

// Login exchanges a client's ID and secret for an access token (RFC 6749 section 4.4). It
// returns the token's record and the token itself, which cannot be had again. Wrong,
// ended and unknown credentials are all [ErrInvalidCredentials]. With that error, t.Client is
// clientID, for the operator's log; but it is "" for a text that may be a secret, of 32 bytes
// and more and not a UUID. A client has at most [MaxClientTokens]: a further login ends its
// oldest token.
func (s *Service) Login(ctx context.Context, clientID, clientSecret string) (t Token, text mortise.Secret, err error) {
	start := s.opts.Now()
	t, made, e, err := s.login(ctx, clientID, clientSecret)
	kind := mortise.KindTokenIssued
	target := idText(t.ID)
	if errors.Is(err, ErrInvalidCredentials) {
		kind, target = mortise.KindLoginRefused, shownID(clientID)
		t = Token{Client: target}
	}
	s.observeChange(ctx, start, t.Organization, kind, Caller{Actor: mortise.Actor(t.Subject)}, target, &e, err)
	return t, mortise.NewSecret(made), err
}

// shownID returns the client ID of a refused login for a log, and "" for a text that may hold
// a secret or a token: secrets have at least MinImported bytes.
func shownID(id string) string {
	parsed, err := uuid.Parse(id)
	isUUID := err == nil && parsed.String() == id
	if name.Problem(id) != "" || len(id) >= secret.MinImported && !isUUID {
		return ""
	}
	return id
}

func (s *Service) login(ctx context.Context, clientID, clientSecret string) (Token, string, AuditEvent, error) {
	if len(clientSecret) > secret.MaxLength {
		return Token{}, "", AuditEvent{}, ErrInvalidCredentials
	}
	digest := secret.Sum(clientSecret)
	c, err := s.store.ClientBySecret(ctx, digest)
	if errors.Is(err, mortise.ErrNotFound) {
		return Token{}, "", AuditEvent{}, ErrInvalidCredentials
	}
	if err != nil {
		return Token{}, "", AuditEvent{}, unavailable("look up client", err)
	}
	now := s.now()
	kept, works := c.secret(digest, now)
	if subtle.ConstantTimeCompare([]byte(c.ID), []byte(clientID)) != 1 || !works {
		return Token{}, "", AuditEvent{}, ErrInvalidCredentials
	}
	end := now.Add(s.opts.TokenLifetime)
	if !kept.ExpiresAt.IsZero() && kept.ExpiresAt.Before(end) {
		end = kept.ExpiresAt
	}
	t, text, e, err := s.createToken(ctx, Token{
		Organization: c.Organization, Subject: "client:" + c.ID, Client: c.ID, Secret: digest, Roles: c.Roles, CreatedAt: now, ExpiresAt: end,
	}, Caller{Actor: mortise.Actor("client:" + c.ID)}, "")
	if errors.Is(err, mortise.ErrNotFound) || errors.Is(err, mortise.ErrDeleted) { // the secret ended meanwhile
		err = ErrInvalidCredentials
	}
	if err == nil {
		s.noteUse(ctx, &c, &kept, now)
	}
	return t, text, e, err
}

// useEvery is how often the last use of one secret is written.
const useEvery = time.Minute

// noteUse writes that a client's secret was used, at most once in useEvery. A login does not
// fail for it.
func (s *Service) noteUse(ctx context.Context, c *Client, used *ClientSecret, now time.Time) {
	if now.Sub(used.LastUsedAt) < useEvery {
		return
	}
	err := s.store.UpdateClient(ctx, c.Organization, c.ID, func(c *Client) (AuditEvent, error) {
		at := slices.IndexFunc(c.Secrets, func(s ClientSecret) bool { return s.ID == used.ID })
		if at >= 0 && now.Sub(c.Secrets[at].LastUsedAt) >= useEvery { // else another login was first
			c.Secrets[at].LastUsedAt = now
		}
		return AuditEvent{}, nil
	})
	if err != nil && !errors.Is(err, mortise.ErrNotFound) {
		s.opts.Logger.WarnContext(ctx, "the use of a client's secret could not be noted", "organization", c.Organization, "client", c.ID, "error", err)
	}
}

// NewToken is what a token that stands for itself is made of.
type NewToken struct {
	ID         uuid.UUID     // uuid.Nil for a new one
	Subject    string        // who it speaks for, 1 to 255 bytes
	Roles      []access.Role // as a NewClient's
	FullAccess bool          // instead of Roles: everything within the organization
	Lifetime   time.Duration // 0: Options.TokenLifetime; NoExpiry: for ever

	// Revoked says that it has ended. It is stored so that it cannot be imported as one
	// that has not.
	Revoked bool
}

// NoExpiry is the NewToken.Lifetime of a token that works until it is revoked.
const NoExpiry time.Duration = -1

// IssueToken makes an access token that belongs to no client: for a person who accepted
// an invitation, say. It returns the token's record and the token itself, which cannot
// be had again. The token has roles or full access, never both nor neither, and the
// caller must cover them. It does not ask whether the organization has role-based
// access control. The errors are [*mortise.ValidationError], [ErrForbidden],
// [mortise.ErrExists] and [mortise.ErrUnavailable].
func (s *Service) IssueToken(
	ctx context.Context, org string, by Caller, n NewToken,
) (t Token, text mortise.Secret, err error) {
	start := s.opts.Now()
	t, made, e, err := s.newToken(ctx, org, by, n, "")
	s.observeChange(ctx, start, org, mortise.KindTokenIssued, by, idText(t.ID), &e, err)
	return t, mortise.NewSecret(made), err
}

// ImportToken stores an access token that was made elsewhere, of 32 to 1024 bytes, of
// which at least 10 are different. A token that was revoked is not revived, unless it
// expires and Prune has forgotten it: that is [mortise.ErrExists], too. It does not ask
// whether the organization has role-based access control.
func (s *Service) ImportToken(ctx context.Context, org string, by Caller, n NewToken, text string) (Token, error) {
	start := s.opts.Now()
	var p problems
	p.secret("token", text)
	err := p.Err()
	var t Token
	var e AuditEvent
	if err == nil {
		t, _, e, err = s.newToken(ctx, org, by, n, text)
	}
	s.observeChange(ctx, start, org, mortise.KindTokenIssued, by, idText(t.ID), &e, err)
	return t, err
}

func (s *Service) newToken(ctx context.Context, org string, by Caller, n NewToken, text string) (Token, string, AuditEvent, error) {
	var p problems
	p.Name("organization", org)
	p.Name("subject", n.Subject)
	p.access(s.catalogue, n.Roles, n.FullAccess)
	switch {
	case n.Lifetime == 0:
		n.Lifetime = s.opts.TokenLifetime
	case n.Lifetime < 0 && n.Lifetime != NoExpiry:
		p.Add("lifetime", "must be positive, 0 for the default, or NoExpiry for none")
	}
	if err := p.Err(); err != nil {
		return Token{}, "", AuditEvent{}, err
	}
	if !by.Access.Covers(n.Roles) {
		return Token{}, "", AuditEvent{}, ErrForbidden
	}
	t := Token{ID: n.ID, Organization: org, Subject: n.Subject, Roles: unique(append([]access.Role(nil), n.Roles...)), CreatedAt: s.now()}
	if n.Lifetime > 0 {
		t.ExpiresAt = t.CreatedAt.Add(n.Lifetime).Truncate(time.Microsecond)
	}
	if n.Revoked {
		t.RevokedAt = t.CreatedAt
	}
	return s.createToken(ctx, t, by, text)
}

// createToken fills in what a token needs, and stores it.
func (s *Service) createToken(ctx context.Context, t Token, by Caller, text string) (Token, string, AuditEvent, error) {
	fail := func(err error) (Token, string, AuditEvent, error) { return Token{}, "", AuditEvent{}, err }
	var err error
	if text == "" {
		if text, err = s.issue(tokenPrefix); err != nil {
			return fail(err)
		}
	}
	t.Digest = secret.Sum(text)
	if t.ID == uuid.Nil {
		if t.ID, err = s.newID(t.CreatedAt); err != nil {
			return fail(unavailable("read randomness", err))
		}
	}
	e, err := s.event(t.Organization, mortise.KindTokenIssued, by, t.ID.String())
	if err != nil {
		return fail(err)
	}
	e.After = t.snapshot()
	if err := s.store.CreateToken(ctx, t, e); err != nil {
		return fail(unavailable("store token", err))
	}
	return t, text, e, nil
}

// Identity is what a valid access token says.
type Identity struct {
	Organization string
	Subject      string // who it speaks for: "client:" and the ID of a client, or what its maker said
	Client       string // the client that it was issued to; "" for a token that stands for itself
	Token        uuid.UUID
	ExpiresAt    time.Time // zero: never
	Access       access.Access
}

// VerifyToken returns what a token says and allows now. Unknown, expired and revoked
// ones, and those of a deleted organization, are all [ErrInvalidCredentials]. Unless
// Options.TokenCache is set, nothing is cached: a revoked token, a deleted client or
// organization and a changed role count at once, on every machine.
func (s *Service) VerifyToken(ctx context.Context, text string) (Identity, error) {
	t, err := s.cachedToken(ctx, text)
	if errors.Is(err, mortise.ErrNotFound) || err == nil && !t.active(s.now()) {
		s.observe(ctx, mortise.Observation{
			Kind: mortise.KindTokenRefused, Organization: t.Organization, Actor: mortise.Actor(t.Subject),
			Object: idText(t.ID), Err: ErrInvalidCredentials,
		})
		return Identity{}, ErrInvalidCredentials
	}
	if err != nil {
		return Identity{}, err
	}
	return Identity{
		Organization: t.Organization, Subject: t.Subject, Client: t.Client, Token: t.ID, ExpiresAt: t.ExpiresAt,
		Access: s.catalogue.Stored(t.Roles),
	}, nil
}

func (s *Service) cachedToken(ctx context.Context, text string) (Token, error) {
	if s.opts.TokenCache <= 0 || s.hosted(ctx) || len(text) > secret.MaxLength {
		return s.findToken(ctx, text)
	}
	now := s.opts.Now()
	t, found, mark := s.verified.get(secret.Sum(text), now)
	if found {
		return t, nil
	}
	t, err := s.findToken(ctx, text)
	if err == nil {
		s.verified.put(t, now, mark)
	}
	return t, err
}

func (s *Service) findToken(ctx context.Context, text string) (Token, error) {
	if len(text) > secret.MaxLength {
		return Token{}, mortise.ErrNotFound
	}
	digest := secret.Sum(text)
	t, err := s.store.TokenByDigest(ctx, digest)
	if err != nil {
		return Token{}, unavailable("look up token", err)
	}
	if !secret.Equal(t.Digest, digest) {
		return Token{}, mortise.ErrNotFound
	}
	return t, nil
}

// RevokeToken ends a token: the next request with it is refused. The caller must be
// allowed to end its roles ([access.Access.MayEnd]); a client's token has the client's
// roles. Revoking twice is not an error and keeps the first time. The errors are
// [mortise.ErrNotFound], [ErrForbidden] and [mortise.ErrUnavailable].
func (s *Service) RevokeToken(ctx context.Context, org string, by Caller, id uuid.UUID) error {
	start := s.opts.Now()
	var stored AuditEvent
	var refused refusal
	err := s.store.UpdateToken(ctx, org, id, func(t *Token) (AuditEvent, error) {
		stored = AuditEvent{}
		if !by.Access.MayEnd(t.Roles) {
			refused.err = ErrForbidden
			return AuditEvent{}, refused.err
		}
		if !t.RevokedAt.IsZero() {
			return stored, nil
		}
		if stored, refused.err = s.event(org, mortise.KindTokenRevoked, by, id.String()); refused.err != nil {
			return AuditEvent{}, refused.err
		}
		stored.Before = t.snapshot()
		t.RevokedAt = stored.At
		stored.After = t.snapshot()
		return stored, nil
	})
	s.tokensChanged(ctx, err)
	err = refused.of("revoke token", err)
	s.observeChange(ctx, start, org, mortise.KindTokenRevoked, by, id.String(), &stored, err)
	return ofAccessToken(id, err)
}

func idText(id uuid.UUID) string {
	if id == uuid.Nil {
		return ""
	}
	return id.String()
}
