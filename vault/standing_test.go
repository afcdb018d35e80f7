package vault_test

import (
	"context"
	"fmt"
	"iter"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// standing is a store that begins each page at the start, and says that others follow: those
// of a scan where next says, by where a page begins.
type standing struct {
	vault.Store
	next map[mortise.Cursor]mortise.Cursor
}

func (s *standing) ListVaults(ctx context.Context, org string, _ mortise.Cursor, limit int) (mortise.Page[vault.Vault], error) {
	return s.Store.ListVaults(ctx, org, "", limit)
}

func (s *standing) ListRows(ctx context.Context, org, id string, _ mortise.Cursor, limit int) (mortise.Page[vault.Row], error) {
	page, err := s.Store.ListRows(ctx, org, id, "", limit)
	page.Next = page.Items[0].Position().Cursor()
	return page, err
}

func (s *standing) RowsWithoutFingerprint(ctx context.Context, version int, after mortise.Cursor, limit int) (mortise.Page[vault.Row], error) {
	page, err := s.Store.RowsWithoutFingerprint(ctx, version, "", limit)
	page.Next = s.next[after]
	return page, err
}

func (s *standing) RowsNotSealedUnder(ctx context.Context, version int, after mortise.Cursor, limit int) (mortise.Page[vault.Row], error) {
	page, err := s.Store.RowsNotSealedUnder(ctx, version, "", limit)
	page.Next = s.next[after]
	return page, err
}

// A store whose pages stand still is no reason to go round for ever.
func TestStoreThatStandsStill(t *testing.T) {
	r := newRig(t, vault.Options{})
	ctx := t.Context()
	insert(t, r.Service, of("persons", "name", "Ada", "Bob"))
	for _, id := range []string{"v2", "v3"} {
		_, err := r.CreateVault(ctx, "acme", "ops", id, schema)
		require.NoError(t, err)
	}
	for name, next := range map[string]map[mortise.Cursor]mortise.Cursor{
		"it stands":       {"": "1", "1": "1"},
		"it stands later": {"": "1", "1": "2", "2": "3", "3": "4", "4": "4"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := vault.New(vault.Backend{Store: &standing{r.store, next}}, newKeyring(t, 2, 1), nil)
			require.NoError(t, err)
			require.ErrorIs(t, s.Backfill(ctx, 2, nil), mortise.ErrUnavailable)
			require.ErrorIs(t, s.Rewrap(ctx, nil), mortise.ErrUnavailable)
			require.ErrorIs(t, s.Retire(ctx, keyring.FingerprintKey, 1, nil), mortise.ErrUnavailable)
		})
	}
	s, err := vault.New(vault.Backend{Store: &standing{Store: r.store}}, newKeyring(t, 2, 1), nil)
	require.NoError(t, err)
	items, err := untilError(s.Export(ctx, "acme", "ops", "v1", everything))
	require.ErrorIs(t, err, mortise.ErrUnavailable)
	require.Equal(t, 4, items, "two pages")
	for i := range 9 { // more than ListVaults reads at once
		_, err := r.CreateVault(ctx, "acme", "ops", fmt.Sprint("w", i), schema)
		require.NoError(t, err)
	}
	page, err := s.ListVaults(ctx, "acme", "", 20)
	require.ErrorIs(t, err, mortise.ErrUnavailable)
	require.Empty(t, page.Items, "a vault comes twice")
}

// standingTrail begins each page of the trail at the start.
type standingTrail struct{ vault.Store }

func (s standingTrail) ListAuditEvents(ctx context.Context, org string, q vault.AuditQuery) (mortise.Page[vault.AuditEvent], error) {
	q.After = ""
	return s.Store.ListAuditEvents(ctx, org, q)
}

func TestTrailOfAStoreThatStandsStill(t *testing.T) {
	r := newRig(t, vault.Options{})
	insert(t, r.Service, of("persons", "name", "Ada"))
	for range 4 {
		_, err := untilError(r.Export(t.Context(), "acme", "ops", "v1", everything))
		require.NoError(t, err)
	}
	s, err := vault.New(vault.Backend{Store: standingTrail{r.store}}, newKeyring(t, 1), nil)
	require.NoError(t, err)
	n, err := untilError(s.AuditEvents(t.Context(), "acme", vault.AuditQuery{Limit: 2}))
	require.ErrorIs(t, err, mortise.ErrUnavailable)
	require.Equal(t, 2, n, "a page")
}

// untilError counts what comes before an error.
func untilError[T any](all iter.Seq2[T, error]) (n int, err error) {
	for _, err := range all {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

func TestVaultsOfAStoreThatStandsStill(t *testing.T) {
	s, store := newAsking(t)
	addVaults(t, s, "acme", make([]int, 60)...)
	standing, err := vault.New(vault.Backend{Store: &standing{Store: store.Store}}, newKeyring(t, 1), nil)
	require.NoError(t, err)
	_, err = untilError(standing.Vaults(t.Context(), "acme"))
	require.ErrorIs(t, err, mortise.ErrUnavailable)
}
