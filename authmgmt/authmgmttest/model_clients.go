package authmgmttest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
)

// pick returns one of the choices.
func pick[T any](r *run, choices ...T) T { return choices[r.IntN(len(choices))] }

// pickOf returns one of a list, and whether there is any.
func pickOf[T any](r *run, list []T) (picked T, ok bool) {
	if len(list) == 0 {
		return picked, false
	}
	return list[r.IntN(len(list))], true
}

func (r *run) org() string     { return pick(r, orgA, orgA, orgB) }
func (r *run) caller() *caller { return &callers[max(0, r.IntN(len(callers)+3)-3)] }
func (r *run) text() string {
	return strings.Repeat(pick(r, "imported, once more ", "from elsewhere, again "), 2) + fmt.Sprint(r.IntN(4))
}
func (r *run) as(c *caller) authmgmt.Caller { return c.as(r.service.Catalogue()) }

// clientID returns an ID that an organization's client may have.
func (r *run) clientID() string {
	return pick(r, "build", "Build", "deploy", "nightly", "nightly ", "x")
}

// someClient returns the ID of one of an organization's clients, more often than not.
func (r *run) someClient(org string) string {
	var ids []string
	for _, c := range r.model.clients {
		if c.org == org && (!c.deleted || r.IntN(8) == 0) {
			ids = append(ids, c.id)
		}
	}
	if id, ok := pickOf(r, ids); ok && r.IntN(8) > 0 {
		return id
	}
	return r.clientID()
}

// roles returns none to three roles, now and then one that there is not.
func (r *run) roles() []access.Role {
	if r.IntN(40) == 0 {
		return []access.Role{{ID: "owner"}}
	}
	var roles []access.Role
	for range r.IntN(4) {
		roles = append(roles, pick(r,
			access.Role{ID: "viewer"}, access.Role{ID: "editor"}, access.Role{ID: "admin"},
			access.Role{ID: "viewer", Resource: "dataset"}, access.Role{ID: "viewer", Resource: "vault", ResourceInstance: "dogs"},
			access.Role{ID: "editor", Resource: "dataset", ResourceInstance: "dogs"},
			access.Role{ID: "admin", Resource: "dataset", ResourceInstance: "dogs"},
			access.Role{ID: "viewer", Resource: "dataset", ResourceInstance: "cats"},
		))
	}
	return roles
}

// fullAccess says what to ask for beside these roles: full access if there are none. Now
// and then it is the opposite, which is refused.
func (r *run) fullAccess(roles []access.Role) bool {
	return (len(roles) == 0) != (r.IntN(20) == 0)
}

func (r *run) createClient() {
	org, by := r.org(), r.caller()
	n := authmgmt.NewClient{ID: pick(r, "", r.clientID(), r.clientID()), Name: pick(r, "Build", "Deploy"), Roles: r.roles()}
	n.FullAccess = r.fullAccess(n.Roles)
	r.Say("%s: %s creates client %q with %v", org, by.name, n.ID, n.Roles)
	c, text, err := r.service.CreateClient(r.Context(), org, r.as(by), n)
	if r.sameError(r.model.createClient(org, by, n, text.Reveal(), false), err) {
		r.addClient(org, by, n, text.Reveal(), &c)
	}
}

func (r *run) importClient() {
	org, by, text := r.org(), r.caller(), r.text()
	n := authmgmt.NewClient{ID: pick(r, "", r.clientID(), r.clientID()), Name: pick(r, "Build", "Deploy"), Roles: r.roles()}
	n.FullAccess = r.fullAccess(n.Roles)
	r.Say("%s: %s imports client %q with %v and secret %q", org, by.name, n.ID, n.Roles, text)
	c, err := r.service.ImportClient(r.Context(), org, r.as(by), n, text)
	if r.sameError(r.model.createClient(org, by, n, text, true), err) {
		r.addClient(org, by, n, text, &c)
	}
}

