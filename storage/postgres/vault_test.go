package postgres_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/nightly"
	"github.com/seed-6363c74e/mortise/storage/postgres"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/vaulttest"
)

// vaults is the harness of the domain's suites.
func vaults(from func(testing.TB) *database) vaulttest.Harness {
	type opened struct {
		db *postgres.DB
		d  *database
	}
	bases := make(map[any]opened)
	open := func(t *testing.T, d *database) vault.Backend {
		db := d.open(t, nil)
		b := db.Vault()
		bases[b.Store] = opened{db, d}
		return b
	}
	return vaulttest.Harness{
		Open: func(t *testing.T) vault.Backend { return open(t, from(t)) },
		Reopen: func(t *testing.T, b vault.Backend) vault.Backend {
			require.NoError(t, bases[b.Store].db.Close())
			return open(t, bases[b.Store].d)
		},
		InTx: func(t *testing.T, b vault.Backend, do func(context.Context) error) error {
			return inTx(t, bases[b.Store].d.pool(t), do)
		},
		Break: func(t *testing.T, b vault.Backend) (heal func()) { return bases[b.Store].d.refuse(t) },
	}
}

func TestVault(t *testing.T) {
	t.Parallel()
	vaulttest.Run(t, vaults(newDatabase))
}

func TestVaultModel(t *testing.T) {
	nightly.Only(t)
	t.Parallel()
	vaulttest.RunModel(t, vaults(newDatabase), &vaulttest.ModelOptions{Sequences: 2})
}

func TestVaultModelExecMode(t *testing.T) {
	nightly.Only(t)
	t.Parallel()
	vaulttest.RunModel(t, vaults(execDatabase), &vaulttest.ModelOptions{Sequences: 2})
}
