package httpadapter

import (
	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
)

// roleAssignment is a role assignment as it goes over the wire: always all three fields.
type roleAssignment struct {
	ID               string  `json:"role_id"`
	Resource         *string `json:"resource"`          // null: all resources
	ResourceInstance *string `json:"resource_instance"` // null: all of the type
}

// clientCredentials are a client, which the document calls system-level credentials, as
// it goes over the wire.
type clientCredentials struct {
	ID     string           `json:"client_id"`
	Secret string           `json:"client_secret"` // "" but in the answer that made it
	Name   string           `json:"name"`
	Roles  []roleAssignment `json:"roles"` // none: full access
}

// userInvitation is an invitation as it goes over the wire.
type userInvitation struct {
	ID        string           `json:"invitation_id"`
	Inviter   inviter          `json:"inviter"`
	Invitee   invitee          `json:"invitee"`
	URL       string           `json:"invitation_url"` // "" for a caller who must not have it
	CreatedAt Timestamp        `json:"created_at"`
	ExpiresAt Timestamp        `json:"expires_at"`
	Roles     []roleAssignment `json:"roles"` // those of the invitee
}

// inviter is who made an invitation.
type inviter struct {
	Name string `json:"name"`
}

// invitee is who is invited.
type invitee struct {
	Email string           `json:"email"`
	Name  string           `json:"name"`
	Roles []roleAssignment `json:"roles"` // none: full access
}

// newClientCredentials returns the wire form of a client. The secret is zero unless it
// was made just now. The wire form reveals it.
func newClientCredentials(c authmgmt.Client, secret mortise.Secret) clientCredentials {
	return clientCredentials{ID: c.ID, Secret: secret.Reveal(), Name: c.Name, Roles: roleAssignments(c.Roles)}
}

// newUserInvitation returns the wire form of an invitation. The url is zero if its reader
// must not have the link. The wire form reveals it.
func newUserInvitation(i authmgmt.Invitation, url mortise.Secret) userInvitation {
	roles := roleAssignments(i.Roles)
	return userInvitation{
		ID: i.ID, Inviter: inviter{i.Inviter}, Invitee: invitee{i.Email, i.Name, roles}, URL: url.Reveal(),
		CreatedAt: Timestamp(i.CreatedAt), ExpiresAt: Timestamp(i.ExpiresAt), Roles: roles,
	}
}

func roleAssignments(roles []access.Role) []roleAssignment {
	list := make([]roleAssignment, len(roles))
	for i, r := range roles {
		list[i] = roleAssignment{ID: r.ID, Resource: orNull(string(r.Resource)), ResourceInstance: orNull(r.ResourceInstance)}
	}
	return list
}

func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
