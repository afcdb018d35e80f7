package sqlite

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/vault"
)

// TestWriterGivesBack: after a transaction with rows at many places, a vault's insertion
// or the step of a rotation, the writer's connection keeps no pages. After others it does.
func TestWriterGivesBack(t *testing.T) {
	db, tables := openVault(t)
	reads := func() (n int) {
		require.NoError(t, db.writer.write(t.Context(), func(tx *tx) error {
			first := readsSoFar(t)
			second := readsSoFar(t) // it reads a file, too
			_, err := tx.firstNumber("SELECT count(*) FROM vault_tokens NOT INDEXED")
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
