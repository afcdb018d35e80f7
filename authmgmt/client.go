package authmgmt

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise/authmgmt/access"
)

// Client is what is kept of system-level credentials: an OAuth client. Its secrets are
// shown once, when they are made.
type Client struct {
	Organization string
	ID           string
	Name         string
	Roles        []access.Role // none: full access
	Secrets      []ClientSecret
	CreatedAt    time.Time
	UpdatedAt    time.Time // of the last change of name, roles or secrets
	DeletedAt    time.Time // zero: not deleted
}

// ClientSecret is what is kept of one of a client's secrets.
type ClientSecret struct {
	ID        uuid.UUID
	Digest    [32]byte // SHA-256 of the secret
	CreatedAt time.Time
	ExpiresAt time.Time // from then on it does not work; zero: never
}

// Clone returns a copy that shares nothing with c.
func (c *Client) Clone() Client {
	d := *c
	d.Roles, d.Secrets = cloneList(c.Roles), cloneList(c.Secrets)
	return d
}

// secret returns the secret with the digest, if it works at the given time.
func (c *Client) secret(digest [32]byte, now time.Time) (ClientSecret, bool) {
	for _, s := range c.Secrets {
		if s.Digest == digest && !s.ended(now) {
			return s, true
		}
	}
	return ClientSecret{}, false
}

func (s *ClientSecret) ended(now time.Time) bool {
	return !s.ExpiresAt.IsZero() && !now.Before(s.ExpiresAt)
}

// Token is what is kept of an access token.
type Token struct {
	ID           uuid.UUID
	Organization string
	Digest       [32]byte // SHA-256 of the token
	Subject      string   // who it speaks for, in audit events
	// Client is the one that it was issued to; "" for one that stands for itself.
	Client    string
	Secret    [32]byte      // digest of what it was got with; zero if it is not a client's
	Roles     []access.Role // none: full access. Of a client's token: the client's
	CreatedAt time.Time
	ExpiresAt time.Time // zero: never
	RevokedAt time.Time // zero: not revoked
}

// Clone returns a copy that shares nothing with t.
func (t *Token) Clone() Token {
	d := *t
	d.Roles = cloneList(t.Roles)
	return d
}

// cloneList returns a copy. An empty list is nil, so that there is one way to have none.
func cloneList[T any](list []T) []T {
	if len(list) == 0 {
		return nil
	}
	return slices.Clone(list)
}

func (t *Token) active(now time.Time) bool {
	return t.RevokedAt.IsZero() && (t.ExpiresAt.IsZero() || now.Before(t.ExpiresAt))
}
