package authmgmttest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
)

func (r *run) invitationID() string {
	return pick(r, "i1", "i2", "i3", "i4", "i5", "I5", "i6", "i77", "i888")
}

// someInvitation returns the ID of one of an organization's invitations, a pending one
// more often than not.
func (r *run) someInvitation(org string) string {
	var ids []string
	for _, i := range r.model.invitations {
		if i.org == org && (r.model.pending(i) || r.IntN(8) == 0) {
			ids = append(ids, i.id)
		}
	}
	if id, ok := pickOf(r, ids); ok && r.IntN(8) > 0 {
		return id
	}
	return r.invitationID()
}

// newInvitation returns an invitation to make, more often than not of somebody who was
// invited before.
func (r *run) newInvitation() authmgmt.NewInvitation {
	n := authmgmt.NewInvitation{
		ID:    pick(r, "", r.invitationID(), r.invitationID()),
		Email: pick(r, "ann@example.com", "Ann@Example.com", "bea@example.com", "cleo@example.com", "dora@example.com", "eve@example.com"),
		Name:  pick(r, "Ann", "Bea"), Roles: r.roles(), Lifetime: pick(r, 0, 0, time.Hour, 30*time.Hour),
	}
	n.FullAccess = r.fullAccess(n.Roles)
	if i, ok := pickOf(r, r.model.invitations); ok && r.IntN(5) > 1 {
		n.Email = pick(r, i.email, strings.ToUpper(i.email))
	}
	return n
}

func (r *run) invite() {
	org, by, n := r.org(), r.caller(), r.newInvitation()
	r.Say("%s: %s invites %s as %q with %v for %v", org, by.name, n.Email, n.ID, n.Roles, n.Lifetime)
	i, err := r.service.Invite(r.Context(), org, r.as(by), n)
	if r.sameError(r.model.invite(org, by, n, false), err) {
		r.addInvitation(org, by, n, &i)
	}
}

func (r *run) importInvitation() {
	org, by, n := r.org(), r.caller(), r.newInvitation()
	r.Say("%s: %s imports an invitation of %s as %q with %v for %v", org, by.name, n.Email, n.ID, n.Roles, n.Lifetime)
	i, err := r.service.ImportInvitation(r.Context(), org, r.as(by), n)
	if r.sameError(r.model.invite(org, by, n, true), err) {
		r.addInvitation(org, by, n, &i)
	}
}

func (r *run) addInvitation(org string, by *caller, n authmgmt.NewInvitation, got *authmgmt.Invitation) {
	m := r.model
	if n.ID == "" {
		n.ID = got.ID // a random one
	}
	i := &modelInvitation{
		org: org, id: n.ID, email: n.Email, name: n.Name, inviter: by.name, roles: withoutRepeats(n.Roles), lifetime: n.Lifetime, created: m.clock.Now(),
	}
	if i.lifetime == 0 {
		i.lifetime = invitationLifetime
	}
	i.expires = m.clock.Now().Add(i.lifetime)
	i.links = []string{r.link(got)}
	m.invitations = append(m.invitations, i)
	m.event(org, mortise.KindInvited, by.name, n.ID)
	r.Same("the new invitation", i.show(), showInvitation(got))
}

func (r *run) link(i *authmgmt.Invitation) string {
	token, err := r.service.LinkToken(r.Context(), i)
	r.sameError(nil, err)
	return token.Reveal()
}

func (r *run) resend() {
	org, by := r.org(), r.caller()
	id := r.someInvitation(org)
	m := r.model
	r.Say("%s: %s resends invitation %q", org, by.name, id)
	got, err := r.service.ResendInvitation(r.Context(), org, r.as(by), id)
	i := m.invitation(org, id)
	var want error
	switch {
	case i == nil || !m.pending(i):
		want = mortise.ErrNotFound
	case !by.mayGive(i.roles):
		want = authmgmt.ErrForbidden
	}
	if !r.sameError(want, err) {
		return
	}
	i.expires = m.clock.Now().Add(i.lifetime)
	i.links = append(i.links, r.link(&got))
	m.event(org, mortise.KindResent, by.name, id)
	r.Same("the invitation that was resent", i.show(), showInvitation(&got))
}

func (r *run) cancel() {
	org, by := r.org(), r.caller()
	id := r.someInvitation(org)
	m := r.model
	r.Say("%s: %s cancels invitation %q", org, by.name, id)
	err := r.service.CancelInvitation(r.Context(), org, r.as(by), id)
	i := m.invitation(org, id)
	var want error
	if i == nil || !m.pending(i) {
		want = mortise.ErrNotFound
	}
	if r.sameError(want, err) {
		i.cancelled = m.clock.Now()
		m.event(org, mortise.KindUninvited, by.name, id)
	}
}

