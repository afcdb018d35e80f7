package vaulttest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// findRules are the rules of FindTokens.
var findRules = []rule{
	{Rule{"tokens/find-answers-every-fingerprint", "FindTokens returns for each lookup a slice as long as its Fingerprints, with the tokens in their places, and \"\" where there is none."}, 0,
		func(t *testing.T, s *subject) {
			v := s.customers(t)
			s.adds(t, v, row("t1", email, "ann", 1, 2), row("t2", email, "bea", 1), row("t3", "emails", "ann", 2), row("t4", "persons.phone", "ann"))
			l := func(scope string, version int, values ...string) vault.Lookup {
				l := vault.Lookup{Scope: scope, Version: version}
				for _, value := range values {
					l.Fingerprints = append(l.Fingerprints, fingerprintOf(version, value))
				}
				return l
			}
			require.Equal(t, [][]string{{"t2", "", "t1", "t2", "t1", ""}, {}, {"t1", ""}, {"t3"}, {"", ""}, {""}, {"t1"}, {""}}, s.lookUp(t, v,
				l(email, 1, "bea", "cleo", "ann", "bea", "ann", "cleo"), l(email, 1), l(email, 2, "ann", "bea"), l("emails", 2, "ann"), l("emails", 1, "ann", "bea"),
				l(email, 3, "ann"), l(email, 1, "ann"), l("persons.phone", 1, "ann")))
			require.Empty(t, s.lookUp(t, v))
			require.Equal(t, [][]string{{""}, {""}}, s.lookUp(t, v, l("no such scope", 1, "ann"), l("", 0, "ann")))
		}},

	{Rule{"tokens/find-other-revision", "FindTokens is ErrConflict if the vault's revision is another one."}, 0,
		func(t *testing.T, s *subject) {
			v := s.customers(t)
			s.adds(t, v, row("t1", email, "ann", 1))
			v = s.changeVault(t, s.changeVault(t, v))
			for _, revision := range []int64{-3, 0, 1, 2, 4, 1 << 40} {
				for _, lookups := range [][]vault.Lookup{{{Scope: email, Version: 1, Fingerprints: []keyring.Fingerprint{fingerprintOf(1, "ann")}}}, {}} {
					_, err := s.Store.FindTokens(t.Context(), v.Organization, v.ID, revision, lookups)
					require.ErrorIs(t, err, vault.ErrConflict, "revision %d", revision)
				}
			}
			require.Equal(t, []string{"t1"}, s.find(t, v, email, 1, "ann"))
		}},

	{Rule{"tokens/find-many", "FindTokens answers 1000 fingerprints, of several scopes and versions, with duplicates and unknown ones among them; and a thousand lookups."}, 0,
		func(t *testing.T, s *subject) {
			v := s.customers(t)
			scopes := []string{email, "emails", "orders.mail", "a\x01b"}
			rows := make([]vault.Row, 700)
			for i := range rows {
				rows[i] = row(fmt.Sprint("t", i), scopes[i%4], fmt.Sprint("value ", i), 1+i%2, 3)
			}
			s.adds(t, v, rows...)
			byScope := make(map[string]*vault.Lookup)
			want := make(map[string][]string)
			var singles []vault.Lookup
			var wantSingles [][]string
			for n := range 1000 {
				i := n * 7 % 900 // 700 and more are unknown, some come twice
				version := []int{1 + i%2, 3}[n/3%2]
				key := fmt.Sprint(i%4, version)
				if byScope[key] == nil {
					byScope[key] = &vault.Lookup{Scope: scopes[i%4], Version: version}
				}
				f := fingerprintOf(version, fmt.Sprint("value ", i))
				byScope[key].Fingerprints = append(byScope[key].Fingerprints, f)
				token := fmt.Sprint("t", i)
				if i >= len(rows) {
					token = ""
				}
				want[key] = append(want[key], token)
				singles = append(singles, vault.Lookup{Scope: scopes[i%4], Version: version, Fingerprints: []keyring.Fingerprint{f}})
				wantSingles = append(wantSingles, []string{token})
			}
			var lookups []vault.Lookup
			var wantAll [][]string
			for key, l := range byScope {
				lookups, wantAll = append(lookups, *l), append(wantAll, want[key])
			}
			require.Equal(t, wantAll, s.lookUp(t, v, lookups...))
			require.Equal(t, wantSingles, s.lookUp(t, v, singles...))
		}},
}

// rowRules are the rules of Rows.
var rowRules = []rule{
	{Rule{"tokens/rows-in-order", "Rows returns the rows of tokens in their order, as often as they are asked for, and a zero Row where there is none."}, 0,
		func(t *testing.T, s *subject) {
			v, other, foreign := s.customers(t), s.addVault(t, newVault(orgA, "other")), s.addVault(t, newVault(orgB, "customers"))
			ann, bea := row("t1", email, "ann", 1, 2), row("t2", "persons.phone", "bea")
			s.adds(t, v, ann, bea)
			s.adds(t, other, row("t3", email, "cleo", 1))
			s.adds(t, foreign, row("t4", email, "dora", 1))
			asked := []string{"t2", "t3", "t1", "", "t2", "T1", "t4", "t1 ", "t1"}
			rows, err := s.Store.Rows(t.Context(), orgA, "customers", asked)
			require.NoError(t, err)
			require.Len(t, rows, len(asked))
			for i, token := range asked {
				switch token {
				case "t1":
					sameRow(t, rowsOf(v, []vault.Row{ann})[0], rows[i])
				case "t2":
					sameRow(t, rowsOf(v, []vault.Row{bea})[0], rows[i])
				default:
					require.Equal(t, vault.Row{}, rows[i], "%q", token)
				}
			}
			rows, err = s.Store.Rows(t.Context(), orgA, "customers", nil)
			require.NoError(t, err)
			require.Empty(t, rows)
		}},

	{Rule{"tokens/rows-many", "Rows returns 1000 rows, with unknown ones, duplicates and long ciphertexts among them."}, 0,
		func(t *testing.T, s *subject) {
			v := s.customers(t)
			rows := make([]vault.Row, 600)
			for i := range rows {
				rows[i] = row(fmt.Sprintf("t%04d", i), email, fmt.Sprint(i), 1)
				if i%60 == 3 {
					rows[i].Sealed.Ciphertext = make([]byte, 64<<10)
				}
			}
			s.adds(t, v, rows...)
			asked := make([]string, 1000)
			for n := range asked {
				asked[n] = fmt.Sprintf("t%04d", n*7%800)
			}
			got, err := s.Store.Rows(t.Context(), orgA, "customers", asked)
			require.NoError(t, err)
			require.Len(t, got, 1000)
			for n := range asked {
				if i := n * 7 % 800; i < 600 {
					sameRow(t, rowsOf(v, rows[i:i+1])[0], got[n])
				} else {
					require.Equal(t, vault.Row{}, got[n])
				}
			}
		}},
}
