package vaulttest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/vault"
)

// scan is one of the scans of a vault.KeyRotation, for version 2.
type scan struct {
	s      *subject
	method string
	page   func(t *testing.T, after mortise.Cursor, limit int) (mortise.Page[vault.Row], error)
	row    func(token, value string) vault.Row // one that it selects
	other  func(token, value string) vault.Row // one that it does not
	settle func(t *testing.T, r vault.Row)     // makes a row one that it does not select
}

// scanWithout is RowsWithoutFingerprint.
func (s *subject) scanWithout(version int) *scan {
	return &scan{
		s: s, method: "RowsWithoutFingerprint",
		page: func(t *testing.T, after mortise.Cursor, limit int) (mortise.Page[vault.Row], error) {
			return s.Store.RowsWithoutFingerprint(t.Context(), version, after, limit)
		},
		row:   func(token, value string) vault.Row { return row(token, email, value, 1) },
		other: func(token, value string) vault.Row { return row(token, email, value, 1, version) },
		settle: func(t *testing.T, r vault.Row) {
			t.Helper()
			s.fill(t, version, nil, vault.RowFingerprint{Row: r.ID(), Place: r.Place, Fingerprint: fingerprintOf(version, "of "+r.Token)})
		},
	}
}

// scanUnder is RowsNotSealedUnder.
func (s *subject) scanUnder(version int) *scan {
	under := func(version int, r vault.Row) vault.Row { r.Sealed.Version = version; return r }
	return &scan{
		s: s, method: "RowsNotSealedUnder",
		page: func(t *testing.T, after mortise.Cursor, limit int) (mortise.Page[vault.Row], error) {
			return s.Store.RowsNotSealedUnder(t.Context(), version, after, limit)
		},
		row:   func(token, value string) vault.Row { return under(1, row(token, email, value)) },
		other: func(token, value string) vault.Row { return under(version, row(token, email, value)) },
		settle: func(t *testing.T, r vault.Row) {
			t.Helper()
			s.reseals(t, 1, vault.Resealed{Row: r.ID(), Place: r.Place, From: r.Sealed, To: sealedAnew(r, version)})
		},
	}
}

// stretch returns a page.
func (c *scan) stretch(t *testing.T, after mortise.Cursor, limit int) mortise.Page[vault.Row] {
	t.Helper()
	page, err := c.page(t, after, limit)
	require.NoError(t, err, c.method)
	require.LessOrEqual(t, len(page.Items), limit, "rows of a page of %s", c.method)
	return page
}

// maxPages is more than a scan of a rule needs, though most of its pages be empty.
const maxPages = 10_000

// from goes through what is left of a scan, and returns the rows. It calls between, which
// may be nil, with each page that has rows and is not the last one.
func (c *scan) from(t *testing.T, after mortise.Cursor, limit int, between func(mortise.Page[vault.Row])) []vault.Row {
	t.Helper()
	var rows []vault.Row
	for range maxPages {
		page := c.stretch(t, after, limit)
		rows = append(rows, page.Items...)
		if after = page.Next; after == "" {
			return rows
		}
		if between != nil && len(page.Items) > 0 {
			between(page)
		}
	}
	require.FailNow(t, "the scan does not end", c.method)
	return nil
}

// first returns the first page that has rows. It fails if there is none, or none behind
// it.
func (c *scan) first(t *testing.T, limit int) mortise.Page[vault.Row] {
	t.Helper()
	var page mortise.Page[vault.Row]
	for range maxPages {
		if page = c.stretch(t, page.Next, limit); len(page.Items) > 0 || page.Next == "" {
			break
		}
	}
	require.NotEmpty(t, page.Items, c.method)
	require.NotEmpty(t, page.Next, "Next of %s, before the last row", c.method)
	return page
}

// all returns the rows of a scan in the order of their IDs.
func (c *scan) all(t *testing.T) []vault.Row {
	t.Helper()
	return byID(c.from(t, "", 100, nil))
}

// withoutFingerprint goes through a scan of RowsWithoutFingerprint.
func (s *subject) withoutFingerprint(t *testing.T, version int) []vault.Row {
	t.Helper()
	return s.scanWithout(version).all(t)
}

// notSealedUnder goes through a scan of RowsNotSealedUnder.
func (s *subject) notSealedUnder(t *testing.T, version int) []vault.Row {
	t.Helper()
	return s.scanUnder(version).all(t)
}

// placesOf returns where the store says that rows are.
func placesOf(rows []vault.Row) map[vault.RowID]int64 {
	places := make(map[vault.RowID]int64)
	for i := range rows {
		places[rows[i].ID()] = rows[i].Place
	}
	return places
}

// byID sorts rows by organization, vault and token.
func byID(rows []vault.Row) []vault.Row {
	slices.SortFunc(rows, func(a, b vault.Row) int {
		return slices.Compare([]string{a.Organization, a.Vault, a.Token}, []string{b.Organization, b.Vault, b.Token})
	})
	return rows
}

// sameRows requires the same rows, each once, in any order.
func sameRows(t *testing.T, want, got []vault.Row) {
	t.Helper()
	want, got = byID(slices.Clone(want)), byID(slices.Clone(got))
	ids := func(rows []vault.Row) (ids []string) {
		for i := range rows {
			ids = append(ids, fmt.Sprintf("%q", rows[i].ID()))
		}
		return ids
	}
	require.Equal(t, ids(want), ids(got), "rows of a scan")
	for i := range want {
		sameRow(t, want[i], got[i])
	}
}

// spread stores vaults of several organizations, with rows in each that the scan selects
// and others between them, and returns the former. Names are such that parts glued
// together, or compared by anything but bytes, are taken for others.
func (c *scan) spread(t *testing.T) []vault.Row {
	t.Helper()
	var selected []vault.Row
	for _, org := range []string{"b", "a", "A", "ab", "a\x01b"} {
		for _, name := range []string{"v", "V", "\ufffd", "v\x01"} {
			v := c.s.addVault(t, newVault(org, name))
			var own, others []vault.Row
			for i, token := range []string{"t", "T", "\U0001F4DA", "t\x01", "s", "tt"} {
				if i%3 == 2 {
					others = append(others, c.other(token, fmt.Sprint(i)))
				} else {
					own = append(own, c.row(token, fmt.Sprint(i)))
				}
			}
			c.s.imports(t, v, own[:1]...)
			c.s.adds(t, v, append(others, own[1:]...)...)
			selected = append(selected, rowsOf(v, own)...)
		}
	}
	return selected
}
