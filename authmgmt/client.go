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
	UpdatedAt    time.Time // of the last change of name, roles or secrets, but not of a use
	DeletedAt    time.Time // zero: not deleted
}

// ClientSecret is what is kept of one of a client's secrets.
type ClientSecret struct {
	ID         uuid.UUID
	Digest     [32]byte // SHA-256 of the secret
	CreatedAt  time.Time
	LastUsedAt time.Time // of a login, to within a minute; zero: never
	ExpiresAt  time.Time // from then on it does not work; zero: never
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

// working returns copies of the secrets that work at the given time.
func (c *Client) working(now time.Time) []ClientSecret {
	return slices.DeleteFunc(slices.Clone(c.Secrets), func(s ClientSecret) bool { return s.ended(now) })
}

func (s *ClientSecret) ended(now time.Time) bool {
	return !s.ExpiresAt.IsZero() && !now.Before(s.ExpiresAt)
}

// cloneList returns a copy. An empty list is nil, so that there is one way to have none.
func cloneList[T any](list []T) []T {
	if len(list) == 0 {
		return nil
	}
	return slices.Clone(list)
}
