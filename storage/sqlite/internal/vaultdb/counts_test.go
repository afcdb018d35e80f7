package vaultdb

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/filetest"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// TestVaultCounts: whatever changes tokens changes the counts with them, and what changes
// nothing does not.
func TestVaultCounts(t *testing.T) {
	db, s := openVault(t)
	ctx := t.Context()
	event := func() vault.AuditEvent {
		return vault.AuditEvent{ID: uuid.New(), Organization: "acme", At: filetest.SomeTime}
	}
	counts := func(want ...int) {
		t.Helper()
		filetest.RequireCounts(t, db.File)
		require.Equal(t, want, filetest.Numbers(t, db.File, "SELECT n FROM vault_counts ORDER BY scope, deterministic, sealed"))
	}
	opaque := someRow("a", "opaque", 0)
	opaque.Deterministic, opaque.Fingerprints = false, nil
	_, err := s.InsertTokens(ctx, "acme", "v1", 1, []vault.Row{someRow("a", "m", 1), someRow("b", "k", 2), opaque, someRow("a", "n", 3)})
	require.NoError(t, err)
	counts(1, 2, 1)
	_, err = s.InsertTokens(ctx, "acme", "v1", 1, []vault.Row{someRow("a", "l", 4), someRow("a", "k", 5)})
	require.Equal(t, &vault.TakenError{Rows: []int{1}}, err)
	counts(1, 2, 1)
	_, err = s.InsertTokens(ctx, "acme", "v1", 1, []vault.Row{someRow("a", "l", 1), someRow("a", "x", 5), someRow("b", "y", 2)})
	require.NoError(t, err)
	counts(1, 3, 1)
	require.NoError(t, s.ImportTokens(ctx, "acme", "v1", 1, []vault.Row{someRow("a", "m", 1), someRow("b", "z", 6)}, event()))
	counts(1, 3, 2)

	anew := func(token string, from int) vault.Resealed {
		return vault.Resealed{
			Row:  vault.RowID{Organization: "acme", Vault: "v1", Token: token},
			From: keyring.Sealed{Version: from, Ciphertext: []byte("sealed")}, To: keyring.Sealed{Version: 2, Ciphertext: []byte("sealed")},
		}
	}
	changed, err := s.Reseal(ctx, []vault.Resealed{anew("m", 1), anew("k", 1), anew("n", 7), anew("opaque", 1), anew("none", 1)})
	require.NoError(t, err)
	require.Equal(t, 3, changed)
	counts(1, 2, 1, 1, 1)
	require.Equal(t, []int{2}, filetest.Numbers(t, db.File, "SELECT sealed FROM vault_counts WHERE NOT deterministic"), "there is no count of none")

	require.NoError(t, s.DeleteToken(ctx, "acme", "v1", "opaque", event()))
	require.ErrorIs(t, s.DeleteToken(ctx, "acme", "v1", "opaque", event()), vault.ErrTokenNotFound)
	counts(2, 1, 1, 1)
	_, err = s.MarkVaultDeleted(ctx, "acme", "v1", filetest.SomeTime, event())
	require.NoError(t, err)
	counts(2, 1, 1, 1)
	more := true
	for left := 5; more; {
		_, more, err = s.RemoveDeletedVault(ctx, "acme", "v1", 1)
		require.NoError(t, err)
		filetest.RequireCounts(t, db.File)
		now := filetest.Numbers(t, db.File, "SELECT ifnull(sum(n), 0) FROM vault_counts")[0]
		require.LessOrEqual(t, now, left)
		left = now
	}
	counts()
}

// TestVaultCountsWithinATransaction: whoever asks for a count sees what the operations
// before have done in the same transaction, and not what one that was refused began.
func TestVaultCountsWithinATransaction(t *testing.T) {
	db, s := openVault(t)
	ctx := t.Context()
	for version := 1; version <= 2; version++ {
		_, err := s.RegisterKey(ctx, keyring.Key{Purpose: keyring.SealKey, Version: version})
		require.NoError(t, err)
	}
	_, err := s.InsertTokens(ctx, "acme", "v1", 1, []vault.Row{someRow("b", "first", 1)})
	require.NoError(t, err)
	second := someRow("a", "second", 2)
	second.Sealed.Version = 2
	begun, release := make(chan struct{}), make(chan struct{})
	answers := []chan error{make(chan error, 1)}
	go func() {
		answers[0] <- db.Write(ctx, func(*file.Tx) error {
			close(begun)
			<-release
			return nil
		})
	}()
	<-begun
	for i, do := range []func() error{
		func() error {
			_, err := s.InsertTokens(ctx, "acme", "v1", 1, []vault.Row{second, someRow("c", "first", 3)})
			return err
		},
		func() error { return s.RetireKey(ctx, keyring.SealKey, 2, 0) },
		func() error {
			return s.PutVault(ctx, vault.Vault{Organization: "acme", ID: "v1", Revision: 2}, []string{"c"}, vault.AuditEvent{})
		},
		func() error {
			_, err := s.InsertTokens(ctx, "acme", "v1", 2, []vault.Row{someRow("a", "second", 2)})
			return err
		},
		func() error {
			return s.PutVault(ctx, vault.Vault{Organization: "acme", ID: "v1", Revision: 3}, []string{"a"}, vault.AuditEvent{})
		},
		func() error { return s.RetireKey(ctx, keyring.SealKey, 1, 0) },
		func() error { return s.DeleteToken(ctx, "acme", "v1", "second", vault.AuditEvent{}) },
		func() error {
			return s.PutVault(ctx, vault.Vault{Organization: "acme", ID: "v1", Revision: 3}, []string{"a"}, vault.AuditEvent{})
		},
	} {
		answer := make(chan error, 1)
		answers = append(answers, answer)
		go func() { answer <- do() }()
		require.Eventually(t, func() bool { return db.Probe().Waiting() == i+1 }, 30*time.Second, 50*time.Microsecond)
	}
	close(release)
	for i, want := range []error{
		nil, &vault.TakenError{Rows: []int{1}}, nil, nil, nil, vault.ErrScopeInUse, keyring.ErrInUse, nil, nil,
	} {
		require.Equal(t, want, <-answers[i], i)
	}
}

// TestVaultCountsInTx: a call in a transaction of the host's counts at once, and its
// rollback takes the count back.
func TestVaultCountsInTx(t *testing.T) {
	db, s := openVault(t)
	undone := errors.New("the host's")
	for _, want := range []error{undone, nil} {
		err := db.InTx(t.Context(), func(ctx context.Context, _ *file.HostTx) error {
			_, err := s.InsertTokens(ctx, "acme", "v1", 1, []vault.Row{someRow("a", "t", 1)})
			require.NoError(t, err)
			err = s.PutVault(ctx, vault.Vault{Organization: "acme", ID: "v1", Revision: 2}, []string{"a"}, vault.AuditEvent{})
			require.ErrorIs(t, err, vault.ErrScopeInUse)
			return want
		})
		require.ErrorIs(t, err, want)
		filetest.RequireCounts(t, db.File)
	}
	require.Equal(t, []int{1}, filetest.Numbers(t, db.File, "SELECT n FROM vault_counts"))
}
