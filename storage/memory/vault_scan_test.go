package memory_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// TestScanIsBounded: a call of a scan leaves the lock to others after some thousands of
// rows, though it selects none of them.
func TestScanIsBounded(t *testing.T) {
	const rows = 10_000
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	tables := db.Vault().Store.(*memory.Vault)
	require.NoError(t, tables.PutVault(t.Context(), vault.Vault{Organization: "acme", ID: "v1", Revision: 1}, nil, vault.AuditEvent{}))
	insert := func(token string, version int) {
		t.Helper()
		r := vault.Row{Token: token, Deterministic: true, Sealed: keyring.Sealed{Version: version}}
		r.Fingerprints = []vault.VersionedFingerprint{{Version: version, Fingerprint: keyring.Fingerprint([]byte(fmt.Sprintf("%32s", token)))}}
		_, err := tables.InsertTokens(t.Context(), "acme", "v1", 1, []vault.Row{r})
		require.NoError(t, err)
	}
	for i := range rows {
		insert(fmt.Sprint("t", i), 2)
	}
	insert("last", 1)
	for name, scan := range map[string]func(after mortise.Cursor) (mortise.Page[vault.Row], error){
		"RowsWithoutFingerprint": func(after mortise.Cursor) (mortise.Page[vault.Row], error) {
			return tables.RowsWithoutFingerprint(t.Context(), 2, after, rows)
		},
		"RowsNotSealedUnder": func(after mortise.Cursor) (mortise.Page[vault.Row], error) {
			return tables.RowsNotSealedUnder(t.Context(), 2, after, rows)
		},
	} {
		empty := 0
		page, err := scan("")
		for ; len(page.Items) == 0; page, err = scan(page.Next) {
			require.NoError(t, err, name)
			require.NotEmpty(t, page.Next, name)
			empty++
		}
		require.GreaterOrEqual(t, empty, 2, name)
		require.Len(t, page.Items, 1, name)
		require.Equal(t, "last", page.Items[0].Token)
		require.Empty(t, page.Next)
	}
}