// accept follows a link, of whatever age.
func (r *run) accept() {
	m := r.model
	i, ok := pickOf(r, m.invitations)
	if !ok {
		return
	}
	n := len(i.links) - 1
	if r.IntN(4) == 0 {
		n = r.IntN(len(i.links))
	}
	who := pick(r, "", "user:ann")
	r.Say("%q accepts invitation %q of %s by link %d of %d", who, i.id, i.org, n+1, len(i.links))
	got, _, err := r.service.Accept(r.Context(), i.links[n], mortise.Actor(who))
	last := n == len(i.links)-1
	switch {
	case i.gone || !last:
		r.sameError(mortise.ErrNotFound, err)
		return
	case i.accepted.IsZero() && !m.pending(i):
		r.sameError(mortise.ErrNotFound, err)
		return
	case i.accepted.IsZero():
		i.accepted, i.by = m.clock.Now(), cmp.Or(who, i.email)
		m.event(i.org, mortise.KindAccepted, i.by, i.id)
	case i.by != cmp.Or(who, i.email): // what is still to be granted is somebody else's
		r.sameError(mortise.ErrNotFound, err)
		return
	}
	if r.sameError(m.attempt(i, true), err) {
		r.Same("the accepted invitation", i.show(), showInvitation(&got))
	}
}

// runOnce lets the service grant what is due.
func (r *run) runOnce() {
	m := r.model
	r.Say("the service makes a turn")
	granted, err := r.service.RunOnce(r.Context())
	r.sameError(nil, err)
	want := 0
	for _, i := range m.due() {
		if m.attempt(i, false) == nil {
			want++
		}
	}
	r.Same("invitations granted", want, granted)
}

// due returns what a turn tries to grant.
func (m *model) due() []*modelInvitation {
	var due []*modelInvitation
	for _, i := range m.invitations {
		if !i.gone && !i.accepted.IsZero() && i.granted.IsZero() && !i.awaits && !m.clock.Now().Before(i.due) {
			due = append(due, i)
		}
	}
	slices.SortStableFunc(due, func(a, b *modelInvitation) int { return a.due.Compare(b.due) })
	return due
}

// prune forgets what has ended a while ago.
func (r *run) prune() {
	m := r.model
	if _, ok := r.backend.Store.(authmgmt.Pruner); !ok {
		return
	}
	keep := pick(r, time.Microsecond, time.Hour, 12*time.Hour)
	before := m.clock.Now().Add(-keep)
	r.Say("what ended before %v is forgotten", stamp(before))
	removed, err := r.service.Prune(r.Context(), authmgmt.Retention{Audit: keep, Tokens: keep, Invitations: keep})
	r.sameError(nil, err)
	want := 0
	m.events = slices.DeleteFunc(m.events, func(e modelEvent) bool {
		if e.at.Before(before) {
			want++
		}
		return e.at.Before(before)
	})
	for _, k := range m.tokens {
		if k.live() && !k.expires.IsZero() && k.expires.Before(before) {
			k.gone = true
			want++
		}
	}
	for _, i := range m.invitations {
		end := i.expires
		switch {
		case !i.accepted.IsZero():
			end = i.granted
		case !i.cancelled.IsZero():
			end = i.cancelled
		}
		if !i.gone && !end.IsZero() && end.Before(before) {
			i.gone = true
			want++
		}
	}
	r.Same("what was forgotten", want, removed)
}

func (i *modelInvitation) show() string {
	return fmt.Sprintf("%q %q %q %q %q %q %v %v %v %v %v %q %v %v %v %v", i.org, i.id, i.email, i.name, i.inviter, i.roles, i.lifetime,
		stamp(i.created), stamp(i.expires), stamp(i.cancelled), stamp(i.accepted), i.by, stamp(i.granted), stamp(i.due), i.attempts, i.awaits)
}

func showInvitation(i *authmgmt.Invitation) string {
	return fmt.Sprintf("%q %q %q %q %q %q %v %v %v %v %v %q %v %v %v %v", i.Organization, i.ID, i.Email, i.Name, i.Inviter, i.Roles, i.Lifetime,
		stamp(i.CreatedAt), stamp(i.ExpiresAt), stamp(i.CancelledAt), stamp(i.AcceptedAt), i.AcceptedBy,
		stamp(i.GrantedAt), stamp(i.GrantDue), i.GrantAttempts, i.AwaitsPerson)
}
