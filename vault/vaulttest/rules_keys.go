package vaulttest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// keyRules say what a Store knows of keys.
var keyRules = []rule{
	{Rule{"keys/register-stores-every-field", "RegisterKey stores Purpose, Version and Check, and returns what is stored; Keys returns it."}, 0,
		func(t *testing.T, s *subject) {
			s.hasKeys(t)
			first := newKey(keyring.FingerprintKey, 7)
			require.Equal(t, required(first), s.register(t, first))
			seal := newKey(keyring.SealKey, 1<<31-1)
			require.Equal(t, seal, s.register(t, seal))
			every := newKey(keyring.FingerprintKey, 1)
			for i := range every.Check {
				every.Check[i] = byte(i * 8)
			}
			require.Equal(t, every, s.register(t, every))
			s.hasKeys(t, every, required(first), seal)
		}},

	{Rule{"keys/by-purpose-then-version", "Keys returns all that are known, by purpose, then version, as numbers."}, 0,
		func(t *testing.T, s *subject) {
			s.registers(t, keyring.SealKey, 10, 2)
			s.registers(t, keyring.FingerprintKey, 100, 9)
			s.registers(t, keyring.SealKey, 9, 1)
			s.registers(t, keyring.FingerprintKey, 11, 1)
			f, k := keyring.FingerprintKey, keyring.SealKey
			s.hasKeys(t, newKey(f, 1), newKey(f, 9), newKey(f, 11), required(newKey(f, 100)), newKey(k, 1), newKey(k, 2), newKey(k, 9), newKey(k, 10))
		}},

	{Rule{"keys/register-what-is-known", "RegisterKey of a version that is known returns what is stored and changes nothing, not even with another Check."}, 0,
		func(t *testing.T, s *subject) {
			s.registers(t, keyring.FingerprintKey, 1, 2, 3)
			s.registers(t, keyring.SealKey, 1)
			s.requires(t, 2)
			s.retires(t, keyring.FingerprintKey, 1, 2)
			s.retires(t, keyring.SealKey, 1, 0)
			want := []keyring.Key{
				retired(newKey(keyring.FingerprintKey, 1)), required(newKey(keyring.FingerprintKey, 2)), newKey(keyring.FingerprintKey, 3), retired(newKey(keyring.SealKey, 1)),
			}
			for _, k := range want {
				for _, again := range []keyring.Key{newKey(k.Purpose, k.Version), {Purpose: k.Purpose, Version: k.Version, Check: keyring.Fingerprint{1}, Required: true, Retired: true}} {
					require.Equal(t, k, s.register(t, again))
				}
			}
			s.hasKeys(t, want...)
		}},

	{Rule{"keys/register-ignores-flags", "RegisterKey stores a key that is neither required nor retired, whatever its argument says."}, 0,
		func(t *testing.T, s *subject) {
			s.registers(t, keyring.FingerprintKey, 1)
			for _, k := range []keyring.Key{newKey(keyring.FingerprintKey, 2), newKey(keyring.SealKey, 1)} {
				given := k
				given.Required, given.Retired = true, true
				require.Equal(t, k, s.register(t, given))
			}
			s.hasKeys(t, required(newKey(keyring.FingerprintKey, 1)), newKey(keyring.FingerprintKey, 2), newKey(keyring.SealKey, 1))
		}},

	{Rule{"keys/first-fingerprint-version-is-required", "The first fingerprint version of all becomes required, and no later one, also if that one is retired; keys that seal do not count."}, 0,
		func(t *testing.T, s *subject) {
			require.Equal(t, newKey(keyring.SealKey, 1), s.register(t, newKey(keyring.SealKey, 1)))
			require.True(t, s.register(t, newKey(keyring.FingerprintKey, 2)).Required)
			require.False(t, s.register(t, newKey(keyring.FingerprintKey, 1)).Required)
			s.requires(t, 1)
			s.retires(t, keyring.FingerprintKey, 2, 1)
			require.False(t, s.register(t, newKey(keyring.FingerprintKey, 3)).Required)
		}},

	{Rule{"keys/purposes-are-apart", "The version of a key that seals and the same of one that makes fingerprints are two keys."}, 0,
		func(t *testing.T, s *subject) {
			s.registers(t, keyring.SealKey, 1)
			require.ErrorIs(t, s.Store.RequireKey(t.Context(), 1), keyring.ErrUnknownKey)
			require.ErrorIs(t, s.Store.RetireKey(t.Context(), keyring.FingerprintKey, 1, 2), keyring.ErrUnknownKey)
			s.registers(t, keyring.FingerprintKey, 1, 2)
			s.requires(t, 2)
			v := s.customers(t)
			s.adds(t, v, row("t1", email, "ann", 1, 2)) // sealed under 1
			s.retires(t, keyring.FingerprintKey, 1, 2)
			s.hasKeys(t, retired(newKey(keyring.FingerprintKey, 1)), required(newKey(keyring.FingerprintKey, 2)), newKey(keyring.SealKey, 1))
			s.adds(t, v, row("t2", email, "bea", 1, 2))
			s.registers(t, keyring.SealKey, 2)
			s.retires(t, keyring.SealKey, 2, 0)
			s.hasKeys(t, retired(newKey(keyring.FingerprintKey, 1)), required(newKey(keyring.FingerprintKey, 2)), newKey(keyring.SealKey, 1), retired(newKey(keyring.SealKey, 2)))
			s.adds(t, v, row("t3", email, "cleo", 1, 2))
		}},

	{Rule{"keys/require", "RequireKey makes a fingerprint version required, and changes nothing else; it is so once and for all."}, 0,
		func(t *testing.T, s *subject) {
			s.registers(t, keyring.FingerprintKey, 1, 2, 3)
			s.registers(t, keyring.SealKey, 2)
			s.requires(t, 2, 2, 1)
			s.hasKeys(t, required(newKey(keyring.FingerprintKey, 1)), required(newKey(keyring.FingerprintKey, 2)), newKey(keyring.FingerprintKey, 3), newKey(keyring.SealKey, 2))
		}},

	{Rule{"keys/require-unknown-or-retired", "RequireKey is ErrUnknownKey if the version is not known, and ErrRetired if it is retired; it changes nothing."}, 0,
		func(t *testing.T, s *subject) {
			require.ErrorIs(t, s.Store.RequireKey(t.Context(), 1), keyring.ErrUnknownKey)
			s.registers(t, keyring.FingerprintKey, 1, 2)
			s.requires(t, 2)
			s.retires(t, keyring.FingerprintKey, 1, 2)
			require.ErrorIs(t, s.Store.RequireKey(t.Context(), 1), keyring.ErrRetired)
			require.ErrorIs(t, s.Store.RequireKey(t.Context(), 3), keyring.ErrUnknownKey)
			s.hasKeys(t, retired(newKey(keyring.FingerprintKey, 1)), required(newKey(keyring.FingerprintKey, 2)))
		}},
}

