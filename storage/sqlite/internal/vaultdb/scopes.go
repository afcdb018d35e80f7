package vaultdb

import (
	"context"

	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

const (
	// scopeOfVault returns the revision of a vault and the number of a scope, NULL if
	// nothing was ever stored in it.
	scopeOfVault = "SELECT revision, s.seq FROM vault_vaults LEFT JOIN vault_scopes s ON s.vault = vault_vaults.seq AND s.name = ?" +
		" WHERE organization = ? AND id = ?" + vaultIsThere

	// findInScope returns tokens with the numbers of their fingerprints, which stand one
	// behind the other in a single value. findOneInScope is the same for one.
	findInScope = "SELECT n, token FROM vault_numbers CROSS JOIN vault_fingerprints" +
		" ON fingerprint = substr(?, n * 32 + 1, 32) AND scope = ? AND version = ? WHERE n < ?"
	findOneInScope = "SELECT token FROM vault_fingerprints WHERE fingerprint = ? AND scope = ? AND version = ?"
)

// findInScope is FindTokens for a single lookup of what can be counted.
func (s *Store) findInScope(ctx context.Context, org, id string, revision int64, l *vault.Lookup) ([][]string, error) {
	tokens := make([]string, len(l.Fingerprints))
	find := func(c *file.Conn, scope int) error {
		clear(tokens) // an earlier try may have been of another snapshot
		if scope == noScope {
			return nil
		}
		if len(tokens) == 1 {
			return c.Query(context.Background(), findOneInScope, []any{l.Fingerprints[0][:], scope, l.Version}, func(r *file.Row) error {
				tokens[0] = r.Text(0)
				return nil
			})
		}
		all := appendFingerprints(make([]byte, 0, len(tokens)*len(keyring.Fingerprint{})), l.Fingerprints)
		return c.Query(context.Background(), findInScope, []any{all, scope, l.Version, len(tokens)}, func(r *file.Row) error {
			tokens[r.Number(0)] = r.Text(1)
			return nil
		})
	}
	in, found := scopeID{org, id, l.Scope}, false
	var stored int64
	err := s.db.Read(ctx, org, func(c *file.Conn) (err error) {
		stored, found, err = inScope(c, in, revision, find)
		return err
	})
	if err := asExpected(err, found, stored, revision); err != nil {
		return nil, err
	}
	return [][]string{tokens}, nil
}

// scopeID names a scope.
type scopeID struct{ organization, vault, name string }

// knownScopes are the scopes that a connection has read since the file last changed. With
// them, a lookup reads one table in place of four.
//
// If the connection's DataVersion is still the same after a read, everything else would have
// been read as before, too.
type knownScopes struct {
	version uint32
	scopes  map[scopeID]knownScope
}

// knownScope is a scope of a vault that was there, at a revision.
type knownScope struct {
	seq      int
	revision int64
}

// maxKnownScopes bounds what is remembered until the file changes.
const maxKnownScopes = 1024

// inScope calls find with the number of a scope, or noScope, perhaps twice: the last time
// counts. If the vault is not found or has another revision, none does.
func inScope(c *file.Conn, id scopeID, revision int64, find func(c *file.Conn, scope int) error) (stored int64, found bool, err error) {
	memory := file.MemoryOf[knownScopes](c.Lasting())
	known, ok := memory.scopes[id]
	if ok && known.revision == revision {
		if err := find(c, known.seq); err != nil {
			return 0, false, err
		}
		if version, err := c.DataVersion(); err != nil || version == memory.version {
			return revision, true, err
		}
	}
	err = c.Query(context.Background(), scopeOfVault, []any{id.name, id.organization, id.vault}, func(r *file.Row) error {
		stored, found = int64(r.Number(0)), true
		switch {
		case stored != revision:
			return nil
		case r.Null(1):
			return find(c, noScope)
		}
		// As long as this query is open, all reads of the connection are of one moment.
		known := knownScope{r.Number(1), revision}
		if err := find(c, known.seq); err != nil {
			return err
		}
		version, err := c.DataVersion()
		if err == nil {
			memory.put(version, id, known)
		}
		return err
	})
	return stored, found, err
}

// put adds what was read while the file was at a version.
func (k *knownScopes) put(version uint32, id scopeID, s knownScope) {
	if version != k.version || len(k.scopes) >= maxKnownScopes || k.scopes == nil {
		*k = knownScopes{version, make(map[scopeID]knownScope)}
	}
	k.scopes[id] = s
}
