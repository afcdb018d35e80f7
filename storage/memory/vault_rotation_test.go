package memory_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// counted is a context that counts how often it is asked: once for each time that the
// store takes its lock.
type counted struct {
	context.Context
	asked int
}

func (c *counted) Err() error {
	c.asked++
	return c.Context.Err()
}

// TestRotationIsLinear: the scans of a rotation, and the removal of old fingerprints, look
// at each row once, however many calls they take. So ten times the rows are ten times the
// work.
func TestRotationIsLinear(t *testing.T) {
	const (
		rows  = 40_000
		batch = 500
		step  = 4096 // rows that a store looks at before it leaves the lock to others
	)
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	tables := db.Vault().Store.(*memory.Vault)
	require.NoError(t, tables.PutVault(t.Context(), vault.Vault{Organization: "acme", ID: "v1", Revision: 1}, nil, vault.AuditEvent{}))
	for _, version := range []int{1, 2} {
		_, err := tables.RegisterKey(t.Context(), keyring.Key{Purpose: keyring.FingerprintKey, Version: version})
		require.NoError(t, err)
	}
	fingerprint := func(version, i int) (f keyring.Fingerprint) {
		binary.BigEndian.PutUint64(f[:], uint64(i))
		f[31] = byte(version)
		return f
	}
	for first := 0; first < rows; first += 1000 {
		add := make([]vault.Row, 1000)
		for i := range add {
			add[i] = vault.Row{Token: fmt.Sprint("t", first+i), Scope: "s", Deterministic: true, Sealed: keyring.Sealed{Version: 1}}
			add[i].Fingerprints = []vault.VersionedFingerprint{{Version: 1, Fingerprint: fingerprint(1, first+i)}}
		}
		_, err := tables.InsertTokens(t.Context(), "acme", "v1", 1, add)
		require.NoError(t, err)
	}

	most := 2*rows/batch + rows/step + 1
	ctx := &counted{Context: t.Context()}
	scan := func(next func(after mortise.Cursor) (mortise.Page[vault.Row], error), each func([]vault.Row)) {
		t.Helper()
		ctx.asked = 0
		found := 0
		after := mortise.Cursor("")
		for done := false; !done; done = after == "" {
			require.LessOrEqual(t, ctx.asked, most, "a scan that goes round never ends")
			page, err := next(after)
			require.NoError(t, err)
			found += len(page.Items)
			each(page.Items)
			after = page.Next
		}
		require.Equal(t, rows, found)
		require.LessOrEqual(t, ctx.asked, most)
	}
	scan(func(after mortise.Cursor) (mortise.Page[vault.Row], error) {
		return tables.RowsWithoutFingerprint(ctx, 2, after, batch)
	}, func(page []vault.Row) {
		of := make([]vault.RowFingerprint, len(page))
		for i := range page {
			var n int
			_, err := fmt.Sscanf(page[i].Token, "t%d", &n)
			require.NoError(t, err)
			of[i] = vault.RowFingerprint{Row: page[i].ID(), Place: page[i].Place, Fingerprint: fingerprint(2, n)}
		}
		refused, err := tables.AddFingerprints(t.Context(), 2, of)
		require.NoError(t, err)
		require.Empty(t, refused)
	})
	scan(func(after mortise.Cursor) (mortise.Page[vault.Row], error) {
		return tables.RowsNotSealedUnder(ctx, 2, after, batch)
	}, func([]vault.Row) {})

	require.NoError(t, tables.RequireKey(t.Context(), 2))
	require.NoError(t, tables.RetireKey(t.Context(), keyring.FingerprintKey, 1, 2))
	ctx.asked = 0
	removed := 0
	for more := true; more; {
		require.LessOrEqual(t, removed, rows)
		var n int
		n, more, err = tables.RemoveFingerprints(ctx, 1, batch)
		require.NoError(t, err)
		removed += n
	}
	require.Equal(t, rows, removed)
	require.LessOrEqual(t, ctx.asked, most)
}
