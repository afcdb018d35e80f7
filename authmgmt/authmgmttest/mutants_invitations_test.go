package authmgmttest_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// blocks makes a mutant that finds out by itself whether an address is taken: by an
// invitation of the organization that blocks says does so.
func blocks(m *mutant, does func(fresh, other *authmgmt.Invitation) bool) {
	m.createInvitation = func(ctx context.Context, i authmgmt.Invitation, exclusive bool, e authmgmt.AuditEvent) error {
		page, err := m.AuthMgmt.ListInvitations(ctx, i.Organization, time.Time{}, authmgmt.Paging{Limit: authmgmt.MaxPageSize})
		if err != nil {
			return err
		}
		taken := slices.ContainsFunc(page.Items, func(other authmgmt.Invitation) bool { return other.ID == i.ID })
		if exclusive && !taken && slices.ContainsFunc(page.Items, func(other authmgmt.Invitation) bool { return does(&i, &other) }) {
			return authmgmt.ErrPendingInvitation
		}
		conformance.Seam()
		return m.AuthMgmt.CreateInvitation(ctx, i, false, e)
	}
}

// invitationMutants are wrong about which address is taken, what is pending and what is
// due.
var invitationMutants = []broken{
	{name: "takes every address", breaks: []string{
		"invitations/exclusive-refuses-a-pending-one", "invitations/expired-does-not-block", "invitations/extended-blocks", "invitations/exclusive-concurrent",
		"store/durable-constraints", "invitations/update-ignores-fixed-fields",
	}, mutate: func(m *mutant) { blocks(m, func(_, _ *authmgmt.Invitation) bool { return false }) }},
	{name: "looks, and writes later", breaks: []string{"invitations/exclusive-concurrent"}, mutate: func(m *mutant) {
		blocks(m, func(fresh, other *authmgmt.Invitation) bool {
			return other.EmailKey() == fresh.EmailKey() && other.State(fresh.CreatedAt) == authmgmt.InvitationPending
		})
	}},
	{name: "compares addresses as they are written", breaks: []string{
		"invitations/exclusive-in-lower-case", "store/durable-constraints",
	}, mutate: func(m *mutant) {
		blocks(m, func(fresh, other *authmgmt.Invitation) bool {
			return other.Email == fresh.Email && other.State(fresh.CreatedAt) == authmgmt.InvitationPending
		})
	}},
	{name: "makes lower case of ASCII only", breaks: []string{"invitations/exclusive-in-lower-case"}, mutate: func(m *mutant) {
		lower := func(s string) string {
			return strings.Map(func(r rune) rune {
				if 'A' <= r && r <= 'Z' {
					r += 'a' - 'A'
				}
				return r
			}, s)
		}
		blocks(m, func(fresh, other *authmgmt.Invitation) bool {
			return lower(other.Email) == lower(fresh.Email) && other.State(fresh.CreatedAt) == authmgmt.InvitationPending
		})
	}},
	{name: "folds case", breaks: []string{"invitations/exclusive-in-lower-case"}, mutate: func(m *mutant) {
		blocks(m, func(fresh, other *authmgmt.Invitation) bool {
			return strings.EqualFold(other.Email, fresh.Email) && other.State(fresh.CreatedAt) == authmgmt.InvitationPending
		})
	}},
	{name: "lets expired invitations block", breaks: []string{
		"invitations/expired-does-not-block", "invitations/extended-blocks",
	}, mutate: func(m *mutant) {
		blocks(m, func(fresh, other *authmgmt.Invitation) bool {
			return other.EmailKey() == fresh.EmailKey() && other.AcceptedAt.IsZero() && other.CancelledAt.IsZero()
		})
	}},
	{name: "lets cancelled invitations block", breaks: []string{"invitations/cancelled-does-not-block"}, mutate: func(m *mutant) {
		blocks(m, func(fresh, other *authmgmt.Invitation) bool {
			return other.EmailKey() == fresh.EmailKey() && other.AcceptedAt.IsZero() && fresh.CreatedAt.Before(other.ExpiresAt)
		})
	}},
	{name: "lets accepted invitations block", breaks: []string{"invitations/accepted-does-not-block"}, mutate: func(m *mutant) {
		blocks(m, func(fresh, other *authmgmt.Invitation) bool {
			return other.EmailKey() == fresh.EmailKey() && other.CancelledAt.IsZero() && fresh.CreatedAt.Before(other.ExpiresAt)
		})
	}},
	{name: "lets accepted invitations block until they are granted", breaks: []string{
		"invitations/accepted-does-not-block",
	}, mutate: func(m *mutant) {
		blocks(m, func(fresh, other *authmgmt.Invitation) bool {
			return other.EmailKey() == fresh.EmailKey() && other.CancelledAt.IsZero() && other.GrantedAt.IsZero() && fresh.CreatedAt.Before(other.ExpiresAt)
		})
	}},
	{name: "goes by the lifetime", breaks: []string{"invitations/extended-blocks"}, mutate: func(m *mutant) {
		blocks(m, func(fresh, other *authmgmt.Invitation) bool {
			other.ExpiresAt = other.CreatedAt.Add(other.Lifetime)
			return other.EmailKey() == fresh.EmailKey() && other.State(fresh.CreatedAt) == authmgmt.InvitationPending
		})
	}},
	{name: "goes by the clock on the wall", breaks: []string{
		"invitations/exclusive-refuses-a-pending-one", "invitations/expired-does-not-block",
	}, mutate: func(m *mutant) {
		blocks(m, func(fresh, other *authmgmt.Invitation) bool {
			return other.EmailKey() == fresh.EmailKey() && other.State(time.Now()) == authmgmt.InvitationPending
		})
	}},
	{name: "asks all organizations", breaks: []string{"invitations/exclusive-within-the-organization"}, mutate: func(m *mutant) {
		addresses := make(map[string]bool)
		m.createInvitation = func(ctx context.Context, i authmgmt.Invitation, exclusive bool, e authmgmt.AuditEvent) error {
			if exclusive && addresses[i.EmailKey()] {
				return authmgmt.ErrPendingInvitation
			}
			addresses[i.EmailKey()] = true
			return m.AuthMgmt.CreateInvitation(ctx, i, exclusive, e)
		}
	}},
	{name: "is always exclusive", breaks: []string{"invitations/not-exclusive-asks-nobody"}, mutate: func(m *mutant) {
		m.createInvitation = func(ctx context.Context, i authmgmt.Invitation, _ bool, e authmgmt.AuditEvent) error {
			return m.AuthMgmt.CreateInvitation(ctx, i, true, e)
		}
	}},
	{name: "forgets invitations that have ended", breaks: []string{
		"invitations/get-in-whatever-state", "invitations/create-stores-every-field", "invitations/list-newest-first",
	}, mutate: func(m *mutant) {
		m.invitation = func(ctx context.Context, org, id string) (authmgmt.Invitation, error) {
			i, err := m.AuthMgmt.Invitation(ctx, org, id)
			if !i.CancelledAt.IsZero() || !i.AcceptedAt.IsZero() {
				return authmgmt.Invitation{}, authmgmt.ErrNotFound
			}
			return i, err
		}
		m.listInvitations = func(ctx context.Context, org string, at time.Time, p authmgmt.Paging) (authmgmt.Page[authmgmt.Invitation], error) {
			if at.IsZero() {
				at = time.Unix(0, 0)
			}
			return m.AuthMgmt.ListInvitations(ctx, org, at, p)
		}
	}},
	{name: "lists invitations in whatever state", breaks: []string{
		"invitations/list-pending", "invitations/list-offset-and-limit",
	}, mutate: func(m *mutant) {
		m.listInvitations = func(ctx context.Context, org string, _ time.Time, p authmgmt.Paging) (authmgmt.Page[authmgmt.Invitation], error) {
			return m.AuthMgmt.ListInvitations(ctx, org, time.Time{}, p)
		}
	}},
	{name: "takes the end for pending", breaks: []string{"invitations/list-pending"}, mutate: func(m *mutant) {
		m.listInvitations = func(ctx context.Context, org string, at time.Time, p authmgmt.Paging) (authmgmt.Page[authmgmt.Invitation], error) {
			if !at.IsZero() {
				at = at.Add(-time.Microsecond)
			}
			return m.AuthMgmt.ListInvitations(ctx, org, at, p)
		}
	}},
	{name: "counts all, whatever is asked for", breaks: []string{
		"invitations/list-pending", "invitations/list-offset-and-limit",
	}, mutate: func(m *mutant) {
		m.listInvitations = func(ctx context.Context, org string, at time.Time, p authmgmt.Paging) (authmgmt.Page[authmgmt.Invitation], error) {
			page, err := m.AuthMgmt.ListInvitations(ctx, org, at, p)
			all, _ := m.AuthMgmt.ListInvitations(ctx, org, time.Time{}, p)
			page.Total = all.Total
			return page, err
		}
	}},
	{name: "grants too early", breaks: []string{
		"invitations/due-grants", "invitations/due-grants-follow-changes", "invitations/due-grants-order", "store/durable-constraints",
	}, mutate: func(m *mutant) {
		m.dueGrants = func(ctx context.Context, now time.Time, limit int) ([]authmgmt.Invitation, error) {
			return m.AuthMgmt.DueGrants(ctx, now.Add(2*time.Hour), limit)
		}
	}},
	{name: "grants after the time, not at it", breaks: []string{
		"invitations/due-grants", "store/durable-constraints",
	}, mutate: func(m *mutant) {
		m.dueGrants = func(ctx context.Context, now time.Time, limit int) ([]authmgmt.Invitation, error) {
			return m.AuthMgmt.DueGrants(ctx, now.Add(-time.Microsecond), limit)
		}
	}},
	{name: "overlooks what is due since ever", breaks: []string{"invitations/due-grants-without-a-time"}, mutate: func(m *mutant) {
		m.dueGrants = func(ctx context.Context, now time.Time, limit int) ([]authmgmt.Invitation, error) {
			due, err := m.AuthMgmt.DueGrants(ctx, now, limit)
			return slices.DeleteFunc(due, func(i authmgmt.Invitation) bool { return i.GrantDue.IsZero() }), err
		}
	}},
	{name: "grants what waits for the person", breaks: []string{
		"invitations/due-grants", "invitations/due-grants-follow-changes",
	}, mutate: func(m *mutant) {
		m.dueGrants = func(ctx context.Context, now time.Time, limit int) ([]authmgmt.Invitation, error) {
			due, err := m.AuthMgmt.DueGrants(ctx, now, limit)
			for _, org := range []string{"org-a", "org-b"} {
				page, _ := m.AuthMgmt.ListInvitations(ctx, org, time.Time{}, authmgmt.Paging{Limit: 1000})
				for _, i := range page.Items {
					if i.AwaitsPerson && i.GrantedAt.IsZero() {
						due = append(due, i)
					}
				}
			}
			return due, err
		}
	}},
	{name: "grants for the first organization only", breaks: []string{"invitations/due-grants-order"}, mutate: func(m *mutant) {
		m.dueGrants = func(ctx context.Context, now time.Time, limit int) ([]authmgmt.Invitation, error) {
			due, err := m.AuthMgmt.DueGrants(ctx, now, limit)
			return slices.DeleteFunc(due, func(i authmgmt.Invitation) bool { return i.Organization != "org-a" }), err
		}
	}},
	{name: "grants the latest first", breaks: []string{
		"invitations/due-grants-order", "invitations/due-grants-without-a-time",
	}, mutate: func(m *mutant) {
		m.dueGrants = func(ctx context.Context, now time.Time, limit int) ([]authmgmt.Invitation, error) {
			due, err := m.AuthMgmt.DueGrants(ctx, now, 1000)
			slices.Reverse(due)
			return due[:min(limit, len(due))], err
		}
	}},
}

