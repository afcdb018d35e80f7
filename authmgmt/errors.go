package authmgmt

import (
	"errors"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/internal/failure"
	"github.com/seed-6363c74e/mortise/internal/name"
	"github.com/seed-6363c74e/mortise/internal/secret"
)

// The errors of the package, beside [mortise.ErrNotFound], [mortise.ErrExists],
// [mortise.ErrDeleted] and [mortise.ErrUnavailable]. Callers tell them apart by errors.Is.
var (
	// ErrPendingInvitation: the email address has a pending invitation. Resend or cancel
	// that one.
	ErrPendingInvitation = errors.New("authmgmt: the email address has a pending invitation")
	// ErrForbidden: the change would give or take away more than the caller holds; ask
	// somebody who holds it. From Accept: the host does not admit the person.
	ErrForbidden = errors.New("authmgmt: the change gives or takes more than the caller holds")
	// ErrRBACDisabled: roles were given, and the Directory says that the organization has
	// no role-based access control. Enable it with [Service.SetRBAC], or in a Directory
	// of your own; or leave the roles out.
	ErrRBACDisabled = errors.New("authmgmt: the organization has no role-based access control (see Service.SetRBAC)")
	// ErrInvalidCredentials: the client ID and its secret, or the access token, are
	// unknown, expired or revoked.
	ErrInvalidCredentials = errors.New("authmgmt: invalid credentials")
	// ErrGrantPending: the invitation is accepted, and what it gives is not there yet.
	// Accept it again in a moment.
	ErrGrantPending = errors.New("authmgmt: the invitation is accepted, but not granted yet")
	// ErrUnattended is what a host's [Options.Grant] returns if it can do its work only
	// while the person waits for the reply.
	ErrUnattended = errors.New("authmgmt: nobody waits for the reply")
	// ErrWrongKey: the store's invitations were made with another InvitationKey. Start
	// with that one; to change it, see Options.OtherInvitationKeys.
	ErrWrongKey = errors.New("authmgmt: the store's invitations were made with another key: " +
		"start with that one, or with both (see Options.OtherInvitationKeys)")
)

// problems collects the problems of an argument. Fields have the names that they have
// over HTTP, in messages too: "name", "roles[2].role_id", "roles_context", "limit". The
// field FullAccess, which only Go has, is "full_access". Of a rotation while two secrets
// work, the field is "secrets".
type problems struct{ failure.Problems }

// display checks a name that people read.
func (p *problems) display(field, text string) {
	if problem := name.DisplayProblem(text); problem != "" {
		p.Add(field, "%s", problem)
	}
}

// roles checks assignments against the catalogue.
func (p *problems) roles(c *access.Catalogue, roles []access.Role) {
	if p.size(roles, ""); len(roles) > maxRoles {
		return
	}
	for i, r := range roles {
		field, problem := c.Check(r)
		p.role(i, field, problem)
	}
}

// access checks what is given to something new: roles, or full access.
func (p *problems) access(c *access.Catalogue, roles []access.Role, full bool) {
	p.roles(c, roles)
	p.both(roles, full)
	if len(roles) == 0 && !full {
		p.neither()
	}
}

// both refuses full access beside roles: which of the two was meant?
func (p *problems) both(roles []access.Role, full bool) {
	if len(roles) > 0 && full {
		p.Add("full_access", "must not be set beside roles")
	}
}

// neither refuses what has neither roles nor full access.
func (p *problems) neither() {
	p.Add("roles", "must be given, or full_access must be set")
}

// size bounds how many roles there are, and their text.
func (p *problems) size(roles []access.Role, which string) {
	size := 0
	for _, r := range roles {
		size += len(r.ID) + len(r.Resource) + len(r.ResourceInstance)
	}
	switch {
	case len(roles) > maxRoles:
		p.Add("roles", "must be at most %d%s", maxRoles, which)
	case size > maxRolesText:
		p.Add("roles", "must be at most %d bytes together%s", maxRolesText, which)
	}
}

// maxRoles bounds the roles of a client, a token or an invitation.
const maxRoles = 100

// maxRolesText bounds the text of the roles of one client, so that a page of many clients
// stays within reason.
const maxRolesText = 8 << 10

// role adds the problem of one assignment, if it has one.
func (p *problems) role(i int, field, problem string) {
	if problem != "" {
		p.Found = append(p.Found, mortise.Problem{Path: mortise.Path{{Field: "roles"}, {Index: i}, {Field: field}}, Message: problem})
	}
}

// secret checks a secret that was made elsewhere.
func (p *problems) secret(field, text string) {
	if problem := secret.ImportProblem(text); problem != "" {
		p.Add(field, "%s", problem)
	}
}

// unavailable marks a backend's failure. Sentinels pass as they are.
func unavailable(doing string, err error) error {
	return failure.Unavailable(doing, err, ErrPendingInvitation)
}

// reasons class the errors of the package for observers.
var reasons = []failure.Class{
	{Err: ErrForbidden, Reason: mortise.ReasonForbidden},
	{Err: ErrRBACDisabled, Reason: mortise.ReasonForbidden},
	{Err: ErrInvalidCredentials, Reason: mortise.ReasonForbidden},
	{Err: ErrPendingInvitation, Reason: mortise.ReasonConflict},
	{Err: ErrGrantPending, Reason: mortise.ReasonConflict},
}
