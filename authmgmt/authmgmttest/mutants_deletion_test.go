package authmgmttest_test

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
)

// made is what was stored in a mutant, for those that show what was deleted.
type made struct {
	mu          sync.Mutex
	clients     []authmgmt.Client
	tokens      []authmgmt.Token
	invitations []authmgmt.Invitation
}

// remembers makes the mutant keep what is stored.
func remembers(m *mutant) *made {
	kept := new(made)
	mutate.Around(&m.On, func(call *mutate.Call) {
		if call.Go(); *call.Err() != nil {
			return
		}
		kept.mu.Lock()
		defer kept.mu.Unlock()
		if c := mutate.Get[authmgmt.Client](call.In); c != nil {
			kept.clients = append(kept.clients, c.Clone())
		}
		if k := mutate.Get[authmgmt.Token](call.In); k != nil {
			kept.tokens = append(kept.tokens, k.Clone())
		}
		if i := mutate.Get[authmgmt.Invitation](call.In); i != nil {
			kept.invitations = append(kept.invitations, i.Clone())
		}
	}, creates...)
	return kept
}

// all returns what was kept until now.
func (kept *made) all() made {
	kept.mu.Lock()
	defer kept.mu.Unlock()
	return made{clients: kept.clients, tokens: kept.tokens, invitations: kept.invitations}
}

// gone reports whether an organization is marked.
func (m *mutant) gone(org string) bool {
	since, _ := m.AuthMgmt.DeletedAt(context.Background(), org)
	return !since.IsZero()
}

// shows makes a method return the first of the things made in deleted organizations that
// a caller asks for.
func shows[T any](method string, things func(*made) []T, org func(*T) string, asked func(*mutate.Call, *T) bool, show func(*mutate.Call, T)) func(*mutant) {
	return func(m *mutant) {
		kept := remembers(m)
		mutate.Around(&m.On, func(c *mutate.Call) {
			c.Go()
			kept.mu.Lock()
			defer kept.mu.Unlock()
			for _, thing := range things(kept) {
				if m.gone(org(&thing)) && asked(c, &thing) {
					show(c, thing)
					return
				}
			}
		}, method)
	}
}

// instead shows a thing as what a method returns.
func instead[T any](c *mutate.Call, thing T) {
	*mutate.Get[T](c.Out), *c.Err() = thing, nil
}

// leaks show in one method what was deleted, and are right in all others.
var leaks = map[string]func(*mutant){
	"Client": shows("Client", madeClients, orgOfClient, func(call *mutate.Call, c *authmgmt.Client) bool {
		return c.Organization == call.In[1].String() && c.ID == call.In[2].String()
	}, instead),
	"ClientBySecret": shows("ClientBySecret", madeClients, orgOfClient, func(call *mutate.Call, c *authmgmt.Client) bool {
		return len(c.Secrets) > 0 && c.Secrets[len(c.Secrets)-1].Digest == *mutate.Get[[32]byte](call.In)
	}, instead),
	"TokenByDigest": shows("TokenByDigest", func(m *made) []authmgmt.Token { return m.tokens },
		func(k *authmgmt.Token) string { return k.Organization },
		func(c *mutate.Call, k *authmgmt.Token) bool { return k.Digest == *mutate.Get[[32]byte](c.In) }, instead),
	"Invitation": shows("Invitation", madeInvitations, orgOfInvitation, func(c *mutate.Call, i *authmgmt.Invitation) bool {
		return i.Organization == c.In[1].String() && i.ID == c.In[2].String()
	}, instead),
	"DueGrants": shows("DueGrants", madeInvitations, orgOfInvitation, isWaiting, func(c *mutate.Call, i authmgmt.Invitation) {
		due := mutate.Get[[]authmgmt.Invitation](c.Out)
		*due = append(*due, i)
	}),
	"ListClients": onceGone("ListClients", func(c *mutate.Call) {
		page := mutate.Get[mortise.Page[authmgmt.Client]](c.Out)
		page.Items = append(page.Items, authmgmt.Client{Organization: c.In[1].String()})
	}),
	"ListTokens": onceGone("ListTokens", func(c *mutate.Call) {
		page := mutate.Get[mortise.Page[authmgmt.Token]](c.Out)
		page.Items = append(page.Items, authmgmt.Token{Organization: c.In[1].String()})
	}),
	"ListInvitations": onceGone("ListInvitations", func(c *mutate.Call) {
		if !mutate.Get[time.Time](c.In).IsZero() {
			page := mutate.Get[mortise.Page[authmgmt.Invitation]](c.Out)
			page.Items = append(page.Items, authmgmt.Invitation{Organization: c.In[1].String()})
		}
	}),
	"CountClients":     onceGone("CountClients", countsOne),
	"CountTokens":      onceGone("CountTokens", countsOne),
	"CountInvitations": onceGone("CountInvitations", countsOne),
}

