package vaulttest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// keyedInsertRules say what InsertTokens has to do with the keys that the store knows.
var keyedInsertRules = []rule{
	{Rule{"tokens/insert-needs-required-versions", "InsertTokens is ErrUnknownKey if a row with fingerprints lacks one of a version that is required, whether or not its value has a token; it stores nothing."}, 0,
		func(t *testing.T, s *subject) {
			v := s.customers(t)
			s.adds(t, v, row("t1", email, "ann", 1))
			s.registers(t, keyring.FingerprintKey, 1, 2, 3)
			s.refuses(t, v, keyring.ErrUnknownKey, row("t2", email, "bea", 2, 3))
			s.adds(t, v, row("t2", email, "bea", 1))
			s.requires(t, 3)
			s.refuses(t, v, keyring.ErrUnknownKey, row("t3", email, "cleo", 1, 3), row("t4", email, "dora", 1, 2))
			s.refuses(t, v, keyring.ErrUnknownKey, row("t3", email, "cleo", 3))
			s.refuses(t, v, keyring.ErrUnknownKey, row("t3", email, "ann", 1))
			s.gives(t, v, []string{"t3", "t1", "t5"}, row("t3", email, "cleo", 1, 3), row("t4", email, "ann", 3, 1), row("t5", email, "dora", 3, 2, 1))
		}},

	{Rule{"tokens/insert-random-needs-no-version", "Rows without fingerprints need none, whatever is required."}, 0,
		func(t *testing.T, s *subject) {
			v := s.customers(t)
			s.registers(t, keyring.FingerprintKey, 1, 2)
			s.requires(t, 2)
			s.adds(t, v, row("t1", email, "ann"), row("t2", email, "bea", 1, 2))
			s.refuses(t, v, keyring.ErrUnknownKey, row("t3", email, "ann"), row("t4", email, "cleo", 1))
		}},

	{Rule{"tokens/insert-in-every-organization", "Keys belong to the installation: what is required or retired is so for all organizations."}, 0,
		func(t *testing.T, s *subject) {
			s.registers(t, keyring.FingerprintKey, 1, 2)
			s.registers(t, keyring.SealKey, 1, 2)
			s.requires(t, 2)
			s.retires(t, keyring.SealKey, 2, 0)
			for _, v := range []vault.Vault{s.customers(t), s.addVault(t, newVault(orgB, "customers")), s.addVault(t, newVault("org-c", "c"))} {
				s.refuses(t, v, keyring.ErrUnknownKey, row("t1", email, "ann", 1))
				sealed := row("t1", email, "ann", 1, 2)
				sealed.Sealed.Version = 2
				s.refuses(t, v, keyring.ErrRetired, sealed)
				s.adds(t, v, row("t1", email, "ann", 1, 2))
			}
		}},

	{Rule{"tokens/insert-under-a-retired-seal", "InsertTokens is ErrRetired if a row is sealed under a version that is retired, and stores nothing."}, 0,
		func(t *testing.T, s *subject) {
			v := s.customers(t)
			s.registers(t, keyring.SealKey, 1, 2)
			s.retires(t, keyring.SealKey, 2, 1)
			for _, bad := range []vault.Row{row("t2", email, "bea", 1), row("t2", "persons.phone", "bea")} {
				bad.Sealed.Version = 2
				s.refuses(t, v, keyring.ErrRetired, bad)
				s.refuses(t, v, keyring.ErrRetired, row("t1", email, "ann", 1), bad)
			}
			s.adds(t, v, row("t1", email, "ann", 1))
		}},

	{Rule{"tokens/insert-ignores-retired-versions", "Fingerprints of a retired version count for nothing, also before they are removed: they neither find a token nor belong to a row of the call."}, 0,
		func(t *testing.T, s *subject) {
			v := s.customers(t)
			s.registers(t, keyring.FingerprintKey, 1, 2)
			s.requires(t, 2)
			s.adds(t, v, row("t1", email, "ann", 1, 2))
			s.retires(t, keyring.FingerprintKey, 1, 2)
			mixed := func(token, old, young string) vault.Row {
				r := row(token, email, young, 2)
				r.Fingerprints = append([]vault.VersionedFingerprint{{Version: 1, Fingerprint: fingerprintOf(1, old)}}, r.Fingerprints...)
				return r
			}
			s.gives(t, v, []string{"t2", "t3", "t1"}, mixed("t2", "ann", "bea"), mixed("t3", "ann", "cleo"), mixed("t4", "bea", "ann"))
			s.gives(t, v, []string{"t5", "t6"}, mixed("t5", "eve", "dora"), mixed("t6", "eve", "fay"))
			s.removes(t, 1, 1)
			require.Equal(t, []string{"t1", "t2", "t3", "t5", "t6"}, s.find(t, v, email, 2, "ann", "bea", "cleo", "dora", "fay"))
		}},

	{Rule{"tokens/insert-stores-no-retired-fingerprints", "Fingerprints of a retired version are not stored: not with a new row, and not for a token that is there."}, 0,
		func(t *testing.T, s *subject) {
			v := s.customers(t)
			s.registers(t, keyring.FingerprintKey, 1, 2)
			s.requires(t, 2)
			s.adds(t, v, row("t1", email, "ann", 2, 1), row("t2", email, "bea", 2, 1))
			s.retires(t, keyring.FingerprintKey, 1, 2)
			s.removes(t, 1, 2)
			s.gives(t, v, []string{"t3", "t1"}, row("t3", email, "cleo", 1, 2), row("t4", email, "ann", 1, 2))
			require.Equal(t, []string{"", "", ""}, s.find(t, v, email, 1, "ann", "bea", "cleo"))
			s.usage(t, keyring.Usage{Rows: 3, Deterministic: 3, Fingerprints: map[int]int{2: 3}, Sealed: map[int]int{1: 3}})
			s.hasRow(t, v, row("t3", email, "cleo", 2))
		}},
}
