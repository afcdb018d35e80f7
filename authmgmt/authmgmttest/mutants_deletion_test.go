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
)

// MarkDeleted and the others replace the backend's, if the mutant has some.
func (m *mutant) MarkDeleted(ctx context.Context, org string, at time.Time, e authmgmt.AuditEvent) (time.Time, error) {
	if err := m.fail(); err != nil {
		return time.Time{}, err
	}
	if m.markDeleted != nil {
		return m.markDeleted(ctx, org, at, e)
	}
	return m.AuthMgmt.MarkDeleted(ctx, org, at, e)
}

func (m *mutant) DeletedAt(ctx context.Context, org string) (time.Time, error) {
	if err := m.fail(); err != nil {
		return time.Time{}, err
	}
	if m.deletedAt != nil {
		return m.deletedAt(ctx, org)
	}
	return m.AuthMgmt.DeletedAt(ctx, org)
}

func (m *mutant) RemoveDeleted(ctx context.Context, org string, limit int) (bool, error) {
	if err := m.fail(); err != nil {
		return false, err
	}
	if m.removeDeleted != nil {
		return m.removeDeleted(ctx, org, limit)
	}
	return m.AuthMgmt.RemoveDeleted(ctx, org, limit)
}

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
	keep := func(err error, f func()) error {
		kept.mu.Lock()
		defer kept.mu.Unlock()
		if err == nil {
			f()
		}
		return err
	}
	m.createClient = func(ctx context.Context, c authmgmt.Client, e authmgmt.AuditEvent) error {
		return keep(m.AuthMgmt.CreateClient(ctx, c, e), func() { kept.clients = append(kept.clients, c.Clone()) })
	}
	m.createToken = func(ctx context.Context, k authmgmt.Token, e authmgmt.AuditEvent) error {
		return keep(m.AuthMgmt.CreateToken(ctx, k, e), func() { kept.tokens = append(kept.tokens, k.Clone()) })
	}
	m.createInvitation = func(ctx context.Context, i authmgmt.Invitation, exclusive bool, e authmgmt.AuditEvent) error {
		return keep(m.AuthMgmt.CreateInvitation(ctx, i, exclusive, e), func() { kept.invitations = append(kept.invitations, i.Clone()) })
	}
	return kept
}

// gone reports whether an organization is marked.
func (m *mutant) gone(org string) bool {
	since, _ := m.AuthMgmt.DeletedAt(context.Background(), org)
	return !since.IsZero()
}

// first returns the first of the items that was stored in a deleted organization and that
// does select.
func first[T any](m *mutant, kept *made, items func() []T, org func(T) string, does func(T) bool) (found T, ok bool) {
	kept.mu.Lock()
	defer kept.mu.Unlock()
	for _, item := range items() {
		if m.gone(org(item)) && does(item) {
			return item, true
		}
	}
	return found, false
}

