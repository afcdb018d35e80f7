package memory_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch/audiosearchtest"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/authmgmt/authmgmttest"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/trigger/triggertest"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/vaulttest"
)

// TestFakesShareATransaction: the fakes of all domains over one database are part of one
// transaction, whichever of them begins it. Their observers hear of what was committed alone.
func TestFakesShareATransaction(t *testing.T) {
	clock := new(mortise.ManualClock)
	db, err := memory.Open(t.Context(), &memory.Options{Now: clock.Now})
	require.NoError(t, err)
	requests := triggertest.New(t, &triggertest.Options{DB: db, Clock: clock})
	values := vaulttest.New(t, &vaulttest.Options{DB: db, Clock: clock})
	credentials := authmgmttest.New(t, &authmgmttest.Options{DB: db, Clock: clock})
	sounds := audiosearchtest.New(t, &audiosearchtest.Options{DB: db, Clock: clock})
	all := func(ctx context.Context, org string) {
		_, err := requests.Submit(ctx, org, "ann", trigger.Submission{Instructions: "Describe it."})
		require.NoError(t, err)
		_, err = values.CreateVault(ctx, org, "ann", "v1", vault.Schema{Tables: []vault.Table{{Name: "persons"}}})
		require.NoError(t, err)
		_, _, err = credentials.CreateClient(ctx, org, authmgmt.Caller{Actor: "ann", Access: access.Full()}, authmgmt.NewClient{Name: "ci", FullAccess: true})
		require.NoError(t, err)
		_, err = sounds.CreateDataset(ctx, org, "ann", "d1")
		require.NoError(t, err)
	}
	heard := func() (n int) {
		for _, f := range []interface{ Observations() []mortise.Observation }{requests, values, credentials, sounds} {
			n += len(f.Observations())
		}
		return n
	}
	for _, begin := range []func(context.Context, func(context.Context) error) error{
		requests.InTx, values.InTx, credentials.InTx, sounds.InTx,
	} {
		before := heard()
		require.ErrorIs(t, begin(t.Context(), func(ctx context.Context) error {
			all(ctx, "acme")
			return errNoMoney
		}), errNoMoney)
		require.Equal(t, before, heard())
		require.Empty(t, requests.History())
		require.Zero(t, requests.Drain(t.Context()))
	}
	require.NoError(t, requests.InTx(t.Context(), func(ctx context.Context) error {
		all(ctx, "acme")
		require.Zero(t, heard())
		return nil
	}))
	require.Equal(t, 4, heard())
	require.Equal(t, 1, requests.Drain(t.Context()))
}

// TestFakesShowTheirBackends: what a fake's service was made with is broken with it.
func TestFakesShowTheirBackends(t *testing.T) {
	requests := triggertest.New(t, &triggertest.Options{Directory: true})
	_, err := requests.Backend().Directory.Setup(t.Context(), "acme")
	require.ErrorIs(t, err, mortise.ErrNotFound)
	requests.Break(triggertest.DirectoryPart)
	_, err = requests.Backend().Directory.Setup(t.Context(), "acme")
	require.ErrorIs(t, err, triggertest.ErrInjected)
	require.NotNil(t, requests.Backend().Keys)

	credentials := authmgmttest.New(t, nil)
	require.Nil(t, credentials.Backend().Directory)
	_, err = credentials.Backend().Store.Client(t.Context(), "acme", "ci")
	require.ErrorIs(t, err, mortise.ErrNotFound)

	_, err = vaulttest.New(t, nil).Backend().Store.Vault(t.Context(), "acme", "v1")
	require.ErrorIs(t, err, mortise.ErrNotFound)

	sounds := audiosearchtest.New(t, nil).Backend()
	require.Implements(t, (*mortise.HostTx)(nil), sounds.Store)
	require.NoError(t, sounds.Queue.Cancel(t.Context(), mortise.Job{Kind: "docs", Organization: "acme", ID: "1"}))
}
