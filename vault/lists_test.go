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

func (a *asking) ListVaults(ctx context.Context, org, after string, limit int) ([]vault.Vault, error) {
	a.limits = append(a.limits, limit)
	if len(a.limits) == a.fail {
		return []vault.Vault{{ID: "half of an answer"}}, vaulttest.ErrInjected
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
		for q := (vault.VaultQuery{Limit: limit}); ; {
			page, err := s.ListVaults(t.Context(), "acme", q)
			require.NoError(t, err)
			got, sizes = append(got, idsOf(page.Items)...), append(sizes, len(page.Items))
			if page.Next == "" {
				break
			}
			require.Equal(t, got[len(got)-1], page.Next)
			q.After = page.Next
		}
		require.Equal(t, ids, got, "limit %d", limit)
		if pages != nil {
			require.Equal(t, pages, sizes, "limit %d", limit)
		}
	}
	for _, asked := range store.limits {
		require.LessOrEqual(t, asked, 8, "vaults that are read at once")
	}
	page, err := s.ListVaults(t.Context(), "acme", vault.VaultQuery{After: "v0985", Limit: 3})
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
	page, err := s.ListVaults(t.Context(), "other", vault.VaultQuery{})
	require.NoError(t, err)
	require.Zero(t, page)
	store.limits = nil
	for _, org := range []string{"", "a\x00", "\xff"} {
		page, err := s.ListVaults(t.Context(), org, vault.VaultQuery{})
		require.NoError(t, err)
		require.Zero(t, page)
	}
	require.Empty(t, store.limits, "what a store need not know how to look for")
}

func TestListVaultsLimit(t *testing.T) {
	s, store := newAsking(t)
	for _, limit := range []int{-1, mortise.MaxPageSize + 1} {
		_, err := s.ListVaults(t.Context(), "acme", vault.VaultQuery{Limit: limit})
		var invalid *mortise.ValidationError
		require.ErrorAs(t, err, &invalid)
		require.EqualError(t, err, "mortise: invalid request: limit: must be between 1 and 1000")
	}
	require.Empty(t, store.limits)
}

// TestListVaultsOfLargeSchemas: a page ends with the vault by which it has 20,000 tables
// and columns, and says whether others follow.
func TestListVaultsOfLargeSchemas(t *testing.T) {
	const most = 200 * 200
	for _, c := range []struct {
		fifth, limit int
		want         []int
	}{
		// The second to the fifth have 19,898 columns in 102 tables.
		{1895, 0, []int{1, 4, 2, 1, 2}},
		{1894, 0, []int{1, 5, 1, 1, 2}},
		{1895, 3, []int{1, 3, 3, 1, 2}},
	} {
		s, _ := newAsking(t)
		ids := addVaults(t, s, "acme", most, 1, 2, 18_000, c.fifth, 1, most, most, 3, most)
		var got []string
		var sizes []int
		for q := (vault.VaultQuery{Limit: c.limit}); ; {
			page, err := s.ListVaults(t.Context(), "acme", q)
			require.NoError(t, err)
			got, sizes = append(got, idsOf(page.Items)...), append(sizes, len(page.Items))
			if page.Next == "" {
				break
			}
			q.After = page.Next
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
	for _, id := range []string{"a", "b"} {
		v := vault.Vault{Organization: "acme", ID: id, Revision: 1, Past: past}
		require.NoError(t, store.PutVault(t.Context(), v, nil, vault.AuditEvent{}))
	}
	page, err := s.ListVaults(t.Context(), "acme", vault.VaultQuery{})
	require.NoError(t, err)
	require.Equal(t, []string{"a"}, idsOf(page.Items))
	require.Equal(t, "a", page.Next)
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
	require.Equal(t, 102, sum, "two pages, each with one more to see whether it is the last")

	got, store.limits, store.fail = nil, nil, 9
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
	require.Len(t, store.limits, 9)

	store.limits, store.fail = nil, 2
	page, err := s.ListVaults(t.Context(), "acme", vault.VaultQuery{})
	require.ErrorIs(t, err, mortise.ErrUnavailable)
	require.Zero(t, page)
}
