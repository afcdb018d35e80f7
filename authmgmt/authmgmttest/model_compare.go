package authmgmttest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/internal/pages"
)

// compareAll compares everything that can be seen.
func (r *run) compareAll() {
	r.Say("everything is compared")
	for _, org := range []string{orgA, orgB, "org-c"} {
		r.compareClients(org)
		r.compareTokens(org)
		r.compareInvitations(org)
		r.compareAudit(org)
	}
	for _, k := range r.model.tokens {
		r.compareToken(k)
	}
	r.compareLinks()
	due, err := r.backend.Store.DueGrants(r.Context(), r.model.clock.Now(), mortise.MaxPageSize)
	r.SameError(nil, err)
	var want, got []string
	for _, i := range r.model.due() {
		want = append(want, stamp(i.due)+" "+i.show())
	}
	for _, i := range due {
		got = append(got, stamp(i.GrantDue)+" "+showInvitation(&i))
	}
	inOrder := slices.IsSortedFunc(due, func(a, b authmgmt.Invitation) int { return a.GrantDue.Compare(b.GrantDue) })
	r.Same("whether what is due is in order", true, inOrder)
	slices.Sort(want)
	slices.Sort(got)
	r.Same("what is due", want, got)
}

// listing reads a list page by page, and compares it with its count.
func listing[T any](
	r *run, what string, want []string, show func(*T) string,
	list func(after mortise.Cursor, limit int) (mortise.Page[T], error), count func() (int, error),
) {
	r.Helper()
	limit := 1 + r.IntN(len(want)+2)
	var got []string
	for item, err := range pages.Each("", func(after mortise.Cursor) (mortise.Page[T], error) { return list(after, limit) }) {
		r.SameError(nil, err)
		got = append(got, show(&item))
	}
	r.Same(what, want, got)
	if count != nil {
		n, err := count()
		r.SameError(nil, err)
		r.Same("the count of "+what, len(want), n)
	}
}

func (r *run) compareClients(org string) {
	var clients []*modelClient
	for _, c := range r.model.clients {
		if c.org == org && !c.deleted {
			clients = append(clients, c)
		}
	}
	slices.SortFunc(clients, func(a, b *modelClient) int { return cmp.Or(a.created.Compare(b.created), strings.Compare(a.id, b.id)) })
	var want []string
	for _, c := range clients {
		want = append(want, c.show())
		got, err := r.service.Client(r.Context(), org, c.id)
		r.SameError(nil, err)
		r.Same("client "+c.id, c.show(), showClient(&got))
	}
	for _, c := range r.model.clients {
		if c.org == org && c.deleted {
			_, err := r.service.Client(r.Context(), org, c.id)
			r.sameError(mortise.ErrNotFound, err)
		}
	}
	listing(r, "the clients of "+org, want, showClient, func(after mortise.Cursor, limit int) (mortise.Page[authmgmt.Client], error) {
		return r.service.ListClients(r.Context(), org, after, limit)
	}, func() (int, error) { return r.service.CountClients(r.Context(), org) })
}

func (r *run) compareTokens(org string) {
	var tokens []*modelToken
	for _, k := range r.model.tokens {
		if k.org == org && k.live() {
			tokens = append(tokens, k)
		}
	}
	slices.SortFunc(tokens, func(a, b *modelToken) int { return cmp.Or(b.created.Compare(a.created), strings.Compare(b.id, a.id)) })
	var want []string
	for _, k := range tokens {
		want = append(want, k.show())
	}
	listing(r, "the tokens of "+org, want, showToken, func(after mortise.Cursor, limit int) (mortise.Page[authmgmt.Token], error) {
		return r.service.ListTokens(r.Context(), org, after, limit)
	}, func() (int, error) { return r.service.CountTokens(r.Context(), org) })
}

