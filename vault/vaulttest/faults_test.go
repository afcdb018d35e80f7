package vaulttest_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
	"github.com/seed-6363c74e/mortise/vault/localkeys"
	"github.com/seed-6363c74e/mortise/vault/vaulttest"
)

// testKeyring returns local keys of some generations of an installation, the first one
// primary.
func testKeyring(t *testing.T, installation byte, generations ...int) keyring.Keyring {
	t.Helper()
	keys := make([]localkeys.Key, len(generations))
	for i, version := range generations {
		bytes := make([]byte, localkeys.RootSize)
		bytes[0], bytes[1] = installation, byte(version)
		root, err := localkeys.NewRoot(bytes)
		require.NoError(t, err)
		keys[i] = localkeys.Key{Version: version, Root: root}
	}
	k, err := localkeys.New(keys[0], keys[1:]...)
	require.NoError(t, err)
	return k
}

// everyOp makes each call that a wrapper can make, so that it works if nothing is wrong,
// and returns the ops with their errors.
func everyOp(ctx context.Context, t *testing.T, f *vaulttest.Faults, db *memory.Vault) (ops []string, errs []error) {
	note := func(op string, err error) { ops, errs = append(ops, op), append(errs, err) }
	store, keys := f.Store(db), f.Keyring(testKeyring(t, 1, 1))
	v := vault.Vault{Organization: "acme", ID: uuid.NewString(), Revision: 1}
	require.NoError(t, db.PutVault(ctx, v, nil, vault.AuditEvent{}))
	row := func() vault.Row { return vault.Row{Organization: "acme", Vault: v.ID, Token: uuid.NewString()} }
	gone := row()
	_, err := db.InsertTokens(ctx, "acme", v.ID, 1, []vault.Row{gone})
	require.NoError(t, err)
	for version := 1; version <= 2; version++ {
		_, err = db.RegisterKey(ctx, keyring.Key{Purpose: keyring.FingerprintKey, Version: version})
		require.NoError(t, err)
	}
	require.NoError(t, db.RetireKey(ctx, keyring.FingerprintKey, 2, 1))

	_, err = store.Vault(ctx, "acme", v.ID)
	note("Vaults.Vault", err)
	_, err = store.ListVaults(ctx, "acme", "", 10)
	note("Vaults.ListVaults", err)
	note("Vaults.PutVault", store.PutVault(ctx, vault.Vault{Organization: "acme", ID: uuid.NewString(), Revision: 1}, nil, vault.AuditEvent{}))
	_, err = store.FindTokens(ctx, "acme", v.ID, 1, nil)
	note("Tokens.FindTokens", err)
	_, err = store.InsertTokens(ctx, "acme", v.ID, 1, []vault.Row{row()})
	note("Tokens.InsertTokens", err)
	_, err = store.Rows(ctx, "acme", v.ID, nil)
	note("Tokens.Rows", err)
	_, err = store.ListRows(ctx, "acme", v.ID, "", 1)
	note("Tokens.ListRows", err)
	note("Tokens.DeleteToken", store.DeleteToken(ctx, "acme", v.ID, gone.Token, vault.AuditEvent{}))
	note("Imports.ImportTokens", store.ImportTokens(ctx, "acme", v.ID, 1, []vault.Row{row()}, vault.AuditEvent{}))
	_, err = store.Keys(ctx)
	note("Keys.Keys", err)
	_, err = store.RegisterKey(ctx, keyring.Key{Purpose: keyring.SealKey, Version: 1})
	note("Keys.RegisterKey", err)
	note("Keys.RequireKey", store.RequireKey(ctx, 1))
	note("Keys.RetireKey", store.RetireKey(ctx, keyring.FingerprintKey, 2, 1))
	_, err = store.KeyUsage(ctx)
	note("Keys.KeyUsage", err)
	_, err = store.RowsWithoutFingerprint(ctx, 1, "", 1)
	note("KeyRotation.RowsWithoutFingerprint", err)
	_, err = store.AddFingerprints(ctx, 1, nil)
	note("KeyRotation.AddFingerprints", err)
	_, err = store.RowsNotSealedUnder(ctx, 1, "", 1)
	note("KeyRotation.RowsNotSealedUnder", err)
	_, err = store.Reseal(ctx, nil)
	note("KeyRotation.Reseal", err)
	_, _, err = store.RemoveFingerprints(ctx, 2, 1)
	note("KeyRotation.RemoveFingerprints", err)
	note("Audit.AddAuditEvent", store.AddAuditEvent(ctx, vault.AuditEvent{ID: uuid.New(), Organization: "acme"}))
	_, err = store.ListAuditEvents(ctx, "acme", vault.AuditQuery{Limit: 1})
	note("Audit.ListAuditEvents", err)
	_, _, err = store.PruneAudit(ctx, time.Time{}, 1)
	note("Audit.PruneAudit", err)
	_, err = store.MarkVaultDeleted(ctx, "acme", v.ID, time.Unix(1, 0), vault.AuditEvent{})
	note("Deletion.MarkVaultDeleted", err)
	_, err = db.MarkVaultDeleted(ctx, "acme", v.ID, time.Unix(1, 0), vault.AuditEvent{})
	require.NoError(t, err)
	_, _, err = store.RemoveDeletedVault(ctx, "acme", v.ID, 1)
	note("Deletion.RemoveDeletedVault", err)
	gone.Organization = uuid.NewString()
	_, err = store.MarkDeleted(ctx, gone.Organization, time.Unix(1, 0), vault.AuditEvent{})
	note("Deletion.MarkDeleted", err)
	_, err = db.MarkDeleted(ctx, gone.Organization, time.Unix(1, 0), vault.AuditEvent{})
	require.NoError(t, err)
	_, _, err = store.RemoveDeleted(ctx, gone.Organization, 1)
	note("Deletion.RemoveDeleted", err)
	_, err = keys.Versions(ctx)
	note("Keyring.Versions", err)
	note("Keyring.Fingerprint", keys.Fingerprint(ctx, 1, []keyring.FingerprintItem{{}}, make([]keyring.Fingerprint, 1)))
	_, err = keys.Seal(ctx, []keyring.SealItem{{}})
	note("Keyring.Seal", err)
	_, err = keys.Open(ctx, []keyring.OpenItem{{}})
	note("Keyring.Open", err)
	return ops, errs
}

