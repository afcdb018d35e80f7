package vaulttest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// exactly is the Count of n things that were counted to the end.
func exactly(n int) mortise.Count { return mortise.Count{N: n} }

// stats calls Stats.
func (s *subject) stats(t *testing.T, org string, most int) vault.Stats {
	t.Helper()
	got, err := s.Store.Stats(t.Context(), org, most)
	require.NoError(t, err, "Stats of %q up to %d", org, most)
	return got
}

// vaultStats calls VaultStats.
func (s *subject) vaultStats(t *testing.T, v vault.Vault, most int) vault.Stats {
	t.Helper()
	got, err := s.Store.VaultStats(t.Context(), v.Organization, v.ID, most)
	require.NoError(t, err, "VaultStats of %q up to %d", v.ID, most)
	return got
}

// all calls StatsAll, for a version of the key that seals.
func (s *subject) all(t *testing.T, seal, most int) vault.AllStats {
	t.Helper()
	got, err := s.Store.StatsAll(t.Context(), seal, most)
	require.NoError(t, err, "StatsAll up to %d", most)
	if len(got.Keys) == 0 {
		got.Keys = nil
	}
	return got
}

// has requires that a vault, which is its organization's only one and the only one of
// all, has so many tokens and deleted ones, by whatever way they are counted.
func (s *subject) has(t *testing.T, v vault.Vault, tokens, deleted int) {
	t.Helper()
	n, gone := exactly(tokens), exactly(deleted)
	require.Equal(t, vault.Stats{Vaults: exactly(1), Tokens: n, Deleted: gone}, s.stats(t, v.Organization, 100))
	require.Equal(t, vault.Stats{Tokens: n, Deleted: gone}, s.vaultStats(t, v, 100))
	require.Equal(t, vault.AllStats{Vaults: exactly(1), Tokens: n, Deleted: gone}, s.all(t, 1, 100))
}

