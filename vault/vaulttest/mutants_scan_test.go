package vaulttest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/vaulttest"
)

// ofScans returns the ids of rules of both scans.
func ofScans(names ...string) (ids string) {
	for _, name := range names {
		ids += " rotation/rows-without-fingerprint" + name + " rotation/rows-not-sealed-under" + name
	}
	return ids
}

// scanning makes a mutant whose pages are others.
func scanning(change func(m *mutant, page *vault.RowPage, after vault.ScanPosition, limit int)) func(*mutant) {
	return around(func(m *mutant, c *mutate.Call) {
		if c.Go(); *c.Err() == nil {
			change(m, mutate.Get[vault.RowPage](c.Out), *mutate.Get[vault.ScanPosition](c.In), int(c.In[3].Int()))
		}
	}, scans...)
}

// collect goes through a scan from its beginning to its end. What it has found is the
// call's last page.
func collect(c *mutate.Call) (rows []vault.Row) {
	page := mutate.Get[vault.RowPage](c.Out)
	*mutate.Get[vault.ScanPosition](c.In) = ""
	c.In[3].SetInt(1000)
	for {
		if c.Go(); *c.Err() != nil {
			return nil
		}
		if rows = append(rows, page.Rows...); page.Next == "" {
			page.Rows = rows
			return rows
		}
		*mutate.Get[vault.ScanPosition](c.In) = page.Next
	}
}

// counting makes a page of rows from the one on that after gives the number of, and numbers
// for positions.
func counting(c *mutate.Call, rows []vault.Row, after vault.ScanPosition, limit int) {
	at := 0
	if after != "" {
		if n, bad := fmt.Sscanf(string(after), "%d", &at); n != 1 || bad != nil || fmt.Sprint(at) != string(after) {
			*c.Err() = errors.New("a foreign position")
			return
		}
	}
	page := vault.RowPage{Rows: rows[min(max(at, 0), len(rows)):]}
	if limit = max(limit, 0); limit < len(page.Rows) {
		page = vault.RowPage{Rows: page.Rows[:limit], Next: vault.ScanPosition(fmt.Sprint(at + limit))}
	}
	*mutate.Get[vault.RowPage](c.Out) = page
}

// sparse makes scans look at so many rows a call, whether they select them or not. end is
// called for a page that is empty.
func sparse(most int, end func(*vault.RowPage)) func(*mutant) {
	return around(func(m *mutant, c *mutate.Call) {
		page, err := m.db.RowsNotSealedUnder(bg, -1, *mutate.Get[vault.ScanPosition](c.In), min(most, int(c.In[3].Int())))
		if err != nil {
			*c.Err() = err
			return
		}
		selected := make(map[vault.RowID]bool)
		for _, r := range collect(c) {
			selected[r.ID()] = true
		}
		page.Rows = slices.DeleteFunc(page.Rows, func(r vault.Row) bool { return !selected[r.ID()] })
		if len(page.Rows) == 0 && end != nil {
			end(&page)
		}
		*mutate.Get[vault.RowPage](c.Out) = page
	}, scans...)
}

// TestSparsePages: a store may end a page early, and return empty ones.
func TestSparsePages(t *testing.T) {
	empty := 0
	h := (&broken{mutate: sparse(2, func(page *vault.RowPage) {
		if page.Next != "" {
			empty++
		}
	})}).harness()
	vaulttest.Run(t, h)
	require.NotZero(t, empty, "pages that are empty and have a Next")
}

