package sqlite_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/storage/sqlite"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/filetest"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/vaultdb"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/vaulttest"
)

// vaults is the harness of the domain's suites, with something done to each database. At
// its end each must have counted right.
func vaults(each ...func(*sqlite.DB)) vaulttest.Harness {
	files := make(map[any]*opened)
	open := func(t *testing.T, path string) vault.Backend {
		db := openAt(t, path, &sqlite.Options{BusyTimeout: 50 * time.Millisecond})
		for _, do := range each {
			do(db)
		}
		t.Cleanup(func() { filetest.RequireCounts(t, db.File()) })
		tables := db.Vault().Store.(*vaultdb.Store)
		files[tables] = &opened{db, path}
		return vault.Backend{Store: tables}
	}
	return vaulttest.Harness{
		Open: func(t *testing.T) vault.Backend { return open(t, filetest.EmptyFile(t)) },
		Reopen: func(t *testing.T, b vault.Backend) vault.Backend {
			filetest.RequireCounts(t, files[b.Store].db.File())
			require.NoError(t, files[b.Store].db.Close())
			return open(t, files[b.Store].path)
		},
		InTx: func(t *testing.T, b vault.Backend, do func(context.Context) error) error {
			return files[b.Store].db.InTx(t.Context(), func(ctx context.Context, _ *sqlite.Tx) error { return do(ctx) })
		},
		Break: func(t *testing.T, b vault.Backend) (heal func()) { return lockFile(t, files[b.Store].path) },
	}
}

func TestVault(t *testing.T) {
	t.Parallel()
	vaulttest.Run(t, vaults())
}

func TestVaultModel(t *testing.T) {
	t.Parallel()
	vaulttest.RunModel(t, vaults(), &vaulttest.ModelOptions{Sequences: 5})
}
