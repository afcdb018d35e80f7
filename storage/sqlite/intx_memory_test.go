package sqlite_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/storage/sqlite"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// undo calls do in a transaction that it rolls back.
func undo(t *testing.T, db *sqlite.DB, do func(context.Context)) {
	t.Helper()
	require.ErrorIs(t, db.InTx(t.Context(), func(ctx context.Context, _ *sqlite.Tx) error {
		do(ctx)
		return errNoMoney
	}), errNoMoney)
}

// TestInTxSchemaRolledBack: a service does not take a schema for the vault's that was rolled
// back, though another one has got its revision.
func TestInTxSchemaRolledBack(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db := openAt(t, sqlite.EmptyFile(t), nil)
	s, other := vaultService(t, db.Vault().Store, 1), vaultService(t, db.Vault().Store, 1)
	column := func(name string) vault.Schema {
		return vault.Schema{Tables: []vault.Table{{Name: "persons", Columns: []vault.Column{{Name: name, Tokenization: vault.Deterministic}}}}}
	}
	items := func(name string) []vault.Item {
		return []vault.Item{{Place: vault.InColumn("persons", name), Value: vault.NewValue("x")}}
	}
	undo(t, db, func(ctx context.Context) {
		_, err := s.CreateVault(ctx, "acme", "ops", "v1", column("name"))
		require.NoError(t, err)
		_, err = s.Insert(ctx, "acme", "ops", "v1", items("name"))
		require.NoError(t, err)
	})
	_, err := other.CreateVault(ctx, "acme", "ops", "v1", column("email"))
	require.NoError(t, err)
	_, err = s.Insert(ctx, "acme", "ops", "v1", items("name"))
	require.ErrorIs(t, err, vault.ErrColumnNotFound)
}

// TestInTxKeyRolledBack: a key that a service was the first to use, in a transaction that was
// rolled back, is noted when the service stores a value.
func TestInTxKeyRolledBack(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db := openAt(t, sqlite.EmptyFile(t), nil)
	store := db.Vault().Store
	s := vaultService(t, store, 1)
	undo(t, db, func(ctx context.Context) {
		_, err := s.CreateVault(ctx, "acme", "ops", "v1", vault.Schema{Tables: []vault.Table{{
			Name: "persons", Columns: []vault.Column{{Name: "email", Tokenization: vault.Deterministic, Format: "email"}},
		}}})
		require.NoError(t, err)
		_, err = s.Insert(ctx, "acme", "ops", "v1", emails(0, 1))
		require.NoError(t, err)
	})
	_, err := s.CreateVault(ctx, "acme", "ops", "v1", vault.Schema{Tables: []vault.Table{{
		Name: "persons", Columns: []vault.Column{{Name: "email", Tokenization: vault.Deterministic, Format: "email"}},
	}}})
	require.NoError(t, err)
	_, err = s.Insert(ctx, "acme", "ops", "v1", emails(0, 1))
	require.NoError(t, err)
	keys, err := store.Keys(ctx)
	require.NoError(t, err)
	require.True(t, len(keys) > 0 && keys[0].Purpose == keyring.FingerprintKey && keys[0].Version == 1, "%v", keys)
}

// TestInTxTokenCache: a token that was rolled back is refused, and so is one that was revoked
// in a transaction, from its commit on, also if it was looked up before.
func TestInTxTokenCache(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db := openAt(t, sqlite.EmptyFile(t), nil)
	s, err := authmgmt.New(db.AuthMgmt(), &authmgmt.Options{TokenCache: time.Minute})
	require.NoError(t, err)
	by := authmgmt.Caller{Actor: "ops", Access: access.Full()}
	n := authmgmt.NewToken{Subject: "ann", FullAccess: true}
	var text string
	undo(t, db, func(ctx context.Context) {
		_, secret, err := s.IssueToken(ctx, "acme", by, n)
		require.NoError(t, err)
		text = secret.Reveal()
		_, err = s.VerifyToken(ctx, text)
		require.NoError(t, err)
	})
	_, err = s.VerifyToken(ctx, text)
	require.ErrorIs(t, err, authmgmt.ErrInvalidCredentials, "a token works that was rolled back")

	token, secret, err := s.IssueToken(ctx, "acme", by, n)
	require.NoError(t, err)
	_, err = s.VerifyToken(ctx, secret.Reveal())
	require.NoError(t, err)
	require.NoError(t, db.InTx(ctx, func(within context.Context, _ *sqlite.Tx) error {
		require.NoError(t, s.RevokeToken(within, "acme", by, token.ID))
		_, err := s.VerifyToken(within, secret.Reveal())
		require.ErrorIs(t, err, authmgmt.ErrInvalidCredentials)
		_, err = s.VerifyToken(ctx, secret.Reveal())
		require.NoError(t, err, "it was revoked before the commit")
		return nil
	}))
	_, err = s.VerifyToken(ctx, secret.Reveal())
	require.ErrorIs(t, err, authmgmt.ErrInvalidCredentials, "a token works that was revoked")
}

// TestInTxInvitationKeyRolledBack: so is the key of invitations noted when the first is stored.
func TestInTxInvitationKeyRolledBack(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db := openAt(t, sqlite.EmptyFile(t), nil)
	backend := db.AuthMgmt()
	s, err := authmgmt.New(backend, &authmgmt.Options{AcceptURL: "https://app.example.com/join/", InvitationKey: invitationKey})
	require.NoError(t, err)
	by := authmgmt.Caller{Actor: "ops", Access: access.Full()}
	n := authmgmt.NewInvitation{Email: "ann@example.com", Name: "Ann", FullAccess: true}
	undo(t, db, func(ctx context.Context) {
		_, err := s.Invite(ctx, "acme", by, n)
		require.NoError(t, err)
	})
	_, err = s.Invite(ctx, "acme", by, n)
	require.NoError(t, err)
	require.NoError(t, backend.Store.(authmgmt.KeyChecker).UpdateKeyChecks(ctx, func(noted [][32]byte) ([][32]byte, error) {
		require.Len(t, noted, 1)
		return noted, nil
	}))
}

// TestInTxRBACRolledBack: an organization whose role-based access control was rolled back has
// none.
func TestInTxRBACRolledBack(t *testing.T) {
	t.Parallel()
	db := openAt(t, sqlite.EmptyFile(t), nil)
	now := time.Now()
	s, err := authmgmt.New(db.AuthMgmt(), &authmgmt.Options{Now: func() time.Time { return now }})
	require.NoError(t, err)
	by := authmgmt.Caller{Actor: "ops", Access: access.Full()}
	n := authmgmt.NewClient{Name: "ci", Roles: []access.Role{{ID: "viewer"}}}
	undo(t, db, func(ctx context.Context) {
		require.NoError(t, s.SetRBAC(ctx, "acme", by, true))
		_, _, err := s.CreateClient(ctx, "acme", by, n)
		require.NoError(t, err)
	})
	_, _, err = s.CreateClient(t.Context(), "acme", by, n)
	require.ErrorIs(t, err, authmgmt.ErrRBACDisabled)
}
