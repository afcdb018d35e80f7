package postgres_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/storage/postgres"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/localkeys"
)

// TestInTxObservers: the observers of all services hear of what was committed, and of nothing
// that was rolled back.
func TestInTxObservers(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	pool, db := d.pool(t), d.open(t, nil)
	heard := make(chan string, 100)
	triggers, err := trigger.New(db.Trigger(), &trigger.Options{Env: mortise.Env{Observer: func(_ context.Context, o mortise.Observation) {
		heard <- o.Organization + " " + string(o.Kind)
	}}})
	require.NoError(t, err)
	credentials, err := authmgmt.New(db.AuthMgmt(), &authmgmt.Options{Env: mortise.Env{Observer: func(_ context.Context, o mortise.Observation) {
		heard <- o.Organization + " " + string(o.Kind)
	}}})
	require.NoError(t, err)
	keys, err := localkeys.New(localkeys.Key{Version: 1, Root: localkeys.RandomRoot()})
	require.NoError(t, err)
	values, err := vault.New(db.Vault(), keys, &vault.Options{Env: mortise.Env{Observer: func(_ context.Context, o mortise.Observation) {
		heard <- o.Organization + " " + string(o.Kind)
	}}})
	require.NoError(t, err)
	sounds, err := audiosearch.New(db.AudioSearch(), &audiosearch.Options{Env: mortise.Env{Observer: func(_ context.Context, o mortise.Observation) {
		heard <- o.Organization + " " + string(o.Kind)
	}}})
	require.NoError(t, err)
	schema := vault.Schema{Tables: []vault.Table{{Name: "persons", Columns: []vault.Column{{Name: "email", Tokenization: vault.Deterministic}}}}}
	all := func(org string, end error) {
		require.ErrorIs(t, pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
			ctx := postgres.InTx(t.Context(), tx)
			_, err := triggers.Submit(ctx, org, "ann", trigger.Submission{Instructions: "Describe it."})
			require.NoError(t, err)
			_, _, err = credentials.CreateClient(ctx, org, authmgmt.Caller{Actor: "ann", Access: access.Full()}, authmgmt.NewClient{Name: "ci", FullAccess: true})
			require.NoError(t, err)
			_, err = values.CreateVault(ctx, org, "ann", "v1", schema)
			require.NoError(t, err)
			_, err = sounds.CreateDataset(ctx, org, "ann", "d1")
			require.NoError(t, err)
			require.Empty(t, heard, "it was told before the commit")
			return end
		}), end)
	}
	all("rolled-back", errors.New("no money"))
	all("committed", nil)
	var told []string
	for range 4 {
		select {
		case kind := <-heard:
			told = append(told, kind)
		case <-time.After(time.Minute):
			t.Fatalf("of four changes only %q were told", told)
		}
	}
	require.ElementsMatch(t, []string{
		"committed submitted", "committed client_created", "committed vault_created", "committed dataset_created",
	}, told)
	require.Empty(t, heard)
}
