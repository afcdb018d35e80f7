package vaulttest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// fingerprintRotationRules say how rows come by fingerprints of another version, and lose
// them.
var fingerprintRotationRules = []rule{
	{Rule{"rotation/rows-without-fingerprint", "RowsWithoutFingerprint returns deterministic rows without a fingerprint of the version, with all fields but Fingerprints: no others, and none that were deleted."}, 0,
		func(t *testing.T, s *subject) {
			v := s.customers(t)
			ann := row("t1", email, "ann", 1)
			s.adds(t, v, ann, row("t2", email, "bea", 1, 2), row("t3", email, "random"), row("t4", email, "dora", 1), row("t5", "emails", "eve", 2))
			s.deletes(t, v, "t4")
			rows := s.withoutFingerprint(t, 2)
			require.Equal(t, []string{"t1"}, tokensOf(rows))
			sameRow(t, rowsOf(v, []vault.Row{ann})[0], rows[0])
			require.Equal(t, []string{"t5"}, tokensOf(s.withoutFingerprint(t, 1)))
			require.Equal(t, []string{"t1", "t2", "t5"}, tokensOf(s.withoutFingerprint(t, 3)))
			s.deletes(t, v, "t1")
			require.Empty(t, s.withoutFingerprint(t, 2))
		}},

	{Rule{"rotation/add-fingerprints", "AddFingerprints stores a fingerprint of the version for each row: the value is found by it, and the row does not lack it any more."}, 0,
		func(t *testing.T, s *subject) {
			s.registers(t, keyring.FingerprintKey, 1, 2)
			v, foreign := s.customers(t), s.addVault(t, newVault(orgB, "other"))
			s.adds(t, v, row("t1", email, "ann", 1), row("t2", email, "bea", 1))
			s.adds(t, foreign, row("t1", email, "ann", 1), row("t2", "emails", "ann", 1))
			s.fill(t, 2, nil, filling(v, "t1", 2, "ann"), filling(foreign, "t1", 2, "ann"), filling(foreign, "t2", 2, "ann"))
			s.hasRow(t, v, row("t1", email, "ann", 1, 2))
			s.hasRow(t, foreign, row("t1", email, "ann", 1, 2))
			s.hasRow(t, foreign, row("t2", "emails", "ann", 1, 2))
			require.Equal(t, []string{"t2"}, tokensOf(s.withoutFingerprint(t, 2)))
			s.gives(t, v, []string{"t1"}, row("t3", email, "ann", 2, 1))
			s.usage(t, keyring.Usage{Rows: 4, Deterministic: 4, Fingerprints: map[int]int{1: 4, 2: 3}, Sealed: map[int]int{1: 4}})
			s.fill(t, 2, nil)
		}},

	{Rule{"rotation/add-to-rows-that-have-one", "AddFingerprints leaves a row that has a fingerprint of the version as it is."}, 0,
		func(t *testing.T, s *subject) {
			s.registers(t, keyring.FingerprintKey, 1, 2)
			v := s.customers(t)
			s.adds(t, v, row("t1", email, "ann", 1, 2))
			s.fill(t, 2, nil, filling(v, "t1", 2, "changed"), filling(v, "t1", 2, "ann"))
			s.hasRow(t, v, row("t1", email, "ann", 1, 2))
			require.Equal(t, []string{""}, s.find(t, v, email, 2, "changed"))
			s.usage(t, keyring.Usage{Rows: 1, Deterministic: 1, Fingerprints: map[int]int{1: 1, 2: 1}, Sealed: map[int]int{1: 1}})
		}},

	{Rule{"rotation/add-to-rows-that-are-gone", "AddFingerprints leaves out rows that are not there, or were deleted."}, 0,
		func(t *testing.T, s *subject) {
			s.registers(t, keyring.FingerprintKey, 1, 2)
			v := s.customers(t)
			other := s.addVault(t, newVault(orgB, "customers"))
			s.adds(t, v, row("t1", email, "ann", 1), row("t2", email, "bea", 1))
			s.deletes(t, v, "t2")
			s.fill(t, 2, nil, filling(v, "t2", 2, "bea"), filling(v, "t3", 2, "cleo"), filling(other, "t1", 2, "ann"),
				filling(newVault("no", "vault"), "t1", 2, "ann"), filling(v, "t1", 2, "ann"))
			s.hasRow(t, v, row("t1", email, "ann", 1, 2))
			require.Equal(t, []string{"", ""}, s.find(t, v, email, 2, "bea", "cleo"))
			s.adds(t, v, row("t4", email, "bea", 1, 2))
		}},

	{Rule{"rotation/add-refuses-what-is-anothers", "AddFingerprints returns the rows whose fingerprint is another row's of the same scope, stored or of the call; those stay without one, the others get theirs."}, 0,
		func(t *testing.T, s *subject) {
			s.registers(t, keyring.FingerprintKey, 1, 2)
			v, other := s.customers(t), s.addVault(t, newVault(orgB, "customers"))
			s.adds(t, v, row("t1", email, "ann", 1, 2), row("t2", email, "bea", 1), row("t3", email, "cleo", 1), row("t4", "emails", "ann", 1))
			s.adds(t, other, row("t2", email, "ann", 1))
			s.fill(t, 2, []vault.RowID{id(v, "t2")}, filling(v, "t2", 2, "ann"), filling(v, "t3", 2, "cleo"), filling(v, "t4", 2, "ann"), filling(other, "t2", 2, "ann"))
			s.hasRow(t, v, row("t1", email, "ann", 1, 2))
			s.hasRow(t, v, row("t2", email, "bea", 1))
			s.hasRow(t, v, row("t3", email, "cleo", 1, 2))
			s.hasRow(t, v, row("t4", "emails", "ann", 1, 2))
			s.hasRow(t, other, row("t2", email, "ann", 1, 2))
			require.Equal(t, []string{"t2"}, tokensOf(s.withoutFingerprint(t, 2)))

			s.adds(t, other, row("t5", email, "eve", 1), row("t6", email, "fay", 1))
			refused, err := s.Store.AddFingerprints(t.Context(), 2, []vault.RowFingerprint{filling(other, "t5", 2, "twin"), filling(other, "t6", 2, "twin")})
			require.NoError(t, err)
			require.Len(t, refused, 1, "one of two rows with one fingerprint")
			require.Contains(t, []vault.RowID{id(other, "t5"), id(other, "t6")}, refused[0])
			require.NotEqual(t, []string{refused[0].Token}, s.find(t, other, email, 2, "twin"))
		}},

	{Rule{"rotation/add-whatever-the-place", "AddFingerprints goes by Row: with the Place of another row, of one that was deleted or of none it does the same."}, 0,
		func(t *testing.T, s *subject) {
			s.registers(t, keyring.FingerprintKey, 1, 2)
			v, foreign := s.customers(t), s.addVault(t, newVault(orgB, "customers"))
			s.adds(t, v, row("t1", email, "ann", 1), row("t2", email, "bea", 1), row("t3", email, "cleo", 1))
			s.adds(t, foreign, row("t1", email, "dora", 1), row("t2", email, "eve", 1), row("t4", email, "fay", 1))
			places := placesOf(s.withoutFingerprint(t, 2))
			s.deletes(t, v, "t3")
			at := func(place int64, f vault.RowFingerprint) vault.RowFingerprint { f.Place = place; return f }
			s.fill(t, 2, nil,
				at(places[id(foreign, "t1")], filling(v, "t1", 2, "ann")), at(places[id(v, "t3")], filling(v, "t2", 2, "bea")),
				at(places[id(v, "t1")], filling(foreign, "t1", 2, "dora")), at(1<<62, filling(foreign, "t2", 2, "eve")),
				at(places[id(foreign, "t4")], filling(v, "t3", 2, "cleo")), at(-1, filling(v, "t9", 2, "cleo")))
			s.hasRow(t, v, row("t1", email, "ann", 1, 2))
			s.hasRow(t, v, row("t2", email, "bea", 1, 2))
			s.hasRow(t, foreign, row("t1", email, "dora", 1, 2))
			s.hasRow(t, foreign, row("t2", email, "eve", 1, 2))
			require.Equal(t, []string{"t4"}, tokensOf(s.withoutFingerprint(t, 2)))
			s.fill(t, 2, nil, at(places[id(v, "t1")], filling(v, "t1", 2, "changed")))
			s.fill(t, 2, []vault.RowID{id(foreign, "t4")}, at(places[id(foreign, "t4")], filling(foreign, "t4", 2, "eve")))
		}},

	{Rule{"rotation/add-of-a-retired-version", "AddFingerprints is ErrRetired if the version is retired, and stores nothing."}, 0,
		func(t *testing.T, s *subject) {
			s.registers(t, keyring.FingerprintKey, 1, 2)
			v := s.customers(t)
			s.adds(t, v, row("t1", email, "ann", 1))
			s.retires(t, keyring.FingerprintKey, 2, 1)
			_, err := s.Store.AddFingerprints(t.Context(), 2, []vault.RowFingerprint{filling(v, "t1", 2, "ann")})
			require.ErrorIs(t, err, keyring.ErrRetired)
			s.usage(t, keyring.Usage{Rows: 1, Deterministic: 1, Fingerprints: map[int]int{1: 1}, Sealed: map[int]int{1: 1}})
		}},

	{Rule{"rotation/add-many", "AddFingerprints stores 1000 fingerprints in a call."}, 0,
		func(t *testing.T, s *subject) {
			s.registers(t, keyring.FingerprintKey, 1, 2)
			v := s.customers(t)
			rows, of := make([]vault.Row, 1000), make([]vault.RowFingerprint, 1000)
			for i := range rows {
				rows[i] = row(fmt.Sprintf("t%04d", i), email, fmt.Sprint(i), 1)
				of[i] = filling(v, rows[i].Token, 2, fmt.Sprint(i))
			}
			s.adds(t, v, rows...)
			s.fill(t, 2, nil, of...)
			require.Empty(t, s.withoutFingerprint(t, 2))
			require.Equal(t, []string{"t0000", "t0499", "t0999"}, s.find(t, v, email, 2, "0", "499", "999"))
		}},

	{Rule{"rotation/remove-of-a-version-in-use", "RemoveFingerprints is ErrInUse if the version is not retired, known or not, and removes nothing."}, 0,
		func(t *testing.T, s *subject) {
			s.registers(t, keyring.FingerprintKey, 1, 2)
			s.registers(t, keyring.SealKey, 2)
			s.retires(t, keyring.SealKey, 2, 0)
			v := s.customers(t)
			s.adds(t, v, row("t1", email, "ann", 1, 2, 3))
			for _, version := range []int{1, 2, 3, 4, 0} {
				_, _, err := s.Store.RemoveFingerprints(t.Context(), version, 10)
				require.ErrorIs(t, err, keyring.ErrInUse, "version %d", version)
			}
			s.hasRow(t, v, row("t1", email, "ann", 1, 2, 3))
		}},
}
