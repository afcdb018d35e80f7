package vault_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/localkeys"
)

func key(t *testing.T, version int) localkeys.Key {
	t.Helper()
	bytes := make([]byte, localkeys.RootSize)
	bytes[0] = byte(version)
	root, err := localkeys.NewRoot(bytes)
	require.NoError(t, err)
	return localkeys.Key{Version: version, Root: root}
}

func serviceWith(t *testing.T, store vault.Store, primary localkeys.Key, others ...localkeys.Key) *vault.Service {
	t.Helper()
	keyring, err := localkeys.New(primary, others...)
	require.NoError(t, err)
	s, err := vault.New(store, keyring, nil)
	require.NoError(t, err)
	return s
}

// A token outlives a rotation of the keys, in processes that are at different steps of it.
func TestRotationKeepsTokens(t *testing.T) {
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	ctx, store := t.Context(), db.Vault()
	old := serviceWith(t, store, key(t, 1))
	_, err = old.CreateVault(ctx, "acme", "ops", "v1", vault.Schema{Tables: []vault.Table{{Name: "persons", Columns: []vault.Column{
		{Name: "email", Tokenization: vault.Deterministic, Format: "email"},
	}}}})
	require.NoError(t, err)
	ada := []vault.Item{{Table: "persons", Column: "email", Value: vault.NewValue("ada@example.com")}}
	want, err := old.Insert(ctx, "acme", "ops", "v1", ada)
	require.NoError(t, err)

	prepared := serviceWith(t, store, key(t, 1), key(t, 2))
	require.NoError(t, prepared.Backfill(ctx, 2, nil))
	_, err = old.Insert(ctx, "acme", "ops", "v1", []vault.Item{{Table: "persons", Column: "email", Value: vault.NewValue("bob@example.com")}})
	require.ErrorIs(t, err, vault.ErrUnknownKey)
	promoted := serviceWith(t, store, key(t, 2), key(t, 1))
	for _, s := range []*vault.Service{old, prepared, promoted} {
		got, err := s.Insert(ctx, "acme", "ops", "v1", ada)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	require.ErrorIs(t, promoted.Retire(ctx, vault.SealKey, 1, nil), vault.ErrKeyInUse)
	require.NoError(t, promoted.Rewrap(ctx, nil))
	require.NoError(t, promoted.Retire(ctx, vault.SealKey, 1, nil))
	require.NoError(t, promoted.Retire(ctx, vault.FingerprintKey, 1, nil))
	_, err = old.Tokenize(ctx, "acme", "v1", ada)
	require.Error(t, err)
	require.NotErrorIs(t, err, vault.ErrValueNotFound)
	done := serviceWith(t, store, key(t, 2))
	got, err := done.Tokenize(ctx, "acme", "v1", ada)
	require.NoError(t, err)
	require.Equal(t, want, got)
	values, err := done.Detokenize(ctx, "acme", "ops", "v1", []vault.TokenItem{{Token: got[0]}}, func(vault.Field) vault.Redaction { return vault.PlainText })
	require.NoError(t, err)
	require.Equal(t, "ada@example.com", values[0].Value.Reveal())
}
