package vaulttest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// reopenRules say what outlives a process.
var reopenRules = []rule{
	{Rule{"store/durable", "A call that returned without error is durable: vaults, tokens, keys and audit events outlive the process, as they were, every field of them."}, needReopen,
		func(t *testing.T, s *subject) {
			x := s.addSample(t)
			v := s.changeVault(t, s.addVault(t, filledVault(orgB, "changed")))
			ann := row("t1", email, "ann", 1, 2)
			s.adds(t, v, ann)
			s.gives(t, v, []string{"t1"}, row("t2", email, "ann", 2, 1, 4))
			s.fill(t, 5, nil, filling(v, "t1", 5, "ann"))
			imported := row("imported", "emails", "ann", 1, 2)
			s.imports(t, v, imported)
			s.reseals(t, 1, vault.Resealed{Row: id(v, "t1"), From: ann.Sealed, To: sealedAnew(ann, 2)})
			for i := range 200 {
				s.adds(t, v, row(fmt.Sprint("many", i), email, fmt.Sprint(i), 1, 2))
			}
			usage, err := s.Store.KeyUsage(t.Context())
			require.NoError(t, err)
			trail, tokens := s.Trail(t, orgA), s.dump(t, v)

			s.reopen(t)
			s.hasSample(t, x)
			s.hasVault(t, v)
			want := row("t1", email, "ann", 1, 2, 4, 5)
			want.Sealed = sealedAnew(ann, 2)
			s.hasRow(t, v, want)
			s.hasRow(t, v, imported)
			s.imports(t, v, imported)
			require.Equal(t, tokens, s.dump(t, v))
			s.usage(t, usage)
			got := s.Trail(t, orgA)
			require.Equal(t, s.IDs(trail), s.IDs(got))
			for i := range trail {
				sameEvent(t, trail[i], got[i])
			}
		}},

	{Rule{"store/durable-absence", "What is gone stays gone after the process: deleted tokens, which are not given again, removed fingerprints, audit events that were pruned."}, needReopen,
		func(t *testing.T, s *subject) {
			s.registers(t, keyring.FingerprintKey, 1, 2)
			s.requires(t, 2)
			v := s.customers(t)
			s.adds(t, v, row("t1", email, "ann", 1, 2), row("t2", email, "bea", 1, 2))
			s.deletes(t, v, "t1")
			s.retires(t, keyring.FingerprintKey, 1, 2)
			s.removes(t, 1, 1)
			e := filledEvent(orgA, "customers")
			s.Record(t, e)
			s.Prunes(t, 3, time.Hour) // that one, the vault's, and the token's
			s.reopen(t)
			s.noRow(t, v, row("t1", email, "ann", 1, 2))
			s.takes(t, v, []int{0}, row("t1", email, "cleo", 2))
			s.importTakes(t, v, []int{0}, row("t1", email, "ann", 2))
			require.Equal(t, []string{""}, s.find(t, v, email, 1, "bea"))
			require.Empty(t, s.Trail(t, orgA))
			s.adds(t, v, row("t3", email, "ann", 2))
		}},

	{Rule{"store/durable-constraints", "What is taken, required or retired stays so after the process: values, tokens, versions and revisions."}, needReopen,
		func(t *testing.T, s *subject) {
			x := s.addSample(t)
			s.registers(t, keyring.SealKey, 3)
			s.retires(t, keyring.SealKey, 3, 0)
			s.reopen(t)
			v := x.vault
			s.refusesVault(t, newVault(orgA, "customers"), nil, mortise.ErrExists)
			s.refusesVault(t, changed(v), []string{email}, vault.ErrScopeInUse)
			s.gives(t, v, []string{"t1"}, row("t9", email, "ann", 2, 1))
			s.takes(t, v, []int{0}, row("t1", email, "cleo", 1, 2))
			s.importTakes(t, v, []int{0, 1}, row("t9", email, "ann", 2, 1), row("t1", email, "cleo", 1, 2))
			s.refuses(t, v, keyring.ErrUnknownKey, row("t3", email, "cleo", 1))
			sealed := row("t3", email, "cleo")
			sealed.Sealed.Version = 3
			s.refuses(t, v, keyring.ErrRetired, sealed)
			require.Equal(t, x.keys[0], s.register(t, keyring.Key{Purpose: keyring.FingerprintKey, Version: 1}))
			require.False(t, s.register(t, newKey(keyring.FingerprintKey, 9)).Required)
		}},
}
