package authmgmttest_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
)

// lists returns a rule's name in the three groups that have listings.
func lists(name string) []string {
	return []string{"clients/" + name, "tokens/" + name, "invitations/" + name}
}

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
	{name: "lists the other way round", breaks: []string{
		"clients/list-oldest-first", "tokens/list-newest-first", "invitations/list-newest-first",
		"clients/list-equal-times-by-id", "tokens/list-equal-times-by-id", "invitations/list-equal-times-by-id",
	}, mutate: listed(slices.Reverse[[]authmgmt.Client], slices.Reverse[[]authmgmt.Token], slices.Reverse[[]authmgmt.Invitation])},
	{name: "lists by ID", breaks: []string{"clients/list-oldest-first", "invitations/list-newest-first"}, mutate: byID(strings.Compare)},
	{name: "lists equal times without case", breaks: []string{
		"clients/list-equal-times-by-id", "invitations/list-equal-times-by-id",
	}, mutate: byID(func(a, b string) int { return strings.Compare(strings.ToLower(a), strings.ToLower(b)) })},
	{name: "orders tokens as GUIDs", breaks: []string{"tokens/list-equal-times-by-id"}, mutate: listed(nil, func(k []authmgmt.Token) {
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
	{name: "counts deleted clients", breaks: []string{"clients/delete-ends-it"}, mutate: func(m *mutant) {
		made := 0
		in(func(*authmgmt.Client) { made++ }, "CreateClient")(m)
		out(func(p *authmgmt.Page[authmgmt.Client]) { p.Total = made })(m)
	}},
}

// auditMutants are wrong about the audit trail.
var auditMutants = []broken{
	{name: "shows the oldest events first", breaks: []string{
		"audit/newest-first", "audit/equal-times-by-id", "audit/matches-query",
	}, mutate: func(m *mutant) {
		m.everyAuditPage(func(_ *authmgmt.AuditQuery, page *mortise.Page[authmgmt.AuditEvent]) { slices.Reverse(page.Items) })
	}},
	{name: "shows every organization's events", breaks: []string{"audit/of-organization"}, mutate: func(m *mutant) {
		m.everyAuditQuery(func(org *string, _ *authmgmt.AuditQuery) { *org = "org-a" })
	}},
	{name: "ignores the kind", breaks: []string{
		"audit/by-kind-actor-and-target", "audit/matches-query", "audit/names-are-bytes",
	}, mutate: func(m *mutant) {
		m.everyAuditQuery(func(_ *string, q *authmgmt.AuditQuery) { q.Kind = "" })
	}},
	{name: "ignores the actor", breaks: []string{"audit/by-kind-actor-and-target"}, mutate: func(m *mutant) {
		m.everyAuditQuery(func(_ *string, q *authmgmt.AuditQuery) { q.Actor = "" })
	}},
	{name: "ignores the actor if there is a target", breaks: []string{
		"audit/by-kind-actor-and-target", "audit/matches-query",
	}, mutate: func(m *mutant) {
		m.everyAuditQuery(func(_ *string, q *authmgmt.AuditQuery) {
			if q.Target != "" {
				q.Actor = ""
			}
		})
	}},
	{name: "takes From as exclusive", breaks: []string{"audit/from-to", "audit/times-keep-microseconds"}, mutate: func(m *mutant) {
		m.everyAuditQuery(func(_ *string, q *authmgmt.AuditQuery) { q.From = q.From.Add(1) })
	}},
	{name: "takes To as inclusive", breaks: []string{"audit/from-to", "audit/matches-query"}, mutate: func(m *mutant) {
		m.everyAuditQuery(func(_ *string, q *authmgmt.AuditQuery) {
			if !q.To.IsZero() {
				q.To = q.To.Add(1)
			}
		})
	}},
	{name: "compares times by the clock on the wall", breaks: []string{"audit/times-are-instants"}, mutate: func(m *mutant) {
		m.everyAuditQuery(func(_ *string, q *authmgmt.AuditQuery) {
			if !q.From.IsZero() {
				_, offset := q.From.Zone()
				q.From = q.From.Add(time.Duration(offset) * time.Second)
			}
		})
	}},
	{name: "repeats events of equal times", breaks: []string{"audit/pages", "audit/matches-query"}, mutate: func(m *mutant) {
		m.everyAuditQuery(func(_ *string, q *authmgmt.AuditQuery) {
			if !q.After.IsZero() {
				q.After.ID = uuid.Max
			}
		})
	}},
	{name: "skips events of equal times", breaks: []string{"audit/pages", "audit/matches-query"}, mutate: func(m *mutant) {
		m.everyAuditQuery(func(_ *string, q *authmgmt.AuditQuery) { q.After.ID = uuid.Nil })
	}},
	{name: "has one more empty page", breaks: []string{"audit/next-is-zero-at-the-end"}, mutate: func(m *mutant) {
		m.everyAuditPage(func(q *authmgmt.AuditQuery, page *mortise.Page[authmgmt.AuditEvent]) {
			if n := len(page.Items); n == q.Limit && n > 0 {
				page.Next = page.Items[n-1].Position()
			}
		})
	}},
	{name: "shows more events than asked for", breaks: []string{"audit/pages"}, mutate: func(m *mutant) {
		m.everyAuditQuery(func(_ *string, q *authmgmt.AuditQuery) { q.Limit++ })
	}},
	{name: "pages by number", breaks: []string{"audit/pages-while-events-arrive"}, mutate: func(m *mutant) {
		m.on.ListAuditEvents = func(ctx context.Context, org string, q authmgmt.AuditQuery) (mortise.Page[authmgmt.AuditEvent], error) {
			limit, skip := q.Limit, 0
			if !q.After.IsZero() {
				skip = int(q.After.At.Unix())
			}
			q.After, q.Limit = mortise.Position{}, authmgmt.MaxPageSize
			page, err := m.AuthMgmt.ListAuditEvents(ctx, org, q)
			all := page.Items[min(skip, len(page.Items)):]
			page.Items = all[:min(limit, len(all))]
			if len(all) > limit {
				page.Next = mortise.Position{At: time.Unix(int64(skip+limit), 0)}
			}
			return page, err
		}
	}},
}

// empty opens a new backend in the place of the one before.
func empty(t *testing.T, _ authmgmt.Backend) authmgmt.Backend { return newMutant(t).backend() }

// reopenMutants lose something when they are opened again.
var reopenMutants = []broken{
	{name: "loses everything", breaks: []string{
		"store/durable", "store/durable-constraints", "store/durable-absence", "keychecker/durable", "organizations/durable",
	}, mutate: func(*mutant) {}, reopen: empty},
	{name: "brings back what was pruned", breaks: []string{"pruner/durable"}, mutate: func(m *mutant) {
	}, reopen: func(t *testing.T, b authmgmt.Backend) authmgmt.Backend {
		i := authmgmt.Invitation{Organization: "org-a", ID: "ann", Email: "ann@example.com"}
		require.NoError(t, b.Store.CreateInvitation(t.Context(), i, false, authmgmt.AuditEvent{}))
		return b
	}},
	{name: "loses the audit trail", breaks: []string{
		"store/durable",
	}, mutate: func(*mutant) {}, reopen: func(t *testing.T, b authmgmt.Backend) authmgmt.Backend {
		_, err := b.Store.(authmgmt.Pruner).PruneAudit(t.Context(), time.Now(), 1000)
		require.NoError(t, err)
		return b
	}},
}