func countsOne(c *mutate.Call) { mutate.Get[mortise.Count](c.Out).N++ }

// onceGone calls do after each call of the method for a deleted organization.
func onceGone(method string, do func(*mutate.Call)) func(*mutant) {
	return func(m *mutant) {
		mutate.Around(&m.On, func(c *mutate.Call) {
			if c.Go(); m.gone(*mutate.Get[string](c.In)) {
				do(c)
			}
		}, method)
	}
}

func madeClients(m *made) []authmgmt.Client         { return m.clients }
func madeInvitations(m *made) []authmgmt.Invitation { return m.invitations }

func isWaiting(_ *mutate.Call, i *authmgmt.Invitation) bool {
	return !i.AcceptedAt.IsZero() && i.GrantedAt.IsZero()
}

func orgOfClient(c *authmgmt.Client) string         { return c.Organization }
func orgOfInvitation(i *authmgmt.Invitation) string { return i.Organization }

// creations let one method make something in a deleted organization, as far as its caller
// can tell: it takes the deletion for another reason, if there is one.
var creations = map[string]func(*mutant){
	"CreateClient": exists("CreateClient", func(call *mutate.Call) (string, bool) {
		c := mutate.Get[authmgmt.Client](call.In)
		return c.Organization, c.ID != "new"
	}),
	"CreateToken": exists("CreateToken", func(c *mutate.Call) (string, bool) {
		k := mutate.Get[authmgmt.Token](c.In)
		return k.Organization, k.Client != ""
	}),
	"CreateInvitation": exists("CreateInvitation", func(c *mutate.Call) (string, bool) {
		return mutate.Get[authmgmt.Invitation](c.In).Organization, *mutate.Get[bool](c.In)
	}),
}

func exists(method string, reason func(*mutate.Call) (org string, other bool)) func(*mutant) {
	return func(m *mutant) {
		mutate.Around(&m.On, func(c *mutate.Call) {
			c.Go()
			if org, other := reason(c); m.gone(org) && other {
				*c.Err() = mortise.ErrExists
			}
		}, method)
	}
}