// leaks show in one method what was deleted, and are right in all others.
var leaks = map[string]func(m *mutant, kept *made){
	"Client": func(m *mutant, kept *made) {
		m.client = func(ctx context.Context, org, id string) (authmgmt.Client, error) {
			c, ok := first(m, kept, func() []authmgmt.Client { return kept.clients }, orgOfClient,
				func(c authmgmt.Client) bool { return c.Organization == org && c.ID == id })
			if ok {
				return c, nil
			}
			return m.AuthMgmt.Client(ctx, org, id)
		}
	},
	"ClientBySecret": func(m *mutant, kept *made) {
		m.clientBySecret = func(ctx context.Context, digest [32]byte) (authmgmt.Client, error) {
			c, ok := first(m, kept, func() []authmgmt.Client { return kept.clients }, orgOfClient, func(c authmgmt.Client) bool {
				return len(c.Secrets) > 0 && c.Secrets[len(c.Secrets)-1].Digest == digest
			})
			if ok {
				return c, nil
			}
			return m.AuthMgmt.ClientBySecret(ctx, digest)
		}
	},
	"ListClients": func(m *mutant, _ *made) {
		m.listClients = func(ctx context.Context, org string, p authmgmt.Paging) (authmgmt.Page[authmgmt.Client], error) {
			page, err := m.AuthMgmt.ListClients(ctx, org, p)
			if m.gone(org) {
				page.Total++
			}
			return page, err
		}
	},
	"TokenByDigest": func(m *mutant, kept *made) {
		m.tokenByDigest = func(ctx context.Context, digest [32]byte) (authmgmt.Token, error) {
			k, ok := first(m, kept, func() []authmgmt.Token { return kept.tokens },
				func(k authmgmt.Token) string { return k.Organization }, func(k authmgmt.Token) bool { return k.Digest == digest })
			if ok {
				return k, nil
			}
			return m.AuthMgmt.TokenByDigest(ctx, digest)
		}
	},
	"ListTokens": func(m *mutant, _ *made) {
		m.listTokens = func(ctx context.Context, org string, p authmgmt.Paging) (authmgmt.Page[authmgmt.Token], error) {
			page, err := m.AuthMgmt.ListTokens(ctx, org, p)
			if m.gone(org) {
				page.Items = append(page.Items, authmgmt.Token{Organization: org})
			}
			return page, err
		}
	},
	"Invitation": func(m *mutant, kept *made) {
		m.invitation = func(ctx context.Context, org, id string) (authmgmt.Invitation, error) {
			i, ok := first(m, kept, func() []authmgmt.Invitation { return kept.invitations }, orgOfInvitation,
				func(i authmgmt.Invitation) bool { return i.Organization == org && i.ID == id })
			if ok {
				return i, nil
			}
			return m.AuthMgmt.Invitation(ctx, org, id)
		}
	},
	"ListInvitations": func(m *mutant, _ *made) {
		m.listInvitations = func(ctx context.Context, org string, at time.Time, p authmgmt.Paging) (authmgmt.Page[authmgmt.Invitation], error) {
			page, err := m.AuthMgmt.ListInvitations(ctx, org, at, p)
			if m.gone(org) && !at.IsZero() {
				page.Total++
			}
			return page, err
		}
	},
	"DueGrants": func(m *mutant, kept *made) {
		m.dueGrants = func(ctx context.Context, now time.Time, limit int) ([]authmgmt.Invitation, error) {
			due, err := m.AuthMgmt.DueGrants(ctx, now, limit)
			i, ok := first(m, kept, func() []authmgmt.Invitation { return kept.invitations }, orgOfInvitation,
				func(i authmgmt.Invitation) bool { return !i.AcceptedAt.IsZero() && i.GrantedAt.IsZero() })
			if ok {
				due = append(due, i)
			}
			return due, err
		}
	},
	"Stats": func(m *mutant, _ *made) {
		counts(func(s *authmgmt.Stats, m *mutant, org string, _ time.Time) {
			if m.gone(org) {
				s.Pending.N++
			}
		})(m)
	},
	"StatsAll": func(m *mutant, kept *made) {
		m.statsAll = func(ctx context.Context, most int) (authmgmt.AllStats, error) {
			open, err := m.AuthMgmt.StatsAll(ctx, most)
			if _, ok := first(m, kept, func() []authmgmt.Invitation { return kept.invitations }, orgOfInvitation,
				func(i authmgmt.Invitation) bool { return !i.AcceptedAt.IsZero() && i.GrantedAt.IsZero() }); ok {
				open.Waiting.N++
			}
			return open, err
		}
	},
}

func orgOfClient(c authmgmt.Client) string         { return c.Organization }
func orgOfInvitation(i authmgmt.Invitation) string { return i.Organization }

// creations let one method make something in a deleted organization, as far as its caller
// can tell.
var creations = map[string]func(m *mutant){
	"CreateClient": func(m *mutant) {
		m.createClient = func(ctx context.Context, c authmgmt.Client, e authmgmt.AuditEvent) error {
			return exists(m, c.Organization, c.ID != "new", m.AuthMgmt.CreateClient(ctx, c, e))
		}
	},
	"CreateToken": func(m *mutant) {
		m.createToken = func(ctx context.Context, k authmgmt.Token, e authmgmt.AuditEvent) error {
			return exists(m, k.Organization, k.Client != "", m.AuthMgmt.CreateToken(ctx, k, e))
		}
	},
	"CreateInvitation": func(m *mutant) {
		m.createInvitation = func(ctx context.Context, i authmgmt.Invitation, exclusive bool, e authmgmt.AuditEvent) error {
			return exists(m, i.Organization, exclusive, m.AuthMgmt.CreateInvitation(ctx, i, exclusive, e))
		}
	},
}

// exists takes an organization's deletion for another reason, if there is one.
func exists(m *mutant, org string, reason bool, err error) error {
	if m.gone(org) && reason {
		return authmgmt.ErrExists
	}
	return err
}

// onceMarked replaces what RemoveDeleted does.
func onceMarked(do func(ctx context.Context, m *mutant, org string, limit int) (bool, error)) func(*mutant) {
	return func(m *mutant) {
		m.removeDeleted = func(ctx context.Context, org string, limit int) (bool, error) { return do(ctx, m, org, limit) }
	}
}

