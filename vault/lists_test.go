package vault_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/vaulttest"
)

// asking is a store that notes what is asked of its list, and can fail.
type asking struct {
	vault.Store
	limits []int
	fail   int // which call fails; 0: none
}

func (a *asking) ListVaults(ctx context.Context, org string, after mortise.Cursor, limit int) (mortise.Page[vault.Vault], error) {
	a.limits = append(a.limits, limit)
	if len(a.limits) == a.fail {
		return mortise.Page[vault.Vault]{Items: []vault.Vault{{ID: "half of an answer"}}}, vaulttest.ErrInjected
	}
	return a.Store.ListVaults(ctx, org, after, limit)
}

// newAsking returns a service over one.
func newAsking(t *testing.T) (*vault.Service, *asking) {
	t.Helper()
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	store := &asking{Store: db.Vault().Store}
	s, err := vault.New(vault.Backend{Store: store}, newKeyring(t, 1), nil)
	require.NoError(t, err)
	return s, store
}

// addVaults makes vaults with so many columns each, which are named in their order.
func addVaults(t *testing.T, s *vault.Service, org string, columns ...int) (ids []string) {
	t.Helper()
	for i, n := range columns {
		var schema vault.Schema
		for n > 0 {
			table := vault.Table{Name: fmt.Sprint("table", len(schema.Tables))}
			for j := range min(n, 200) {
				table.Columns = append(table.Columns, vault.Column{Name: fmt.Sprint("column", j), Tokenization: vault.Random})
			}
			n -= len(table.Columns)
			schema.Tables = append(schema.Tables, table)
		}
		ids = append(ids, fmt.Sprintf("v%03d", i))
		_, err := s.CreateVault(t.Context(), org, "ops", ids[i], schema)
		require.NoError(t, err)
	}
	return ids
}

func idsOf(vaults []vault.Vault) []string {
	var ids []string
	for _, v := range vaults {
		ids = append(ids, v.ID)
	}
	return ids
}

// TestListVaults: pages have as many vaults as were asked for, and the last one says so.
func TestListVaults(t *testing.T) {
	s, store := newAsking(t)
	ids := addVaults(t, s, "acme", make([]int, 101)...)
	for limit, pages := range map[int][]int{
		0: {50, 50, 1}, 1: nil, 8: nil, 50: {50, 50, 1}, 100: {100, 1}, 101: {101}, 102: {101}, mortise.MaxPageSize: {101},
	} {
		var got []string
		var sizes []int
		for after := mortise.Cursor(""); ; {
			page, err := s.ListVaults(t.Context(), "acme", after, limit)
			require.NoError(t, err)
			got, sizes = append(got, idsOf(page.Items)...), append(sizes, len(page.Items))
			if page.Next == "" {
				break
			}
			after = page.Next
		}
		require.Equal(t, ids, got, "limit %d", limit)
		if pages != nil {
			require.Equal(t, pages, sizes, "limit %d", limit)
		}
	}
	for _, asked := range store.limits {
		require.LessOrEqual(t, asked, 8, "vaults that are read at once")
	}
	first, err := s.ListVaults(t.Context(), "acme", "", 99)
	require.NoError(t, err)
	page, err := s.ListVaults(t.Context(), "acme", first.Next, 3)
	require.NoError(t, err)
	require.Equal(t, []string{"v099", "v100"}, idsOf(page.Items))
	require.Empty(t, page.Next)
	made, err := s.Vault(t.Context(), "acme", "v099")
	require.NoError(t, err)
	require.Equal(t, made, page.Items[0])
}

// TestListVaultsOfNobody: an organization without vaults has none, and nobody has those
// of an organization that cannot be.
func TestListVaultsOfNobody(t *testing.T) {
	s, store := newAsking(t)
	addVaults(t, s, "acme", 1, 1)
	page, err := s.ListVaults(t.Context(), "other", "", 0)
	require.NoError(t, err)
	require.Zero(t, page)
	store.limits = nil
	for _, org := range []string{"", "a\x00", "\xff"} {
		page, err := s.ListVaults(t.Context(), org, "", 0)
		require.NoError(t, err)
		require.Zero(t, page)
	}
	require.Empty(t, store.limits, "what a store need not know how to look for")
}

