package memory_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/vaulttest"
)

// vaults returns the harness of the domain's suites.
func vaults() vaulttest.Harness {
	dbs := make(map[vault.Store]*memory.DB)
	return vaulttest.Harness{
		Open: func(t *testing.T) vault.Backend {
			db, err := memory.Open(t.Context(), nil)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, db.Close()) })
			b := db.Vault()
			dbs[b.Store] = db
			return b
		},
		InTx: func(t *testing.T, b vault.Backend, do func(context.Context) error) error {
			return dbs[b.Store].InTx(t.Context(), do)
		},
	}
}

func TestVault(t *testing.T) { vaulttest.Run(t, vaults()) }

func TestVaultModel(t *testing.T) { vaulttest.RunModel(t, vaults(), nil) }
