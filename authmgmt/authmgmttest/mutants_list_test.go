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

// listMutants are wrong about listings.
var listMutants = []broken{
	{name: "lists the other way round", breaks: []string{
		"clients/list-oldest-first", "tokens/list-newest-first", "invitations/list-newest-first",
		"clients/list-equal-times-by-id", "tokens/list-equal-times-by-id", "invitations/list-equal-times-by-id",
	}, mutate: func(m *mutant) {
		m.everyOrder(slices.Reverse[[]authmgmt.Client], slices.Reverse[[]authmgmt.Token], slices.Reverse[[]authmgmt.Invitation])
	}},
	{name: "lists by ID", breaks: []string{"clients/list-oldest-first", "invitations/list-newest-first"}, mutate: func(m *mutant) {
		m.everyOrder(
			func(c []authmgmt.Client) {
				slices.SortFunc(c, func(a, b authmgmt.Client) int { return strings.Compare(a.ID, b.ID) })
			},
			func([]authmgmt.Token) {},
			func(c []authmgmt.Invitation) {
				slices.SortFunc(c, func(a, b authmgmt.Invitation) int { return strings.Compare(b.ID, a.ID) })
			},
		)
	}},
	{name: "lists equal times without case", breaks: []string{
		"clients/list-equal-times-by-id", "invitations/list-equal-times-by-id",
	}, mutate: func(m *mutant) {
		fold := func(a, b string) int { return strings.Compare(strings.ToLower(a), strings.ToLower(b)) }
		m.everyOrder(
			func(c []authmgmt.Client) {
				slices.SortStableFunc(c, func(a, b authmgmt.Client) int { return fold(a.ID, b.ID) })
			},
			func([]authmgmt.Token) {},
			func(c []authmgmt.Invitation) {
				slices.SortStableFunc(c, func(a, b authmgmt.Invitation) int { return fold(b.ID, a.ID) })
			},
		)
	}},
	{name: "orders tokens as GUIDs", breaks: []string{"tokens/list-equal-times-by-id"}, mutate: func(m *mutant) {
		m.everyOrder(func([]authmgmt.Client) {}, func(k []authmgmt.Token) {
			slices.SortFunc(k, func(a, b authmgmt.Token) int { return slices.Compare(b.ID[8:], a.ID[8:]) })
		}, func([]authmgmt.Invitation) {})
	}},
	{name: "lists every organization", breaks: lists("list-of-organization"), mutate: func(m *mutant) {
		m.everyListing(func(org *string, _ *authmgmt.Paging) { *org = "org-a" })
	}},
	{name: "ignores the offset", breaks: lists("list-offset-and-limit"), mutate: func(m *mutant) {
		m.everyListing(func(_ *string, p *authmgmt.Paging) { p.Offset = 0 })
	}},
	{name: "exceeds the limit", breaks: lists("list-offset-and-limit"), mutate: func(m *mutant) {
		m.everyListing(func(_ *string, p *authmgmt.Paging) { p.Limit++ })
	}},
	{name: "counts the page", breaks: lists("list-offset-and-limit"), mutate: func(m *mutant) {
		m.listClients = func(ctx context.Context, org string, p authmgmt.Paging) (authmgmt.Page[authmgmt.Client], error) {
			page, err := m.AuthMgmt.ListClients(ctx, org, p)
			page.Total = len(page.Items)
			return page, err
		}
		m.listTokens = func(ctx context.Context, org string, p authmgmt.Paging) (authmgmt.Page[authmgmt.Token], error) {
			page, err := m.AuthMgmt.ListTokens(ctx, org, p)
			page.Total = len(page.Items)
			return page, err
		}
		m.listInvitations = func(ctx context.Context, org string, at time.Time, p authmgmt.Paging) (authmgmt.Page[authmgmt.Invitation], error) {
			page, err := m.AuthMgmt.ListInvitations(ctx, org, at, p)
			page.Total = len(page.Items)
			return page, err
		}
	}},
	{name: "counts deleted clients", breaks: []string{"clients/delete-ends-it"}, mutate: func(m *mutant) {
		made := 0
		m.createClient = func(ctx context.Context, c authmgmt.Client, e authmgmt.AuditEvent) error {
			made++
			return m.AuthMgmt.CreateClient(ctx, c, e)
		}
		m.listClients = func(ctx context.Context, org string, p authmgmt.Paging) (authmgmt.Page[authmgmt.Client], error) {
			page, err := m.AuthMgmt.ListClients(ctx, org, p)
			page.Total = made
			return page, err
		}
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
		m.auditEvents = func(ctx context.Context, org string, q authmgmt.AuditQuery) (mortise.Page[authmgmt.AuditEvent], error) {
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
		m.everyToken(func(*authmgmt.Token) {})
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
