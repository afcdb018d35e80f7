package sqlite_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/storage/sqlite"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/filetest"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/localkeys"
)

// TestInTxObservers: the observers of all services hear of what was committed, and of nothing
// that was rolled back.
func TestInTxObservers(t *testing.T) {
	t.Parallel()
	db := openAt(t, filetest.EmptyFile(t), nil)
	var heard []string
	triggers, err := trigger.New(db.Trigger(), &trigger.Options{Env: mortise.Env{Observer: func(_ context.Context, o mortise.Observation) {
		heard = append(heard, o.Organization+" "+string(o.Kind))
	}}})
	require.NoError(t, err)
	credentials, err := authmgmt.New(db.AuthMgmt(), &authmgmt.Options{Env: mortise.Env{Observer: func(_ context.Context, o mortise.Observation) {
		heard = append(heard, o.Organization+" "+string(o.Kind))
	}}})
	require.NoError(t, err)
	keys, err := localkeys.New(localkeys.Key{Version: 1, Root: localkeys.RandomRoot()})
	require.NoError(t, err)
	values, err := vault.New(db.Vault(), keys, &vault.Options{Env: mortise.Env{Observer: func(_ context.Context, o mortise.Observation) {
		heard = append(heard, o.Organization+" "+string(o.Kind))
	}}})
	require.NoError(t, err)
	sounds, err := audiosearch.New(db.AudioSearch(), &audiosearch.Options{Env: mortise.Env{Observer: func(_ context.Context, o mortise.Observation) {
		heard = append(heard, o.Organization+" "+string(o.Kind))
	}}})
	require.NoError(t, err)
	schema := vault.Schema{Tables: []vault.Table{{Name: "persons", Columns: []vault.Column{{Name: "email", Tokenization: vault.Deterministic}}}}}
	all := func(ctx context.Context, org string) {
		_, err := triggers.Submit(ctx, org, "ann", trigger.Submission{Instructions: "Describe it."})
		require.NoError(t, err)
		_, _, err = credentials.CreateClient(ctx, org, authmgmt.Caller{Actor: "ann", Access: access.Full()}, authmgmt.NewClient{Name: "ci", FullAccess: true})
		require.NoError(t, err)
		_, err = values.CreateVault(ctx, org, "ann", "v1", schema)
		require.NoError(t, err)
		_, err = sounds.CreateDataset(ctx, org, "ann", "d1")
		require.NoError(t, err)
	}
	for org, end := range map[string]error{"rolled-back": errNoMoney, "committed": nil} {
		require.ErrorIs(t, db.InTx(t.Context(), func(ctx context.Context, _ *sqlite.Tx) error {
			heard = nil
			all(ctx, org)
			require.Empty(t, heard, "it was told before the commit")
			return end
		}), end)
		if end != nil {
			require.Empty(t, heard, "it was told of what was rolled back")
		} else {
			require.Equal(t, []string{
				"committed submitted", "committed client_created", "committed vault_created", "committed dataset_created",
			}, heard)
		}
	}
	require.NoError(t, db.InTx(t.Context(), func(ctx context.Context, _ *sqlite.Tx) error {
		heard = nil
		_, err := triggers.Submit(ctx, "acme", "ann", trigger.Submission{})
		require.Error(t, err)
		require.Equal(t, []string{"acme refused"}, heard, "what is refused is told at once")
		return nil
	}))
}
