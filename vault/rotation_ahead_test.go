package vault_test

import (
	"context"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/vault"
)

// ending is a store whose scans end with what end does, behind the first page.
type ending struct {
	vault.Store
	end func()
}

func (e *ending) RowsWithoutFingerprint(ctx context.Context, version int, after mortise.Cursor, limit int) (mortise.Page[vault.Row], error) {
	if after != "" {
		e.end()
	}
	return e.Store.RowsWithoutFingerprint(ctx, version, after, limit)
}

func (e *ending) RowsNotSealedUnder(ctx context.Context, version int, after mortise.Cursor, limit int) (mortise.Page[vault.Row], error) {
	if after != "" {
		e.end()
	}
	return e.Store.RowsNotSealedUnder(ctx, version, after, limit)
}

// TestRotationTellsOfItsReader: pages are read on a goroutine of the rotation's own. A
// store that panics there panics at the caller, who can recover it, and one that ends the
// goroutine, as FailNow of a test does, does not end the step in success.
func TestRotationTellsOfItsReader(t *testing.T) {
	const page = 500
	r := newRig(t, vault.Options{})
	insertAll(t, r.Service, values(3*page/2))
	store := &ending{Store: r.store}
	added, err := vault.New(vault.Backend{Store: store}, newKeyring(t, 1, 2), nil)
	require.NoError(t, err)
	promoted, err := vault.New(vault.Backend{Store: store}, newKeyring(t, 2, 1), nil)
	require.NoError(t, err)
	steps := steps(t.Context(), added, promoted)
	for i, step := range steps[:2] {
		var last vault.Progress
		tell := func(p vault.Progress) { last = p }
		store.end = func() { panic("broken") }
		require.PanicsWithValue(t, "broken", func() { _ = step(tell) })
		require.Equal(t, vault.Progress{Done: page, Total: 3 * page}, last, "step %d: the first page is stored", i)
		store.end = runtime.Goexit
		require.ErrorIs(t, step(tell), mortise.ErrUnavailable)
		require.Less(t, last.Done, last.Total)
		store.end = func() {}
		require.NoError(t, step(tell))
		require.Equal(t, last.Total, last.Done)
	}
	usage, err := r.KeyUsage(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[int]int{2: usage.Rows}, usage.Sealed)
}