// scanMutants are wrong about the scans of a rotation.
var scanMutants = []broken{
	{name: "scans one organization", breaks: ofScans("-once"),
		mutate: scanning(func(_ *mutant, page *vault.RowPage, _ vault.ScanPosition, _ int) {
			page.Rows = slices.DeleteFunc(page.Rows, func(r vault.Row) bool { return r.Organization != "a" })
		})},
	{name: "puts more on a page than it should", breaks: ofScans("-once"), mutate: around(func(_ *mutant, c *mutate.Call) {
		c.In[3].SetInt(max(c.In[3].Int(), c.In[3].Int()+1))
		c.Go()
	}, scans...)},
	{name: "loses the last row of a page", breaks: ofScans("-once", "-while-rows-come"),
		mutate: scanning(func(_ *mutant, page *vault.RowPage, _ vault.ScanPosition, limit int) {
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
	{name: "ends a scan after its first page",
		breaks: ofScans("-once", "-while-rows-come", "-after-changes", "-limit-zero", "-foreign-position"),
		mutate: scanning(
			func(_ *mutant, page *vault.RowPage, _ vault.ScanPosition, _ int) { page.Next = "" })},
	{name: "ends a scan at an empty page", breaks: ofScans("-behind-others"),
		mutate: sparse(100, func(page *vault.RowPage) { page.Next = "" })},
	{name: "does not end a scan", breaks: ofScans("-ends", "-once"),
		mutate: scanning(func(_ *mutant, page *vault.RowPage, after vault.ScanPosition, limit int) {
			if page.Next == "" && limit > 0 {
				page.Next = after
				if after == "" {
					page.Next = "0"
				}
			}
		})},
	{name: "does not end a scan of nothing", breaks: ofScans("-ends"), mutate: around(func(_ *mutant, c *mutate.Call) {
		if after := mutate.Get[vault.ScanPosition](c.In); *after == "nothing" {
			*after = ""
		}
		c.Go()
		if page := mutate.Get[vault.RowPage](c.Out); len(page.Rows) == 0 && *c.Err() == nil && c.In[3].Int() > 0 {
			page.Next = "nothing"
		}
	}, scans...)},
	{name: "counts the rows that it has selected", breaks: ofScans("-after-changes"), mutate: around(func(_ *mutant, c *mutate.Call) {
		after, limit := *mutate.Get[vault.ScanPosition](c.In), int(c.In[3].Int())
		counting(c, collect(c), after, limit)
	}, scans...)},
	{name: "looks for the last row of a page", breaks: ofScans("-after-changes"), mutate: around(func(_ *mutant, c *mutate.Call) {
		after, limit := string(*mutate.Get[vault.ScanPosition](c.In)), max(int(c.In[3].Int()), 0)
		page := vault.RowPage{Rows: collect(c)}
		name := func(r vault.Row) string { return fmt.Sprintf("%q", r.ID()) }
		if after != "" {
			at := slices.IndexFunc(page.Rows, func(r vault.Row) bool { return name(r) == after })
			if at < 0 && !strings.HasPrefix(after, "{") {
				*c.Err() = errors.New("a foreign position")
				return
			}
			page.Rows = page.Rows[at+1:]
		}
		if limit < len(page.Rows) {
			page.Rows = page.Rows[:limit]
			page.Next = vault.ScanPosition(name(page.Rows[max(0, limit-1)]))
		}
		*mutate.Get[vault.RowPage](c.Out) = page
	}, scans...)},
	{name: "scans what there was at the beginning", breaks: ofScans("-as-they-are"), mutate: func(m *mutant) {
		begun := make(map[string][]vault.Row)
		around(func(_ *mutant, c *mutate.Call) {
			after, limit := *mutate.Get[vault.ScanPosition](c.In), int(c.In[3].Int())
			if after == "" {
				begun[c.Method] = collect(c)
			}
			if *c.Err() == nil {
				counting(c, begun[c.Method], after, limit)
			}
		}, scans...)(m)
	}},
	{name: "takes any text for a position", breaks: ofScans("-foreign-position"), mutate: around(func(_ *mutant, c *mutate.Call) {
		if c.Go(); *c.Err() != nil {
			*mutate.Get[vault.ScanPosition](c.In) = ""
			c.Go()
		}
	}, scans...)},
	{name: "takes a foreign position for something that is not there", breaks: ofScans("-foreign-position"), mutate: errs(
		func(error) error { return mortise.ErrNotFound }, scans...)},
	{name: "takes a limit of zero for none", breaks: ofScans("-limit-zero"), mutate: around(func(_ *mutant, c *mutate.Call) {
		if c.In[3].Int() == 0 {
			c.In[3].SetInt(1000)
		}
		c.Go()
	}, scans...)},
	{name: "goes on where it was with a limit below one", breaks: ofScans("-limit-zero"), mutate: scanning(
		func(_ *mutant, page *vault.RowPage, after vault.ScanPosition, limit int) {
			if limit < 1 {
				page.Next = after
			}
		})},
	{name: "scans random rows as those without fingerprints", breaks: "rotation/rows-without-fingerprint",
		mutate: replace("RowsWithoutFingerprint", func(m *mutant, ctx context.Context, _ int, after vault.ScanPosition, limit int) (vault.RowPage, error) {
			return m.db.RowsNotSealedUnder(ctx, -1, after, limit)
		})},
	{name: "scans deterministic rows only", breaks: "rotation/rows-not-sealed-under rotation/rows-not-sealed-under-once", mutate: out(
		func(page *vault.RowPage) {
			page.Rows = slices.DeleteFunc(page.Rows, func(r vault.Row) bool { return !r.Deterministic })
		}, "RowsNotSealedUnder")},
}
