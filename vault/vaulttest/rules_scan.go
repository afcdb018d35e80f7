package vaulttest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// scanRules say how the scans of a rotation go through the rows of all organizations,
// each with rules of its own.
func scanRules() []rule {
	return slices.Concat(
		scanRulesOf("RowsWithoutFingerprint", "rotation/rows-without-fingerprint-", func(s *subject) *scan { return s.scanWithout(2) }),
		scanRulesOf("RowsNotSealedUnder", "rotation/rows-not-sealed-under-", func(s *subject) *scan { return s.scanUnder(2) }))
}

func scanRulesOf(method, id string, of func(*subject) *scan) []rule {
	scanRule := func(name, text string, check func(t *testing.T, s *subject, c *scan)) rule {
		return rule{Rule{id + name, fmt.Sprintf(text, method)}, 0, func(t *testing.T, s *subject) {
			s.registers(t, keyring.FingerprintKey, 1, 2)
			s.registers(t, keyring.SealKey, 1, 2)
			check(t, s, of(s))
		}}
	}
	return []rule{
		scanRule("once", "A scan of %s returns each row that it selects once, of all organizations, in pages of at most limit rows, whatever the limit.",
			func(t *testing.T, _ *subject, c *scan) {
				want := c.spread(t)
				n := len(want)
				for _, limit := range []int{1, 2, 3, 7, n - 1, n, n + 1, 10_000} {
					sameRows(t, want, c.from(t, "", limit, nil))
				}
			}),

		scanRule("ends", "A scan of %s ends, with a page whose Next is \"\", also where it selects nothing or nothing is stored.",
			func(t *testing.T, s *subject, c *scan) {
				require.Empty(t, c.all(t))
				v := s.customers(t)
				s.adds(t, v, c.other("t1", "ann"), c.other("t2", "bea"))
				require.Empty(t, c.all(t))
				s.adds(t, v, c.row("t3", "cleo"))
				s.deletes(t, v, "t3")
				require.Empty(t, c.all(t))
			}),

		scanRule("behind-others", "A scan of %s comes to a row however many it does not select stand before it: it ends with Next, not with an empty page.",
			func(t *testing.T, s *subject, c *scan) {
				v := s.customers(t)
				for batch := range 3 {
					var rows []vault.Row
					for i := range 500 {
						name := fmt.Sprint(batch, "-", i)
						rows = append(rows, c.other("t"+name, name))
					}
					s.adds(t, v, rows...)
				}
				last := c.row("last", "last")
				s.adds(t, v, last)
				for _, limit := range []int{1, 10, 10_000} {
					sameRows(t, rowsOf(v, []vault.Row{last}), c.from(t, "", limit, nil))
				}
			}),

		scanRule("while-rows-come", "Rows that are stored between two pages of a scan of %s come once or not at all, and those that were there come once.",
			func(t *testing.T, s *subject, c *scan) {
				want := c.spread(t)
				young := newVault("", "")
				n := 0
				got := c.from(t, "", 7, func(page mortise.Page[vault.Row]) {
					if n++; n > 20 {
						return // or the scan might run after them for ever
					}
					if n%4 == 1 {
						young = s.addVault(t, newVault(fmt.Sprint("a", n), "v"))
					}
					r := page.Items[0]
					s.adds(t, young, c.row(fmt.Sprint("young ", n), fmt.Sprint("young ", n)))
					s.adds(t, newVault(r.Organization, r.Vault), c.row(fmt.Sprint("a young ", n), fmt.Sprint("young ", n)))
				})
				seen := make(map[vault.RowID]bool)
				sameRows(t, want, slices.DeleteFunc(got, func(r vault.Row) bool {
					id, isYoung := r.ID(), strings.Contains(r.Token, "young")
					require.False(t, seen[id], "%q comes twice", id)
					seen[id] = true
					return isYoung
				}))
			}),

		scanRule("after-changes", "A cursor of %s stays good when rows of the pages before it are changed or deleted, the last one among them: what is left comes once.",
			func(t *testing.T, s *subject, c *scan) {
				want := c.spread(t)
				n := 0
				sameRows(t, want, c.from(t, "", 2, func(page mortise.Page[vault.Row]) {
					n++
					last := len(page.Items) - 1
					// The first one too, or the last one only.
					for i, r := range page.Items[last*(n%2):] {
						if (n/2+i)%2 == 0 {
							c.settle(t, r)
						} else {
							s.deletes(t, newVault(r.Organization, r.Vault), r.Token)
						}
					}
				}))
			}),

		scanRule("as-they-are", "A page of %s has what is there and selected when it is asked for, not what was when the scan began.",
			func(t *testing.T, s *subject, c *scan) {
				all := c.spread(t)
				for _, limit := range []int{1, 3, 20} {
					begun := c.first(t, limit)
					left := slices.DeleteFunc(slices.Clone(all), func(r vault.Row) bool {
						return slices.ContainsFunc(begun.Items, func(b vault.Row) bool { return b.ID() == r.ID() })
					})
					for i, gone := range left[:4] {
						if i%2 == 0 {
							c.settle(t, gone)
						} else {
							s.deletes(t, newVault(gone.Organization, gone.Vault), gone.Token)
						}
					}
					sameRows(t, left[4:], c.from(t, begun.Next, limit, nil))
					all = slices.Concat(begun.Items, left[4:])
				}
			}),

		scanRule("foreign-cursor", "A text that is no cursor of %s is a ValidationError at \"after\", or begins somewhere in the scan.",
			func(t *testing.T, _ *subject, c *scan) {
				c.spread(t)
				made := c.first(t, 3).Next
				for _, foreign := range []mortise.Cursor{
					" ", "\x00", "\xff\xfe", "no cursor", "null", "0x1f", "-1", "-9223372036854775808", "18446744073709551615",
					"99999999999999999999999999", "1.5", "1e3", "\U0001F4DA", mortise.Cursor(strings.Repeat("9", 1<<16)),
					" " + made, made + " ", made + "\x00", "+" + made, "no " + made, made + made + made + " cursor",
				} {
					_, err := c.page(t, foreign, 3)
					if err == nil {
						continue
					}
					var invalid *mortise.ValidationError
					require.ErrorAs(t, err, &invalid, "%s after %.40q", method, foreign)
					require.Equal(t, "after", invalid.Problems[0].Path.String())
				}
			}),
	}
}