// retireRules are the rules of RetireKey.
var retireRules = []rule{
	{Rule{"keys/retire-fingerprint-version", "RetireKey retires a fingerprint version, which is not required any more, though rows have fingerprints of it."}, 0,
		func(t *testing.T, s *subject) {
			s.registers(t, keyring.FingerprintKey, 1, 2, 3)
			s.requires(t, 2)
			v := s.customers(t)
			s.adds(t, v, row("t1", email, "ann", 1, 2, 3))
			s.retires(t, keyring.FingerprintKey, 1, 2)
			s.adds(t, v, row("t2", email, "bea", 2))
			s.retires(t, keyring.FingerprintKey, 3, 2) // was never required
			s.hasKeys(t, retired(newKey(keyring.FingerprintKey, 1)), required(newKey(keyring.FingerprintKey, 2)), retired(newKey(keyring.FingerprintKey, 3)))
		}},

	{Rule{"keys/retire-needs-a-successor", "RetireKey of a fingerprint version is ErrInUse if the successor is not another one that is required, and changes nothing."}, 0,
		func(t *testing.T, s *subject) {
			s.registers(t, keyring.FingerprintKey, 1, 2, 3, 4)
			s.registers(t, keyring.SealKey, 5)
			for _, successor := range []int{0, -1, 1, 2, 3, 5, 9} {
				require.ErrorIs(t, s.Store.RetireKey(t.Context(), keyring.FingerprintKey, 1, successor), keyring.ErrInUse, "successor %d", successor)
			}
			s.requires(t, 2, 4)
			s.retires(t, keyring.FingerprintKey, 4, 2)
			for _, successor := range []int{0, 1, 3, 4, 5} {
				require.ErrorIs(t, s.Store.RetireKey(t.Context(), keyring.FingerprintKey, 1, successor), keyring.ErrInUse, "successor %d", successor)
			}
			s.hasKeys(t, required(newKey(keyring.FingerprintKey, 1)), required(newKey(keyring.FingerprintKey, 2)), newKey(keyring.FingerprintKey, 3), retired(newKey(keyring.FingerprintKey, 4)),
				newKey(keyring.SealKey, 5))
			s.retires(t, keyring.FingerprintKey, 1, 2)
			require.ErrorIs(t, s.Store.RetireKey(t.Context(), keyring.FingerprintKey, 2, 1), keyring.ErrInUse)
		}},

	{Rule{"keys/retire-seal-in-use", "RetireKey is ErrInUse if a row that is not deleted is sealed under the version, of whatever organization, and changes nothing."}, 0,
		func(t *testing.T, s *subject) {
			s.registers(t, keyring.SealKey, 1, 2)
			v, foreign := s.customers(t), s.addVault(t, newVault(orgB, "customers"))
			ann, bea := row("t1", email, "ann", 1), row("t1", email, "bea")
			s.adds(t, v, ann)
			s.adds(t, foreign, bea)
			inUse := func() {
				t.Helper()
				require.ErrorIs(t, s.Store.RetireKey(t.Context(), keyring.SealKey, 1, 2), keyring.ErrInUse)
				s.hasKeys(t, newKey(keyring.SealKey, 1), newKey(keyring.SealKey, 2))
			}
			inUse()
			s.deletes(t, v, "t1")
			inUse()
			s.reseals(t, 1, vault.Resealed{Row: id(foreign, "t1"), From: bea.Sealed, To: sealedAnew(bea, 2)})
			s.retires(t, keyring.SealKey, 1, 2)
			s.hasKeys(t, retired(newKey(keyring.SealKey, 1)), newKey(keyring.SealKey, 2))
		}},

	{Rule{"keys/retire-seal-needs-no-successor", "For a key that seals, the successor means nothing."}, 0,
		func(t *testing.T, s *subject) {
			s.registers(t, keyring.SealKey, 1, 2, 3, 4)
			for version, successor := range map[int]int{1: 1, 2: 0, 3: 99, 4: 1} {
				s.retires(t, keyring.SealKey, version, successor)
			}
		}},

	{Rule{"keys/retire-unknown", "RetireKey is ErrUnknownKey if the version is not known."}, 0,
		func(t *testing.T, s *subject) {
			s.registers(t, keyring.FingerprintKey, 1)
			s.registers(t, keyring.SealKey, 2)
			for p, version := range map[keyring.Purpose]int{keyring.FingerprintKey: 2, keyring.SealKey: 1} {
				require.ErrorIs(t, s.Store.RetireKey(t.Context(), p, version, 1), keyring.ErrUnknownKey)
				require.ErrorIs(t, s.Store.RetireKey(t.Context(), p, 0, 1), keyring.ErrUnknownKey)
			}
			s.hasKeys(t, required(newKey(keyring.FingerprintKey, 1)), newKey(keyring.SealKey, 2))
		}},

	{Rule{"keys/retire-twice", "To retire a retired version does nothing, whatever the successor."}, 0,
		func(t *testing.T, s *subject) {
			s.registers(t, keyring.FingerprintKey, 1, 2)
			s.registers(t, keyring.SealKey, 1)
			s.requires(t, 2)
			s.retires(t, keyring.FingerprintKey, 1, 2)
			s.retires(t, keyring.SealKey, 1, 0)
			for _, successor := range []int{2, 1, 0, 9} {
				s.retires(t, keyring.FingerprintKey, 1, successor)
				s.retires(t, keyring.SealKey, 1, successor)
			}
			s.hasKeys(t, retired(newKey(keyring.FingerprintKey, 1)), required(newKey(keyring.FingerprintKey, 2)), retired(newKey(keyring.SealKey, 1)))
		}},
}

