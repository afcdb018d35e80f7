package vaulttest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// uniqueRules say when a value has a token already.
var uniqueRules = []rule{
	{Rule{"tokens/insert-keeps-the-token", "A row with a fingerprint that is stored in its scope already is not stored: the token is the one that is there."}, 0,
		func(t *testing.T, s *subject) {
			v := s.customers(t)
			ann := row("t1", email, "ann", 1)
			s.adds(t, v, ann)
			again := row("t2", email, "ann", 1)
			again.CreatedAt = moment(1000)
			s.gives(t, v, []string{"t1"}, again)
			s.hasRow(t, v, ann)
			s.gives(t, v, []string{"t3", "t1", "t5", "t1"}, row("t3", email, "bea", 1), row("t4", email, "ann", 1), row("t5", email, "cleo", 1), row("t6", email, "ann", 1))
			require.Equal(t, []string{"t1", "t3", "t5"}, s.dump(t, v))
			s.hasRow(t, v, ann)
		}},

	{Rule{"tokens/insert-twice-in-a-call", "A row with a fingerprint that belongs to an earlier row of the call is not stored: the token is that one's."}, 0,
		func(t *testing.T, s *subject) {
			v := s.customers(t)
			s.gives(t, v, []string{"t1", "t1", "t3", "t1", "t3"},
				row("t1", email, "ann", 1), row("t2", email, "ann", 1), row("t3", email, "bea", 1, 2), row("t4", email, "ann", 1), row("t5", email, "bea", 2))
			require.Equal(t, []string{"t1", "t3"}, s.dump(t, v))
			s.hasRow(t, v, row("t1", email, "ann", 1))
			s.hasRow(t, v, row("t3", email, "bea", 1, 2))
		}},

	{Rule{"tokens/scopes-are-apart", "A fingerprint counts in its scope only: the same one in another scope, vault or organization is of another value."}, 0,
		func(t *testing.T, s *subject) {
			v, other, foreign := s.customers(t), s.addVault(t, newVault(orgA, "other")), s.addVault(t, newVault(orgB, "customers"))
			s.adds(t, v, row("t1", email, "ann", 1), row("t2", "emails", "ann", 1))
			s.adds(t, other, row("t3", email, "ann", 1))
			s.adds(t, foreign, row("t4", email, "ann", 1))
			for _, c := range []struct {
				in           vault.Vault
				scope, token string
			}{{v, email, "t1"}, {v, "emails", "t2"}, {other, email, "t3"}, {foreign, email, "t4"}, {other, "emails", ""}, {foreign, "emails", ""}} {
				require.Equal(t, []string{c.token}, s.find(t, c.in, c.scope, 1, "ann"))
			}
			s.deletes(t, v, "t1")
			s.hasRow(t, v, row("t2", "emails", "ann", 1))
			s.hasRow(t, other, row("t3", email, "ann", 1))
			s.hasRow(t, foreign, row("t4", email, "ann", 1))
		}},

	{Rule{"tokens/versions-are-apart", "A fingerprint counts for its version only: the same 256 bits of another version are of another value."}, 0,
		func(t *testing.T, s *subject) {
			v := s.customers(t)
			one, two := row("t1", email, "ann", 1), row("t2", email, "ann", 2)
			two.Fingerprints[0].Fingerprint = one.Fingerprints[0].Fingerprint
			s.adds(t, v, one, two)
			s.hasRow(t, v, one)
			s.hasRow(t, v, two)
		}},

	{Rule{"tokens/insert-first-fingerprint-counts", "Of several tokens that a row's fingerprints have, the one of the first fingerprint counts."}, 0,
		func(t *testing.T, s *subject) {
			v := s.customers(t)
			s.adds(t, v, row("t1", email, "ann", 1), row("t2", email, "ann", 2))
			s.gives(t, v, []string{"t1"}, row("t3", email, "ann", 1, 2))
			s.gives(t, v, []string{"t2"}, row("t4", email, "ann", 2, 1))
			s.gives(t, v, []string{"t2", "t1"}, row("t5", email, "ann", 3, 2, 1), row("t6", email, "ann", 1, 2))
			require.Equal(t, []string{"t1", "t2"}, s.dump(t, v))
		}},

	{Rule{"tokens/insert-adds-missing-fingerprints", "The token that is there gets the fingerprints of versions that it has none of."}, 0,
		func(t *testing.T, s *subject) {
			v := s.customers(t)
			s.adds(t, v, row("t1", email, "ann", 1))
			require.Equal(t, []string{""}, s.find(t, v, email, 2, "ann"))
			s.gives(t, v, []string{"t1", "t3"}, row("t2", email, "ann", 1, 2, 3), row("t3", email, "bea", 1))
			s.hasRow(t, v, row("t1", email, "ann", 1, 2, 3))
			s.gives(t, v, []string{"t1"}, row("t4", email, "ann", 3))
			s.gives(t, v, []string{"t5", "t5"}, row("t5", email, "cleo", 1), row("t6", email, "cleo", 1, 2))
			s.hasRow(t, v, row("t5", email, "cleo", 1, 2))
		}},

	{Rule{"tokens/insert-keeps-fingerprints", "The token that is there keeps the fingerprints that it has: of each version one."}, 0,
		func(t *testing.T, s *subject) {
			v := s.customers(t)
			ann := row("t1", email, "ann", 1, 2)
			s.adds(t, v, ann)
			mixed := row("t2", email, "ann", 1)
			mixed.Fingerprints = append(mixed.Fingerprints, vault.VersionedFingerprint{Version: 2, Fingerprint: fingerprintOf(2, "bea")})
			s.gives(t, v, []string{"t1"}, mixed)
			s.hasRow(t, v, ann)
			require.Equal(t, []string{""}, s.find(t, v, email, 2, "bea"))
		}},

	{Rule{"tokens/insert-leaves-others-fingerprints", "The token that is there does not get fingerprints that are another token's."}, 0,
		func(t *testing.T, s *subject) {
			v := s.customers(t)
			ann, bea := row("t1", email, "ann", 1), row("t2", email, "ann", 2)
			s.adds(t, v, ann, bea)
			s.gives(t, v, []string{"t1"}, row("t3", email, "ann", 1, 2, 3))
			s.hasRow(t, v, bea)
			s.hasRow(t, v, row("t1", email, "ann", 1, 3))
			s.usage(t, keyring.Usage{Rows: 2, Deterministic: 2, Fingerprints: map[int]int{1: 1, 2: 1, 3: 1}, Sealed: map[int]int{1: 2}})
		}},
}

