package authmgmtdb

import (
	"slices"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/engine"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/sqltext"
)

const (
	secretsByDigest = "SELECT FROM @.authmgmt_secrets WHERE digest = ANY ($1::bytea[]) LIMIT 1"
	insertSecret    = "INSERT INTO @.authmgmt_secrets (id, position, created_at, last_used_at, expires_at, digest, organization, client)" +
		" VALUES ($1, $2, $3, $4, $5, $6, $7, $8)"
	updateSecret = "UPDATE @.authmgmt_secrets SET id = $1, position = $2, created_at = $3, last_used_at = $4, expires_at = $5 WHERE digest = $6"
	deleteSecret = "DELETE FROM @.authmgmt_secrets WHERE digest = $1" // and the tokens that were got with it: ON DELETE CASCADE
)

// setSecrets gives a stored client these secrets instead of its own. It is ErrExists if a
// new digest is stored already, or there twice.
func setSecrets(s *engine.Session, c *authmgmt.Client, secrets []authmgmt.ClientSecret) error {
	var fresh [][]byte
	for i := range secrets {
		if indexOf(secrets, secrets[i].Digest) < i {
			return mortise.ErrExists
		}
		if indexOf(c.Secrets, secrets[i].Digest) < 0 {
			fresh = append(fresh, secrets[i].Digest[:])
		}
	}
	if len(fresh) > 0 {
		if taken, err := s.Exists(secretsByDigest, fresh); err != nil {
			return err
		} else if taken {
			return mortise.ErrExists
		}
	}
	for i := range c.Secrets {
		if digest := c.Secrets[i].Digest; indexOf(secrets, digest) < 0 {
			if _, err := s.Exec(deleteSecret, digest[:]); err != nil {
				return err
			}
		}
	}
	for i := range secrets {
		secret := &secrets[i]
		args := []any{secret.ID, i, sqltext.Bound(secret.CreatedAt), sqltext.Stamp(secret.LastUsedAt), sqltext.Stamp(secret.ExpiresAt), secret.Digest[:]}
		var err error
		switch at := indexOf(c.Secrets, secret.Digest); {
		case at < 0:
			_, err = s.Exec(insertSecret, append(args, c.Organization, c.ID)...)
			if engine.IsUnique(err, "") { // by somebody else, in the same moment
				err = mortise.ErrExists
			}
		case at != i || !sameSecret(&c.Secrets[at], secret):
			_, err = s.Exec(updateSecret, args...)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func indexOf(secrets []authmgmt.ClientSecret, digest [32]byte) int {
	return slices.IndexFunc(secrets, func(s authmgmt.ClientSecret) bool { return s.Digest == digest })
}

// sameSecret reports whether two secrets with one digest are stored as the same.
func sameSecret(a, b *authmgmt.ClientSecret) bool {
	return a.ID == b.ID && sameTime(a.CreatedAt, b.CreatedAt) && sameTime(a.LastUsedAt, b.LastUsedAt) && sameTime(a.ExpiresAt, b.ExpiresAt)
}

// sameSecrets reports whether two lists of secrets are stored as the same.
func sameSecrets(a, b []authmgmt.ClientSecret) bool {
	return slices.EqualFunc(a, b, func(a, b authmgmt.ClientSecret) bool { return a.Digest == b.Digest && sameSecret(&a, &b) })
}

// sameTime reports whether two times are stored as the same.
func sameTime(a, b time.Time) bool {
	return a.IsZero() == b.IsZero() && a.Truncate(time.Microsecond).Equal(b.Truncate(time.Microsecond))
}
