package main

import (
	"strings"
	"time"
	"unicode"

	"github.com/seed-6363c74e/mortise/authmgmt/access"
)

type accessTokenDoc struct {
	token   string
	subject string
	roles   []access.Role
	revoked bool
	place   string // as in apiKeyDoc
}

type clientDoc struct {
	id     string
	secret string
	name   string
	roles  []access.Role
	place  string
}

type invitationDoc struct {
	id      string
	inviter string
	email   string
	name    string
	roles   []access.Role
	expires time.Duration // from its creation; 0 for the default
	place   string
}

// readAuthMgmt reads what the credentials service holds of an organization.
func readAuthMgmt(o docObject, org *organizationDoc) {
	org.rbac = o.boolean("rbac_enabled")
	for t := range o.objects("access_tokens", "token", "subject", "roles", "revoked") {
		revoked := t.boolean("revoked")
		org.accessTokens = append(org.accessTokens, accessTokenDoc{
			token: t.secretOr("token", revoked), subject: t.name("subject"), roles: t.roles(), revoked: revoked, place: t.where(),
		})
	}
	clients := o.r.unique()
	for c := range o.objects("clients", "client_id", "client_secret", "name", "roles") {
		client := clientDoc{id: c.name("client_id"), secret: c.secret("client_secret"), name: c.name("name"), roles: c.roles(), place: c.where()}
		clients.add(c, "client_id", client.id)
		org.clients = append(org.clients, client)
	}
	invitations := o.r.unique()
	for i := range o.objects("invitations", "invitation_id", "inviter", "invitee", "expires_in") {
		invitation := invitationDoc{id: i.name("invitation_id"), expires: i.lifetime("expires_in"), place: i.where()}
		invitations.add(i, "invitation_id", invitation.id)
		if inviter, ok := i.object("inviter", "name"); ok {
			invitation.inviter = inviter.name("name")
		}
		if invitee, ok := i.object("invitee", "email", "name", "roles"); ok {
			invitation.email, invitation.name, invitation.roles = invitee.email("email"), invitee.name("name"), invitee.roles()
		}
		org.invitations = append(org.invitations, invitation)
	}
}

// roles reads an optional list of role assignments. None mean full access.
func (o docObject) roles() []access.Role {
	var roles []access.Role
	for a := range o.objects("roles", "role_id", "resource", "resource_instance") {
		role := access.Role{ID: a.name("role_id"), Resource: access.ResourceType(a.nullableText("resource")), ResourceInstance: a.nullableText("resource_instance")}
		roles = append(roles, role)
		if role.ID != "" {
			if field, problem := access.DefaultCatalogue().Check(role); problem != "" {
				a.fail(field, "%s", problem)
			}
		}
	}
	size := 0
	for _, role := range roles {
		size += len(role.ID) + len(role.Resource) + len(role.ResourceInstance)
	}
	switch {
	case len(roles) > maxRoles:
		o.fail("roles", "must be at most %d", maxRoles)
	case size > maxRolesText:
		o.fail("roles", "must be at most %d bytes together", maxRolesText)
	}
	return roles
}

// The bounds of a list of roles, and of its text in bytes, as package authmgmt has them.
const (
	maxRoles     = 100
	maxRolesText = 8 << 10
)

// maxInvitationLifetime is how long an invitation can be pending, as package authmgmt has
// it.
const maxInvitationLifetime = 30 * 24 * time.Hour

// lifetime reads how long an invitation is pending. Stores keep microseconds.
func (o docObject) lifetime(key string) time.Duration {
	text, ok := o.text(key, false)
	if !ok {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < time.Microsecond || d > maxInvitationLifetime {
		o.fail(key, "must be a duration above zero, as in 168h or 90m, and at most %.0fh", maxInvitationLifetime.Hours())
	}
	return d
}

// email reads an address, by the rule of package authmgmt, which refuses what would be
// useless or dangerous.
func (o docObject) email(key string) string {
	text := o.name(key)
	local, domain, _ := strings.Cut(text, "@")
	bad := func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune(`<>,;:"\()[]`, r)
	}
	if text != "" && (local == "" || domain == "" || strings.Contains(domain, "@") || strings.ContainsFunc(text, bad)) {
		o.fail(key, "must be an email address")
	}
	return text
}