// statsRules are the rules of Counter, but for what is left of old keys.
var statsRules = []rule{
	{Rule{
		"counter/nothing",
		"An organization that has nothing has nothing to count, without an error; VaultStats of no vault is ErrNotFound.",
	}, 0,
		func(t *testing.T, s *subject) {
			require.Zero(t, s.stats(t, orgA, 10))
			require.Zero(t, s.all(t, 1, 10))
			b := s.addVault(t, newVault(orgB, "customers"))
			s.adds(t, b, row("t1", email, "ann", 1))
			for _, org := range []string{orgA, ""} {
				require.Zero(t, s.stats(t, org, 10))
				_, err := s.Store.VaultStats(t.Context(), org, "customers", 10)
				require.ErrorIs(t, err, mortise.ErrNotFound)
			}
			for _, id := range []string{"other", "Customers", ""} {
				_, err := s.Store.VaultStats(t.Context(), orgB, id, 10)
				require.ErrorIs(t, err, mortise.ErrNotFound)
			}
		}},

	{Rule{
		"counter/tokens",
		"Tokens are counted as they are now: those that are there, deterministic or not, and those that were deleted.",
	}, 0,
		func(t *testing.T, s *subject) {
			v := s.customers(t)
			s.has(t, v, 0, 0)
			s.adds(t, v, row("t1", email, "ann", 1, 2), row("t2", "persons.phone", "bea"))
			s.adds(t, v, row("t3", "emails", "cleo", 1))
			s.has(t, v, 3, 0)
			s.gives(t, v, []string{"t1", "t4"}, row("t9", email, "ann", 1, 2), row("t4", email, "bea", 1))
			s.takes(t, v, []int{0}, row("t4", email, "dora", 1))
			s.has(t, v, 4, 0)
			s.deletes(t, v, "t1")
			s.has(t, v, 3, 1)
			s.deletes(t, v, "t2")
			s.has(t, v, 2, 2)
			v = s.changeVault(t, v)
			s.adds(t, v, row("t5", email, "ann", 1, 2))
			s.has(t, v, 3, 2)
			for i, token := range []string{"t3", "t4", "t5"} {
				s.deletes(t, v, token)
				s.has(t, v, 2-i, 3+i)
			}
		}},

	{Rule{
		"counter/of-organization",
		"Stats counts what one organization has, VaultStats what one vault has, but for Vaults, and StatsAll what all " +
			"have; names are the same if every byte is.",
	}, 0,
		func(t *testing.T, s *subject) {
			tokens, deleted := 0, 0
			add := func(v vault.Vault, n, gone int) vault.Vault {
				s.addVault(t, v)
				for i := range n + gone {
					s.adds(t, v, row(fmt.Sprint("t", i), email, fmt.Sprint(i), 1))
				}
				for i := range gone {
					s.deletes(t, v, fmt.Sprint("t", i))
				}
				tokens, deleted = tokens+n, deleted+gone
				return v
			}
			var firsts, seconds []vault.Vault
			for i, text := range hard {
				firsts = append(firsts, add(newVault(text, "customers"), i, i%3))
				seconds = append(seconds, add(newVault(text, text), 1, i%2))
			}
			for i, text := range hard {
				want := vault.Stats{Tokens: exactly(i), Deleted: exactly(i % 3)}
				require.Equal(t, want, s.vaultStats(t, firsts[i], 1000), "%q", text)
				want = vault.Stats{Tokens: exactly(1), Deleted: exactly(i % 2)}
				require.Equal(t, want, s.vaultStats(t, seconds[i], 1000), "%q", text)
				both := vault.Stats{Vaults: exactly(2), Tokens: exactly(i + 1), Deleted: exactly(i%3 + i%2)}
				require.Equal(t, both, s.stats(t, text, 1000), "%q", text)
			}
			want := vault.AllStats{Vaults: exactly(2 * len(hard)), Tokens: exactly(tokens), Deleted: exactly(deleted)}
			require.Equal(t, want, s.all(t, 1, 10_000))
		}},

	{Rule{
		"counter/most",
		"Each Count is exact up to most, and else it is most and More.",
	}, 0,
		func(t *testing.T, s *subject) {
			v := s.customers(t)
			for i := range 9 {
				s.adds(t, v, row(fmt.Sprint("t", i), email, fmt.Sprint(i), 1))
			}
			for i := range 4 {
				s.deletes(t, v, fmt.Sprint("t", i))
			}
			s.addVault(t, newVault(orgA, "empty"))
			s.addVault(t, newVault(orgB, "empty"))
			// Never fewer than there are vaults of one organization.
			for most := 2; most < 8; most++ {
				tokens, deleted := mortise.CountUpTo(5, most), mortise.CountUpTo(4, most)
				want := vault.Stats{Vaults: mortise.CountUpTo(2, most), Tokens: tokens, Deleted: deleted}
				require.Equal(t, want, s.stats(t, orgA, most), "up to %d", most)
				require.Equal(t, vault.Stats{Tokens: tokens, Deleted: deleted}, s.vaultStats(t, v, most), "up to %d", most)
				all := vault.AllStats{Vaults: mortise.CountUpTo(3, most), Tokens: tokens, Deleted: deleted}
				require.Equal(t, all, s.all(t, 1, most), "up to %d", most)
			}
		}},

	{Rule{
		"counter/most-vaults",
		"If there are more than most vaults, or more than most scopes, Tokens and Deleted are not more than there are, " +
			"or than most, and they have More unless they are exact.",
	}, 0,
		func(t *testing.T, s *subject) {
			const vaults, scopes = 6, 4
			var last vault.Vault
			for i := range vaults {
				last = s.addVault(t, newVault(orgA, fmt.Sprint("v", i)))
				for j := range i % 2 * scopes {
					s.adds(t, last, row(fmt.Sprint("t", j), fmt.Sprint("persons.", j), "ann", 1))
				}
			}
			s.deletes(t, last, "t0")
			s.deletes(t, last, "t2")
			check := func(what string, want, most int, got mortise.Count) {
				t.Helper()
				require.LessOrEqual(t, got.N, min(want, most), "%s up to %d", what, most)
				if got.N != want {
					require.True(t, got.More, "%s up to %d: %s", what, most, got)
				}
			}
			for most := 1; most <= 2*scopes*vaults; most++ {
				got := s.stats(t, orgA, most)
				require.Equal(t, mortise.CountUpTo(vaults, most), got.Vaults, "up to %d", most)
				check("tokens", 3*scopes-2, most, got.Tokens)
				check("deleted tokens", 2, most, got.Deleted)
				one := s.vaultStats(t, last, most)
				check("tokens of a vault", scopes-2, most, one.Tokens)
				check("deleted tokens of a vault", 2, most, one.Deleted)
			}
			require.Equal(t, exactly(3*scopes-2), s.stats(t, orgA, 3*scopes).Tokens)
		}},

	{Rule{
		"counter/one-moment",
		"All that a call counts is of one moment: a token that is deleted meanwhile is counted once.",
	}, 0,
		func(t *testing.T, s *subject) {
			const tokens = 50
			v := s.customers(t)
			for i := range tokens {
				s.adds(t, v, row(fmt.Sprint("t", i), email, fmt.Sprint(i), 1))
			}
			look := func(i int) error {
				var live, deleted mortise.Count
				var err error
				switch i % 3 {
				case 0:
					var got vault.Stats
					got, err = s.Store.Stats(t.Context(), orgA, 1000)
					live, deleted = got.Tokens, got.Deleted
				case 1:
					var got vault.Stats
					got, err = s.Store.VaultStats(t.Context(), orgA, v.ID, 1000)
					live, deleted = got.Tokens, got.Deleted
				case 2:
					var got vault.AllStats
					got, err = s.Store.StatsAll(t.Context(), 1, 1000)
					live, deleted = got.Tokens, got.Deleted
				}
				if err == nil && live.N+deleted.N != tokens {
					err = fmt.Errorf("of %d tokens %s are there and %s were deleted", tokens, live, deleted)
				}
				return err
			}
			conformance.Watch(t, 3, look, tokens, func(n int) { s.deletes(t, v, fmt.Sprint("t", n)) })
		}},

	{Rule{
		"counter/durable",
		"What is counted outlives the process.",
	}, needReopen,
		func(t *testing.T, s *subject) {
			v := s.customers(t)
			s.adds(t, v, row("t1", email, "ann", 1), row("t2", email, "bea", 1), row("t3", email, "cleo", 1))
			s.deletes(t, v, "t2")
			s.has(t, v, 2, 1)
			s.reopen(t)
			s.has(t, v, 2, 1)
		}},
}

