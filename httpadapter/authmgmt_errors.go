package httpadapter

import (
	"errors"
	"net/http"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
)

// The error tables of the operations on each kind of thing.
var (
	clientErrors     = authMgmtErrors("There is no such client.")
	secretErrors     = authMgmtErrors("There is no such client, or it has no such secret.")
	invitationErrors = authMgmtErrors("There is no such pending invitation.")
	tokenErrors      = authMgmtErrors("There is no such access token.")
)

// authMgmtErrors returns the table of operations that say in these words what there is
// not.
func authMgmtErrors(missing string) errorTable {
	f := append(failures{
		{mortise.ErrNotFound, problem{kind: notFound, message: missing}},
	}, authMgmtFailures...)
	return errorTable{classify: f.or(refusedOverlap), reply: replyDetail}
}

// refusedOverlap answers a rotation while two secrets work, for which the request is not to
// blame, and leaves other errors to refusedAuthMgmt.
func refusedOverlap(err error) (problem, bool) {
	var one mortise.Problem
	if !errors.As(err, &one) || one.Path.String() != "secrets" {
		return refusedAuthMgmt(err)
	}
	return problem{kind: domain, status: http.StatusConflict, message: "secret_overlap: " + one.Message + "."}, true
}

var authMgmtFailures = append(failures{
	{authmgmt.ErrForbidden, problem{kind: forbidden,
		message: "These credentials do not hold what the change would give or take away; " +
			"no roles mean full access. Ask somebody who holds it."}},
	{authmgmt.ErrRBACDisabled, problem{kind: forbidden,
		message: "The organization has no role-based access control, so no roles can be assigned."}},
	{errClientChanged, problem{kind: domain, status: http.StatusPreconditionFailed,
		message: "The client is not as If-Match demands: it was changed meanwhile, or the header does not hold an ETag as it came. " +
			"Read the client again, and send the ETag of that answer."}},
	{authmgmt.ErrPendingInvitation, problem{kind: domain, status: http.StatusConflict,
		message: "The email address has a pending invitation. Resend or cancel that one."}},
}, commonFailures...)

// refusedAuthMgmt answers problems that only the service can find: too many roles of a
// client, its roles in other contexts included, a context of a dataset that is not there,
// and too many clients or pending invitations of an organization.
var refusedAuthMgmt = refusals(
	func(one mortise.Problem) (loc []any, typ, msg string) {
		message := one.Message
		switch path := one.Path.String(); path {
		case "roles", "roles_context":
			loc = locOf("body", one.Path)
		case "clients", "invitations":
			loc, message = []any{"body"}, "the organization's "+path+" "+message
		}
		return loc, "value_error", msgValue + message
	})

// acceptFailures are those of the acceptance page. What wraps an error of the host's,
// which may be anything, comes first.
var acceptFailures = failures{
	{authmgmt.ErrGrantPending, problem{kind: domain, status: http.StatusConflict, code: grantPending}},
	{authmgmt.ErrForbidden, problem{kind: forbidden}},
	{mortise.ErrNotFound, problem{kind: notFound}},
}

// loginFailures are those of the token endpoint.
var loginFailures = failures{
	{authmgmt.ErrInvalidCredentials, *tokenProblem(invalidClient, "The client credentials are wrong, or they have ended.")},
}