// ctxMutants go on when they should not, or say that something is not there when they
// cannot know.
var ctxMutants = []broken{
	{name: "ignores the context", breaks: []string{"store/ended-context", "organizations/ended-context"}, mutate: func(m *mutant) {
		m.client = func(_ context.Context, org, id string) (authmgmt.Client, error) {
			return m.AuthMgmt.Client(context.Background(), org, id)
		}
		m.organization = func(_ context.Context, org string) (authmgmt.Organization, error) {
			return m.AuthMgmt.AccessControl(context.Background(), org)
		}
	}},
	{name: "finds nothing when the context has ended", breaks: []string{
		"store/ended-context", "organizations/ended-context",
	}, mutate: func(m *mutant) {
		m.tokenByDigest = func(ctx context.Context, digest [32]byte) (authmgmt.Token, error) {
			k, err := m.AuthMgmt.TokenByDigest(ctx, digest)
			if err != nil {
				return authmgmt.Token{}, authmgmt.ErrNotFound
			}
			return k, nil
		}
		m.organization = func(ctx context.Context, org string) (authmgmt.Organization, error) {
			o, err := m.AuthMgmt.AccessControl(ctx, org)
			if err != nil {
				return authmgmt.Organization{}, authmgmt.ErrNotFound
			}
			return o, nil
		}
	}},
	{name: "finds nothing while it is broken", breaks: []string{"store/failure", "organizations/failure"}, mutate: func(m *mutant) {
		m.failure = errors.Join(errBroken, authmgmt.ErrNotFound)
	}},
}
