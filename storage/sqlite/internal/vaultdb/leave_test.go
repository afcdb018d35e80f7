package vaultdb

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/filetest"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// TestVaultLeave: a caller whose context ends while their operation runs can do with the
// arguments as they like. The race detector sees to it: the caller writes to all of them.
func TestVaultLeave(t *testing.T) {
	_, tables := openVault(t)
	left := 0
	for round := range 60 {
		var rows []vault.Row
		var added []vault.RowFingerprint
		var resealed []vault.Resealed
		tokens := make([]vault.AuditToken, 200)
		for i := range 200 {
			rows = append(rows, someRow("a", fmt.Sprint(round, "-", i), round*1000+i))
			id := vault.RowID{Organization: "acme", Vault: "v1", Token: fmt.Sprint(round-1, "-", i)}
			added = append(added, vault.RowFingerprint{Row: id, Fingerprint: someFingerprint(i)})
			resealed = append(resealed, vault.Resealed{Row: id, From: keyring.Sealed{Version: 1, Ciphertext: []byte("sealed")}, To: keyring.Sealed{Version: 1, Ciphertext: []byte("anew")}})
		}
		for _, do := range []func(ctx context.Context) error{
			func(ctx context.Context) error { _, err := tables.InsertTokens(ctx, "acme", "v1", 1, rows); return err },
			func(ctx context.Context) error {
				return tables.ImportTokens(ctx, "acme", "v1", 1, rows, vault.AuditEvent{ID: uuid.New(), Tokens: tokens})
			},
			func(ctx context.Context) error { _, err := tables.AddFingerprints(ctx, 2, added); return err },
			func(ctx context.Context) error { _, err := tables.Reseal(ctx, resealed); return err },
		} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(round)*100*time.Microsecond)
			if do(ctx) != nil {
				left++
			}
			cancel()
			for i := range rows {
				rows[i].Fingerprints[0].Version, rows[i].Sealed.Ciphertext[0] = 1, 's' // as they are, so that the next call is well
				tokens[i] = vault.AuditToken{Token: "t", Scope: "a"}
				added[i] = vault.RowFingerprint{Row: added[i].Row, Fingerprint: added[i].Fingerprint}
				resealed[i].To.Ciphertext[0], resealed[i].From.Ciphertext[0] = 'a', 's'
			}
		}
	}
	t.Log(left, "calls were left")
}

// TestVaultTwice: an operation that has to be done again, because another one of its
// group failed, does what it would have done at first.
func TestVaultTwice(t *testing.T) {
	db, tables := openVault(t)
	for version := 1; version <= 3; version++ {
		_, err := tables.RegisterKey(t.Context(), keyring.Key{Purpose: keyring.FingerprintKey, Version: version})
		require.NoError(t, err)
	}
	require.NoError(t, tables.RequireKey(t.Context(), 2))
	require.NoError(t, tables.RetireKey(t.Context(), keyring.FingerprintKey, 1, 2))
	both := func(token string, n int) vault.Row {
		r := someRow("a", token, n)
		r.Fingerprints = append(r.Fingerprints, vault.VersionedFingerprint{Version: 2, Fingerprint: someFingerprint(n)})
		return r
	}
	_, err := tables.InsertTokens(t.Context(), "acme", "v1", 1, []vault.Row{both("old", 1), both("older", 2)})
	require.NoError(t, err)
	old, older := vault.RowID{Organization: "acme", Vault: "v1", Token: "old"}, vault.RowID{Organization: "acme", Vault: "v1", Token: "older"}

	entered, leave := make(chan struct{}), make(chan struct{})
	boom := errors.New("boom")
	runs := 0
	var wg sync.WaitGroup
	begin := func(do func()) {
		waiting := db.Probe().Waiting()
		wg.Go(do)
		require.Eventually(t, func() bool { return db.Probe().Waiting() == waiting+1 }, 30*time.Second, time.Millisecond)
	}
	wg.Go(func() {
		assert.NoError(t, db.Write(t.Context(), func(*file.Tx) error {
			if runs++; runs == 1 {
				close(entered)
				<-leave
			}
			return nil
		}))
	})
	<-entered
	begin(func() {
		tokens, err := tables.InsertTokens(t.Context(), "acme", "v1", 1, []vault.Row{both("new", 3), both("known", 1)})
		assert.NoError(t, err)
		assert.Equal(t, []string{"new", "old"}, tokens)
	})
	begin(func() {
		assert.NoError(t, tables.ImportTokens(t.Context(), "acme", "v1", 1, []vault.Row{both("imported", 4), both("older", 2)},
			vault.AuditEvent{ID: uuid.UUID{2}, Organization: "acme", At: filetest.SomeTime}))
	})
	begin(func() {
		refused, err := tables.AddFingerprints(t.Context(), 3, []vault.RowFingerprint{
			{Row: old, Fingerprint: someFingerprint(1)}, {Row: old, Fingerprint: someFingerprint(2)}, // the second is not needed
			{Row: older, Fingerprint: someFingerprint(1)}, {Row: older, Fingerprint: someFingerprint(3)}, // the first is another row's
		})
		assert.NoError(t, err)
		assert.Equal(t, []vault.RowID{older}, refused)
	})
	begin(func() {
		from, to := keyring.Sealed{Version: 1, Ciphertext: []byte("sealed")}, keyring.Sealed{Version: 2, Ciphertext: []byte("anew")}
		changed, err := tables.Reseal(t.Context(), []vault.Resealed{{Row: old, From: from, To: to}, {Row: older, From: to, To: from}})
		assert.NoError(t, err)
		assert.Equal(t, 1, changed)
	})
	begin(func() {
		assert.NoError(t, tables.AddAuditEvent(t.Context(), vault.AuditEvent{ID: uuid.UUID{1}, Organization: "acme", At: filetest.SomeTime}))
	})
	begin(func() {
		assert.ErrorIs(t, db.Write(t.Context(), func(tx *file.Tx) error {
			_, err := tx.Exec(setRBAC, "acme", true)
			return errors.Join(boom, err)
		}), boom)
	})
	close(leave)
	wg.Wait()
	require.Equal(t, 2, runs)
	require.Equal(t, []int{4}, filetest.Numbers(t, db.File, "SELECT count(*) FROM vault_tokens"))
	require.Equal(t, []int{4, 2}, filetest.Numbers(t, db.File, "SELECT count(*) FROM vault_fingerprints GROUP BY version ORDER BY version"))
	require.Equal(t, []int{2}, filetest.Numbers(t, db.File, "SELECT count(*) FROM vault_audit"))
}
