package authmgmt

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/secret"
)

// RotateSecret makes a new secret for a client, and returns both. The secret cannot be
// had again. The secret that works goes on until overlap has passed, or until it ends
// by itself; 0 means Options.SecretOverlap, and 90 days are the most. While two secrets
// work, a rotation is a [*mortise.ValidationError] and changes nothing: the older one
// was promised its time. An overlap of less than 0 makes no such promise. It ends every
// secret now, also two, and the tokens that were got with them. A token that was got
// before with the one that goes on lives out its own time. The caller must cover the
// client's roles, for the secret gives them: [access.Access.MayTakeOver]. The errors
// are [*mortise.ValidationError], [mortise.ErrNotFound], [ErrForbidden] and
// [mortise.ErrUnavailable].
func (s *Service) RotateSecret(
	ctx context.Context, org string, by Caller, id string, overlap time.Duration,
) (c Client, secret mortise.Secret, err error) {
	start := s.opts.Now()
	c, text, e, err := s.rotate(ctx, org, by, id, overlap)
	s.observeChange(ctx, start, org, mortise.KindSecretRotated, by, id, &e, err)
	if err != nil {
		return Client{}, mortise.Secret{}, ofClient(id, err)
	}
	return c, mortise.NewSecret(text), nil
}

func (s *Service) rotate(ctx context.Context, org string, by Caller, id string, overlap time.Duration) (c Client, text string, e AuditEvent, err error) {
	if overlap > maxSecretOverlap {
		var p problems
		p.Add("overlap", "must be at most %v", maxSecretOverlap)
		return Client{}, "", AuditEvent{}, p.Err()
	}
	if overlap == 0 {
		overlap = s.opts.SecretOverlap
	}
	if text, err = s.issue(secretPrefix); err != nil {
		return Client{}, "", AuditEvent{}, err
	}
	fresh, err := s.newSecret(text)
	if err != nil {
		return Client{}, "", AuditEvent{}, err
	}
	c, e, err = s.changeClient(ctx, org, mortise.KindSecretRotated, by, id, func(c *Client) error {
		if !by.Access.MayTakeOver(c.Roles) {
			return ErrForbidden
		}
		var kept []ClientSecret
		if overlap > 0 {
			kept = c.working(fresh.CreatedAt)
		}
		if len(kept) > 1 {
			return overlapping(kept)
		}
		for i := range kept {
			if end := fresh.CreatedAt.Add(overlap); kept[i].ExpiresAt.IsZero() || end.Before(kept[i].ExpiresAt) {
				kept[i].ExpiresAt = end
			}
		}
		c.Secrets = append(kept, fresh)
		return nil
	})
	return c, text, e, err
}

// overlapping says that these secrets work, and when the first of them ends.
func overlapping(secrets []ClientSecret) error {
	var first time.Time
	for i := range secrets {
		if end := secrets[i].ExpiresAt; !end.IsZero() && (first.IsZero() || end.Before(first)) {
			first = end
		}
	}
	next := "revoke one"
	if !first.IsZero() {
		next += ", or wait until " + first.UTC().Format("2006-01-02T15:04:05.000000Z")
	}
	var p problems
	p.Add("secrets", "two secrets work; %s", next)
	return p.Err()
}

// RevokeSecret ends one secret of a client now, and the tokens that were got with it.
// It may be the last one: no login of the client succeeds then until RotateSecret makes
// another. The other secrets keep their own ends. The caller must be allowed to end the
// client's roles ([access.Access.MayEnd]). The errors are [mortise.ErrNotFound],
// [ErrForbidden] and [mortise.ErrUnavailable].
func (s *Service) RevokeSecret(ctx context.Context, org string, by Caller, id string, secretID uuid.UUID) error {
	start := s.opts.Now()
	gone := false
	_, e, err := s.changeClient(ctx, org, mortise.KindSecretRevoked, by, id, func(c *Client) error {
		at := slices.IndexFunc(c.Secrets, func(s ClientSecret) bool { return s.ID == secretID })
		if at < 0 {
			gone = true
			return mortise.ErrNotFound
		}
		if !by.Access.MayEnd(c.Roles) {
			return ErrForbidden
		}
		c.Secrets = slices.Concat(c.Secrets[:at], c.Secrets[at+1:])
		return nil
	})
	s.observeChange(ctx, start, org, mortise.KindSecretRevoked, by, id, &e, err)
	if gone {
		return of("secret", secretID.String(), err)
	}
	return ofClient(id, err)
}

// The prefixes of client secrets and access tokens, by which scanners of secrets find them.
const (
	secretPrefix = "cs-"
	tokenPrefix  = "at-"
)

// issue makes the text of a new secret.
func (s *Service) issue(prefix string) (string, error) {
	text, err := secret.Issue(s.opts.Rand, prefix)
	return text, unavailable("issue secret", err)
}

// newSecret returns what is kept of a client's new secret.
func (s *Service) newSecret(text string) (ClientSecret, error) {
	now := s.now()
	id, err := s.newID(now)
	if err != nil {
		return ClientSecret{}, unavailable("read randomness", err)
	}
	return ClientSecret{ID: id, Digest: secret.Sum(text), CreatedAt: now}, nil
}
