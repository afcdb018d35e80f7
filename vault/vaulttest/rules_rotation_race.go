package vaulttest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// rotationRaceRules are about calls at once, on keys and what is under them.
var rotationRaceRules = []rule{
	{Rule{"keys/registered-once", "RegisterKey is atomic: of many at once with different values one is stored, and all return that one."}, 0,
		func(t *testing.T, s *subject) {
			var keys, stored [16]keyring.Key
			var errs [16]error
			for i := range keys {
				keys[i] = keyring.Key{Purpose: keyring.FingerprintKey, Version: 1, Check: keyring.Fingerprint{1, byte(i)}}
			}
			conformance.Together(len(keys), func(i int) { stored[i], errs[i] = s.Store.RegisterKey(t.Context(), keys[i]) })
			conformance.NoErrors(t, errs[:])
			for _, k := range stored {
				require.Equal(t, stored[0], k)
			}
			k := stored[0]
			k.Required = false
			require.Contains(t, keys, k)
			s.hasKeys(t, stored[0])
		}},

	{Rule{"keys/one-is-first", "Of many fingerprint versions that are registered at once one becomes required."}, 0,
		func(t *testing.T, s *subject) {
			var errs [16]error
			conformance.Together(len(errs), func(i int) { _, errs[i] = s.Store.RegisterKey(t.Context(), newKey(keyring.FingerprintKey, 1+i)) })
			conformance.NoErrors(t, errs[:])
			keys, err := s.Store.Keys(t.Context())
			require.NoError(t, err)
			require.Len(t, keys, len(errs))
			n := 0
			for _, k := range keys {
				if k.Required {
					n++
				}
			}
			require.Equal(t, 1, n, "versions that are required")
		}},

	{Rule{"keys/one-stays-required", "Of two fingerprint versions that are retired at once, each with the other as its successor, one is."}, 0,
		func(t *testing.T, s *subject) {
			s.registers(t, keyring.FingerprintKey, 1)
			for version := 1; version < 20; version++ {
				s.registers(t, keyring.FingerprintKey, version+1)
				s.requires(t, version+1)
				pair := [2]int{version, version + 1}
				var errs [2]error
				conformance.Together(2, func(i int) { errs[i] = s.Store.RetireKey(t.Context(), keyring.FingerprintKey, pair[i], pair[1-i]) })
				if conformance.OneWins(t, errs[:], keyring.ErrInUse) == 1 {
					return // the younger one is gone, and there is nothing to go on with
				}
			}
		}},

	{Rule{"keys/retire-while-inserting", "To retire a version that seals and to store rows under it do not both succeed."}, 0,
		func(t *testing.T, s *subject) {
			v := s.customers(t)
			for version := 1; version <= 16; version++ {
				s.registers(t, keyring.SealKey, version)
				errs := s.inserting(t, v, version, func() error { return s.Store.RetireKey(t.Context(), keyring.SealKey, version, 0) }, func(i int) vault.Row {
					r := row(fmt.Sprint("t", version, "-", i), email, "random")
					r.Sealed.Version = version
					return r
				})
				inserted := countOf(t, errs[1:], keyring.ErrRetired)
				if errs[0] == nil {
					require.Zero(t, inserted, "rows under a retired version")
					continue
				}
				require.ErrorIs(t, errs[0], keyring.ErrInUse)
				require.Equal(t, len(errs)-1, inserted)
			}
		}},

	{Rule{"keys/require-while-inserting", "An insertion without a fingerprint of a version either comes before the version is required, or is refused."}, 0,
		func(t *testing.T, s *subject) {
			s.registers(t, keyring.FingerprintKey, 1)
			v := s.customers(t)
			for version := 2; version <= 12; version++ {
				s.registers(t, keyring.FingerprintKey, version)
				var have []int // all but this one
				for older := 1; older < version; older++ {
					have = append(have, older)
				}
				errs := s.inserting(t, v, version, func() error { return s.Store.RequireKey(t.Context(), version) }, func(i int) vault.Row {
					return row(fmt.Sprint("t", version, "-", i), email, fmt.Sprint(version, "-", i), have...)
				})
				require.NoError(t, errs[0])
				inserted := countOf(t, errs[1:], keyring.ErrUnknownKey)
				without := 0
				for _, r := range s.withoutFingerprint(t, version) {
					if strings.HasPrefix(r.Token, fmt.Sprint("t", version, "-")) {
						without++
					}
				}
				require.Equal(t, inserted, without)
				s.refuses(t, v, keyring.ErrUnknownKey, row("late", email, "late", have...))
			}
		}},

	{Rule{"rotation/add-at-once", "Many that add fingerprints at once, while values are inserted, give each row one, and each fingerprint one row."}, 0,
		func(t *testing.T, s *subject) {
			s.registers(t, keyring.FingerprintKey, 1, 2)
			v := s.customers(t)
			const n = 100
			var of []vault.RowFingerprint
			for i := range n {
				token := fmt.Sprint("t", i)
				s.adds(t, v, row(token, email, fmt.Sprint(i), 1))
				of = append(of, filling(v, token, 2, fmt.Sprint(i)))
			}
			var errs [8]error
			var refused [8][]vault.RowID
			conformance.Together(len(errs), func(i int) {
				if i%2 == 0 {
					refused[i], errs[i] = s.Store.AddFingerprints(t.Context(), 2, of[i*10:])
					return
				}
				rows := make([]vault.Row, n)
				for k := range rows {
					rows[k] = row(fmt.Sprint("u", i, "-", k), email, fmt.Sprint(k), 1, 2)
				}
				_, errs[i] = s.Store.InsertTokens(t.Context(), orgA, "customers", 1, rowsOf(v, rows))
			})
			conformance.NoErrors(t, errs[:])
			for i := range refused {
				require.Empty(t, refused[i])
			}
			s.usage(t, keyring.Usage{Rows: n, Deterministic: n, Fingerprints: map[int]int{1: n, 2: n}, Sealed: map[int]int{1: n}})
			for i := range n {
				require.Equal(t, []string{fmt.Sprint("t", i)}, s.find(t, v, email, 2, fmt.Sprint(i)))
			}
		}},

	{Rule{"rotation/reseal-at-once", "Of many that reseal the same rows at once one changes each of them."}, 0,
		func(t *testing.T, s *subject) {
			s.registers(t, keyring.SealKey, 1, 2)
			v := s.customers(t)
			const n = 50
			var changed [8]int
			var errs [8]error
			var tasks [8][]vault.Resealed
			for i := range n {
				r := row(fmt.Sprint("t", i), email, "random")
				s.adds(t, v, r)
				for k := range tasks {
					to := sealedAnew(r, 2)
					to.Ciphertext = append(to.Ciphertext, byte(k))
					tasks[k] = append(tasks[k], vault.Resealed{Row: id(v, r.Token), From: r.Sealed, To: to})
				}
			}
			conformance.Together(len(errs), func(i int) { changed[i], errs[i] = s.Store.Reseal(t.Context(), tasks[i]) })
			conformance.NoErrors(t, errs[:])
			total := 0
			for _, c := range changed {
				total += c
			}
			require.Equal(t, n, total, "changes")
			require.Empty(t, s.notSealedUnder(t, 2))
		}},
}

// inserting does something while rows are inserted, at a turn that is another one for
// each round. It returns its error, and theirs.
func (s *subject) inserting(t *testing.T, v vault.Vault, round int, do func() error, row func(i int) vault.Row) []error {
	t.Helper()
	errs := make([]error, 8)
	conformance.Together(len(errs), func(i int) {
		if i = (i + round) % len(errs); i == 0 {
			errs[i] = do()
			return
		}
		_, errs[i] = s.Store.InsertTokens(t.Context(), v.Organization, v.ID, v.Revision, rowsOf(v, []vault.Row{row(i)}))
	})
	return errs
}

// countOf returns how many calls succeeded, and requires that the others returned the
// sentinel.
func countOf(t *testing.T, errs []error, sentinel error) int {
	t.Helper()
	n := 0
	for _, err := range errs {
		if err == nil {
			n++
		} else {
			require.ErrorIs(t, err, sentinel)
		}
	}
	return n
}