// deletionMutants delete too much, too little, or not for good.
func deletionMutants() []broken {
	all := []broken{
		{name: "marks again", breaks: "deletion/first-mark-stays deletion/one-mark deletion/cut-off", mutate: func(m *mutant) {
			var mu sync.Mutex
			last := make(map[string]time.Time)
			m.On.MarkDeleted = func(ctx context.Context, org string, at time.Time, e authmgmt.AuditEvent) (time.Time, error) {
				mu.Lock()
				defer mu.Unlock()
				last[org] = at.UTC()
				_, err := m.AuthMgmt.MarkDeleted(context.WithoutCancel(ctx), org, at, e)
				return at.UTC(), err
			}
			m.On.DeletedAt = func(_ context.Context, org string) (time.Time, error) {
				mu.Lock()
				defer mu.Unlock()
				return last[org], nil
			}
		}},
		{name: "marks only what is there", breaks: "deletion/first-mark-stays",
			mutate: replace("MarkDeleted", func(m *mutant, ctx context.Context, org string, at time.Time, e authmgmt.AuditEvent) (time.Time, error) {
				if clients, err := m.AuthMgmt.CountClients(ctx, org, 1); err == nil && clients.N == 0 && !m.gone(org) {
					return time.Time{}, mortise.ErrNotFound
				}
				return m.AuthMgmt.MarkDeleted(ctx, org, at, e)
			})},
		{name: "looks for a mark, and marks later", breaks: "deletion/one-mark",
			mutate: replace("MarkDeleted", func(m *mutant, ctx context.Context, org string, at time.Time, e authmgmt.AuditEvent) (time.Time, error) {
				if since, err := m.AuthMgmt.DeletedAt(ctx, org); err != nil || !since.IsZero() {
					return since, err
				}
				conformance.Seam()
				_, err := m.AuthMgmt.MarkDeleted(ctx, org, at, e)
				return at.UTC(), err
			})},
		{name: "stores an event that is none with the mark", breaks: "deletion/without-event", mutate: arg(func(e *authmgmt.AuditEvent) {
			if e.ID == uuid.Nil {
				e.ID = uuid.New()
			}
		}, "MarkDeleted")},
		{name: "calls the update of what was deleted", breaks: "deletion/hides-from-updates deletion/durable", mutate: onceGone(
			"UpdateInvitation", (*mutate.Call).Update)},
		{name: "shows the trail of a deleted organization", breaks: "deletion/trail-has-the-mark deletion/without-event deletion/pruned",
			mutate: onceGone("ListAuditEvents", func(c *mutate.Call) {
				if page := mutate.Get[mortise.Page[authmgmt.AuditEvent]](c.Out); len(page.Items) == 0 {
					page.Items = []authmgmt.AuditEvent{{ID: uuid.New(), Organization: c.In[1].String(), Kind: mortise.KindClientCreated}}
				}
			})},
		{name: "deletes those whose ID begins alike", breaks: "deletion/leaves-others",
			mutate: replace("MarkDeleted", func(m *mutant, ctx context.Context, org string, at time.Time, e authmgmt.AuditEvent) (time.Time, error) {
				_, _ = m.AuthMgmt.MarkDeleted(ctx, org+"b", at, authmgmt.AuditEvent{})
				return m.AuthMgmt.MarkDeleted(ctx, org, at, e)
			})},
		{name: "removes what is not marked", breaks: "deletion/not-marked", mutate: errs(func(error) error { return nil }, "RemoveDeleted")},
		{name: "removes the event of the mark",
			breaks: "deletion/refuses-creations deletion/trail-has-the-mark deletion/cut-off deletion/durable",
			mutate: func(m *mutant) {
				var removed sync.Map
				arg(func(org *string) { removed.Store(*org, true) }, "RemoveDeleted")(m)
				mutate.Around(&m.On, func(c *mutate.Call) {
					if _, ok := removed.Load(c.In[1].String()); !ok {
						c.Go()
					}
				}, "ListAuditEvents")
			}},
		{name: "goes on after its caller has left", breaks: "deletion/cut-off", mutate: arg(
			func(ctx *context.Context) { *ctx = context.WithoutCancel(*ctx) }, "RemoveDeleted")},
		{name: "looks for the mark, and creates later", breaks: "deletion/concurrent", mutate: func(m *mutant) {
			var late sync.Map
			m.On.MarkDeleted = func(ctx context.Context, org string, at time.Time, e authmgmt.AuditEvent) (time.Time, error) {
				conformance.Seam()
				return m.AuthMgmt.MarkDeleted(ctx, org, at, e)
			}
			m.On.CreateClient = func(ctx context.Context, c authmgmt.Client, e authmgmt.AuditEvent) error {
				marked := m.gone(c.Organization)
				if strings.HasPrefix(c.ID, "n") {
					conformance.Seam() // until all have looked
					conformance.Seam() // until it is marked
				}
				err := m.AuthMgmt.CreateClient(ctx, c, e)
				if !marked && m.gone(c.Organization) {
					late.Store(c.Organization+"/"+c.ID, c)
					return nil
				}
				return err
			}
			m.On.Client = func(ctx context.Context, org, id string) (authmgmt.Client, error) {
				if c, ok := late.Load(org + "/" + id); ok {
					return c.(authmgmt.Client), nil
				}
				return m.AuthMgmt.Client(ctx, org, id)
			}
		}},
		{name: "keeps the mark from Pruner", breaks: "deletion/pruned", mutate: func(m *mutant) {
			mutate.Around(&m.On, func(c *mutate.Call) {
				if !m.gone("org-a") {
					c.Go()
				}
			}, "PruneAudit")
		}},
		{name: "shows a deleted organization", breaks: "deletion/organizations", mutate: onceGone(
			"AccessControl", func(c *mutate.Call) { instead(c, authmgmt.Organization{ID: c.In[1].String()}) })},
		{name: "updates a deleted organization", breaks: "deletion/organizations", mutate: onceGone(
			"UpdateOrganization", func(c *mutate.Call) {
				c.Update()
				*c.Err() = nil
			})},
		{name: "does not find the organization that it updates", breaks: "deletion/organizations", mutate: onceGone(
			"UpdateOrganization", func(c *mutate.Call) { *c.Err() = mortise.ErrNotFound })},
	}
	for method, leak := range leaks {
		all = append(all, broken{
			name: "shows in " + method + " what was deleted", breaks: "deletion/hides-everything",
			mutate: leak,
		})
	}
	for method, make := range creations {
		all = append(all, broken{name: "gives another reason in " + method, breaks: "deletion/refuses-creations", mutate: make})
	}
	return all
}
