package vaulttest

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
	"github.com/seed-6363c74e/mortise/vault/localkeys"
)

var errNoMoney = errors.New("vaulttest: no money")

// undo calls do in a transaction of the host's that is rolled back.
func (s *subject) undo(t *testing.T, do func(ctx context.Context)) {
	t.Helper()
	require.ErrorIs(t, s.h.InTx(t, s.Backend, func(ctx context.Context) error {
		do(ctx)
		return errNoMoney
	}), errNoMoney)
}

// services returns services on the backend with the same key, as each process has one.
func (s *subject) services(t *testing.T) (one, other *vault.Service) {
	t.Helper()
	key, err := randomKey(1)
	require.NoError(t, err)
	keys, err := localkeys.New(key)
	require.NoError(t, err)
	one, err = vault.New(s.Backend, keys, nil)
	require.NoError(t, err)
	other, err = vault.New(s.Backend, keys, nil)
	require.NoError(t, err)
	return one, other
}

// oneColumn is a schema, and oneValue something to insert into its column.
func oneColumn(name string) vault.Schema {
	return vault.Schema{Tables: []vault.Table{{Name: "persons", Columns: []vault.Column{{Name: name, Tokenization: vault.Deterministic}}}}}
}

func oneValue(column string) []vault.Item {
	return []vault.Item{{Place: vault.InColumn("persons", column), Value: vault.NewValue("x")}}
}

// hostTxRules are those of [mortise.HostTx]: what a service does with what the store tells it.
var hostTxRules = []rule{
	{Rule{"hosttx/schemas", "A service does not take a schema for the vault's that was rolled back, though another one has got its revision."}, needInTx,
		func(t *testing.T, s *subject) {
			service, other := s.services(t)
			s.undo(t, func(ctx context.Context) {
				_, err := service.CreateVault(ctx, orgA, "ops", "v1", oneColumn("name"))
				require.NoError(t, err)
				_, err = service.Insert(ctx, orgA, "ops", "v1", oneValue("name"))
				require.NoError(t, err)
			})
			_, err := other.CreateVault(t.Context(), orgA, "ops", "v1", oneColumn("email"))
			require.NoError(t, err)
			_, err = service.Insert(t.Context(), orgA, "ops", "v1", oneValue("name"))
			require.ErrorIs(t, err, vault.ErrColumnNotFound)
		}},

	{Rule{"hosttx/keys", "A key that a service was the first to use, in a transaction of the host's that was rolled back, is noted when the service stores a value."}, needInTx,
		func(t *testing.T, s *subject) {
			service, _ := s.services(t)
			insert := func(ctx context.Context) {
				_, err := service.CreateVault(ctx, orgA, "ops", "v1", oneColumn("email"))
				require.NoError(t, err)
				_, err = service.Insert(ctx, orgA, "ops", "v1", oneValue("email"))
				require.NoError(t, err)
			}
			s.undo(t, insert)
			insert(t.Context())
			keys, err := s.Store.Keys(t.Context())
			require.NoError(t, err)
			require.NotEmpty(t, keys)
			require.Equal(t, keyring.FingerprintKey, keys[0].Purpose)
			require.Equal(t, 1, keys[0].Version)
		}},
}
