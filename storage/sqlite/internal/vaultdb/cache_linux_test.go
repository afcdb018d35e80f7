package vaultdb

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
	"github.com/seed-6363c74e/mortise/vault"
)

// manyPages is from how many rows at random places on the writer gives its pages back, see
// [file.Tx.Scatter].
const manyPages = 250

// TestWriterGivesBack: after a transaction with rows at many places, a vault's insertion
// or the step of a rotation, the writer's connection keeps no pages. After others it does.
func TestWriterGivesBack(t *testing.T) {
	db, tables := openVault(t)
	reads := func() (n int) {
		require.NoError(t, db.Write(t.Context(), func(tx *file.Tx) error {
			first := readsSoFar(t)
			second := readsSoFar(t) // it reads a file, too
			_, err := firstNumber(tx, "SELECT count(*) FROM vault_tokens NOT INDEXED")
			n = readsSoFar(t) - second - (second - first)
			return err
		}))
		return n
	}
	insert := func(from, n int) {
		rows := make([]vault.Row, n)
		for i := range rows {
			rows[i] = someRow("a", fmt.Sprint(from+i), from+i)
		}
		_, err := tables.InsertTokens(t.Context(), "acme", "v1", 1, rows)
		require.NoError(t, err)
	}
	next := 0
	require.Eventually(t, func() bool { // the runtime may read something, too
		insert(next, manyPages-1)
		next += manyPages
		return reads() == 0
	}, 30*time.Second, time.Millisecond)
	insert(next, manyPages)
	require.Positive(t, reads())

	var added []vault.RowFingerprint
	for i := range manyPages {
		id := vault.RowID{Organization: "acme", Vault: "v1", Token: fmt.Sprint(next + i)}
		added = append(added, vault.RowFingerprint{Row: id, Fingerprint: someFingerprint(100_000 + i)})
	}
	_, err := tables.AddFingerprints(t.Context(), 2, added)
	require.NoError(t, err)
	require.Positive(t, reads())
}
