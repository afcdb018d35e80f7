package vaultdb

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/filetest"
	"github.com/seed-6363c74e/mortise/vault"
)

// DB is a file with the store of package vault.
type DB struct {
	*file.File
	vault *Store
}

// Open opens the file at path. Options may be nil.
func Open(ctx context.Context, path string, opts *file.Options) (*DB, error) {
	all := filetest.Options(opts)
	all.Forgets = Forgets
	f, err := file.Open(ctx, path, all)
	if err != nil {
		return nil, err
	}
	return &DB{f, New(f)}, nil
}

// openVault opens a database with the vault "v1" of "acme" that the test's end closes, if
// its counts are right.
func openVault(t *testing.T) (*DB, *Store) {
	t.Helper()
	db, err := Open(t.Context(), filetest.EmptyFile(t), nil)
	require.NoError(t, err)
	t.Cleanup(func() {
		filetest.RequireCounts(t, db.File)
		require.NoError(t, db.Close())
	})
	require.NoError(t, db.vault.PutVault(t.Context(), vault.Vault{Organization: "acme", ID: "v1", Revision: 1}, nil, vault.AuditEvent{}))
	return db, db.vault
}

// connectAll makes all connections that a database's readers may have, and returns how many
// of them find what an index answers. Reads one after the other go through all of these.
func connectAll(t *testing.T, db *DB) (finders int) {
	t.Helper()
	require.NoError(t, db.Probe().ConnectAll())
	seen := make(map[*file.Conn]bool)
	for again := false; !again; {
		require.NoError(t, db.Read(t.Context(), file.NoOrg, func(c *file.Conn) error {
			again = seen[c]
			seen[c] = true
			return nil
		}))
	}
	return len(seen)
}

// setRBAC is a write to a table of another domain.
const setRBAC = "INSERT INTO authmgmt_organizations (id, rbac) VALUES (?, ?) ON CONFLICT DO UPDATE SET rbac = excluded.rbac"