func openMemory(t *testing.T) *memory.Vault {
	t.Helper()
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	return db.Vault().Store.(*memory.Vault)
}

// TestFaults: each op has its name, and fails if and only if its hook says so.
func TestFaults(t *testing.T) {
	_, errs := everyOp(t.Context(), t, new(vaulttest.Faults), openMemory(t))
	for _, err := range errs {
		require.NoError(t, err)
	}
	var before, after []string
	f := &vaulttest.Faults{
		Before: func(op string) error { before = append(before, op); return nil },
		After:  func(op string) error { after = append(after, op); return nil },
	}
	ops, _ := everyOp(t.Context(), t, f, openMemory(t))
	assert.Equal(t, ops, before)
	assert.Equal(t, ops, after)
	for _, name := range ops {
		hook, _ := vaulttest.Outage()
		for _, f := range []*vaulttest.Faults{{Before: vaulttest.On(hook, name)}, {After: vaulttest.On(hook, name)}} {
			ops, errs := everyOp(t.Context(), t, f, openMemory(t))
			for i, op := range ops {
				if op == name {
					require.ErrorIs(t, errs[i], vaulttest.ErrInjected, op)
				} else {
					require.NoError(t, errs[i], "%s while %s fails", op, name)
				}
			}
		}
	}
}

// TestFaultsBeforeAndAfter: a call that fails before has no effect, one that fails after
// has.
func TestFaultsBeforeAndAfter(t *testing.T) {
	hook, _ := vaulttest.Outage()
	for n, f := range []*vaulttest.Faults{{Before: hook}, {After: hook}} {
		db := openMemory(t)
		err := f.Store(db).PutVault(t.Context(), vault.Vault{Organization: "acme", ID: "v", Revision: 1}, nil, vault.AuditEvent{ID: uuid.New(), Organization: "acme"})
		require.ErrorIs(t, err, vaulttest.ErrInjected)
		page, err := db.ListAuditEvents(t.Context(), "acme", vault.AuditQuery{Limit: 10})
		require.NoError(t, err)
		assert.Len(t, page.Items, n)
	}
}

func TestHooks(t *testing.T) {
	nth := vaulttest.On(vaulttest.Nth(2), "Tokens")
	var failed []string
	for i, op := range []string{"Tokens.InsertTokens", "Vaults.Vault", "Tokens.Rows", "Tokens.ListRows"} {
		if nth(op) != nil {
			failed = append(failed, fmt.Sprint(i))
		}
	}
	assert.Equal(t, []string{"2"}, failed)
	hook, heal := vaulttest.Outage()
	require.ErrorIs(t, hook("Tokens.Rows"), vaulttest.ErrInjected)
	heal()
	require.NoError(t, hook("Tokens.Rows"))
	n := 0
	for sometimes := vaulttest.Sometimes(0.5, 42); n < 1000; n++ {
		if sometimes("Tokens.Rows") != nil {
			break
		}
	}
	assert.Less(t, n, 1000)
}

// TestFaultyKeyring: the wrapper, and the keyring of the fakes, are keyrings like others.
func TestFaultyKeyring(t *testing.T) {
	vaulttest.RunKeyring(t, vaulttest.KeyringHarness{Open: func(t *testing.T, generations ...int) keyring.Keyring {
		return new(vaulttest.Faults).Keyring(testKeyring(t, 1, generations...))
	}})
}
