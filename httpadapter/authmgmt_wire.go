package httpadapter

import (
	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
)

// RoleAssignment is a role assignment as it goes over the wire: always all three fields.
type RoleAssignment struct {
	ID               string  `json:"role_id"`
	Resource         *string `json:"resource"`          // null: all resources
	ResourceInstance *string `json:"resource_instance"` // null: all of the type
}

// ClientCredentials are a client, which the document calls system-level credentials, as
// it goes over the wire.
type ClientCredentials struct {
	ID     string           `json:"client_id"`
	Secret string           `json:"client_secret"` // "" but in the answer that made it
	Name   string           `json:"name"`
	Roles  []RoleAssignment `json:"roles"` // none: full access
}

// UserInvitation is an invitation as it goes over the wire.
type UserInvitation struct {
	ID        string           `json:"invitation_id"`
	Inviter   Inviter          `json:"inviter"`
	Invitee   Invitee          `json:"invitee"`
	URL       string           `json:"invitation_url"` // "" for a caller who must not have it
	CreatedAt Timestamp        `json:"created_at"`
	ExpiresAt Timestamp        `json:"expires_at"`
	Roles     []RoleAssignment `json:"roles"` // those of the invitee
}

// Inviter is who made an invitation.
type Inviter struct {
	Name string `json:"name"`
}

// Invitee is who is invited.
type Invitee struct {
	Email string           `json:"email"`
	Name  string           `json:"name"`
	Roles []RoleAssignment `json:"roles"` // none: full access
}

// NewClientCredentials returns the wire form of a client. The secret is zero unless it
// was made just now. The wire form reveals it.
func NewClientCredentials(c authmgmt.Client, secret mortise.Secret) ClientCredentials {
	return ClientCredentials{ID: c.ID, Secret: secret.Reveal(), Name: c.Name, Roles: roleAssignments(c.Roles)}
}

// NewUserInvitation returns the wire form of an invitation. The url is zero if its reader
// must not have the link. The wire form reveals it.
func NewUserInvitation(i authmgmt.Invitation, url mortise.Secret) UserInvitation {
	roles := roleAssignments(i.Roles)
	return UserInvitation{
		ID: i.ID, Inviter: Inviter{i.Inviter}, Invitee: Invitee{i.Email, i.Name, roles}, URL: url.Reveal(),
		CreatedAt: Timestamp(i.CreatedAt), ExpiresAt: Timestamp(i.ExpiresAt), Roles: roles,
	}
}

// JSON returns the client as one line of JSON.
func (c ClientCredentials) JSON() ([]byte, error) { return jsonBody(c) }

// JSON returns the invitation as one line of JSON.
func (i UserInvitation) JSON() ([]byte, error) { return jsonBody(i) }

func roleAssignments(roles []authmgmt.Role) []RoleAssignment {
	list := make([]RoleAssignment, len(roles))
	for i, r := range roles {
		list[i] = RoleAssignment{ID: r.ID, Resource: orNull(r.Resource), ResourceInstance: orNull(r.ResourceInstance)}
	}
	return list
}

func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
