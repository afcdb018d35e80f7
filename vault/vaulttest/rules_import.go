package vaulttest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// importRules say what ImportTokens stores, and what it refuses.
var importRules = []rule{
	{Rule{"imports/stores-every-field", "ImportTokens stores rows under the tokens that they bring, with all their fields, as InsertTokens does."}, 0,
		func(t *testing.T, s *subject) {
			v := s.customers(t)
			rows := []vault.Row{row("t3", email, "ann", 1, 2), row("t1", "emails", "ann", 2), row("t2", "persons.phone", "bea"), row("t4", "persons.phone", "bea")}
			rows[1].CreatedAt = moment(time.Microsecond)
			rows[2].Sealed = keyring.Sealed{Version: 1<<31 - 1, Ciphertext: []byte{0, 0xff, 0}}
			for i, text := range hard {
				rows = append(rows, row(text, text, fmt.Sprint(i), 1))
			}
			s.imports(t, v, rows...)
			for _, r := range rows {
				s.hasRow(t, v, r)
			}
			require.Len(t, s.dump(t, v), len(rows))
		}},

	{Rule{"imports/longest", "Every text of an imported row comes back whole, as long as it can be, and a ciphertext of two mebibytes."}, 0,
		func(t *testing.T, s *subject) {
			r := row("t1", email, "ann", 1)
			mutate.Stretch(&r)
			v := s.addVault(t, newVault(r.Organization, r.Vault))
			s.imports(t, v, r)
			s.hasRow(t, v, r)
		}},

	{Rule{"imports/stores-the-event", "ImportTokens stores the audit event in the same step, also without rows; one without ID is none."}, 0,
		func(t *testing.T, s *subject) {
			v := s.customers(t)
			filled := filledEvent(orgA, "customers")
			require.NoError(t, s.importing(t, v, filled, row("t1", email, "ann", 1)))
			s.HasEvent(t, filled)
			s.imports(t, v)
			before := len(s.Trail(t, orgA))
			require.NoError(t, s.importing(t, v, vault.AuditEvent{}, row("t2", email, "bea", 1)))
			s.hasRow(t, v, row("t2", email, "bea", 1))
			require.Len(t, s.Trail(t, orgA), before)
		}},

	{Rule{"imports/rows-that-are-there", "A row whose token is there with the same Scope, Deterministic and Sealed is not stored again, and keeps its time; it stands in no other row's way."}, 0,
		func(t *testing.T, s *subject) {
			v := s.customers(t)
			ann, phone := row("t1", email, "ann", 1), row("t2", "persons.phone", "bea")
			s.adds(t, v, ann, phone)
			again := []vault.Row{ann.Clone(), phone.Clone(), row("t3", email, "cleo", 1)}
			for i := range again {
				again[i].CreatedAt = moment(time.Hour)
			}
			for range 2 {
				s.imports(t, v, again...)
				s.hasRow(t, v, ann)
				s.hasRow(t, v, phone)
				s.hasRow(t, v, again[2])
			}
			s.imports(t, v, again[:2]...)
			require.Equal(t, []string{"t1", "t2", "t3"}, s.dump(t, v))
			s.usage(t, keyring.Usage{Rows: 3, Deterministic: 2, Fingerprints: map[int]int{1: 2}, Sealed: map[int]int{1: 3}})
		}},

	{Rule{"imports/adds-missing-fingerprints", "What is there gets the fingerprints of versions that it has none of, and keeps those that it has."}, 0,
		func(t *testing.T, s *subject) {
			v := s.customers(t)
			s.adds(t, v, row("t1", email, "ann", 1), row("t2", email, "bea", 1, 2))
			s.imports(t, v, row("t1", email, "ann", 3, 1, 2), row("t2", email, "bea", 1), row("t3", email, "cleo", 2))
			s.hasRow(t, v, row("t1", email, "ann", 1, 2, 3))
			s.hasRow(t, v, row("t2", email, "bea", 1, 2))
			mixed := row("t2", email, "bea", 3)
			mixed.Fingerprints = append(mixed.Fingerprints, vault.VersionedFingerprint{Version: 2, Fingerprint: fingerprintOf(2, "other")})
			s.imports(t, v, mixed)
			s.hasRow(t, v, row("t2", email, "bea", 1, 2, 3))
			require.Equal(t, []string{""}, s.find(t, v, email, 2, "other"))
		}},

	{Rule{"imports/a-token-that-is-there", "ImportTokens is a TakenError if tokens are there with another scope, kind or ciphertext; it names the rows, in order."}, 0,
		func(t *testing.T, s *subject) {
			v := s.customers(t)
			ann, phone := row("t1", email, "ann", 1), row("t2", "persons.phone", "bea")
			s.adds(t, v, ann, phone)
			scope, kind, version, text := ann.Clone(), phone.Clone(), ann.Clone(), phone.Clone()
			scope.Scope, version.Sealed.Version = "emails", 2
			kind.Deterministic, kind.Fingerprints = true, row("t2", "persons.phone", "bea", 1).Fingerprints
			text.Sealed.Ciphertext[3] ^= 1
			for _, other := range []vault.Row{scope, kind, version, text, row("t1", email, "cleo", 1), row("t2", "persons.phone", "cleo")} {
				s.importTakes(t, v, []int{0}, other)
				s.importTakes(t, v, []int{1}, row("t3", email, "dora", 1, 2), other, row("a", email, "eve", 1))
			}
			s.importTakes(t, v, []int{1, 3}, row("t3", email, "dora", 1), scope, row("a", email, "eve", 1), text)
			s.hasRow(t, v, ann)
			s.hasRow(t, v, phone)
			s.imports(t, v, row("t3", email, "dora", 1), row("a", email, "eve", 1))
		}},

	{Rule{"imports/a-token-that-was-deleted", "ImportTokens is a TakenError if tokens were deleted, whatever comes with them."}, 0,
		func(t *testing.T, s *subject) {
			v := s.customers(t)
			ann, phone := row("t1", email, "ann", 1), row("t2", "persons.phone", "bea")
			s.adds(t, v, ann, phone)
			s.imports(t, v, ann, phone)
			s.deletes(t, v, "t1")
			s.importTakes(t, v, []int{0}, ann, phone)
			s.deletes(t, v, "t2")
			s.importTakes(t, v, []int{1, 2}, row("t3", email, "cleo", 1), ann, phone)
			gone := ann.Clone()
			gone.Sealed = keyring.Sealed{} // as what is left of it
			s.importTakes(t, v, []int{0, 1}, gone, row("t2", "persons.phone", "dora"))
			s.noRow(t, v, ann)
			s.imports(t, v, row("t3", email, "ann", 1))
		}},

	{Rule{"imports/a-value-with-another-token", "ImportTokens is a TakenError if one of a row's fingerprints, whichever, is another token's in its scope."}, 0,
		func(t *testing.T, s *subject) {
			v := s.customers(t)
			s.adds(t, v, row("t1", email, "ann", 1), row("t2", email, "bea", 1, 2))
			s.importTakes(t, v, []int{0}, row("t3", email, "ann", 1))
			s.importTakes(t, v, []int{1, 2}, row("t3", email, "cleo", 1, 2), row("t4", email, "ann", 2, 1), row("t5", email, "bea", 3, 2))
			mixed := row("t1", email, "ann", 1)
			mixed.Fingerprints = append(mixed.Fingerprints, vault.VersionedFingerprint{Version: 2, Fingerprint: fingerprintOf(2, "bea")})
			s.importTakes(t, v, []int{0}, mixed) // its own, and another one's
			s.hasRow(t, v, row("t1", email, "ann", 1))
			s.hasRow(t, v, row("t2", email, "bea", 1, 2))
		}},

	{Rule{"imports/rows-that-contradict-each-other", "ImportTokens is a TakenError if rows have the token, or a fingerprint, of an earlier row of the call."}, 0,
		func(t *testing.T, s *subject) {
			v := s.customers(t)
			there := row("there", email, "zoe", 1)
			s.adds(t, v, there)
			s.importTakes(t, v, []int{2}, row("t1", email, "ann", 1), row("t2", email, "bea", 1), row("t1", email, "cleo", 1))
			s.importTakes(t, v, []int{1}, row("t1", email, "ann", 1), row("t1", "persons.phone", "ann"))
			s.importTakes(t, v, []int{1}, row("t1", "persons.phone", "ann"), row("t1", "persons.phone", "ann"))
			s.importTakes(t, v, []int{2}, row("t1", email, "ann", 1, 2), row("t2", email, "bea", 1), row("t3", email, "ann", 2))
			s.importTakes(t, v, []int{1}, there, there)
			s.importTakes(t, v, []int{1}, row("there", email, "zoe", 1, 2), row("t1", email, "zoe", 2))
			s.imports(t, v, row("t1", email, "ann", 1), row("t2", "emails", "ann", 1), row("t3", "persons.phone", "ann"), row("t4", "persons.phone", "ann"))
		}},

	{Rule{"imports/refused-changes-nothing", "An import that is refused changes nothing: it stores no row and no event, and adds no fingerprint to what is there."}, 0,
		func(t *testing.T, s *subject) {
			v := s.customers(t)
			s.adds(t, v, row("t5", email, "ann", 1), row("t6", email, "bea", 1))
			for _, bad := range []vault.Row{row("t6", email, "other", 1), row("t9", email, "bea", 1), row("t1", "persons.phone", "same as the first")} {
				s.importTakes(t, v, []int{2}, row("t1", email, "cleo", 1, 2), row("t5", email, "ann", 1, 2), bad)
			}
			s.usage(t, keyring.Usage{Rows: 2, Deterministic: 2, Fingerprints: map[int]int{1: 2}, Sealed: map[int]int{1: 2}})
		}},

	{Rule{"imports/into-another-vault", "A token is unique within its vault, and a fingerprint within its scope: what is elsewhere stands in no import's way."}, 0,
		func(t *testing.T, s *subject) {
			vaults := []vault.Vault{s.customers(t), s.addVault(t, newVault(orgA, "other")), s.addVault(t, newVault(orgB, "customers"))}
			for i, v := range vaults {
				r := row("t1", email, "ann", 1)
				r.Sealed.Ciphertext = append(r.Sealed.Ciphertext, byte(i))
				s.imports(t, v, r, row("t2", "emails", "ann", 1))
				s.hasRow(t, v, r)
			}
			s.deletes(t, vaults[1], "t1")
			require.Equal(t, []string{"t1", "t2"}, s.dump(t, vaults[0]))
			require.Equal(t, []string{"t2"}, s.dump(t, vaults[1]))
			require.Equal(t, []string{"t1", "t2"}, s.dump(t, vaults[2]))
		}},

	{Rule{"imports/other-revision", "ImportTokens is ErrConflict if the vault's revision is another one, and changes nothing, also without rows."}, 0,
		func(t *testing.T, s *subject) {
			old := s.customers(t)
			v := s.changeVault(t, s.changeVault(t, old))
			for _, revision := range []int64{-3, 0, 1, 2, 4, 1 << 40} {
				wrong := v
				wrong.Revision = revision
				s.importRefuses(t, wrong, vault.ErrConflict, row("t1", email, "ann", 1))
				s.importRefuses(t, wrong, vault.ErrConflict, row("t1", email, "ann"))
				s.importRefuses(t, wrong, vault.ErrConflict)
			}
			s.imports(t, v, row("t1", email, "ann", 1))
		}},

	{Rule{"imports/needs-the-keys", "ImportTokens is ErrUnknownKey if a row with fingerprints lacks one of a version that is required, and ErrRetired if one is sealed under a version that is retired."}, 0,
		func(t *testing.T, s *subject) {
			v := s.customers(t)
			s.registers(t, keyring.FingerprintKey, 1, 2)
			s.registers(t, keyring.SealKey, 1, 2)
			there := row("t1", email, "ann", 1)
			s.adds(t, v, there)
			s.requires(t, 2)
			s.retires(t, keyring.SealKey, 2, 0)
			s.importRefuses(t, v, keyring.ErrUnknownKey, row("t2", email, "bea", 1, 2), row("t3", email, "cleo", 1))
			s.importRefuses(t, v, keyring.ErrUnknownKey, there)
			sealed := row("t3", email, "cleo", 1, 2)
			sealed.Sealed.Version = 2
			s.importRefuses(t, v, keyring.ErrRetired, row("t2", email, "bea", 1, 2), sealed)
			s.imports(t, v, row("t2", email, "bea", 2, 1), row("t3", "persons.phone", "cleo"), row("t1", email, "ann", 1, 2))
			s.hasRow(t, v, row("t1", email, "ann", 1, 2))
		}},

	{Rule{"imports/ignores-retired-versions", "Fingerprints of a retired version count for nothing and are not stored."}, 0,
		func(t *testing.T, s *subject) {
			v := s.customers(t)
			s.registers(t, keyring.FingerprintKey, 1, 2)
			s.requires(t, 2)
			s.adds(t, v, row("t1", email, "ann", 2, 1), row("t4", email, "eve", 2, 1))
			s.retires(t, keyring.FingerprintKey, 1, 2)
			mixed := func(token, old, young string) vault.Row {
				r := row(token, email, young, 2)
				r.Fingerprints = append(r.Fingerprints, vault.VersionedFingerprint{Version: 1, Fingerprint: fingerprintOf(1, old)})
				return r
			}
			s.imports(t, v, mixed("t2", "ann", "bea"), mixed("t3", "ann", "cleo"), row("t4", email, "eve", 2, 1))
			require.Equal(t, []string{"t2", "t3"}, s.find(t, v, email, 2, "bea", "cleo"))
			s.removes(t, 1, 2)
			s.usage(t, keyring.Usage{Rows: 4, Deterministic: 4, Fingerprints: map[int]int{2: 4}, Sealed: map[int]int{1: 4}})
		}},

	{Rule{"imports/copies", "Arguments are the receiver's own: ImportTokens copies rows and event."}, 0,
		func(t *testing.T, s *subject) {
			v := s.customers(t)
			rows, e := []vault.Row{row("t1", email, "ann", 1, 2), row("t2", "persons.phone", "bea")}, filledEvent(orgA, "customers")
			mine, event := rowsOf(v, rows), e.Clone()
			require.NoError(t, s.Store.ImportTokens(t.Context(), orgA, v.ID, v.Revision, mine, event))
			for i := range mine {
				spoilRow(&mine[i])
				mine[i].Token = "spoiled"
			}
			spoilEvent(&event)
			for _, r := range rows {
				s.hasRow(t, v, r)
			}
			s.HasEvent(t, e)
		}},

	{Rule{"imports/many", "ImportTokens takes 1000 rows, of several scopes and versions, some of them there already."}, 0,
		func(t *testing.T, s *subject) {
			v := s.customers(t)
			rows := make([]vault.Row, 1000)
			for i := range rows {
				rows[i] = row(fmt.Sprintf("t%04d", i), []string{email, "emails"}[i%2], fmt.Sprint("value ", i), 1, 2+i%2)
				if i%3 == 2 {
					rows[i] = row(rows[i].Token, "persons.phone", "random")
				}
			}
			s.adds(t, v, rows[300:400]...)
			for range 2 {
				s.imports(t, v, rows...)
				require.Len(t, s.dump(t, v), 1000)
				for i := 5; i < 1000; i += 97 {
					s.hasRow(t, v, rows[i])
				}
			}
			s.importTakes(t, v, []int{0, 999}, append(append([]vault.Row{row("t0000", email, "x", 1)}, rows[1:999]...), row("t0999", email, "y", 1))...)
		}},
}
