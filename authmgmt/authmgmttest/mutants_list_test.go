package authmgmttest_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/authmgmt"
)

// lists returns a rule's name in the three groups that have listings.
func lists(name string) string { return "clients/" + name + " tokens/" + name + " invitations/" + name }

// listed changes the order of what the mutant's listings return.
func listed(clients func([]authmgmt.Client), tokens func([]authmgmt.Token), invitations func([]authmgmt.Invitation)) func(*mutant) {
	return both(ordered(clients, "ListClients"), ordered(tokens, "ListTokens"), ordered(invitations, "ListInvitations"))
}

func ordered[T any](order func([]T), listing string) func(*mutant) {
	return out(func(items *[]T) {
		if order != nil {
			order(*items)
		}
	}, listing)
}

// byID sorts listings by ID: clients from the first one on, invitations from the last.
func byID(compare func(a, b string) int) func(*mutant) {
	return listed(
		func(c []authmgmt.Client) {
			slices.SortStableFunc(c, func(a, b authmgmt.Client) int { return compare(a.ID, b.ID) })
		}, nil,
		func(i []authmgmt.Invitation) {
			slices.SortStableFunc(i, func(a, b authmgmt.Invitation) int { return compare(b.ID, a.ID) })
		},
	)
}

// listMutants are wrong about listings.
var listMutants = []broken{
	{name: "lists the other way round",
		breaks: "clients/list-oldest-first tokens/list-newest-first invitations/list-newest-first " +
			"clients/list-equal-times-by-id tokens/list-equal-times-by-id invitations/list-equal-times-by-id",
		mutate: listed(slices.Reverse[[]authmgmt.Client], slices.Reverse[[]authmgmt.Token], slices.Reverse[[]authmgmt.Invitation])},
	{name: "lists by ID", breaks: "clients/list-oldest-first invitations/list-newest-first", mutate: byID(strings.Compare)},
	{name: "lists equal times without case", breaks: "clients/list-equal-times-by-id invitations/list-equal-times-by-id",
		mutate: byID(func(a, b string) int { return strings.Compare(strings.ToLower(a), strings.ToLower(b)) })},
	{name: "orders tokens as GUIDs", breaks: "tokens/list-equal-times-by-id", mutate: listed(nil, func(k []authmgmt.Token) {
		slices.SortFunc(k, func(a, b authmgmt.Token) int { return slices.Compare(b.ID[8:], a.ID[8:]) })
	}, nil)},
	{name: "lists every organization", breaks: lists("list-of-organization"), mutate: inOrgA(listings...)},
	{name: "ignores the offset", breaks: lists("list-offset-and-limit"), mutate: arg(func(p *authmgmt.Paging) { p.Offset = 0 })},
	{name: "exceeds the limit", breaks: lists("list-offset-and-limit"), mutate: arg(func(p *authmgmt.Paging) { p.Limit++ })},
	{name: "counts the page", breaks: lists("list-offset-and-limit"), mutate: both(
		out(func(p *authmgmt.Page[authmgmt.Client]) { p.Total = len(p.Items) }),
		out(func(p *authmgmt.Page[authmgmt.Token]) { p.Total = len(p.Items) }),
		out(func(p *authmgmt.Page[authmgmt.Invitation]) { p.Total = len(p.Items) }),
	)},
	{name: "counts deleted clients", breaks: "clients/delete-ends-it", mutate: func(m *mutant) {
		made := 0
		in(func(*authmgmt.Client) { made++ }, "CreateClient")(m)
		out(func(p *authmgmt.Page[authmgmt.Client]) { p.Total = made })(m)
	}},
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