func TestListVaultsLimit(t *testing.T) {
	s, store := newAsking(t)
	for _, limit := range []int{-1, mortise.MaxPageSize + 1} {
		_, err := s.ListVaults(t.Context(), "acme", "", limit)
		var invalid *mortise.ValidationError
		require.ErrorAs(t, err, &invalid)
		require.EqualError(t, err, "mortise: invalid request: limit: must be between 1 and 1000")
	}
	_, err := s.ListVaults(t.Context(), "acme", "a b", 1)
	require.EqualError(t, err, "mortise: invalid request: after: must be a cursor that a page of this list returned as its Next")
	require.Empty(t, store.limits)
}

// TestListVaultsOfLargeSchemas: a page ends with the eight vaults by which it has 20,000
// tables and columns, and says whether others follow.
func TestListVaultsOfLargeSchemas(t *testing.T) {
	const most = 200 * 200
	for _, c := range []struct {
		first, limit int
		want         []int
	}{
		// With 100 columns in one table each, 8 vaults have 808, and 16 have 1616.
		{most, 0, []int{8, 16}}, {100, 0, []int{24}}, {100, 10, []int{10, 10, 4}}, {most, 3, []int{3, 3, 3, 3, 3, 3, 3, 3}},
	} {
		s, _ := newAsking(t)
		columns := []int{c.first}
		for range 23 {
			columns = append(columns, 100)
		}
		ids := addVaults(t, s, "acme", columns...)
		var got []string
		var sizes []int
		for after := mortise.Cursor(""); ; {
			page, err := s.ListVaults(t.Context(), "acme", after, c.limit)
			require.NoError(t, err)
			got, sizes = append(got, idsOf(page.Items)...), append(sizes, len(page.Items))
			if page.Next == "" {
				break
			}
			after = page.Next
		}
		require.Equal(t, ids, got)
		require.Equal(t, c.want, sizes, "limit %d", c.limit)
	}
}

// TestListVaultsCountsThePast: columns that have left a schema are in memory, too.
func TestListVaultsCountsThePast(t *testing.T) {
	s, store := newAsking(t)
	past := make([]vault.PastColumn, 20_000)
	for i := range past {
		past[i] = vault.PastColumn{Table: "gone", Column: fmt.Sprint(i)}
	}
	for i := range 9 {
		v := vault.Vault{Organization: "acme", ID: fmt.Sprint(i), Revision: 1, Past: past}
		require.NoError(t, store.PutVault(t.Context(), v, nil, vault.AuditEvent{}))
	}
	page, err := s.ListVaults(t.Context(), "acme", "", 0)
	require.NoError(t, err)
	require.Len(t, page.Items, 8)
	require.NotEmpty(t, page.Next)
}

// TestVaults: the iterator has all vaults, reads no further than it is asked to, and ends
// after an error.
func TestVaults(t *testing.T) {
	s, store := newAsking(t)
	ids := addVaults(t, s, "acme", make([]int, 120)...)
	addVaults(t, s, "other", 1)
	var got []string
	for v, err := range s.Vaults(t.Context(), "acme") {
		require.NoError(t, err)
		got = append(got, v.ID)
	}
	require.Equal(t, ids, got)

	store.limits = nil
	for v, err := range s.Vaults(t.Context(), "acme") {
		require.NoError(t, err)
		if v.ID == ids[50] {
			break
		}
	}
	sum := 0
	for _, n := range store.limits {
		sum += n
	}
	require.Equal(t, 100, sum, "two pages")

	got, store.limits, store.fail = nil, nil, 8
	var failed []error
	for v, err := range s.Vaults(t.Context(), "acme") {
		if err != nil {
			require.Zero(t, v)
			failed = append(failed, err)
			continue
		}
		got = append(got, v.ID)
	}
	require.Equal(t, ids[:50], got, "the first page")
	require.Len(t, failed, 1)
	require.ErrorIs(t, failed[0], mortise.ErrUnavailable)
	require.ErrorIs(t, failed[0], vaulttest.ErrInjected)
	require.Len(t, store.limits, 8)

	store.limits, store.fail = nil, 2
	page, err := s.ListVaults(t.Context(), "acme", "", 0)
	require.ErrorIs(t, err, mortise.ErrUnavailable)
	require.Zero(t, page)
}
