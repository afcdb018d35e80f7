package vaulttest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// scopeRules say what keeps a change of a vault from taking values away from their
// tokens.
var scopeRules = []rule{
	{Rule{"vaults/left-scope-in-use", "PutVault is ErrScopeInUse if one of the scopes that left names has a deterministic row, and nothing changes."}, 0,
		func(t *testing.T, s *subject) {
			v := s.customers(t)
			s.adds(t, v, row("t1", "a.b", "ann", 1), row("t2", "c", "ann", 2))
			for _, left := range [][]string{{"a.b"}, {"c"}, {"a.b", "c"}, {"x", "a.b"}, {"c", "x", "y"}, {"x", "y", "c"}} {
				s.refusesVault(t, changed(v), left, vault.ErrScopeInUse)
				s.hasVault(t, v)
			}
			s.hasRow(t, v, row("t1", "a.b", "ann", 1))
			s.changeVault(t, v, "x", "y")
		}},

	{Rule{"vaults/left-scope-of-others", "Rows of other scopes, other vaults and other organizations keep no scope in use; scopes are compared as bytes."}, 0,
		func(t *testing.T, s *subject) {
			v := s.customers(t)
			s.adds(t, s.addVault(t, newVault(orgA, "other")), row("t1", "a.b", "ann", 1))
			s.adds(t, s.addVault(t, newVault(orgB, "customers")), row("t1", "a.b", "ann", 1))
			s.adds(t, v, row("t1", "a.c", "ann", 1), row("t2", "A.b", "ann", 1), row("t3", "a.b ", "ann", 1), row("t4", "a.b\x01", "ann", 1))
			v = s.changeVault(t, v, "a.b", "a", "", "b")
			s.refusesVault(t, changed(v), []string{"A.b"}, vault.ErrScopeInUse)
			s.refusesVault(t, changed(v), []string{"a.b\x01"}, vault.ErrScopeInUse)
		}},

	{Rule{"vaults/left-scope-of-random-rows", "Rows that are not deterministic keep no scope in use."}, 0,
		func(t *testing.T, s *subject) {
			v := s.customers(t)
			s.adds(t, v, row("t1", "a.b", "ann"), row("t2", "a.b", "bea"))
			v = s.changeVault(t, v, "a.b")
			s.adds(t, v, row("t3", "a.b", "cleo", 1))
			s.refusesVault(t, changed(v), []string{"a.b"}, vault.ErrScopeInUse)
		}},

	{Rule{"vaults/left-scope-of-deleted-rows", "Rows that were deleted keep no scope in use."}, 0,
		func(t *testing.T, s *subject) {
			v := s.customers(t)
			s.adds(t, v, row("t1", "a.b", "ann", 1), row("t2", "a.b", "bea", 1))
			s.deletes(t, v, "t1")
			s.refusesVault(t, changed(v), []string{"a.b"}, vault.ErrScopeInUse)
			s.deletes(t, v, "t2")
			s.hasVault(t, s.changeVault(t, v, "a.b"))
		}},

	{Rule{"vaults/left-scope-after-rotation", "A scope is in use whatever versions the fingerprints of its rows are of."}, 0,
		func(t *testing.T, s *subject) {
			s.registers(t, keyring.FingerprintKey, 1, 2)
			require.NoError(t, s.Store.RequireKey(t.Context(), 2))
			v := s.customers(t)
			s.adds(t, v, row("t1", "a.b", "ann", 1, 2))
			s.retires(t, keyring.FingerprintKey, 1, 2)
			s.removes(t, 1, 1)
			s.refusesVault(t, changed(v), []string{"a.b"}, vault.ErrScopeInUse)
		}},
}
