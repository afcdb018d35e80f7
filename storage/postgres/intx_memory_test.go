package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/storage/postgres"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
	"github.com/seed-6363c74e/mortise/vault/localkeys"
)

// undo calls do in a transaction that it rolls back.
func undo(t *testing.T, pool *pgxpool.Pool, do func(context.Context)) {
	t.Helper()
	undone := errors.New("no money")
	require.ErrorIs(t, pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		do(postgres.InTx(t.Context(), tx))
		return undone
	}), undone)
}

// vaultService returns a service on a store, as each process has one.
func vaultService(t *testing.T, store vault.Store) *vault.Service {
	t.Helper()
	root, err := localkeys.NewRoot(bytes.Repeat([]byte{1}, localkeys.RootSize))
	require.NoError(t, err)
	keys, err := localkeys.New(localkeys.Key{Version: 1, Root: root})
	require.NoError(t, err)
	s, err := vault.New(vault.Backend{Store: store}, keys, nil)
	require.NoError(t, err)
	return s
}

// TestInTxSchemaRolledBack: a service does not take a schema for the vault's that was rolled
// back, though another one has got its revision.
func TestInTxSchemaRolledBack(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	d := newDatabase(t)
	db, pool := d.open(t, nil), d.pool(t)
	s, other := vaultService(t, db.Vault().Store), vaultService(t, db.Vault().Store)
	column := func(name string) vault.Schema {
		return vault.Schema{Tables: []vault.Table{{Name: "persons", Columns: []vault.Column{{Name: name, Tokenization: vault.Deterministic}}}}}
	}
	items := func(name string) []vault.Item {
		return []vault.Item{{Place: vault.InColumn("persons", name), Value: vault.NewValue("x")}}
	}
	undo(t, pool, func(ctx context.Context) {
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
	d := newDatabase(t)
	db, pool := d.open(t, nil), d.pool(t)
	store := db.Vault().Store
	s := vaultService(t, store)
	email := []vault.Item{{Place: vault.InColumn("persons", "email"), Value: vault.NewValue("x")}}
	undo(t, pool, func(ctx context.Context) {
		_, err := s.CreateVault(ctx, "acme", "ops", "v1", vault.Schema{Tables: []vault.Table{{
			Name: "persons", Columns: []vault.Column{{Name: "email", Tokenization: vault.Deterministic}},
		}}})
		require.NoError(t, err)
		_, err = s.Insert(ctx, "acme", "ops", "v1", email)
		require.NoError(t, err)
	})
	_, err := s.CreateVault(ctx, "acme", "ops", "v1", vault.Schema{Tables: []vault.Table{{
		Name: "persons", Columns: []vault.Column{{Name: "email", Tokenization: vault.Deterministic}},
	}}})
	require.NoError(t, err)
	_, err = s.Insert(ctx, "acme", "ops", "v1", email)
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
	d := newDatabase(t)
	db, pool := d.open(t, nil), d.pool(t)
	s, err := authmgmt.New(db.AuthMgmt(), &authmgmt.Options{TokenCache: time.Minute})
	require.NoError(t, err)
	by := authmgmt.Caller{Actor: "ops", Access: access.Full()}
	n := authmgmt.NewToken{Subject: "ann", FullAccess: true}
	var text string
	undo(t, pool, func(ctx context.Context) {
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
	require.NoError(t, pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		within := postgres.InTx(ctx, tx)
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