func (r *run) addClient(org string, by *caller, n authmgmt.NewClient, text string, got *authmgmt.Client) {
	m := r.model
	if n.ID == "" {
		n.ID = got.ID // a random one
	}
	c := &modelClient{org: org, id: n.ID, name: n.Name, roles: withoutRepeats(n.Roles), created: m.clock.Now(), updated: m.clock.Now()}
	c.secrets = []*modelSecret{{text: text, id: got.Secrets[0].ID.String(), created: m.clock.Now()}}
	m.clients = append(m.clients, c)
	m.event(org, mortise.KindClientCreated, by.name, n.ID)
	r.Same("the new client", c.show(), showClient(got))
}

func (r *run) updateClient() {
	org, by := r.org(), r.caller()
	id := r.someClient(org)
	var u authmgmt.ClientUpdate
	if r.IntN(2) == 0 {
		u.Name = pick(r, new(string), new(string))
		*u.Name = pick(r, "Build", "Deploy", "Nightly")
	}
	if r.IntN(4) > 0 {
		u.Context = pick(r, "", "", access.SystemRoles, access.DatasetRoles("dogs"))
		fitting := []access.Role{}
		for _, role := range r.roles() {
			if u.Context != "" {
				role.Resource, role.ResourceInstance = "", ""
			}
			fitting = append(fitting, role)
		}
		u.Roles = &fitting
		u.FullAccess = r.fullAccess(fitting)
	}
	r.Say("%s: %s updates client %q: name %v, roles %v of context %q, full access %v", org, by.name, id, show(u.Name), show(u.Roles), u.Context, u.FullAccess)
	c, err := r.service.UpdateClient(r.Context(), org, r.as(by), id, u)
	if r.sameError(r.model.updateClient(org, by, id, u), err) {
		r.Same("the updated client", r.model.client(org, id).show(), showClient(&c))
	}
}

func (r *run) rotateSecret() {
	org, by := r.org(), r.caller()
	id := r.someClient(org)
	overlap := pick(r, 0, time.Hour, 5*time.Hour, -1)
	r.Say("%s: %s rotates the secret of client %q, overlap %v", org, by.name, id, overlap)
	got, text, err := r.service.RotateSecret(r.Context(), org, r.as(by), id, overlap)
	m := r.model
	c := m.client(org, id)
	if overlap == 0 {
		overlap = secretOverlap
	}
	var kept []*modelSecret
	if c != nil && overlap > 0 {
		kept = slices.DeleteFunc(slices.Clone(c.secrets), func(s *modelSecret) bool {
			return !s.expires.IsZero() && !m.clock.Now().Before(s.expires)
		})
	}
	var want error
	switch {
	case c == nil:
		want = mortise.ErrNotFound
	case !by.mayGive(c.roles):
		want = authmgmt.ErrForbidden
	case len(kept) == 2:
		want = errInvalid
	}
	if !r.sameError(want, err) {
		return
	}
	for _, s := range kept {
		if end := m.clock.Now().Add(overlap); s.expires.IsZero() || end.Before(s.expires) {
			s.expires = end
		}
	}
	c.secrets = append(kept, &modelSecret{text: text.Reveal(), id: got.Secrets[len(got.Secrets)-1].ID.String(), created: m.clock.Now()})
	c.updated = m.clock.Now()
	m.event(org, mortise.KindSecretRotated, by.name, id)
	r.Same("the client with a new secret", c.show(), showClient(&got))
}

