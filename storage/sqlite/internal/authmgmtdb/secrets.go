package authmgmtdb

import (
	"bytes"
	"slices"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
)

const (
	secretByDigest = "SELECT 1 FROM authmgmt_secrets WHERE digest = ?"
	insertSecret   = "INSERT INTO authmgmt_secrets (id, position, created_at, last_used_at, expires_at, digest, organization, client) VALUES (?,?,?,?,?,?,?,?)"
	updateSecret   = "UPDATE authmgmt_secrets SET (id, position, created_at, last_used_at, expires_at) = (?,?,?,?,?) WHERE digest = ?"
	deleteSecret   = "DELETE FROM authmgmt_secrets WHERE digest = ?" // and the tokens that were got with it: ON DELETE CASCADE
)

// checkSecrets returns ErrExists if one of the digests is stored already, or there twice.
// It is called before anything is written: an operation that fails later makes all others
// of its group start again.
func checkSecrets(t *file.Tx, digests [][]byte) error {
	for i, digest := range digests {
		for _, earlier := range digests[:i] {
			if bytes.Equal(earlier, digest) {
				return mortise.ErrExists
			}
		}
		if taken, err := t.Exists(secretByDigest, digest); err != nil {
			return err
		} else if taken {
			return mortise.ErrExists
		}
	}
	return nil
}

// secretChanges returns what gives a stored client these secrets instead of its own, and
// the digests of those that are new.
func secretChanges(c *authmgmt.Client, secrets []authmgmt.ClientSecret) (fresh [][]byte, changes []file.Change) {
	for _, s := range c.Secrets {
		if indexOf(secrets, s.Digest) < 0 {
			changes = append(changes, file.Do(deleteSecret, bytes.Clone(s.Digest[:])))
		}
	}
	for i, s := range secrets {
		digest := bytes.Clone(s.Digest[:])
		switch at := indexOf(c.Secrets, s.Digest); {
		case at < 0 || indexOf(secrets, s.Digest) < i: // the second of two is refused as one that is stored already
			fresh = append(fresh, digest)
			changes = append(changes, file.Do(insertSecret, append(secretArgs(&s, i), digest, c.Organization, c.ID)...))
		case at != i || !sameSecret(&c.Secrets[at], &s):
			changes = append(changes, file.Do(updateSecret, append(secretArgs(&s, i), digest)...))
		}
	}
	return fresh, changes
}

func indexOf(secrets []authmgmt.ClientSecret, digest [32]byte) int {
	return slices.IndexFunc(secrets, func(s authmgmt.ClientSecret) bool { return s.Digest == digest })
}

func secretArgs(s *authmgmt.ClientSecret, position int) []any {
	return []any{bytes.Clone(s.ID[:]), position, s.CreatedAt.UnixMicro(), file.Micros(s.LastUsedAt), file.Micros(s.ExpiresAt)}
}

// sameSecret reports whether two secrets with one digest are stored as the same.
func sameSecret(a, b *authmgmt.ClientSecret) bool {
	return a.ID == b.ID && a.CreatedAt.UnixMicro() == b.CreatedAt.UnixMicro() &&
		file.Micros(a.LastUsedAt) == file.Micros(b.LastUsedAt) && file.Micros(a.ExpiresAt) == file.Micros(b.ExpiresAt)
}
