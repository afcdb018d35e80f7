package vaulttest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/vaulttest"
)

// ofScans returns the ids of rules of both scans.
func ofScans(names ...string) (ids []string) {
	for _, name := range names {
		ids = append(ids, "rotation/rows-without-fingerprint"+name, "rotation/rows-not-sealed-under"+name)
	}
	return ids
}

// scanning makes a mutant whose pages are others.
func scanning(change func(m *mutant, page *vault.RowPage, after vault.ScanPosition, limit int)) func(*mutant) {
	return func(m *mutant) {
		m.everyScan(func(scan scan) scan {
			return func(ctx context.Context, version int, after vault.ScanPosition, limit int) (vault.RowPage, error) {
				page, err := scan(ctx, version, after, limit)
				if err == nil {
					change(m, &page, after, limit)
				}
				return page, err
			}
		})
	}
}

// collect goes through a scan of a store that is right.
func collect(ctx context.Context, scan scan, version int) (rows []vault.Row, err error) {
	var page vault.RowPage
	for {
		if page, err = scan(ctx, version, page.Next, 1000); err != nil {
			return nil, err
		}
		if rows = append(rows, page.Rows...); page.Next == "" {
			return rows, nil
		}
	}
}

// sparse makes scans look at so many rows a call, whether they select them or not. end is
// called for a page that is empty.
func sparse(most int, end func(*vault.RowPage)) func(*mutant) {
	return func(m *mutant) {
		m.everyScan(func(scan scan) scan {
			return func(ctx context.Context, version int, after vault.ScanPosition, limit int) (vault.RowPage, error) {
				page, err := m.db.RowsNotSealedUnder(ctx, -1, after, min(most, limit))
				if err != nil {
					return page, err
				}
				selected := make(map[vault.RowID]bool)
				rows, err := collect(ctx, scan, version)
				for i := range rows {
					selected[rows[i].ID()] = true
				}
				page.Rows = slices.DeleteFunc(page.Rows, func(r vault.Row) bool { return !selected[r.ID()] })
				if len(page.Rows) == 0 && end != nil {
					end(&page)
				}
				return page, err
			}
		})
	}
}

// TestSparsePages: a store may end a page early, and return empty ones.
func TestSparsePages(t *testing.T) {
	for _, most := range []int{1, 2, 100} {
		t.Run(fmt.Sprint(most), func(t *testing.T) {
			empty := 0
			h := harness(sparse(most, func(page *vault.RowPage) {
				if page.Next != "" {
					empty++
				}
			}))
			vaulttest.Run(t, h)
			require.NotZero(t, empty, "pages that are empty and have a Next")
		})
	}
}