func (r *run) revokeSecret() {
	org, by := r.org(), r.caller()
	id := r.someClient(org)
	m := r.model
	c := m.client(org, id)
	secret := &modelSecret{id: uuid.Max.String()}
	if c != nil && len(c.secrets) > 0 && r.IntN(4) > 0 {
		secret = pick(r, c.secrets...)
	}
	r.Say("%s: %s revokes secret %s of client %q", org, by.name, secret.id, id)
	err := r.service.RevokeSecret(r.Context(), org, r.as(by), id, uuid.MustParse(secret.id))
	var want error
	switch {
	case c == nil || !slices.Contains(c.secrets, secret):
		want = mortise.ErrNotFound
	case !by.mayGive(c.roles):
		want = authmgmt.ErrForbidden
	}
	if r.sameError(want, err) {
		c.secrets = slices.DeleteFunc(slices.Clone(c.secrets), func(s *modelSecret) bool { return s == secret })
		c.updated = m.clock.Now()
		m.event(org, mortise.KindSecretRevoked, by.name, id)
	}
}

func (r *run) deleteClient() {
	org, by := r.org(), r.caller()
	id := r.someClient(org)
	r.Say("%s: %s deletes client %q", org, by.name, id)
	err := r.service.DeleteClient(r.Context(), org, r.as(by), id)
	c := r.model.client(org, id)
	var want error
	switch {
	case c == nil:
		want = mortise.ErrNotFound
	case !by.mayGive(c.roles):
		want = authmgmt.ErrForbidden
	}
	if r.sameError(want, err) {
		c.deleted, c.secrets = true, nil
		r.model.event(org, mortise.KindClientDeleted, by.name, id)
	}
}

func (r *run) setRBAC() {
	org, by, enabled := r.org(), r.caller(), r.IntN(3) > 0
	r.Say("%s: %s sets role-based access control to %v", org, by.name, enabled)
	r.sameError(nil, r.service.SetRBAC(r.Context(), org, r.as(by), enabled))
	if r.model.rbac[org] != enabled {
		r.model.event(org, mortise.KindOrganizationUpdated, by.name, org)
	}
	r.model.rbac[org] = enabled
}

func (r *run) waitLong() {
	d := pick(r, time.Minute, 20*time.Minute, time.Hour, 4*time.Hour, 10*time.Hour)
	r.Say("%v pass", d)
	r.Clock.Advance(d)
}

// waitForEnd passes until the moment at which a secret, a token or an invitation ends, or
// a grant is due, to the microsecond.
func (r *run) waitForEnd() {
	var ends []time.Time
	for _, c := range r.model.clients {
		for _, s := range c.secrets {
			ends = append(ends, s.expires)
		}
	}
	for _, k := range r.model.tokens {
		ends = append(ends, k.expires)
	}
	for _, i := range r.model.invitations {
		ends = append(ends, i.expires, i.due)
	}
	ends = slices.DeleteFunc(ends, func(at time.Time) bool { return !at.After(r.model.clock.Now()) })
	if end, ok := pickOf(r, ends); ok {
		r.Say("time passes until %v, when something ends", stamp(end))
		r.Clock.Advance(end.Sub(r.model.clock.Now()))
		r.compareAll()
	}
}

// show prints what a pointer points to.
func show[T any](p *T) string {
	if p == nil {
		return "as before"
	}
	return fmt.Sprintf("%v", *p)
}

func (c *modelClient) show() string {
	text := fmt.Sprintf("%q %q %q %q %v %v", c.org, c.id, c.name, c.roles, stamp(c.created), stamp(c.updated))
	for _, s := range c.secrets {
		text += fmt.Sprintf(" secret %s %v %v %v", s.id, stamp(s.created), stamp(s.used), stamp(s.expires))
	}
	return text
}

func showClient(c *authmgmt.Client) string {
	text := fmt.Sprintf("%q %q %q %q %v %v", c.Organization, c.ID, c.Name, c.Roles, stamp(c.CreatedAt), stamp(c.UpdatedAt))
	for _, s := range c.Secrets {
		text += fmt.Sprintf(" secret %s %v %v %v", s.ID, stamp(s.CreatedAt), stamp(s.LastUsedAt), stamp(s.ExpiresAt))
	}
	return text
}

// stamp prints a time, or that there is none.
func stamp(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.Format("2006-01-02T15:04:05.000000Z07:00")
}
