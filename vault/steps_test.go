package vault_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// stuck is a store whose steps do nothing, and always say that there is more.
type stuck struct{ vault.Store }

func (stuck) PruneAudit(context.Context, time.Time, int) (int, bool, error)   { return 0, true, nil }
func (stuck) RemoveFingerprints(context.Context, int, int) (int, bool, error) { return 0, true, nil }
func (stuck) RemoveDeleted(context.Context, string, int) (int, bool, error)   { return 0, true, nil }
func (stuck) RemoveDeletedVault(context.Context, string, string, int) (int, bool, error) {
	return 0, true, nil
}

// TestStepsThatDoNothing: they are a failure of the store, and no endless loop.
func TestStepsThatDoNothing(t *testing.T) {
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	s, err := vault.New(vault.Backend{Store: stuck{db.Vault().Store}}, newKeyring(t, 2, 1), nil)
	require.NoError(t, err)
	fails := func(err error, step string) {
		t.Helper()
		require.ErrorIs(t, err, mortise.ErrUnavailable)
		require.ErrorContains(t, err, step)
	}
	_, err = s.Prune(t.Context(), time.Now())
	fails(err, "PruneAudit")
	require.NoError(t, s.Backfill(t.Context(), 2, nil))
	fails(s.Retire(t.Context(), keyring.FingerprintKey, 1, nil), "RemoveFingerprints")
	more, err := s.DeleteOrganization(t.Context(), "acme", "ann")
	fails(err, "RemoveDeleted")
	require.False(t, more)
	more, err = s.DeleteVault(t.Context(), "acme", "ann", "v1")
	fails(err, "RemoveDeletedVault")
	require.False(t, more)
}
