package authmgmt

import (
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/internal/name"
	"github.com/seed-6363c74e/mortise/internal/oneline"
	"github.com/seed-6363c74e/mortise/internal/secret"
)

// The errors that callers tell apart with errors.Is.
var (
	// ErrNotFound: there is no such client, token or organization, no such pending
	// invitation, or it belongs to another organization.
	ErrNotFound = errors.New("authmgmt: not found")
	// ErrExists: the ID is taken, or was, or the secret is stored already. IDs are not
	// given twice.
	ErrExists = errors.New("authmgmt: already exists")
	// ErrDeleted: the organization was deleted. Nothing can be made in it any more.
	ErrDeleted = errors.New("authmgmt: the organization was deleted, and its ID is not given again; use another ID")
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
	// ErrUnavailable: the store failed. Whether the change took effect is unknown; look,
	// and try again.
	ErrUnavailable = errors.New("authmgmt: the store is unavailable")
)

// Problem is one thing wrong with a request. Its message never repeats the request's
// content.
//
// Fields have the names that they have over HTTP, in messages too: "name",
// "roles[2].role_id", "roles_context", "limit". The field FullAccess, which only Go has,
// is "full_access". Of a rotation while two secrets work, the field is "secrets".
type Problem struct {
	Path    mortise.Path
	Message string
}

// Error says where the problem is, and what it is.
func (p Problem) Error() string { return p.Path.String() + ": " + p.Message }

// Is reports whether another error is the same Problem, for errors.Is.
func (p Problem) Is(target error) bool {
	q, ok := target.(Problem)
	return ok && slices.Equal(p.Path, q.Path) && p.Message == q.Message
}

// ValidationError holds everything that is wrong with a request.
type ValidationError struct{ Problems []Problem }

// Error lists the problems on one line.
func (e *ValidationError) Error() string {
	if len(e.Problems) == 0 {
		return "authmgmt: invalid request"
	}
	return "authmgmt: invalid request: " + oneline.Of(e.Problems).Error()
}

// Unwrap lets errors.As find the first Problem, and errors.Is any of them.
func (e *ValidationError) Unwrap() []error { return oneline.Of(e.Problems).WrappedErrors() }

// problems collects what is wrong and becomes an error if anything is.
type problems struct{ list []Problem }

func (p *problems) add(field, format string, args ...any) {
	p.list = append(p.list, Problem{mortise.Path{{Field: field}}, fmt.Sprintf(format, args...)})
}

func (p *problems) err() error {
	if len(p.list) == 0 {
		return nil
	}
	return &ValidationError{Problems: p.list}
}

func (p *problems) name(field, text string) {
	if problem := name.Problem(text); problem != "" {
		p.add(field, "%s", problem)
	}
}

// display checks a name that people read.
func (p *problems) display(field, text string) {
	if problem := name.DisplayProblem(text); problem != "" {
		p.add(field, "%s", problem)
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
		p.add("full_access", "must not be set beside roles")
	}
}

// neither refuses what has neither roles nor full access.
func (p *problems) neither() {
	p.add("roles", "must be given, or full_access must be set")
}

// size bounds how many roles there are, and their text.
func (p *problems) size(roles []access.Role, which string) {
	size := 0
	for _, r := range roles {
		size += len(r.ID) + len(r.Resource) + len(r.ResourceInstance)
	}
	switch {
	case len(roles) > maxRoles:
		p.add("roles", "must be at most %d%s", maxRoles, which)
	case size > maxRolesText:
		p.add("roles", "must be at most %d bytes together%s", maxRolesText, which)
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
		p.list = append(p.list, Problem{mortise.Path{{Field: "roles"}, {Index: i}, {Field: field}}, problem})
	}
}

// secret checks a secret that was made elsewhere.
func (p *problems) secret(field, text string) {
	if problem := secret.ImportProblem(text); problem != "" {
		p.add(field, "%s", problem)
	}
}

// cutName makes a name of a text that may be too long for one.
func cutName(text string) string {
	if len(text) <= name.Max {
		return text
	}
	cut := name.Max
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut]
}

// sentinels are the errors of a store that mean what they say.
var sentinels = []error{ErrNotFound, ErrExists, ErrDeleted, ErrPendingInvitation, ErrUnavailable}

// unavailable marks a backend's failure. Sentinels pass as they are.
func unavailable(what string, err error) error {
	if err == nil {
		return nil
	}
	for _, sentinel := range sentinels {
		if errors.Is(err, sentinel) {
			return err
		}
	}
	return fmt.Errorf("%w: %s: %w", ErrUnavailable, what, err)
}
