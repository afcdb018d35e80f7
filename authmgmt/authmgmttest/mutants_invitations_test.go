package authmgmttest_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
)

// blocks makes a mutant that finds out by itself whether an address is taken: by an
// invitation of the organization that blocks says does so.
func blocks(m *mutant, does func(fresh, other *authmgmt.Invitation) bool) {
	m.On.CreateInvitation = func(ctx context.Context, i authmgmt.Invitation, exclusive bool, e authmgmt.AuditEvent) error {
		page, err := m.AuthMgmt.ListInvitations(ctx, i.Organization, time.Time{}, "", "", mortise.MaxPageSize)
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
	{name: "joins the names of invitations", breaks: "invitations/names-are-apart", mutate: func(m *mutant) {
		made := make(map[string]bool)
		in(func(i *authmgmt.Invitation) { made[i.Organization+i.ID] = true }, "CreateInvitation")(m)
		around(func(c *mutate.Call) {
			if c.Go(); made[c.In[1].String()+c.In[2].String()] {
				*c.Err() = nil
			}
		}, "Invitation")(m)
	}},
	{name: "takes every address",
		breaks: "invitations/exclusive-refuses-a-pending-one invitations/expired-does-not-block " +
			"invitations/extended-blocks invitations/exclusive-concurrent store/durable-constraints " +
			"invitations/update-ignores-fixed-fields",
		mutate: func(m *mutant) { blocks(m, func(_, _ *authmgmt.Invitation) bool { return false }) }},
	{name: "looks, and writes later", breaks: "invitations/exclusive-concurrent", mutate: func(m *mutant) {
		blocks(m, func(fresh, other *authmgmt.Invitation) bool {
			return other.EmailKey() == fresh.EmailKey() && other.State(fresh.CreatedAt) == authmgmt.InvitationPending
		})
	}},
	{name: "compares addresses as they are written", breaks: "invitations/exclusive-in-lower-case store/durable-constraints",
		mutate: func(m *mutant) {
			blocks(m, func(fresh, other *authmgmt.Invitation) bool {
				return other.Email == fresh.Email && other.State(fresh.CreatedAt) == authmgmt.InvitationPending
			})
		}},
	{name: "makes lower case of ASCII only", breaks: "invitations/exclusive-in-lower-case", mutate: func(m *mutant) {
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
	{name: "folds case", breaks: "invitations/exclusive-in-lower-case", mutate: func(m *mutant) {
		blocks(m, func(fresh, other *authmgmt.Invitation) bool {
			return strings.EqualFold(other.Email, fresh.Email) && other.State(fresh.CreatedAt) == authmgmt.InvitationPending
		})
	}},
	{name: "lets expired invitations block", breaks: "invitations/expired-does-not-block invitations/extended-blocks",
		mutate: func(m *mutant) {
			blocks(m, func(fresh, other *authmgmt.Invitation) bool {
				return other.EmailKey() == fresh.EmailKey() && other.AcceptedAt.IsZero() && other.CancelledAt.IsZero()
			})
		}},
	{name: "lets cancelled invitations block", breaks: "invitations/cancelled-does-not-block", mutate: func(m *mutant) {
		blocks(m, func(fresh, other *authmgmt.Invitation) bool {
			return other.EmailKey() == fresh.EmailKey() && other.AcceptedAt.IsZero() && fresh.CreatedAt.Before(other.ExpiresAt)
		})
	}},
	{name: "lets accepted invitations block", breaks: "invitations/accepted-does-not-block", mutate: func(m *mutant) {
		blocks(m, func(fresh, other *authmgmt.Invitation) bool {
			return other.EmailKey() == fresh.EmailKey() && other.CancelledAt.IsZero() && fresh.CreatedAt.Before(other.ExpiresAt)
		})
	}},
	{name: "lets accepted invitations block until they are granted", breaks: "invitations/accepted-does-not-block", mutate: func(m *mutant) {
		blocks(m, func(fresh, other *authmgmt.Invitation) bool {
			return other.EmailKey() == fresh.EmailKey() && other.CancelledAt.IsZero() && other.GrantedAt.IsZero() && fresh.CreatedAt.Before(other.ExpiresAt)
		})
	}},
	{name: "goes by the lifetime", breaks: "invitations/extended-blocks", mutate: func(m *mutant) {
		blocks(m, func(fresh, other *authmgmt.Invitation) bool {
			other.ExpiresAt = other.CreatedAt.Add(other.Lifetime)
			return other.EmailKey() == fresh.EmailKey() && other.State(fresh.CreatedAt) == authmgmt.InvitationPending
		})
	}},
	{name: "goes by the clock on the wall", breaks: "invitations/exclusive-refuses-a-pending-one invitations/expired-does-not-block",
		mutate: func(m *mutant) {
			blocks(m, func(fresh, other *authmgmt.Invitation) bool {
				return other.EmailKey() == fresh.EmailKey() && other.State(time.Now()) == authmgmt.InvitationPending
			})
		}},
	{name: "asks all organizations", breaks: "invitations/exclusive-within-the-organization", mutate: func(m *mutant) {
		addresses := make(map[string]bool)
		m.On.CreateInvitation = func(ctx context.Context, i authmgmt.Invitation, exclusive bool, e authmgmt.AuditEvent) error {
			if exclusive && addresses[i.EmailKey()] {
				return authmgmt.ErrPendingInvitation
			}
			addresses[i.EmailKey()] = true
			return m.AuthMgmt.CreateInvitation(ctx, i, exclusive, e)
		}
	}},
	{name: "is always exclusive", breaks: "invitations/not-exclusive-asks-nobody", mutate: arg(
		func(exclusive *bool) { *exclusive = true }, "CreateInvitation")},
	{name: "forgets invitations that have ended",
		breaks: "invitations/get-in-whatever-state invitations/create-stores-every-field invitations/list-newest-first",
		mutate: both(
			around(func(c *mutate.Call) {
				c.Go()
				if i := mutate.Get[authmgmt.Invitation](c.Out); !i.CancelledAt.IsZero() || !i.AcceptedAt.IsZero() {
					*c.Err() = mortise.ErrNotFound
				}
			}, "Invitation"),
			arg(func(at *time.Time) {
				if at.IsZero() {
					*at = time.Unix(0, 0)
				}
			}, "ListInvitations"),
		)},
	{name: "lists invitations in whatever state", breaks: "invitations/list-pending",
		mutate: arg(func(at *time.Time) { *at = time.Time{} }, "ListInvitations")},
	{name: "lists invitations of whatever inviter", breaks: "invitations/list-by-inviter",
		mutate: replace("ListInvitations", func(m *mutant, ctx context.Context, org string, at time.Time, _ string, after mortise.Cursor, limit int) (mortise.Page[authmgmt.Invitation], error) {
			return m.AuthMgmt.ListInvitations(ctx, org, at, "", after, limit)
		})},
	{name: "folds the case of inviters", breaks: "invitations/list-by-inviter",
		mutate: replace("ListInvitations", func(m *mutant, ctx context.Context, org string, at time.Time, inviter string, after mortise.Cursor, limit int) (mortise.Page[authmgmt.Invitation], error) {
			page, err := m.AuthMgmt.ListInvitations(ctx, org, at, "", after, limit)
			if inviter != "" {
				page.Items = slices.DeleteFunc(page.Items, func(i authmgmt.Invitation) bool { return !strings.EqualFold(i.Inviter, inviter) })
			}
			return page, err
		})},
	{name: "takes the end for pending", breaks: "invitations/list-pending", mutate: arg(func(at *time.Time) {
		if !at.IsZero() {
			*at = at.Add(-time.Microsecond)
		}
	}, "ListInvitations")},
	{name: "grants too early",
		breaks: "invitations/due-grants invitations/due-grants-follow-changes invitations/due-grants-order " +
			"store/durable-constraints",
		mutate: arg(func(now *time.Time) { *now = now.Add(2 * time.Hour) }, "DueGrants")},
	{name: "grants after the time, not at it", breaks: "invitations/due-grants store/durable-constraints",
		mutate: arg(func(now *time.Time) { *now = now.Add(-time.Microsecond) }, "DueGrants")},
	{name: "overlooks what is due since ever", breaks: "invitations/due-grants-without-a-time", mutate: out(func(due *[]authmgmt.Invitation) {
		*due = slices.DeleteFunc(*due, func(i authmgmt.Invitation) bool { return i.GrantDue.IsZero() })
	}, "DueGrants")},
	{name: "grants what waits for the person", breaks: "invitations/due-grants invitations/due-grants-follow-changes",
		mutate: func(m *mutant) {
			out(func(due *[]authmgmt.Invitation) {
				for _, i := range slices.Concat(waitingOf(m, "org-a"), waitingOf(m, "org-b")) {
					if i.AwaitsPerson {
						*due = append(*due, i)
					}
				}
			}, "DueGrants")(m)
		}},
	{name: "grants for the first organization only", breaks: "invitations/due-grants-order", mutate: out(func(due *[]authmgmt.Invitation) {
		*due = slices.DeleteFunc(*due, func(i authmgmt.Invitation) bool { return i.Organization != "org-a" })
	}, "DueGrants")},
	{name: "grants the latest first", breaks: "invitations/due-grants-order invitations/due-grants-without-a-time",
		mutate: replace("DueGrants", func(m *mutant, ctx context.Context, now time.Time, limit int) ([]authmgmt.Invitation, error) {
			due, err := m.AuthMgmt.DueGrants(ctx, now, 1000)
			slices.Reverse(due)
			return due[:min(limit, len(due))], err
		})},
}

// ctxMutants go on when they should not, or say that something is not there when they
// cannot know.
var ctxMutants = []broken{
	{name: "finds nothing when its caller leaves", breaks: "store/left-at-any-look",
		mutate: func(m *mutant) { mutate.Leaving(&m.On, mortise.ErrNotFound) }},
	{name: "ignores the context", breaks: "store/ended-context organizations/ended-context", mutate: arg(
		func(ctx *context.Context) { *ctx = context.Background() }, "Client", "AccessControl")},
	{name: "finds nothing when the context has ended", breaks: "store/ended-context organizations/ended-context",
		mutate: errs(func(error) error { return mortise.ErrNotFound }, "TokenByDigest", "AccessControl")},
	{name: "finds nothing while it is broken", breaks: "store/failure organizations/failure", mutate: func(m *mutant) {
		m.failure = errors.Join(errBroken, mortise.ErrNotFound)
	}},
}

// waitingOf returns the invitations of an organization that are accepted and not granted.
func waitingOf(m *mutant, org string) (waiting []authmgmt.Invitation) {
	page, _ := m.AuthMgmt.ListInvitations(context.Background(), org, time.Time{}, "", "", mortise.MaxPageSize)
	for _, i := range page.Items {
		if !i.AcceptedAt.IsZero() && i.GrantedAt.IsZero() {
			waiting = append(waiting, i)
		}
	}
	return waiting
}
