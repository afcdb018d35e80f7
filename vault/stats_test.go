package vault_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
	"github.com/seed-6363c74e/mortise/vault/vaulttest"
)

func exactly(n int) mortise.Count { return mortise.Count{N: n} }

// TestStats: tokens are counted for their vault, their organization and all, and so are
// those that were deleted.
func TestStats(t *testing.T) {
	r := newRig(t, vault.Options{})
	_, err := r.CreateVault(t.Context(), "acme", "ops", "v2", schema)
	require.NoError(t, err)
	_, err = r.CreateVault(t.Context(), "other", "ops", "v1", schema)
	require.NoError(t, err)
	tokens := insert(t, r.Service, of("persons", "email", "ann@example.com", "bea@example.com", "ann@example.com"))
	insert(t, r.Service, of("persons", "diary", "dear", "dear"))
	_, err = r.Insert(t.Context(), "acme", "ops", "v2", of("persons", "name", "ann"))
	require.NoError(t, err)
	_, err = r.Insert(t.Context(), "other", "ops", "v1", of("persons", "name", "ann"))
	require.NoError(t, err)
	require.NoError(t, r.Delete(t.Context(), "acme", "ops", "v1", tokens[1]))

	stats, err := r.Stats(t.Context(), "acme")
	require.NoError(t, err)
	require.Equal(t, vault.Stats{Vaults: exactly(2), Tokens: exactly(4), Deleted: exactly(1)}, stats)
	one, err := r.VaultStats(t.Context(), "acme", "v1")
	require.NoError(t, err)
	require.Equal(t, vault.Stats{Tokens: exactly(3), Deleted: exactly(1)}, one)
	all, err := r.StatsAll(t.Context())
	require.NoError(t, err)
	keys, err := r.store.Keys(t.Context())
	require.NoError(t, err)
	require.Len(t, keys, 2)
	require.Equal(t, vault.AllStats{Vaults: exactly(3), Tokens: exactly(5), Deleted: exactly(1), Keys: keys}, all)
}

// TestStatsOfARotation: StatsAll says what Rewrap and Retire have still to do.
func TestStatsOfARotation(t *testing.T) {
	r := newRig(t, vault.Options{})
	insert(t, r.Service, of("persons", "email", "ann@example.com", "bea@example.com"))
	insert(t, r.Service, of("persons", "diary", "dear"))
	left := func(s *vault.Service, rewrap, remove int) {
		t.Helper()
		all, err := s.StatsAll(t.Context())
		require.NoError(t, err)
		require.Equal(t, exactly(rewrap), all.ToRewrap, "tokens to seal anew")
		require.Equal(t, exactly(remove), all.ToRemove, "fingerprints to remove")
	}
	left(r.Service, 0, 0)
	both := r.with(t, 1, 2)
	require.NoError(t, both.Backfill(t.Context(), 2, nil))
	left(both, 0, 0)
	promoted := r.with(t, 2, 1)
	left(promoted, 3, 0)
	require.NoError(t, promoted.Rewrap(t.Context(), nil))
	left(promoted, 0, 0)
	// And the process dies.
	require.NoError(t, r.store.RetireKey(t.Context(), keyring.FingerprintKey, 1, 2))
	left(promoted, 0, 2)
	require.NoError(t, promoted.Retire(t.Context(), keyring.FingerprintKey, 1, nil))
	left(promoted, 0, 0)
}

// TestStatsOfNobody: who cannot be has nothing, without a look.
func TestStatsOfNobody(t *testing.T) {
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	s, err := vault.New(vault.Backend{Store: countless{db.Vault().Store}}, newKeyring(t, 1), nil)
	require.NoError(t, err)
	for _, org := range []string{"", "a\x00", "\xff"} {
		stats, err := s.Stats(t.Context(), org)
		require.NoError(t, err)
		require.Zero(t, stats)
		_, err = s.VaultStats(t.Context(), org, "v1")
		require.ErrorIs(t, err, mortise.ErrNotFound)
		_, err = s.VaultStats(t.Context(), "acme", org)
		require.ErrorIs(t, err, mortise.ErrNotFound)
	}
	s = newRig(t, vault.Options{}).Service
	stats, err := s.Stats(t.Context(), "other")
	require.NoError(t, err)
	require.Zero(t, stats)
	_, err = s.VaultStats(t.Context(), "acme", "other")
	require.ErrorIs(t, err, mortise.ErrNotFound)
}

// countless is a store that cannot count, and returns half of an answer. The error says
// how far it should have counted.
type countless struct{ vault.Store }

func (countless) Stats(_ context.Context, _ string, most int) (vault.Stats, error) {
	return vault.Stats{Vaults: exactly(1)}, fmt.Errorf("up to %d: %w", most, vaulttest.ErrInjected)
}

func (countless) VaultStats(_ context.Context, _, _ string, most int) (vault.Stats, error) {
	return vault.Stats{Tokens: exactly(1)}, fmt.Errorf("up to %d: %w", most, vaulttest.ErrInjected)
}

func (countless) StatsAll(_ context.Context, seal, most int) (vault.AllStats, error) {
	return vault.AllStats{Vaults: exactly(1)}, fmt.Errorf("beside %d, up to %d: %w", seal, most, vaulttest.ErrInjected)
}

// TestStatsUnavailable: without an answer of the store, or of the keyring, there is none.
func TestStatsUnavailable(t *testing.T) {
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	s, err := vault.New(vault.Backend{Store: countless{db.Vault().Store}}, newKeyring(t, 3, 1), nil)
	require.NoError(t, err)
	require.Equal(t, 10_000, mortise.MaxCount)

	stats, err := s.Stats(t.Context(), "acme")
	require.EqualError(t, err, "mortise: unavailable: count what an organization has: up to 10000: vaulttest: injected failure")
	require.ErrorIs(t, err, mortise.ErrUnavailable)
	require.Zero(t, stats)
	one, err := s.VaultStats(t.Context(), "acme", "v1")
	require.EqualError(t, err, "mortise: unavailable: count what a vault has: up to 10000: vaulttest: injected failure")
	require.Zero(t, one)
	all, err := s.StatsAll(t.Context())
	require.EqualError(t, err, "mortise: unavailable: count what all organizations have: beside 3, up to 10000: vaulttest: injected failure")
	require.Zero(t, all)

	faults := &vaulttest.Faults{Before: vaulttest.On(vaulttest.Nth(1), "Keyring.Versions")}
	s, err = vault.New(db.Vault(), faults.Keyring(newKeyring(t, 1)), nil)
	require.NoError(t, err)
	all, err = s.StatsAll(t.Context())
	require.ErrorIs(t, err, mortise.ErrUnavailable)
	require.Zero(t, all)
}
