package vaulttest

import (
	"context"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/conformance/steptest"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// newKey returns a key as a service registers it.
func newKey(p keyring.Purpose, version int) keyring.Key {
	k := keyring.Key{Purpose: p, Version: version}
	if p == keyring.FingerprintKey {
		k.Check = fingerprintOf(version, "check")
	}
	return k
}

// registers registers versions.
func (s *subject) registers(t *testing.T, p keyring.Purpose, versions ...int) {
	t.Helper()
	for _, version := range versions {
		_, err := s.Store.RegisterKey(t.Context(), newKey(p, version))
		require.NoError(t, err, "RegisterKey")
	}
}

// register calls RegisterKey.
func (s *subject) register(t *testing.T, k keyring.Key) keyring.Key {
	t.Helper()
	stored, err := s.Store.RegisterKey(t.Context(), k)
	require.NoError(t, err, "RegisterKey")
	return stored
}

// requires calls RequireKey.
func (s *subject) requires(t *testing.T, versions ...int) {
	t.Helper()
	for _, version := range versions {
		require.NoError(t, s.Store.RequireKey(t.Context(), version), "RequireKey")
	}
}

// retires calls RetireKey.
func (s *subject) retires(t *testing.T, p keyring.Purpose, version, successor int) {
	t.Helper()
	require.NoError(t, s.Store.RetireKey(t.Context(), p, version, successor), "RetireKey")
}

// hasKeys requires that these keys are known, and no others.
func (s *subject) hasKeys(t *testing.T, want ...keyring.Key) {
	t.Helper()
	got, err := s.Store.Keys(t.Context())
	require.NoError(t, err, "Keys")
	require.Len(t, got, len(want), "keys")
	for i := range want {
		require.Equal(t, want[i], got[i])
	}
}

// required returns a key that is required, and retired one that is retired.
func required(k keyring.Key) keyring.Key { k.Required = true; return k }
func retired(k keyring.Key) keyring.Key  { k.Required, k.Retired = false, true; return k }

// usage requires what is stored under keys.
func (s *subject) usage(t *testing.T, want keyring.Usage) {
	t.Helper()
	got, err := s.Store.KeyUsage(t.Context())
	require.NoError(t, err, "KeyUsage")
	for _, counts := range []*map[int]int{&want.Fingerprints, &want.Sealed, &got.Fingerprints, &got.Sealed} {
		*counts = maps.Collect(func(yield func(int, int) bool) { // the contract does not tell none from zero
			for version, n := range *counts {
				if n != 0 && !yield(version, n) {
					return
				}
			}
		})
	}
	require.Equal(t, want, got)
}

// removing is RemoveFingerprints of a version.
func (s *subject) removing(version int) steptest.Do {
	return func(ctx context.Context, limit int) (int, bool, error) {
		return s.Store.RemoveFingerprints(ctx, version, limit)
	}
}

// removesOne requires that RemoveFingerprints removes one if it may.
func (s *subject) removesOne(t *testing.T, version int) {
	t.Helper()
	n, _, err := s.Store.RemoveFingerprints(t.Context(), version, 1)
	require.NoError(t, err, "RemoveFingerprints")
	require.Equal(t, 1, n, "fingerprints removed")
}

// removes requires that RemoveFingerprints removes so many, in all its steps.
func (s *subject) removes(t *testing.T, version, want int) {
	t.Helper()
	n := steptest.All(t, 10, s.removing(version))
	require.Equal(t, want, n, "fingerprints that were removed")
}

// id returns where a token of a vault stands.
func id(v vault.Vault, token string) vault.RowID {
	return vault.RowID{Organization: v.Organization, Vault: v.ID, Token: token}
}

// fill calls AddFingerprints with those of values, and requires what it refuses.
func (s *subject) fill(t *testing.T, version int, refused []vault.RowID, of ...vault.RowFingerprint) {
	t.Helper()
	got, err := s.Store.AddFingerprints(t.Context(), version, of)
	require.NoError(t, err, "AddFingerprints")
	require.ElementsMatch(t, refused, got, "rows that AddFingerprints refuses")
}

// filling returns the fingerprint of a value for a token.
func filling(v vault.Vault, token string, version int, value string) vault.RowFingerprint {
	return vault.RowFingerprint{Row: id(v, token), Fingerprint: fingerprintOf(version, value)}
}

// sealed returns a row's Sealed, as a version would have sealed it anew.
func sealedAnew(r vault.Row, version int) keyring.Sealed {
	return keyring.Sealed{Version: version, Ciphertext: append([]byte("anew "), r.Sealed.Ciphertext...)}
}

// reseals calls Reseal and requires how many it changes.
func (s *subject) reseals(t *testing.T, want int, rows ...vault.Resealed) {
	t.Helper()
	n, err := s.Store.Reseal(t.Context(), rows)
	require.NoError(t, err, "Reseal")
	require.Equal(t, want, n, "rows that Reseal changed")
}
