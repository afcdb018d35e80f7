package memory_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/vaulttest"
)

// vaults is the harness of the domain's suites.
var vaults = vaulttest.Harness{Open: func(t *testing.T) vault.Backend {
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db.Vault()
}}

func TestVault(t *testing.T) { vaulttest.Run(t, vaults) }

func TestVaultModel(t *testing.T) { vaulttest.RunModel(t, vaults, nil) }