// takenRules say when a token cannot be given.
var takenRules = []rule{
	{Rule{"tokens/insert-a-token-that-is-there", "InsertTokens is a TakenError if tokens are there already, in whatever scope of the vault; it names the rows, in order, and stores nothing."}, 0,
		func(t *testing.T, s *subject) {
			v := s.customers(t)
			s.adds(t, v, row("t1", email, "ann", 1), row("t2", "emails", "ann", 1), row("t3", "persons.phone", "ann"))
			s.takes(t, v, []int{0}, row("t1", email, "bea", 1))
			s.takes(t, v, []int{1, 2, 4}, row("n1", email, "n1", 1), row("t1", "emails", "bea", 1), row("t3", email, "cleo", 1), row("n2", email, "n2", 1), row("t2", "persons.phone", "dora"))
			for _, value := range []string{"n1", "n2", "bea", "cleo"} {
				require.Equal(t, []string{""}, s.find(t, v, email, 1, value))
			}
			s.hasRow(t, v, row("t1", email, "ann", 1))
			s.adds(t, v, row("n1", email, "n1", 1), row("n2", email, "n2", 1))
		}},

	{Rule{"tokens/insert-a-token-twice", "InsertTokens is a TakenError if rows that would be stored have one token, and stores nothing."}, 0,
		func(t *testing.T, s *subject) {
			v := s.customers(t)
			for _, rows := range [][]vault.Row{
				{row("t1", email, "ann", 1), row("t2", email, "bea", 1), row("t1", email, "cleo", 1)},
				{row("t1", email, "ann", 1), row("t2", email, "bea", 1), row("t1", "emails", "ann", 1)},
				{row("t1", email, "ann"), row("t2", email, "bea", 1), row("t1", email, "ann")},
			} {
				_, err := s.insert(t, v, rows...)
				var taken *vault.TakenError
				require.ErrorAs(t, err, &taken)
				require.Contains(t, [][]int{{2}, {0, 2}}, taken.Rows)
				require.Empty(t, s.dump(t, v))
			}
		}},

	{Rule{"tokens/insert-does-not-need-the-token", "The token of a row that is not stored does not count, taken or not."}, 0,
		func(t *testing.T, s *subject) {
			v := s.customers(t)
			s.adds(t, v, row("t1", email, "ann", 1), row("t2", email, "bea", 1))
			s.deletes(t, v, "t2")
			s.gives(t, v, []string{"t1", "t1", "t3", "t3", "t1"},
				row("t1", email, "ann", 1), row("t2", email, "ann", 1), row("t3", email, "cleo", 1), row("t3", email, "cleo", 1), row("t3", email, "ann", 1))
			s.takes(t, v, []int{2}, row("t1", email, "ann", 1), row("t4", email, "dora", 1), row("t1", email, "eve", 1))
		}},

	{Rule{"tokens/insert-a-token-of-another-vault", "A token is unique within its vault: another vault, and another organization's of the same ID, can have it, too."}, 0,
		func(t *testing.T, s *subject) {
			vaults := []vault.Vault{s.customers(t), s.addVault(t, newVault(orgA, "other")), s.addVault(t, newVault(orgB, "customers"))}
			for i, v := range vaults {
				s.adds(t, v, row("t1", email, []string{"ann", "bea", "cleo"}[i], 1))
			}
			s.deletes(t, vaults[1], "t1")
			s.hasRow(t, vaults[0], row("t1", email, "ann", 1))
			s.hasRow(t, vaults[2], row("t1", email, "cleo", 1))
		}},

	{Rule{"tokens/insert-refused-adds-nothing", "A call that is refused adds no fingerprint to a token that is there."}, 0,
		func(t *testing.T, s *subject) {
			v := s.customers(t)
			s.adds(t, v, row("t1", email, "ann", 1))
			s.takes(t, v, []int{1}, row("t2", email, "ann", 1, 2), row("t1", email, "bea", 1))
			require.Equal(t, []string{""}, s.find(t, v, email, 2, "ann"))
			s.usage(t, keyring.Usage{Rows: 1, Deterministic: 1, Fingerprints: map[int]int{1: 1}, Sealed: map[int]int{1: 1}})
		}},
}