// deletionMutants delete too much, too little, or not for good.
func deletionMutants() []broken {
	all := []broken{
		{name: "marks again", breaks: []string{"deletion/first-mark-stays", "deletion/one-mark", "deletion/cut-off"}, mutate: func(m *mutant) {
			var mu sync.Mutex
			last := make(map[string]time.Time)
			m.markDeleted = func(ctx context.Context, org string, at time.Time, e authmgmt.AuditEvent) (time.Time, error) {
				mu.Lock()
				defer mu.Unlock()
				last[org] = at.UTC()
				_, err := m.AuthMgmt.MarkDeleted(context.WithoutCancel(ctx), org, at, e)
				return at.UTC(), err
			}
			m.deletedAt = func(_ context.Context, org string) (time.Time, error) {
				mu.Lock()
				defer mu.Unlock()
				return last[org], nil
			}
		}},
		{name: "marks only what is there", breaks: []string{"deletion/first-mark-stays"}, mutate: func(m *mutant) {
			m.markDeleted = func(ctx context.Context, org string, at time.Time, e authmgmt.AuditEvent) (time.Time, error) {
				if stats, err := m.AuthMgmt.Stats(ctx, org, at, 1); err == nil && stats == (authmgmt.Stats{}) && !m.gone(org) {
					return time.Time{}, authmgmt.ErrNotFound
				}
				return m.AuthMgmt.MarkDeleted(ctx, org, at, e)
			}
		}},
		{name: "looks for a mark, and marks later", breaks: []string{"deletion/one-mark"}, mutate: func(m *mutant) {
			m.markDeleted = func(ctx context.Context, org string, at time.Time, e authmgmt.AuditEvent) (time.Time, error) {
				if since, err := m.AuthMgmt.DeletedAt(ctx, org); err != nil || !since.IsZero() {
					return since, err
				}
				conformance.Seam()
				_, err := m.AuthMgmt.MarkDeleted(ctx, org, at, e)
				return at.UTC(), err
			}
		}},
		{name: "stores an event that is none with the mark", breaks: []string{"deletion/without-event"}, mutate: func(m *mutant) {
			m.markDeleted = func(ctx context.Context, org string, at time.Time, e authmgmt.AuditEvent) (time.Time, error) {
				if e.ID == uuid.Nil {
					e.ID = uuid.New()
				}
				return m.AuthMgmt.MarkDeleted(ctx, org, at, e)
			}
		}},
		{name: "calls the update of what was deleted", breaks: []string{"deletion/hides-from-updates", "deletion/durable"}, mutate: func(m *mutant) {
			m.updateInvitation = func(ctx context.Context, org, id string, update invitationUpdate) error {
				if m.gone(org) {
					_, _ = update(new(authmgmt.Invitation))
				}
				return m.AuthMgmt.UpdateInvitation(ctx, org, id, update)
			}
		}},
		{name: "shows the trail of a deleted organization", breaks: []string{
			"deletion/trail-has-the-mark", "deletion/without-event", "deletion/pruned",
		}, mutate: func(m *mutant) {
			m.auditEvents = func(ctx context.Context, org string, q authmgmt.AuditQuery) (mortise.Page[authmgmt.AuditEvent], error) {
				page, err := m.AuthMgmt.ListAuditEvents(ctx, org, q)
				if m.gone(org) && len(page.Items) == 0 {
					page.Items = []authmgmt.AuditEvent{{ID: uuid.New(), Organization: org, Kind: authmgmt.KindClientCreated}}
				}
				return page, err
			}
		}},
		{name: "deletes those whose ID begins alike", breaks: []string{"deletion/leaves-others"}, mutate: func(m *mutant) {
			m.markDeleted = func(ctx context.Context, org string, at time.Time, e authmgmt.AuditEvent) (time.Time, error) {
				_, _ = m.AuthMgmt.MarkDeleted(ctx, org+"b", at, authmgmt.AuditEvent{})
				return m.AuthMgmt.MarkDeleted(ctx, org, at, e)
			}
		}},
		{name: "removes without a limit", breaks: []string{"deletion/steps-are-bounded"}, mutate: onceMarked(
			func(ctx context.Context, m *mutant, org string, _ int) (bool, error) {
				return m.AuthMgmt.RemoveDeleted(ctx, org, 1000)
			})},
		{name: "removes nothing", breaks: []string{"deletion/steps-are-bounded"}, mutate: onceMarked(
			func(_ context.Context, m *mutant, org string, _ int) (bool, error) {
				if !m.gone(org) {
					return false, authmgmt.ErrNotFound
				}
				return false, nil
			})},
		{name: "does not end", breaks: []string{"deletion/hides-everything", "deletion/steps-are-bounded"}, mutate: onceMarked(
			func(ctx context.Context, m *mutant, org string, limit int) (bool, error) {
				_, err := m.AuthMgmt.RemoveDeleted(ctx, org, limit)
				return err == nil, err
			})},
		{name: "removes what is not marked", breaks: []string{"deletion/not-marked"}, mutate: onceMarked(
			func(ctx context.Context, m *mutant, org string, limit int) (bool, error) {
				more, err := m.AuthMgmt.RemoveDeleted(ctx, org, limit)
				if !m.gone(org) {
					return false, nil
				}
				return more, err
			})},
		{name: "removes the event of the mark", breaks: []string{
			"deletion/refuses-creations", "deletion/trail-has-the-mark", "deletion/cut-off", "deletion/durable",
		}, mutate: func(m *mutant) {
			var mu sync.Mutex
			removed := make(map[string]bool)
			onceMarked(func(ctx context.Context, m *mutant, org string, limit int) (bool, error) {
				mu.Lock()
				defer mu.Unlock()
				removed[org] = true
				return m.AuthMgmt.RemoveDeleted(ctx, org, limit)
			})(m)
			m.auditEvents = func(ctx context.Context, org string, q authmgmt.AuditQuery) (mortise.Page[authmgmt.AuditEvent], error) {
				mu.Lock()
				defer mu.Unlock()
				if removed[org] {
					return mortise.Page[authmgmt.AuditEvent]{}, nil
				}
				return m.AuthMgmt.ListAuditEvents(ctx, org, q)
			}
		}},
		{name: "goes on after its caller has left", breaks: []string{"deletion/cut-off"}, mutate: onceMarked(
			func(ctx context.Context, m *mutant, org string, limit int) (bool, error) {
				return m.AuthMgmt.RemoveDeleted(context.WithoutCancel(ctx), org, limit)
			})},
		{name: "looks for the mark, and creates later", breaks: []string{"deletion/concurrent"}, mutate: func(m *mutant) {
			var late sync.Map
			m.markDeleted = func(ctx context.Context, org string, at time.Time, e authmgmt.AuditEvent) (time.Time, error) {
				conformance.Seam()
				return m.AuthMgmt.MarkDeleted(ctx, org, at, e)
			}
			m.createClient = func(ctx context.Context, c authmgmt.Client, e authmgmt.AuditEvent) error {
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
			m.client = func(ctx context.Context, org, id string) (authmgmt.Client, error) {
				if c, ok := late.Load(org + "/" + id); ok {
					return c.(authmgmt.Client), nil
				}
				return m.AuthMgmt.Client(ctx, org, id)
			}
		}},
		{name: "keeps the mark from Pruner", breaks: []string{"deletion/pruned"}, mutate: func(m *mutant) {
			m.pruneAudit = func(ctx context.Context, before time.Time, limit int) (int, error) {
				if m.gone("org-a") {
					return 0, nil
				}
				return m.AuthMgmt.PruneAudit(ctx, before, limit)
			}
		}},
		{name: "shows a deleted organization", breaks: []string{"deletion/organizations"}, mutate: func(m *mutant) {
			m.organization = func(ctx context.Context, org string) (authmgmt.Organization, error) {
				if m.gone(org) {
					return authmgmt.Organization{ID: org}, nil
				}
				return m.AuthMgmt.AccessControl(ctx, org)
			}
		}},
		{name: "updates a deleted organization", breaks: []string{"deletion/organizations"}, mutate: func(m *mutant) {
			m.updateOrganization = func(ctx context.Context, org string, update organizationUpdate) error {
				if m.gone(org) {
					_, err := update(&authmgmt.Organization{ID: org})
					return err
				}
				return m.AuthMgmt.UpdateOrganization(ctx, org, update)
			}
		}},
		{name: "does not find the organization that it updates", breaks: []string{"deletion/organizations"}, mutate: func(m *mutant) {
			m.updateOrganization = func(ctx context.Context, org string, update organizationUpdate) error {
				if m.gone(org) {
					return authmgmt.ErrNotFound
				}
				return m.AuthMgmt.UpdateOrganization(ctx, org, update)
			}
		}},
	}
	for method, leak := range leaks {
		all = append(all, broken{
			name: "shows in " + method + " what was deleted", breaks: []string{"deletion/hides-everything"},
			mutate: func(m *mutant) { leak(m, remembers(m)) },
		})
	}
	for method, make := range creations {
		all = append(all, broken{name: "gives another reason in " + method, breaks: []string{"deletion/refuses-creations"}, mutate: make})
	}
	return all
}