func (r *run) compareInvitations(org string) {
	var invitations []*modelInvitation
	for _, i := range r.model.invitations {
		if i.org == org && !i.gone {
			invitations = append(invitations, i)
		}
	}
	slices.SortFunc(invitations, func(a, b *modelInvitation) int {
		return cmp.Or(b.created.Compare(a.created), strings.Compare(b.id, a.id))
	})
	var all, pending []string
	for _, i := range invitations {
		all = append(all, i.show())
		if r.model.pending(i) {
			pending = append(pending, i.show())
		}
		_, err := r.service.Invitation(r.Context(), org, i.id)
		if r.model.pending(i) {
			r.SameError(nil, err)
		} else {
			r.sameError(mortise.ErrNotFound, err)
		}
		got, err := r.service.AnyInvitation(r.Context(), org, i.id)
		r.SameError(nil, err)
		r.Same("invitation "+i.id, i.show(), showInvitation(&got))
	}
	listing(r, "the invitations of "+org, all, showInvitation, func(after mortise.Cursor, limit int) (mortise.Page[authmgmt.Invitation], error) {
		return r.service.ListAllInvitations(r.Context(), org, "", after, limit)
	}, nil)
	listing(r, "the pending invitations of "+org, pending, showInvitation, func(after mortise.Cursor, limit int) (mortise.Page[authmgmt.Invitation], error) {
		return r.service.ListInvitations(r.Context(), org, "", after, limit)
	}, func() (int, error) { return r.service.CountInvitations(r.Context(), org, "") })
}

// compareLinks tries all links that there ever were.
func (r *run) compareLinks() {
	for _, i := range r.model.invitations {
		for n, link := range i.links {
			got, err := r.service.InvitationByLink(r.Context(), link)
			switch {
			case n == len(i.links)-1 && !i.gone && !i.accepted.IsZero() && i.granted.IsZero():
				r.sameError(authmgmt.ErrGrantPending, err)
			case n < len(i.links)-1 || !r.model.pending(i):
				r.sameError(mortise.ErrNotFound, err)
			case r.SameError(nil, err):
				r.Same("the invitation of a link", i.show(), showInvitation(&got))
			}
		}
	}
}

// compareAudit compares the trail, which orders events of one time by IDs that the model
// does not know.
func (r *run) compareAudit(org string) {
	q := authmgmt.AuditQuery{
		Kind:  pick(r, "", "", mortise.KindClientUpdated, mortise.KindTokenIssued, mortise.KindGranted),
		Actor: pick[mortise.Actor](r, "", "", "full", "client:build"), Limit: 1 + r.IntN(30),
	}
	if r.IntN(3) == 0 {
		q.From = r.model.clock.Now().Add(-time.Duration(r.IntN(int(5 * time.Hour))))
	}
	var want, got []string
	line := func(e modelEvent) string {
		return fmt.Sprintf("%s %s by %q to %q", stamp(e.at), e.kind, e.actor, e.target)
	}
	for _, e := range r.model.events {
		if e.org == org && (q.Kind == "" || q.Kind == e.kind) && (q.Actor == "" || q.Actor == e.actor) && !e.at.Before(q.From) {
			want = append(want, line(e))
		}
	}
	var last mortise.Position
	seen := make(map[uuid.UUID]bool)
	for e, err := range r.service.AuditEvents(r.Context(), org, q) {
		r.SameError(nil, err)
		if seen[e.ID] || len(seen) > 0 && last.Compare(e.Position()) <= 0 {
			r.Fatalf("the audit trail of %s is out of order at %v", org, e)
		}
		seen[e.ID], last = true, e.Position()
		got = append(got, line(modelEvent{e.Organization, e.At, e.Kind, e.Actor, e.Target}))
	}
	slices.Sort(want)
	slices.Sort(got)
	r.Same(fmt.Sprintf("the audit trail of %s with kind %q, actor %q, from %v", org, q.Kind, q.Actor, stamp(q.From)), want, got)
}
