package httpadapter

import (
	"net/http"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise/authmgmt"
)

// issuedToken is what is known of an access token as it goes over the wire: all but its
// text, which nobody has but its holder.
type issuedToken struct {
	ID        uuid.UUID        `json:"token_id"`
	Subject   string           `json:"subject"`
	Client    *string          `json:"client_id"` // null: it stands for itself
	Roles     []roleAssignment `json:"roles"`     // none: full access
	CreatedAt Timestamp        `json:"created_at"`
	ExpiresAt Timestamp        `json:"expires_at"` // null: never
	RevokedAt Timestamp        `json:"revoked_at"` // null: not revoked
}

func newIssuedToken(t *authmgmt.Token) issuedToken {
	return issuedToken{
		ID: t.ID, Subject: t.Subject, Client: orNull(t.Client), Roles: roleAssignments(t.Roles), CreatedAt: Timestamp(t.CreatedAt),
		ExpiresAt: Timestamp(t.ExpiresAt), RevokedAt: Timestamp(t.RevokedAt),
	}
}

// listTokens serves the operation of that name. Tokens that have ended are listed as long
// as they are stored: who looks for one that should not be there wants to see that it has
// ended.
func (a *authMgmtAdapter) listTokens(c *call) response {
	return listing(a, c, source[authmgmt.Token]{a.service.ListTokens, a.service.CountTokens}, func(t *authmgmt.Token) (issuedToken, error) { return newIssuedToken(t), nil })
}

// revokeToken serves the operation of that name. One that has ended already is not an
// error.
func (a *authMgmtAdapter) revokeToken(c *call) response {
	var d decoder
	id := newParams(&d, c.r).pathUUID(c.r, "token_id")
	// Without an ID: a role that is bound to one client does not extend to its tokens.
	if failed := a.checked(c, &d, ""); failed != nil {
		return *failed
	}
	if err := a.service.RevokeToken(c.r.Context(), c.principal.Organization, c.caller(), id); err != nil {
		return a.h.fail(c, err)
	}
	return response{status: http.StatusOK}
}
