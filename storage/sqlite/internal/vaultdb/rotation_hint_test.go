package vaultdb

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/filetest"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// TestRowPlaceHint: a hint says what was put into it, or nothing if that is too large.
func TestRowPlaceHint(t *testing.T) {
	for _, p := range []rowPlace{{1, 1, false}, {1, 1, true}, {1<<seqBits - 1, 1<<scopeBits - 1, true}, {7, 0, false}} {
		require.Positive(t, p.hint())
		require.Equal(t, p, hinted(p.hint()))
	}
	for _, p := range []rowPlace{{1 << seqBits, 1, true}, {1, 1 << scopeBits, true}, {noRow, 1, true}, {math.MaxInt, math.MaxInt, true}} {
		require.Zero(t, p.hint(), p)
	}
}

// TestResealCountsWhatIsStored: a hint that has a row's number and another scope, or that
// is of another row or of none, changes the row that is named, and counts it where it is.
func TestResealCountsWhatIsStored(t *testing.T) {
	db, s := openVault(t)
	_, err := s.InsertTokens(t.Context(), "acme", "v1", 1, []vault.Row{someRow("a", "m", 1), someRow("b", "n", 2)})
	require.NoError(t, err)
	page, err := s.RowsNotSealedUnder(t.Context(), 9, "", 10)
	require.NoError(t, err)
	require.Len(t, page.Items, 2)
	at := hinted(page.Items[0].Place)
	wrong := rowPlace{at.seq, at.scope + 1, at.deterministic}
	opaque := rowPlace{at.seq, at.scope, !at.deterministic}
	version := 1
	for _, place := range []int64{page.Items[0].Place, wrong.hint(), opaque.hint(), page.Items[1].Place, 0, -1, math.MaxInt64, math.MinInt64} {
		changed, err := s.Reseal(t.Context(), []vault.Resealed{{
			Row: page.Items[0].ID(), Place: place,
			From: keyring.Sealed{Version: version, Ciphertext: []byte("sealed")},
			To:   keyring.Sealed{Version: version + 1, Ciphertext: []byte("sealed")},
		}})
		require.NoError(t, err)
		require.Equal(t, 1, changed, place)
		filetest.RequireCounts(t, db.File)
		version++
	}
}
