package vaulttest

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// resealRules say how rows come by ciphertexts of another version.
var resealRules = []rule{
	{Rule{"rotation/rows-not-sealed-under", "RowsNotSealedUnder returns rows that are sealed under another version, deterministic or not, with all fields but Fingerprints, and none that were deleted."}, 0,
		func(t *testing.T, s *subject) {
			v := s.customers(t)
			under := func(version int, r vault.Row) vault.Row { r.Sealed.Version = version; return r }
			cleo := under(3, row("t3", email, "cleo"))
			s.adds(t, v, row("t1", email, "ann", 1), under(2, row("t2", email, "bea", 1)), cleo, row("t4", email, "dora", 1))
			s.deletes(t, v, "t4")
			require.Equal(t, []string{"t1", "t3"}, tokensOf(s.notSealedUnder(t, 2)))
			rows := s.notSealedUnder(t, 1)
			require.Equal(t, []string{"t2", "t3"}, tokensOf(rows))
			sameRow(t, rowsOf(v, []vault.Row{cleo})[0], rows[1])
			require.Equal(t, []string{"t1", "t2", "t3"}, tokensOf(s.notSealedUnder(t, 4)))
		}},

	{Rule{"rotation/reseal", "Reseal stores To, its own copy, for each row, and returns how many those were; nothing else of a row changes."}, 0,
		func(t *testing.T, s *subject) {
			s.registers(t, keyring.SealKey, 1, 2)
			v, foreign := s.customers(t), s.addVault(t, newVault(orgB, "other"))
			ann, bea, cleo := row("t1", email, "ann", 1, 2), row("t2", email, "bea"), row("t1", "emails", "cleo", 1)
			s.adds(t, v, ann, bea)
			s.adds(t, foreign, cleo)
			mine := sealedAnew(ann, 2)
			s.reseals(t, 2, vault.Resealed{Row: id(v, "t1"), From: ann.Sealed, To: mine}, vault.Resealed{Row: id(foreign, "t1"), From: cleo.Sealed, To: sealedAnew(cleo, 2)})
			clear(mine.Ciphertext)
			ann.Sealed, cleo.Sealed = sealedAnew(ann, 2), sealedAnew(cleo, 2)
			s.hasRow(t, v, ann)
			s.hasRow(t, v, bea)
			s.hasRow(t, foreign, cleo)
			s.reseals(t, 0)
			s.usage(t, keyring.Usage{Rows: 3, Deterministic: 2, Fingerprints: map[int]int{1: 2, 2: 1}, Sealed: map[int]int{1: 1, 2: 2}})
		}},

	{Rule{"rotation/reseal-what-is-as-it-was", "Reseal changes a row only if it still has From, version and ciphertext; rows that are not there or were deleted, it leaves out."}, 0,
		func(t *testing.T, s *subject) {
			s.registers(t, keyring.SealKey, 1, 2)
			v, other := s.customers(t), s.addVault(t, newVault(orgB, "customers"))
			ann, bea, gone := row("t1", email, "ann", 1), row("t2", email, "bea", 1), row("t3", email, "gone", 1)
			s.adds(t, v, ann, bea, gone)
			s.deletes(t, v, "t3")
			version, ciphertext, cut := ann.Sealed, ann.Clone().Sealed, ann.Clone().Sealed
			version.Version = 2
			ciphertext.Ciphertext[3] ^= 1
			cut.Ciphertext = cut.Ciphertext[:len(cut.Ciphertext)-1]
			to := sealedAnew(ann, 2)
			for _, from := range []keyring.Sealed{version, ciphertext, cut, bea.Sealed, {}, {Version: 1}} {
				s.reseals(t, 0, vault.Resealed{Row: id(v, "t1"), From: from, To: to})
				s.hasRow(t, v, ann)
			}
			s.reseals(t, 0, vault.Resealed{Row: id(v, "t3"), From: gone.Sealed, To: to}, vault.Resealed{Row: id(v, "t3"), To: to})
			s.reseals(t, 0, vault.Resealed{Row: id(other, "t1"), From: ann.Sealed, To: to}, vault.Resealed{Row: id(v, "t9"), From: ann.Sealed, To: to},
				vault.Resealed{Row: id(newVault("no", "vault"), "t1"), From: ann.Sealed, To: to})
			s.noRow(t, v, gone)
			s.reseals(t, 1, vault.Resealed{Row: id(v, "t2"), From: ann.Sealed, To: to}, vault.Resealed{Row: id(v, "t1"), From: ann.Sealed, To: to},
				vault.Resealed{Row: id(v, "t1"), From: ann.Sealed, To: bea.Sealed})
			ann.Sealed = to
			s.hasRow(t, v, ann)
			s.hasRow(t, v, bea)
		}},

	{Rule{"rotation/reseal-whatever-the-place", "Reseal goes by Row: with the Place of another row, of one that was deleted or of none it does the same."}, 0,
		func(t *testing.T, s *subject) {
			s.registers(t, keyring.SealKey, 1, 2)
			v, foreign := s.customers(t), s.addVault(t, newVault(orgB, "customers"))
			ann, bea, gone, cleo := row("t1", email, "ann", 1), row("t2", email, "bea"), row("t3", email, "gone"), row("t1", email, "cleo", 1)
			ann.Sealed.Ciphertext, cleo.Sealed.Ciphertext = []byte("the same"), []byte("the same") // so that only the place tells them apart
			s.adds(t, v, ann, bea, gone)
			s.adds(t, foreign, cleo)
			places := placesOf(s.notSealedUnder(t, 2))
			s.deletes(t, v, "t3")
			to := sealedAnew(ann, 2)
			s.reseals(t, 2, vault.Resealed{Row: id(v, "t1"), Place: places[id(foreign, "t1")], From: ann.Sealed, To: to},
				vault.Resealed{Row: id(v, "t2"), Place: places[id(v, "t3")], From: bea.Sealed, To: sealedAnew(bea, 2)},
				vault.Resealed{Row: id(v, "t3"), Place: places[id(foreign, "t1")], From: cleo.Sealed, To: to},
				vault.Resealed{Row: id(v, "t2"), Place: places[id(v, "t2")], From: ann.Sealed, To: to})
			s.hasRow(t, foreign, cleo)
			s.reseals(t, 1, vault.Resealed{Row: id(foreign, "t1"), Place: 1 << 62, From: cleo.Sealed, To: to},
				vault.Resealed{Row: id(foreign, "t9"), Place: -1, From: cleo.Sealed, To: to})
			ann.Sealed, bea.Sealed, cleo.Sealed = to, sealedAnew(bea, 2), to
			s.hasRow(t, v, ann)
			s.hasRow(t, v, bea)
			s.hasRow(t, foreign, cleo)
		}},

	{Rule{"rotation/reseal-under-a-retired-version", "Reseal is ErrRetired if the version of a To is retired; then it changes nothing."}, 0,
		func(t *testing.T, s *subject) {
			s.registers(t, keyring.SealKey, 1, 2, 3)
			v := s.customers(t)
			ann, bea := row("t1", email, "ann", 1), row("t2", email, "bea")
			s.adds(t, v, ann, bea)
			s.retires(t, keyring.SealKey, 3, 0)
			for _, order := range [][2]int{{2, 3}, {3, 2}, {3, 3}} {
				_, err := s.Store.Reseal(t.Context(), []vault.Resealed{
					{Row: id(v, "t1"), From: ann.Sealed, To: sealedAnew(ann, order[0])}, {Row: id(v, "t2"), From: bea.Sealed, To: sealedAnew(bea, order[1])},
				})
				require.ErrorIs(t, err, keyring.ErrRetired)
				s.hasRow(t, v, ann)
				s.hasRow(t, v, bea)
			}
		}},

	{Rule{"rotation/reseal-many", "Reseal changes 1000 rows in a call, with long ciphertexts among them."}, 0,
		func(t *testing.T, s *subject) {
			s.registers(t, keyring.SealKey, 1, 2)
			v := s.customers(t)
			rows, resealed := make([]vault.Row, 1000), make([]vault.Resealed, 1000)
			for i := range rows {
				rows[i] = row(fmt.Sprintf("t%04d", i), email, fmt.Sprint(i), 1)
				if i%200 == 9 {
					rows[i].Sealed.Ciphertext = bytes.Repeat([]byte{9}, 64<<10)
				}
				resealed[i] = vault.Resealed{Row: id(v, rows[i].Token), From: rows[i].Sealed, To: sealedAnew(rows[i], 2)}
			}
			s.adds(t, v, rows...)
			s.reseals(t, 1000, resealed...)
			s.reseals(t, 0, resealed...)
			require.Empty(t, s.notSealedUnder(t, 2))
			for _, i := range []int{0, 9, 999} {
				rows[i].Sealed = resealed[i].To
				s.hasRow(t, v, rows[i])
			}
		}},
}
