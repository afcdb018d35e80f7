package authmgmttest

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
)

// model is what package authmgmt promises, in the plainest way: lists that are searched
// from the beginning to the end.
type model struct {
	clock       *Clock
	rbac        map[string]bool // the organizations that were written
	clients     []*modelClient
	tokens      []*modelToken
	invitations []*modelInvitation
	events      []modelEvent
}

var (
	errInvalid = errors.New("a *ValidationError")
	errEither  = errors.New("ErrExists or ErrPendingInvitation")
)

type modelClient struct {
	org, id, name    string
	roles            []access.Role
	secrets          []*modelSecret // that work or worked last
	created, updated time.Time
	deleted          bool
}

type modelSecret struct {
	text    string
	id      string
	created time.Time
	used    time.Time // to within a minute
	expires time.Time
}

type modelToken struct {
	text             string
	id               string
	org, subject     string
	client           *modelClient // nil: it stands for itself
	secret           *modelSecret
	roles            []access.Role
	created, expires time.Time
	revoked          bool
	gone             bool // pruned
}

type modelInvitation struct {
	org, id, email, name, inviter string
	roles                         []access.Role
	lifetime                      time.Duration
	created, expires              time.Time
	cancelled, accepted, granted  time.Time
	by                            string
	due                           time.Time
	attempts                      int
	awaits                        bool
	links                         []string // the last one opens it
	gone                          bool     // pruned
}

type modelEvent struct {
	org    string
	at     time.Time
	kind   mortise.Kind
	actor  mortise.Actor
	target string
}

func (m *model) event(org string, kind mortise.Kind, actor, target string) {
	m.events = append(m.events, modelEvent{org, m.clock.Now(), kind, mortise.Actor(actor), target})
}

// caller is somebody who asks for changes: with full access, or with one role.
type caller struct {
	name string
	full bool
	role access.Role
}

var callers = []caller{
	{name: "full", full: true},
	{name: "admin", role: access.Role{ID: "admin"}},
	{name: "editor", role: access.Role{ID: "editor"}},
	{name: "viewer", role: access.Role{ID: "viewer"}},
	{name: "dogs", role: access.Role{ID: "admin", Resource: "dataset", ResourceInstance: "dogs"}},
}

// as returns the caller as the service takes it.
func (c *caller) as(catalogue *access.Catalogue) authmgmt.Caller {
	if c.full {
		return authmgmt.Caller{Actor: mortise.Actor(c.name), Access: access.Full()}
	}
	return authmgmt.Caller{Actor: mortise.Actor(c.name), Access: catalogue.Access(c.role)}
}

// mayGive says whether the caller holds what somebody with these roles has.
func (c *caller) mayGive(roles []access.Role) bool {
	if c.full {
		return true
	}
	for _, r := range roles {
		if !c.holds(r) {
			return false
		}
	}
	return len(roles) > 0
}

func (c *caller) holds(r access.Role) bool {
	rank := map[string]int{"viewer": 1, "editor": 2, "admin": 3}
	if c.full {
		return true
	}
	if rank[c.role.ID] < rank[r.ID] {
		return false
	}
	if c.role.Resource == "" {
		return true
	}
	return c.role.Resource == r.Resource && (c.role.ResourceInstance == "" || c.role.ResourceInstance == r.ResourceInstance)
}

func withoutRepeats(roles []access.Role) []access.Role {
	var once []access.Role
	for _, r := range roles {
		if !slices.Contains(once, r) {
			once = append(once, r)
		}
	}
	return once
}

// checkRoles is what comes before the store: what roles there are, or that full access is
// meant, whether the organization can have them, whether the caller may.
func (m *model) checkRoles(org string, by *caller, roles []access.Role, full, imported bool) error {
	if full != (len(roles) == 0) {
		return errInvalid
	}
	for _, r := range roles {
		if r.ID == "owner" {
			return errInvalid
		}
	}
	if !imported && len(roles) > 0 && !m.rbac[org] {
		return authmgmt.ErrRBACDisabled
	}
	if !by.mayGive(roles) {
		return authmgmt.ErrForbidden
	}
	return nil
}

// client returns a client that is there.
func (m *model) client(org, id string) *modelClient {
	for _, c := range m.clients {
		if c.org == org && c.id == id && !c.deleted {
			return c
		}
	}
	return nil
}

func (m *model) createClient(org string, by *caller, n authmgmt.NewClient, text string, imported bool) error {
	if err := m.checkRoles(org, by, n.Roles, n.FullAccess, imported); err != nil {
		return err
	}
	for _, c := range m.clients {
		if c.org == org && c.id == n.ID {
			return mortise.ErrExists
		}
		for _, secret := range c.secrets {
			if secret.text == text {
				return mortise.ErrExists
			}
		}
	}
	return nil
}

