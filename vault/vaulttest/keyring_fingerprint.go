package vaulttest

import (
	"crypto/sha256"
	"crypto/sha512"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// versionRules say what a keyring tells of its versions.
var versionRules = []keyringRule{
	{Rule: Rule{"keyring/versions-are-above-zero", "Versions are numbers above 0; none is there twice."},
		check: func(t *testing.T, h *KeyringHarness) {
			v := h.open(t, 2, 1, 3).versions
			require.Positive(t, v.Seal)
			seen := make(map[int]bool)
			for _, version := range append([]int{v.Fingerprint}, v.Lookup...) {
				require.Positive(t, version)
				require.False(t, seen[version], "version %d is there twice", version)
				seen[version] = true
			}
		}},

	{Rule: Rule{"keyring/versions-say-what-is-loaded", "Versions says which versions are loaded: the primary one of fingerprints, the further ones, and the one that seals."},
		check: func(t *testing.T, h *KeyringHarness) {
			require.Empty(t, h.open(t, 1).versions.Lookup, "one generation needs no further version")
			require.Len(t, h.open(t, 1, 2).versions.Lookup, 1)
			all := h.open(t, 3, 1, 2)
			for _, version := range append([]int{all.versions.Fingerprint}, all.versions.Lookup...) {
				all.fingerprint(t, version, emails, "ann@example.com")
			}
			require.Len(t, all.versions.Lookup, 2)
		}},

	{Rule: Rule{"keyring/versions-stay", "A version never stands for another key than it did before: it keeps its number when it is not the primary one any more."},
		check: func(t *testing.T, h *KeyringHarness) {
			one, two := h.open(t, 1), h.open(t, 2)
			require.NotEqual(t, one.versions.Fingerprint, two.versions.Fingerprint)
			require.NotEqual(t, one.versions.Seal, two.versions.Seal)
			before, after := h.open(t, 1, 2), h.open(t, 2, 1)
			require.Equal(t, keyring.Versions{Fingerprint: one.versions.Fingerprint, Lookup: []int{two.versions.Fingerprint}, Seal: one.versions.Seal}, before.versions)
			require.Equal(t, keyring.Versions{Fingerprint: two.versions.Fingerprint, Lookup: []int{one.versions.Fingerprint}, Seal: two.versions.Seal}, after.versions)
		}},
}

// fingerprintRules are the rules of Fingerprint.
var fingerprintRules = []keyringRule{
	{Rule: Rule{"keyring/fingerprint-is-always-the-same", "The same version, scope and value always give the same fingerprint: alone or among others, in this process or another one, with the version the primary one or not."},
		check: func(t *testing.T, h *KeyringHarness) {
			values := hardValues()
			k := h.open(t, 1)
			version := k.versions.Fingerprint
			want := k.fingerprint(t, version, emails, values...)
			for _, again := range []*ring{k, h.open(t, 1), h.open(t, 1, 2), h.open(t, 2, 1), h.open(t, 3, 2, 1)} {
				require.True(t, slices.Equal(want, again.fingerprint(t, version, emails, values...)), "of %+v", again.versions)
				for i := range values {
					require.True(t, want[i] == again.fingerprint(t, version, emails, values[i])[0], "of value %d alone", i)
				}
			}
			slices.Reverse(values)
			slices.Reverse(want)
			require.True(t, slices.Equal(want, k.fingerprint(t, version, emails, values...)), "in another order")
			twice := k.fingerprint(t, version, emails, "ann", "bea", "ann")
			require.True(t, twice[0] == twice[2] && twice[0] != twice[1], "of a value that is there twice")
		}},

	{Rule: Rule{"keyring/fingerprint-differs-by-value", "Different values have different fingerprints: each byte counts, whatever it is."},
		check: func(t *testing.T, h *KeyringHarness) {
			k := h.open(t, 1)
			values := hardValues()
			seen := make(map[keyring.Fingerprint]int)
			for i, f := range k.fingerprint(t, k.versions.Fingerprint, emails, values...) {
				other, ok := seen[f]
				require.False(t, ok, "values %d and %d have the same", other, i)
				seen[f] = i
				require.NotZero(t, f)
			}
		}},

	{Rule: Rule{"keyring/fingerprint-differs-by-scope", "Nobody can tell whether fingerprints of different scopes are of one value: other organization, other vault, other scope, and wherever one of these ends and the next begins."},
		check: func(t *testing.T, h *KeyringHarness) {
			k := h.open(t, 1)
			seen := make(map[keyring.Fingerprint]keyring.Scope)
			for _, place := range places {
				f := k.fingerprint(t, k.versions.Fingerprint, place, "ann@example.com")[0]
				other, ok := seen[f]
				require.False(t, ok, "%+v and %+v have the same", other, place)
				seen[f] = place
			}
		}},

	{Rule: Rule{"keyring/fingerprint-differs-by-version", "Nobody can tell whether fingerprints of different versions are of one value."},
		check: func(t *testing.T, h *KeyringHarness) {
			k := h.open(t, 1, 2, 3)
			seen := make(map[keyring.Fingerprint]bool)
			for _, version := range append([]int{k.versions.Fingerprint}, k.versions.Lookup...) {
				f := k.fingerprint(t, version, emails, "ann@example.com")[0]
				require.False(t, seen[f], "version %d", version)
				seen[f] = true
			}
		}},

	{Rule: Rule{"keyring/fingerprint-needs-the-key", "Without the key nobody can compute or confirm a fingerprint: another key gives another one for everything."}, needs: needForeign,
		check: func(t *testing.T, h *KeyringHarness) {
			values := hardValues()
			k, foreign := h.open(t, 1), newRing(t, h.Foreign(t, 1))
			require.Equal(t, k.versions, foreign.versions, "the versions of Foreign")
			theirs := foreign.fingerprint(t, k.versions.Fingerprint, emails, values...)
			for i, f := range k.fingerprint(t, k.versions.Fingerprint, emails, values...) {
				require.False(t, slices.Contains(theirs, f), "value %d", i)
			}
		}},

	{Rule: Rule{"keyring/fingerprint-is-no-plain-digest", "A fingerprint is a keyed digest: no plain one of the value, cut or not."},
		check: func(t *testing.T, h *KeyringHarness) {
			const value = "ann@example.com"
			k := h.open(t, 1)
			sum512, sum512256 := sha512.Sum512([]byte(value)), sha512.Sum512_256([]byte(value))
			f := k.fingerprint(t, k.versions.Fingerprint, emails, value)[0]
			for _, plain := range [][32]byte{sha256.Sum256([]byte(value)), sum512256, [32]byte(sum512[:32])} {
				require.False(t, f == plain)
			}
			var padded [32]byte
			copy(padded[:], value)
			require.False(t, f == padded)
		}},

	{Rule: Rule{"keyring/fingerprint-batches", "Fingerprint writes a digest of each value to dst, in their order, for none and for a thousand."},
		check: func(t *testing.T, h *KeyringHarness) {
			k := h.open(t, 1)
			k.fingerprint(t, k.versions.Fingerprint, emails)
			values := make([]string, 1000)
			for i := range values {
				values[i] = fmt.Sprint("value ", i%900)
			}
			all := k.fingerprint(t, k.versions.Fingerprint, emails, values...)
			for _, i := range []int{0, 1, 499, 899, 900, 999} {
				require.True(t, all[i] == k.fingerprint(t, k.versions.Fingerprint, emails, values[i])[0], "value %d", i)
			}
			require.True(t, all[0] == all[900] && all[99] == all[999])
		}},

	{Rule: Rule{"keyring/fingerprint-unknown-version", "Fingerprint is ErrUnknownKey if the version is not loaded."},
		check: func(t *testing.T, h *KeyringHarness) {
			k, other := h.open(t, 1), h.open(t, 2)
			for _, version := range []int{other.versions.Fingerprint, 0, -1, -k.versions.Fingerprint, 1<<31 - 1} {
				var dst [1]keyring.Fingerprint
				err := k.Fingerprint(t.Context(), version, fingerprintItems(emails, "ann@example.com"), dst[:])
				require.ErrorIs(t, err, keyring.ErrUnknownKey, "version %d", version)
			}
		}},
}
