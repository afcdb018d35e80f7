package httpadapter

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/internal/name"
)

// getInvitation serves the operation getUserInvitation.
func (a *authMgmtAdapter) getInvitation(c *call) response {
	var d decoder
	id := pathID(&d, c.r, "invitation_id")
	if failed := a.checked(c, &d, id); failed != nil {
		return *failed
	}
	i, err := a.service.Invitation(c.r.Context(), c.principal.Organization, id)
	if err != nil {
		return a.h.fail(c, err)
	}
	return a.showInvitation(c, http.StatusOK, &i)
}

// showInvitation answers with one invitation.
func (a *authMgmtAdapter) showInvitation(c *call, status int, i *authmgmt.Invitation) response {
	shown, err := a.invitation(c, i)
	if err != nil {
		return a.h.fail(c, err)
	}
	return response{status: status, body: mustJSON(shown)}
}

// invitation is the wire form that the caller may see: whoever has the link can take the
// roles.
func (a *authMgmtAdapter) invitation(c *call, i *authmgmt.Invitation) (userInvitation, error) {
	if !c.principal.Access.Covers(i.Roles) || a.service.AcceptURL() == "" {
		return newUserInvitation(*i, mortise.Secret{}), nil
	}
	url, err := a.service.URL(c.r.Context(), i)
	return newUserInvitation(*i, url), err
}

// deleteInvitation serves the operation deleteUserInvitation.
func (a *authMgmtAdapter) deleteInvitation(c *call) response {
	var d decoder
	id := pathID(&d, c.r, "invitation_id")
	if failed := a.checked(c, &d, id); failed != nil {
		return *failed
	}
	if err := a.service.CancelInvitation(c.r.Context(), c.principal.Organization, c.caller(), id); err != nil {
		return a.h.fail(c, err)
	}
	return response{status: http.StatusOK}
}

// createInvitation serves the operation createUserInvitation.
func (a *authMgmtAdapter) createInvitation(c *call) response {
	var d decoder
	n := authmgmt.NewInvitation{Inviter: c.principal.Subject, FullAccess: true}
	if n.Inviter == "" {
		n.Inviter = "an administrator" // of a host that names nobody
	}
	if body, ok := d.body(c.body); ok {
		a.newInvitation(&body, &n)
	}
	if failed := a.checked(c, &d, ""); failed != nil {
		return *failed
	}
	i, err := a.service.Invite(c.r.Context(), c.principal.Organization, c.caller(), n)
	if err != nil {
		return a.h.fail(c, err)
	}
	resp := a.showInvitation(c, http.StatusCreated, &i)
	if resp.status == http.StatusCreated {
		resp.header = location(c.r, i.ID)
	}
	return resp
}

// maxInvitationLifetime is how long an invitation can be pending, as package authmgmt has
// it.
const maxInvitationLifetime = 30 * 24 * time.Hour

// newInvitation reads the body of createUserInvitation. The invitee's fields stand in the
// body itself, or in an object "invitee" as in the answer.
func (a *authMgmtAdapter) newInvitation(body *object, n *authmgmt.NewInvitation) {
	if invitee, given := body.v.Get("invitee"); !given || isNull(invitee) {
		a.invitee(body, n)
	} else {
		body.child("invitee", required, func(o *object) {
			a.invitee(o, n)
			a.besideInvitee(body, n.Roles)
			noContext(body)
		})
	}
	const most = int64(maxInvitationLifetime / time.Second)
	if seconds, ok := body.integer("expires_in", nullable, 0, 1, most); ok {
		n.Lifetime = time.Duration(seconds) * time.Second
	}
}

func (a *authMgmtAdapter) invitee(o *object, n *authmgmt.NewInvitation) {
	n.Email = a.email(o)
	n.Name, _ = a.name(o, "name", required)
	n.Roles = plainRoles(a.roles(o))
	n.FullAccess = len(n.Roles) == 0 // as with a client
	noContext(o)
}

// email reads the field of that name.
func (a *authMgmtAdapter) email(o *object) string {
	email, ok := o.text("email", required, textRule{min: 1, max: 255})
	if !ok {
		return ""
	}
	if problem := name.EmailProblem(email); problem != "" {
		o.refuseValue("email", problem)
	}
	return email
}

// besideInvitee refuses what stands in the body and would be passed over for what stands
// in "invitee". No roles would mean full access, so those who put them in the wrong place
// would give away more than they wrote. The roles of an answer, which has them twice, may
// stay.
func (a *authMgmtAdapter) besideInvitee(body *object, roles []access.Role) {
	for _, name := range []string{"email", "name"} {
		if v, given := body.v.Get(name); given && !isNull(v) {
			body.refuseValue(name, "must stand in invitee, or there must be no invitee")
		}
	}
	if v, given := body.v.Get("roles"); given && !isNull(v) {
		before := len(body.d.details)
		if outer := plainRoles(a.roles(body)); len(body.d.details) == before && !slices.Equal(outer, roles) {
			body.refuseValue("roles", "must be those of invitee, or not be there")
		}
	}
}

func (a *authMgmtAdapter) listInvitations(c *call) response {
	inviter := newParams(&decoder{}, c.r).text("inviter")
	list := source[authmgmt.Invitation]{
		func(ctx context.Context, org string, after mortise.Cursor, limit int) (mortise.Page[authmgmt.Invitation], error) {
			return a.service.ListInvitations(ctx, org, inviter, after, limit)
		},
		func(ctx context.Context, org string) (int, error) {
			return a.service.CountInvitations(ctx, org, inviter)
		},
	}
	return listing(a, c, list, func(i *authmgmt.Invitation) (userInvitation, error) { return a.invitation(c, i) })
}

// resendInvitation serves the operation resendUserInvitation.
func (a *authMgmtAdapter) resendInvitation(c *call) response {
	var d decoder
	id := pathID(&d, c.r, "invitation_id")
	if failed := a.checked(c, &d, id); failed != nil {
		return *failed
	}
	i, err := a.service.ResendInvitation(c.r.Context(), c.principal.Organization, c.caller(), id)
	if err != nil {
		return a.h.fail(c, err)
	}
	return a.showInvitation(c, http.StatusOK, &i)
}
