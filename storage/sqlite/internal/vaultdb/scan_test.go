package vaultdb

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/filetest"
	"github.com/seed-6363c74e/mortise/vault"
)

// bothScans calls check with each scan, for version 2.
func bothScans(t *testing.T, tables *Store, check func(scan func(after mortise.Cursor, limit int) mortise.Page[vault.Row])) {
	for name, scan := range map[string]func(after mortise.Cursor, limit int) (mortise.Page[vault.Row], error){
		"RowsWithoutFingerprint": func(after mortise.Cursor, limit int) (mortise.Page[vault.Row], error) {
			return tables.RowsWithoutFingerprint(t.Context(), 2, after, limit)
		},
		"RowsNotSealedUnder": func(after mortise.Cursor, limit int) (mortise.Page[vault.Row], error) {
			return tables.RowsNotSealedUnder(t.Context(), 2, after, limit)
		},
	} {
		t.Log(name)
		check(func(after mortise.Cursor, limit int) mortise.Page[vault.Row] {
			page, err := scan(after, limit)
			require.NoError(t, err)
			return page
		})
	}
}

// TestScanIsBounded: a call of a scan looks at so many rows and no more, though it
// selects none of them. So it keeps no snapshot for long, and its context ends it.
func TestScanIsBounded(t *testing.T) {
	const stored = 2*scanStep + 10
	db, tables := openVault(t)
	insert := fmt.Sprint("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ", stored, ")",
		" INSERT INTO vault_tokens SELECT i, 1, 't' || i, 1, 1, i, iif(i = ", stored, ", 1, 2), x'00' FROM n")
	require.NoError(t, db.Write(t.Context(), func(tx *file.Tx) error {
		for _, statement := range []string{
			"INSERT INTO vault_scopes VALUES (1, 1, 'a')", insert, "INSERT INTO vault_counts " + filetest.Recount,
			"INSERT INTO vault_fingerprints SELECT CAST(seq AS BLOB), 1, 2, seq, token FROM vault_tokens WHERE sealed = 2",
		} {
			if _, err := tx.Exec(statement); err != nil {
				return err
			}
		}
		return nil
	}))
	bothScans(t, tables, func(scan func(after mortise.Cursor, limit int) mortise.Page[vault.Row]) {
		for _, limit := range []int{1, 2, 2 * stored} {
			first := scan("", limit)
			require.Empty(t, first.Items)
			require.NotEmpty(t, first.Next)
			second := scan(first.Next, limit)
			require.Empty(t, second.Items)
			require.NotEmpty(t, second.Next)
			third := scan(second.Next, limit)
			require.Len(t, third.Items, 1)
			require.Equal(t, fmt.Sprint("t", stored), third.Items[0].Token)
			require.Empty(t, third.Next)
		}
	})
}

// TestScanGoesByInsertion: a scan reads the rows as they came, whatever their tokens:
// what came together stands together in the file.
func TestScanGoesByInsertion(t *testing.T) {
	_, tables := openVault(t)
	require.NoError(t, tables.PutVault(t.Context(), vault.Vault{Organization: "aaa", ID: "v1", Revision: 1}, nil, vault.AuditEvent{}))
	var want []string
	for i, token := range []string{"m", "z", "a", "c", "b"} {
		org := []string{"acme", "aaa"}[i%2]
		_, err := tables.InsertTokens(t.Context(), org, "v1", 1, []vault.Row{someRow("a", token, i)})
		require.NoError(t, err)
		want = append(want, token)
	}
	bothScans(t, tables, func(scan func(after mortise.Cursor, limit int) mortise.Page[vault.Row]) {
		for limit := 1; limit <= len(want)+1; limit++ {
			var got []string
			page := mortise.Page[vault.Row]{Next: ""}
			calls := 0
			for calls == 0 || page.Next != "" {
				page = scan(page.Next, limit)
				calls++
				for i := range page.Items {
					got = append(got, page.Items[i].Token)
				}
			}
			require.Equal(t, want, got, "with pages of %d", limit)
			require.Equal(t, (len(want)+limit-1)/limit, calls, "a page that is full with the last row is the last one")
		}
	})
}
