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
func scanning(change func(m *mutant, page *mortise.Page[vault.Row], after mortise.Cursor, limit int)) func(*mutant) {
	return around(func(m *mutant, c *mutate.Call) {
		if c.Go(); *c.Err() == nil {
			change(m, mutate.Get[mortise.Page[vault.Row]](c.Out), *mutate.Get[mortise.Cursor](c.In), int(c.In[3].Int()))
		}
	}, scans...)
}

// collect goes through a scan from its beginning to its end. What it has found is the
// call's last page.
func collect(c *mutate.Call) (rows []vault.Row) {
	page := mutate.Get[mortise.Page[vault.Row]](c.Out)
	*mutate.Get[mortise.Cursor](c.In) = ""
	c.In[3].SetInt(1000)
	for {
		if c.Go(); *c.Err() != nil {
			return nil
		}
		if rows = append(rows, page.Items...); page.Next == "" {
			page.Items = rows
			return rows
		}
		*mutate.Get[mortise.Cursor](c.In) = page.Next
	}
}

// counting makes a page of rows from the one on that after gives the number of, and numbers
// for positions.
func counting(c *mutate.Call, rows []vault.Row, after mortise.Cursor, limit int) {
	at := 0
	if after != "" {
		if n, bad := fmt.Sscanf(string(after), "%d", &at); n != 1 || bad != nil || fmt.Sprint(at) != string(after) {
			*c.Err() = errors.New("a foreign position")
			return
		}
	}
	page := mortise.Page[vault.Row]{Items: rows[min(max(at, 0), len(rows)):]}
	if limit = max(limit, 0); limit < len(page.Items) {
		page = mortise.Page[vault.Row]{Items: page.Items[:limit], Next: mortise.Cursor(fmt.Sprint(at + limit))}
	}
	*mutate.Get[mortise.Page[vault.Row]](c.Out) = page
}

// sparse makes scans look at so many rows a call, whether they select them or not. end is
// called for a page that is empty.
func sparse(most int, end func(*mortise.Page[vault.Row])) func(*mutant) {
	return around(func(m *mutant, c *mutate.Call) {
		page, err := m.db.RowsNotSealedUnder(bg, -1, *mutate.Get[mortise.Cursor](c.In), min(most, int(c.In[3].Int())))
		if err != nil {
			*c.Err() = err
			return
		}
		selected := make(map[vault.RowID]bool)
		for _, r := range collect(c) {
			selected[r.ID()] = true
		}
		page.Items = slices.DeleteFunc(page.Items, func(r vault.Row) bool { return !selected[r.ID()] })
		if len(page.Items) == 0 && end != nil {
			end(&page)
		}
		*mutate.Get[mortise.Page[vault.Row]](c.Out) = page
	}, scans...)
}