// usageRules are the rules of KeyUsage.
var usageRules = []rule{
	{Rule{"keys/usage-of-nothing", "KeyUsage counts nothing where nothing is stored, whatever keys there are."}, 0,
		func(t *testing.T, s *subject) {
			s.usage(t, keyring.Usage{})
			s.registers(t, keyring.FingerprintKey, 1, 2)
			s.registers(t, keyring.SealKey, 1)
			s.customers(t)
			s.usage(t, keyring.Usage{})
		}},

	{Rule{"keys/usage", "KeyUsage counts rows, those with fingerprints, fingerprints by version and rows by the version that sealed them, of all organizations, retired versions included."}, 0,
		func(t *testing.T, s *subject) {
			s.registers(t, keyring.FingerprintKey, 1, 2)
			s.requires(t, 2)
			v, foreign := s.customers(t), s.addVault(t, newVault(orgB, "other"))
			under := func(version int, r vault.Row) vault.Row { r.Sealed.Version = version; return r }
			s.adds(t, v, row("t1", email, "ann", 1, 2), under(2, row("t2", email, "bea", 1, 2, 3)), under(3, row("t3", email, "random")))
			s.adds(t, foreign, under(3, row("t1", "emails", "ann", 2, 1)), row("t2", "emails", "random"), under(2, row("t3", "emails", "bea", 1, 2)))
			want := keyring.Usage{Rows: 6, Deterministic: 4, Fingerprints: map[int]int{1: 4, 2: 4, 3: 1}, Sealed: map[int]int{1: 2, 2: 2, 3: 2}}
			s.usage(t, want)
			s.gives(t, v, []string{"t1"}, row("t9", email, "ann", 1, 2))
			s.usage(t, want)
			s.retires(t, keyring.FingerprintKey, 1, 2)
			s.usage(t, want)
			for range 3 {
				s.removesOne(t, 1)
			}
			want.Fingerprints[1] = 1
			s.usage(t, want)
		}},

	{Rule{"keys/usage-without-deleted-rows", "KeyUsage does not count rows that were deleted, nor what they had."}, 0,
		func(t *testing.T, s *subject) {
			v := s.customers(t)
			s.adds(t, v, row("t1", email, "ann", 1, 2), row("t2", email, "bea", 1), row("t3", email, "random"))
			s.deletes(t, v, "t1")
			s.usage(t, keyring.Usage{Rows: 2, Deterministic: 1, Fingerprints: map[int]int{1: 1}, Sealed: map[int]int{1: 2}})
			s.deletes(t, v, "t3")
			s.deletes(t, v, "t2")
			s.usage(t, keyring.Usage{})
		}},
}