// statsAllRules are about what is left of old keys.
var statsAllRules = []rule{
	{Rule{
		"counter/old-keys",
		"StatsAll returns all keys by purpose, then version; and counts the tokens that are sealed under another " +
			"version than the given one, and the fingerprints of retired versions.",
	}, 0,
		func(t *testing.T, s *subject) {
			s.registers(t, keyring.SealKey, 2, 1, 4)
			s.registers(t, keyring.FingerprintKey, 2, 1, 3, 4)
			s.requires(t, 1)
			a, b := s.customers(t), s.addVault(t, newVault(orgB, "customers"))
			sealed := func(r vault.Row, version int) vault.Row {
				r.Sealed.Version = version
				return r
			}
			s.adds(t, a, row("t1", email, "ann", 1, 2), sealed(row("t2", email, "bea", 1, 2, 3), 2), row("t3", "persons.phone", "cleo"))
			s.adds(t, b, sealed(row("t1", email, "ann", 1, 2, 4), 3), sealed(row("t2", "persons.phone", "bea"), 2))
			s.retires(t, keyring.SealKey, 4, 0) // and not the fingerprint key of this number
			keys := []keyring.Key{
				required(newKey(keyring.FingerprintKey, 1)), required(newKey(keyring.FingerprintKey, 2)), newKey(keyring.FingerprintKey, 3),
				newKey(keyring.FingerprintKey, 4), newKey(keyring.SealKey, 1), newKey(keyring.SealKey, 2), retired(newKey(keyring.SealKey, 4)),
			}
			tokens, deleted := 5, 0
			has := func(rewrap [5]int, remove int) { // rewrap by the version that is asked for
				t.Helper()
				for seal, n := range rewrap {
					for most := 1; most < 8; most++ {
						want := vault.AllStats{
							Vaults: mortise.CountUpTo(2, most), Tokens: mortise.CountUpTo(tokens, most),
							Deleted: mortise.CountUpTo(deleted, most), Keys: keys,
							ToRewrap: mortise.CountUpTo(n, most), ToRemove: mortise.CountUpTo(remove, most),
						}
						require.Equal(t, want, s.all(t, seal, most), "sealed beside version %d, up to %d", seal, most)
					}
				}
			}
			has([5]int{5, 3, 3, 4, 5}, 0)
			s.reseals(t, 1, vault.Resealed{Row: id(a, "t1"), From: row("t1", email, "ann").Sealed, To: sealedAnew(row("t1", email, "ann"), 2)})
			has([5]int{5, 4, 2, 4, 5}, 0)
			s.retires(t, keyring.FingerprintKey, 1, 2)
			keys[0] = retired(keys[0])
			has([5]int{5, 4, 2, 4, 5}, 3)
			s.retires(t, keyring.FingerprintKey, 3, 2)
			keys[2] = retired(keys[2])
			has([5]int{5, 4, 2, 4, 5}, 4)
			s.deletes(t, a, "t2")
			tokens, deleted = 4, 1
			has([5]int{4, 3, 2, 3, 4}, 2)
			s.removes(t, 1, 1, 1)
			has([5]int{4, 3, 2, 3, 4}, 1)
			s.removes(t, 1, 10, 1)
			has([5]int{4, 3, 2, 3, 4}, 0)
		}},
}
