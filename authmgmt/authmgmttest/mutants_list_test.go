package authmgmttest_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
)

// counts are the methods that count a list.
var counts = []string{"CountClients", "CountTokens", "CountInvitations"}

const countedLists = "lists/clients lists/tokens lists/invitations"

// listMutants count lists wrong.
var listMutants = []broken{
	{name: "counts deleted clients", breaks: "clients/delete-ends-it lists/clients", mutate: func(m *mutant) {
		made := 0
		in(func(*authmgmt.Client) { made++ }, "CreateClient")(m)
		out(func(n *mortise.Count) { n.N = made }, "CountClients")(m)
	}},
	{name: "counts invitations that have expired", breaks: "invitations/list-pending", mutate: arg(
		func(now *time.Time) { *now = time.Unix(0, 0) }, "CountInvitations")},
	{name: "counts invitations of whatever inviter", breaks: "invitations/list-by-inviter",
		mutate: replace("CountInvitations", func(m *mutant, ctx context.Context, org string, at time.Time, _ string, most int) (mortise.Count, error) {
			return m.AuthMgmt.CountInvitations(ctx, org, at, "", most)
		})},
	{name: "counts one organization", breaks: countedLists, mutate: inOrgA(counts...)},
	{name: "counts one too many", breaks: countedLists, mutate: arg(func(most *int) { *most++ }, counts...)},
	{name: "says that there is more where all was counted", breaks: countedLists, mutate: around(func(c *mutate.Call) {
		c.Go()
		n := mutate.Get[mortise.Count](c.Out)
		n.More = n.N >= *mutate.Get[int](c.In)
	}, counts...)},
}

// empty opens a new backend in the place of the one before.
func empty(t *testing.T, _ authmgmt.Backend) authmgmt.Backend { return newMutant(t).backend() }

// reopenMutants lose something when they are opened again.
var reopenMutants = []broken{
	{name: "loses everything",
		breaks: "store/durable store/durable-constraints store/durable-absence keychecker/durable organizations/durable", reopen: empty,
		mutate: func(*mutant) {}},
	{name: "brings back what was pruned", breaks: "pruner/durable", mutate: func(m *mutant) {
	}, reopen: func(t *testing.T, b authmgmt.Backend) authmgmt.Backend {
		i := authmgmt.Invitation{Organization: "org-a", ID: "ann", Email: "ann@example.com"}
		require.NoError(t, b.Store.CreateInvitation(t.Context(), i, false, authmgmt.AuditEvent{}))
		return b
	}},
	{name: "loses the audit trail", breaks: "store/durable", mutate: func(*mutant) {}, reopen: func(t *testing.T, b authmgmt.Backend) authmgmt.Backend {
		_, _, err := b.Store.(authmgmt.Pruner).PruneAudit(t.Context(), time.Now(), 1000)
		require.NoError(t, err)
		return b
	}},
}
