package authmgmttest

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/internal/conformance/listtest"
)

// lists are all lists of package authmgmt.
var lists = []listtest.List[*subject]{
	{ID: "clients", Method: "ListClients", Items: "clients that are not deleted", Needs: needStore, Open: listedClients},
	{ID: "tokens", Method: "ListTokens", Items: "tokens", Needs: needStore, Newest: true, Open: listedTokens},
	listOfInvitations("invitations", "invitations", time.Time{}, ""),
	listOfInvitations("pending-invitations", "pending invitations", moment(0), ""),
	listOfInvitations("invitations-of-inviter", "invitations of an inviter", time.Time{}, "Bob"),
	listOfInvitations("pending-invitations-of-inviter", "pending invitations of an inviter", moment(0), "Bob"),
	{ID: "audit-events", Method: "ListAuditEvents", Items: "audit events of a target", Needs: needStore, Newest: true,
		Open: func(_ *testing.T, s *subject, org string) listtest.Opened { return s.Listed(org) }},
}

func listedClients(_ *testing.T, s *subject, org string) listtest.Opened {
	client := func(i listtest.Item) authmgmt.Client {
		c := newClient(org, listtest.Name(i.N), 0)
		c.CreatedAt = i.At()
		return c
	}
	return listtest.Opened{
		Position: func(i listtest.Item) mortise.Position {
			c := client(i)
			return c.Position()
		},
		Add: func(t *testing.T, items ...listtest.Item) {
			for _, i := range items {
				s.addClient(t, client(i))
			}
		},
		Remove: func(t *testing.T, i listtest.Item) { s.deleteClient(t, client(i)) },
		Page: listtest.Of(func(ctx context.Context, after mortise.Cursor, limit int) (mortise.Page[authmgmt.Client], error) {
			return s.Store.ListClients(ctx, org, after, limit)
		}, (*authmgmt.Client).Position),
		Count: func(ctx context.Context, most int) (mortise.Count, error) {
			return s.Store.CountClients(ctx, org, most)
		},
	}
}

// listedTokens are tokens of clients: each goes with the secret that it was got with.
func listedTokens(_ *testing.T, s *subject, org string) listtest.Opened {
	position := func(i listtest.Item) mortise.Position {
		k := authmgmt.Token{ID: listtest.UUID(org, i.N), CreatedAt: i.At()}
		return k.Position()
	}
	holders := make(map[listtest.Item]authmgmt.Client)
	return listtest.Opened{
		Position: position,
		Add: func(t *testing.T, items ...listtest.Item) {
			for _, i := range items {
				holder := authmgmt.Client{Organization: org, ID: "holder-" + listtest.Name(i.N), CreatedAt: moment(0)}
				holder.Secrets = []authmgmt.ClientSecret{{ID: uuid.New(), Digest: newDigest(), CreatedAt: moment(0)}}
				holders[i] = s.addClient(t, holder)
				k := clientToken(holder, 0, 0)
				k.ID, k.CreatedAt = listtest.UUID(org, i.N), i.At()
				s.addToken(t, k)
			}
		},
		Remove: func(t *testing.T, i listtest.Item) { s.deleteClient(t, holders[i]) },
		Page: listtest.Of(func(ctx context.Context, after mortise.Cursor, limit int) (mortise.Page[authmgmt.Token], error) {
			return s.Store.ListTokens(ctx, org, after, limit)
		}, (*authmgmt.Token).Position),
		Count: func(ctx context.Context, most int) (mortise.Count, error) { return s.Store.CountTokens(ctx, org, most) },
	}
}

// listOfInvitations is a list of invitations, which go from it when they are cancelled, if
// it shows pending ones.
func listOfInvitations(id, what string, pendingAt time.Time, inviter string) listtest.List[*subject] {
	return listtest.List[*subject]{ID: id, Method: "ListInvitations", Items: what, Needs: needStore, Newest: true,
		Open: func(_ *testing.T, s *subject, org string) listtest.Opened {
			invitation := func(i listtest.Item) authmgmt.Invitation {
				n := newInvitation(org, listtest.Name(i.N), 0)
				n.CreatedAt, n.ExpiresAt = i.At(), moment(100*day)
				return n
			}
			l := listtest.Opened{
				Position: func(i listtest.Item) mortise.Position {
					n := invitation(i)
					return n.Position()
				},
				Add: func(t *testing.T, items ...listtest.Item) {
					for _, i := range items {
						s.addInvitation(t, invitation(i))
					}
				},
				Page: listtest.Of(func(ctx context.Context, after mortise.Cursor, limit int) (mortise.Page[authmgmt.Invitation], error) {
					return s.Store.ListInvitations(ctx, org, pendingAt, inviter, after, limit)
				}, (*authmgmt.Invitation).Position),
				Count: func(ctx context.Context, most int) (mortise.Count, error) {
					return s.Store.CountInvitations(ctx, org, pendingAt, inviter, most)
				},
			}
			if !pendingAt.IsZero() {
				l.Remove = func(t *testing.T, i listtest.Item) {
					s.updateInvitation(t, invitation(i), func(i *authmgmt.Invitation) { i.CancelledAt = moment(0) })
				}
			}
			return l
		}}
}

func listsRules() (rules []rule) {
	for _, r := range listtest.Rules(lists) {
		rules = append(rules, rule{Rule{r.ID, r.Text}, r.Needs, r.Check})
	}
	return rules
}