// TestSparsePages: a store may end a page early, and return empty ones.
func TestSparsePages(t *testing.T) {
	empty := 0
	h := (&broken{mutate: sparse(2, func(page *mortise.Page[vault.Row]) {
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
		mutate: scanning(func(_ *mutant, page *mortise.Page[vault.Row], _ mortise.Cursor, _ int) {
			page.Items = slices.DeleteFunc(page.Items, func(r vault.Row) bool { return r.Organization != "a" })
		})},
	{name: "puts more on a page than it should", breaks: ofScans("-once"), mutate: around(func(_ *mutant, c *mutate.Call) {
		c.In[3].SetInt(max(c.In[3].Int(), c.In[3].Int()+1))
		c.Go()
	}, scans...)},
	{name: "loses the last row of a page", breaks: ofScans("-once", "-while-rows-come"),
		mutate: scanning(func(_ *mutant, page *mortise.Page[vault.Row], _ mortise.Cursor, limit int) {
			if len(page.Items) == limit && limit > 1 && page.Next != "" {
				page.Items = page.Items[:limit-1]
			}
		})},
	{name: "repeats the last row of a page", breaks: ofScans("-once", "-while-rows-come", "-after-changes"), mutate: func(m *mutant) {
		before := make(map[mortise.Cursor][]vault.Row)
		scanning(func(_ *mutant, page *mortise.Page[vault.Row], after mortise.Cursor, limit int) {
			rows := page.Items
			page.Items = slices.Concat(before[after], rows)
			page.Items = page.Items[:min(limit, len(page.Items))]
			if page.Next != "" && len(rows) > 0 {
				before[page.Next] = rows[len(rows)-1:]
			}
		})(m)
	}},
	{name: "ends a scan after its first page",
		breaks: ofScans("-once", "-while-rows-come", "-after-changes"),
		mutate: scanning(
			func(_ *mutant, page *mortise.Page[vault.Row], _ mortise.Cursor, _ int) { page.Next = "" })},
	{name: "ends a scan at an empty page", breaks: ofScans("-behind-others"),
		mutate: sparse(100, func(page *mortise.Page[vault.Row]) { page.Next = "" })},
	{name: "does not end a scan", breaks: ofScans("-ends", "-once"),
		mutate: scanning(func(_ *mutant, page *mortise.Page[vault.Row], after mortise.Cursor, limit int) {
			if page.Next == "" && limit > 0 {
				page.Next = after
				if after == "" {
					page.Next = "0"
				}
			}
		})},
	{name: "does not end a scan of nothing", breaks: ofScans("-ends"), mutate: around(func(_ *mutant, c *mutate.Call) {
		if after := mutate.Get[mortise.Cursor](c.In); *after == "nothing" {
			*after = ""
		}
		c.Go()
		if page := mutate.Get[mortise.Page[vault.Row]](c.Out); len(page.Items) == 0 && *c.Err() == nil && c.In[3].Int() > 0 {
			page.Next = "nothing"
		}
	}, scans...)},
	{name: "counts the rows that it has selected", breaks: ofScans("-after-changes"), mutate: around(func(_ *mutant, c *mutate.Call) {
		after, limit := *mutate.Get[mortise.Cursor](c.In), int(c.In[3].Int())
		counting(c, collect(c), after, limit)
	}, scans...)},
	{name: "looks for the last row of a page", breaks: ofScans("-after-changes"), mutate: around(func(_ *mutant, c *mutate.Call) {
		after, limit := string(*mutate.Get[mortise.Cursor](c.In)), max(int(c.In[3].Int()), 0)
		page := mortise.Page[vault.Row]{Items: collect(c)}
		name := func(r vault.Row) string { return fmt.Sprintf("%q", r.ID()) }
		if after != "" {
			at := slices.IndexFunc(page.Items, func(r vault.Row) bool { return name(r) == after })
			if at < 0 && !strings.HasPrefix(after, "{") {
				*c.Err() = errors.New("a foreign position")
				return
			}
			page.Items = page.Items[at+1:]
		}
		if limit < len(page.Items) {
			page.Items = page.Items[:limit]
			page.Next = mortise.Cursor(name(page.Items[max(0, limit-1)]))
		}
		*mutate.Get[mortise.Page[vault.Row]](c.Out) = page
	}, scans...)},
	{name: "scans what there was at the beginning", breaks: ofScans("-as-they-are"), mutate: func(m *mutant) {
		begun := make(map[string][]vault.Row)
		around(func(_ *mutant, c *mutate.Call) {
			after, limit := *mutate.Get[mortise.Cursor](c.In), int(c.In[3].Int())
			if after == "" {
				begun[c.Method] = collect(c)
			}
			if *c.Err() == nil {
				counting(c, begun[c.Method], after, limit)
			}
		}, scans...)(m)
	}},
	{name: "takes a foreign cursor for something that is not there", breaks: ofScans("-foreign-cursor"), mutate: errs(
		func(error) error { return mortise.ErrNotFound }, scans...)},
	{name: "scans random rows as those without fingerprints", breaks: "rotation/rows-without-fingerprint",
		mutate: replace("RowsWithoutFingerprint", func(m *mutant, ctx context.Context, _ int, after mortise.Cursor, limit int) (mortise.Page[vault.Row], error) {
			return m.db.RowsNotSealedUnder(ctx, -1, after, limit)
		})},
	{name: "scans deterministic rows only", breaks: "rotation/rows-not-sealed-under rotation/rows-not-sealed-under-once", mutate: out(
		func(page *mortise.Page[vault.Row]) {
			page.Items = slices.DeleteFunc(page.Items, func(r vault.Row) bool { return !r.Deterministic })
		}, "RowsNotSealedUnder")},
}