// scanMutants are wrong about the scans of a rotation.
var scanMutants = []broken{
	{name: "scans one organization", breaks: ofScans("-once"), mutate: scanning(func(_ *mutant, page *vault.RowPage, _ vault.ScanPosition, _ int) {
		page.Rows = slices.DeleteFunc(page.Rows, func(r vault.Row) bool { return r.Organization != "a" })
	})},
	{name: "puts more on a page than it should", breaks: ofScans("-once"), mutate: func(m *mutant) {
		m.everyScan(func(scan scan) scan {
			return func(ctx context.Context, version int, after vault.ScanPosition, limit int) (vault.RowPage, error) {
				return scan(ctx, version, after, max(limit, limit+1))
			}
		})
	}},
	{name: "loses the last row of a page", breaks: ofScans("-once", "-while-rows-come"), mutate: scanning(func(_ *mutant, page *vault.RowPage, _ vault.ScanPosition, limit int) {
		if len(page.Rows) == limit && limit > 1 && page.Next != "" {
			page.Rows = page.Rows[:limit-1]
		}
	})},
	{name: "repeats the last row of a page", breaks: ofScans("-once", "-while-rows-come", "-after-changes"), mutate: func(m *mutant) {
		before := make(map[vault.ScanPosition][]vault.Row)
		scanning(func(_ *mutant, page *vault.RowPage, after vault.ScanPosition, limit int) {
			rows := page.Rows
			page.Rows = slices.Concat(before[after], rows)
			page.Rows = page.Rows[:min(limit, len(page.Rows))]
			if page.Next != "" && len(rows) > 0 {
				before[page.Next] = rows[len(rows)-1:]
			}
		})(m)
	}},
	{name: "ends a scan after its first page", breaks: ofScans("-once", "-while-rows-come", "-after-changes", "-limit-zero", "-foreign-position"), mutate: scanning(
		func(_ *mutant, page *vault.RowPage, _ vault.ScanPosition, _ int) { page.Next = "" })},
	{name: "ends a scan at an empty page", breaks: ofScans("-behind-others"), mutate: sparse(100, func(page *vault.RowPage) { page.Next = "" })},
	{name: "does not end a scan", breaks: ofScans("-ends", "-once"), mutate: scanning(func(_ *mutant, page *vault.RowPage, after vault.ScanPosition, limit int) {
		if page.Next == "" && limit > 0 {
			page.Next = after
			if after == "" {
				page.Next = "0"
			}
		}
	})},
	{name: "does not end a scan of nothing", breaks: ofScans("-ends"), mutate: func(m *mutant) {
		m.everyScan(func(scan scan) scan {
			return func(ctx context.Context, version int, after vault.ScanPosition, limit int) (vault.RowPage, error) {
				if after == "nothing" {
					after = ""
				}
				page, err := scan(ctx, version, after, limit)
				if len(page.Rows) == 0 && err == nil && limit > 0 {
					page.Next = "nothing"
				}
				return page, err
			}
		})
	}},
	{name: "counts the rows that it has selected", breaks: ofScans("-after-changes"), mutate: func(m *mutant) {
		m.everyScan(func(scan scan) scan {
			return func(ctx context.Context, version int, after vault.ScanPosition, limit int) (page vault.RowPage, err error) {
				page.Rows, err = collect(ctx, scan, version)
				at := 0
				if after != "" {
					if n, bad := fmt.Sscanf(string(after), "%d", &at); n != 1 || bad != nil || fmt.Sprint(at) != string(after) {
						return vault.RowPage{}, errors.New("a foreign position")
					}
				}
				page.Rows = page.Rows[min(max(at, 0), len(page.Rows)):]
				if limit = max(limit, 0); limit < len(page.Rows) {
					page.Rows = page.Rows[:limit]
					page.Next = vault.ScanPosition(fmt.Sprint(at + limit))
				}
				return page, err
			}
		})
	}},
	{name: "looks for the last row of a page", breaks: ofScans("-after-changes"), mutate: func(m *mutant) {
		m.everyScan(func(scan scan) scan {
			return func(ctx context.Context, version int, after vault.ScanPosition, limit int) (page vault.RowPage, err error) {
				page.Rows, err = collect(ctx, scan, version)
				name := func(r vault.Row) string { return fmt.Sprintf("%q", r.ID()) }
				if after != "" {
					at := slices.IndexFunc(page.Rows, func(r vault.Row) bool { return name(r) == string(after) })
					if at < 0 && !strings.HasPrefix(string(after), "{") {
						return vault.RowPage{}, errors.New("a foreign position")
					}
					page.Rows = page.Rows[at+1:]
				}
				if limit = max(limit, 0); limit < len(page.Rows) {
					page.Rows = page.Rows[:limit]
					page.Next = vault.ScanPosition(name(page.Rows[max(0, limit-1)]))
				}
				return page, err
			}
		})
	}},
	{name: "scans what there was at the beginning", breaks: ofScans("-as-they-are"), mutate: func(m *mutant) {
		m.everyScan(func(scan scan) scan {
			var begun []vault.Row
			return func(ctx context.Context, version int, after vault.ScanPosition, limit int) (page vault.RowPage, err error) {
				if after == "" {
					if begun, err = collect(ctx, scan, version); err != nil {
						return vault.RowPage{}, err
					}
				}
				at := 0
				if after != "" {
					_, _ = fmt.Sscanf(string(after), "%d", &at)
				}
				page.Rows = begun[min(at, len(begun)):]
				if limit = max(limit, 0); limit < len(page.Rows) {
					page.Rows = page.Rows[:limit]
					page.Next = vault.ScanPosition(fmt.Sprint(at + limit))
				}
				return page, ctx.Err()
			}
		})
	}},
	{name: "takes any text for a position", breaks: ofScans("-foreign-position"), mutate: func(m *mutant) {
		m.everyScan(func(scan scan) scan {
			return func(ctx context.Context, version int, after vault.ScanPosition, limit int) (vault.RowPage, error) {
				page, err := scan(ctx, version, after, limit)
				if err != nil {
					return scan(ctx, version, "", limit)
				}
				return page, nil
			}
		})
	}},
	{name: "takes a foreign position for something that is not there", breaks: ofScans("-foreign-position"), mutate: func(m *mutant) {
		m.everyScan(func(scan scan) scan {
			return func(ctx context.Context, version int, after vault.ScanPosition, limit int) (vault.RowPage, error) {
				page, err := scan(ctx, version, after, limit)
				if err != nil && after != "" {
					return vault.RowPage{}, vault.ErrNotFound
				}
				return page, err
			}
		})
	}},
	{name: "takes a limit of zero for none", breaks: ofScans("-limit-zero"), mutate: func(m *mutant) {
		m.everyScan(func(scan scan) scan {
			return func(ctx context.Context, version int, after vault.ScanPosition, limit int) (vault.RowPage, error) {
				if limit == 0 {
					limit = 1000
				}
				return scan(ctx, version, after, limit)
			}
		})
	}},
	{name: "goes on where it was with a limit below one", breaks: ofScans("-limit-zero"), mutate: scanning(
		func(_ *mutant, page *vault.RowPage, after vault.ScanPosition, limit int) {
			if limit < 1 {
				page.Next = after
			}
		})},
	{name: "scans random rows as those without fingerprints", breaks: []string{"rotation/rows-without-fingerprint"}, mutate: func(m *mutant) {
		m.rowsWithoutFingerprint = func(ctx context.Context, _ int, after vault.ScanPosition, limit int) (vault.RowPage, error) {
			return m.db.RowsNotSealedUnder(ctx, -1, after, limit)
		}
	}},
	{name: "scans deterministic rows only", breaks: []string{"rotation/rows-not-sealed-under", "rotation/rows-not-sealed-under-once"}, mutate: func(m *mutant) {
		under := m.rowsNotSealedUnder
		m.rowsNotSealedUnder = func(ctx context.Context, version int, after vault.ScanPosition, limit int) (vault.RowPage, error) {
			page, err := under(ctx, version, after, limit)
			page.Rows = slices.DeleteFunc(page.Rows, func(r vault.Row) bool { return !r.Deterministic })
			return page, err
		}
	}},
}