func (m *model) updateClient(org string, by *caller, id string, u authmgmt.ClientUpdate) error {
	switch { // full access beside roles, or without saying that there are none
	case u.FullAccess && (u.Roles == nil || len(*u.Roles) > 0),
		u.Roles != nil && len(*u.Roles) == 0 && u.Context == "" && !u.FullAccess:
		return errInvalid
	}
	if u.Roles != nil && len(*u.Roles) > 0 {
		for _, r := range *u.Roles {
			if r.ID == "owner" {
				return errInvalid
			}
		}
	}
	assigns := u.Roles != nil && len(*u.Roles) > 0 && !m.rbac[org]
	c := m.client(org, id)
	switch {
	case c == nil && assigns:
		return authmgmt.ErrRBACDisabled
	case c == nil:
		return mortise.ErrNotFound
	}
	name, roles := c.name, c.roles
	if u.Name != nil {
		name = *u.Name
	}
	if u.Roles != nil {
		roles = nil
		for _, r := range c.roles {
			switch u.Context {
			case "system":
				if r.Resource != "" {
					roles = append(roles, r)
				}
			case "dataset:dogs":
				if r.Resource != "dataset" || r.ResourceInstance != "dogs" {
					roles = append(roles, r)
				}
			}
		}
		for _, r := range *u.Roles {
			if u.Context == "dataset:dogs" {
				r.Resource, r.ResourceInstance = "dataset", "dogs"
			}
			roles = append(roles, r)
		}
		roles = withoutRepeats(roles)
		same := len(roles) == len(c.roles) && !slices.ContainsFunc(roles, func(r access.Role) bool { return !slices.Contains(c.roles, r) })
		if assigns && !same {
			return authmgmt.ErrRBACDisabled
		}
		if len(roles) == 0 && !u.FullAccess {
			return errInvalid
		}
		if len(roles) == 0 && !by.full {
			return authmgmt.ErrForbidden
		}
		for _, r := range roles {
			if !slices.Contains(c.roles, r) && !by.holds(r) {
				return authmgmt.ErrForbidden
			}
		}
		for _, r := range c.roles {
			if !slices.Contains(roles, r) && !by.holds(r) {
				return authmgmt.ErrForbidden
			}
		}
		if len(c.roles) == 0 && !by.full {
			return authmgmt.ErrForbidden
		}
	}
	if name == c.name && slices.Equal(roles, c.roles) {
		return nil
	}
	c.name, c.roles, c.updated = name, roles, m.clock.Now()
	m.event(org, mortise.KindClientUpdated, by.name, id)
	return nil
}

// live says whether a token is stored still.
func (k *modelToken) live() bool {
	return !k.gone && (k.client == nil || !k.client.deleted && slices.Contains(k.client.secrets, k.secret))
}

// valid says whether a token is good for anything now.
func (m *model) valid(k *modelToken) bool {
	return k.live() && !k.revoked && (k.expires.IsZero() || m.clock.Now().Before(k.expires))
}

// access returns the roles that a token has.
func (k *modelToken) access() []access.Role {
	if k.client != nil {
		return k.client.roles
	}
	return k.roles
}

func (m *model) pending(i *modelInvitation) bool {
	return !i.gone && i.accepted.IsZero() && i.cancelled.IsZero() && m.clock.Now().Before(i.expires)
}

func (m *model) invitation(org, id string) *modelInvitation {
	for _, i := range m.invitations {
		if i.org == org && i.id == id && !i.gone {
			return i
		}
	}
	return nil
}

func (m *model) invite(org string, by *caller, n authmgmt.NewInvitation, imported bool) error {
	if err := m.checkRoles(org, by, n.Roles, n.FullAccess, imported); err != nil {
		return err
	}
	taken := m.invitation(org, n.ID) != nil
	blocked := false
	for _, i := range m.invitations {
		blocked = blocked || !imported && i.org == org && strings.EqualFold(i.email, n.Email) && m.pending(i)
	}
	switch {
	case taken && blocked:
		return errEither
	case taken:
		return mortise.ErrExists
	case blocked:
		return authmgmt.ErrPendingInvitation
	}
	return nil
}

// attempt tries to grant an accepted invitation, while the person waits or not.
func (m *model) attempt(i *modelInvitation, attended bool) error {
	switch {
	case !i.granted.IsZero():
		return mortise.ErrNotFound
	case m.clock.Now().Before(i.due):
		return authmgmt.ErrGrantPending
	}
	i.attempts++
	i.awaits = false
	failure := scripted(&authmgmt.Invitation{Organization: i.org, ID: i.id}, i.attempts)
	if failure == nil {
		i.granted = m.clock.Now()
		i.due = m.clock.Now().Add(grantTimeout + 10*time.Second)
		m.event(i.org, mortise.KindGranted, i.by, i.id)
		return nil
	}
	if errors.Is(failure, authmgmt.ErrUnattended) && !attended {
		i.awaits, i.due = true, m.clock.Now()
		return authmgmt.ErrGrantPending
	}
	wait := grantRetry
	for n := 1; n < i.attempts && wait < time.Hour; n++ {
		wait *= 2
	}
	i.due = m.clock.Now().Add(min(wait, time.Hour))
	return authmgmt.ErrGrantPending
}
