package authmgmt

import (
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise/authmgmt/access"
)

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

func (t *Token) active(now time.Time) bool {
	return t.RevokedAt.IsZero() && (t.ExpiresAt.IsZero() || now.Before(t.ExpiresAt))
}
