package httpadapter

import (
	"errors"
	"net/http"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
)

// updateClient changes name and roles. Without roles the credentials get full access, or
// lose those of the context: the document has it so.
func (a *authMgmtAdapter) updateClient(c *call) response {
	var d decoder
	id := pathID(&d, c.r, "client_id")
	var u authmgmt.ClientUpdate
	if body, ok := d.body(c.body); ok {
		u = a.clientUpdate(&body)
	}
	if failed := a.checked(c, &d, id); failed != nil {
		return *failed
	}
	if lines, given := c.r.Header["If-Match"]; given {
		u.If = func(now authmgmt.Client) error {
			if !ifMatches(lines, entityTag(clientBody(now))) {
				return errClientChanged
			}
			return nil
		}
	}
	updated, err := a.service.UpdateClient(c.r.Context(), c.principal.Organization, c.caller(), id, u)
	if err != nil {
		return a.h.fail(c, err)
	}
	return taggedClient(updated)
}

// errClientChanged: the client is not as the request's If-Match demands.
var errClientChanged = errors.New("httpadapter: the client is not as If-Match demands")

// taggedClient answers with a client and the tag of this answer.
func taggedClient(c authmgmt.Client) response {
	body := clientBody(c)
	return response{status: http.StatusOK, body: body, header: http.Header{"Etag": {entityTag(body)}}}
}

func clientBody(c authmgmt.Client) []byte { return mustJSON(newClientCredentials(c, mortise.Secret{})) }

func (a *authMgmtAdapter) clientUpdate(body *object) authmgmt.ClientUpdate {
	var u authmgmt.ClientUpdate
	if name, ok := a.name(body, "name", nullable); ok {
		u.Name = &name
	}
	given := a.roles(body)
	u.Context = rolesContext(body)
	bind(u.Context, given)
	roles := plainRoles(given) // none: the service is told so
	u.Roles = &roles
	u.FullAccess = len(roles) == 0 // the specification demands it
	return u
}

func (a *authMgmtAdapter) createClient(c *call) response {
	var d decoder
	var n authmgmt.NewClient
	if body, ok := d.body(c.body); ok {
		n.Name, _ = a.name(&body, "name", required)
		n.Roles = plainRoles(a.roles(&body))
		n.FullAccess = len(n.Roles) == 0 // as with the update
		noContext(&body)
	}
	if failed := a.checked(c, &d, ""); failed != nil {
		return *failed
	}
	created, secret, err := a.service.CreateClient(c.r.Context(), c.principal.Organization, c.caller(), n)
	if err != nil {
		return a.h.fail(c, err)
	}
	return response{status: http.StatusCreated, body: mustJSON(newClientCredentials(created, secret)), header: location(c.r, created.ID)}
}

func (a *authMgmtAdapter) listClients(c *call) response {
	return listing(a, c, source[authmgmt.Client]{a.service.ListClients, a.service.CountClients}, func(client *authmgmt.Client) (clientCredentials, error) {
		return newClientCredentials(*client, mortise.Secret{}), nil
	})
}

func (a *authMgmtAdapter) getClient(c *call) response { return a.ofClient(c, taggedClient) }

// ofClient answers with a view of the client in the path.
func (a *authMgmtAdapter) ofClient(c *call, view func(authmgmt.Client) response) response {
	var d decoder
	id := pathID(&d, c.r, "client_id")
	if failed := a.checked(c, &d, id); failed != nil {
		return *failed
	}
	client, err := a.service.Client(c.r.Context(), c.principal.Organization, id)
	if err != nil {
		return a.h.fail(c, err)
	}
	return view(client)
}

func (a *authMgmtAdapter) deleteClient(c *call) response {
	var d decoder
	id := pathID(&d, c.r, "client_id")
	if failed := a.checked(c, &d, id); failed != nil {
		return *failed
	}
	if err := a.service.DeleteClient(c.r.Context(), c.principal.Organization, c.caller(), id); err != nil {
		return a.h.fail(c, err)
	}
	return response{status: http.StatusOK}
}

// maxSecretOverlap is how long a secret can go on working beside a new one, as package
// authmgmt has it.
const maxSecretOverlap = 90 * 24 * time.Hour

// rotateSecret serves the operation rotateClientSecret.
func (a *authMgmtAdapter) rotateSecret(c *call) response {
	var d decoder
	id := pathID(&d, c.r, "client_id")
	var overlap time.Duration // 0: the service's
	if body, ok := d.optionalBody(c.body); ok {
		if seconds, ok := body.integer("overlap_seconds", nullable, 0, 0, int64(maxSecretOverlap/time.Second)); ok {
			overlap = time.Duration(seconds) * time.Second
			if seconds == 0 {
				overlap = -1 // the service's word for "none"
			}
		}
	}
	if failed := a.checked(c, &d, id); failed != nil {
		return *failed
	}
	client, secret, err := a.service.RotateSecret(c.r.Context(), c.principal.Organization, c.caller(), id, overlap)
	if err != nil {
		return a.h.fail(c, err)
	}
	return response{status: http.StatusOK, body: mustJSON(newClientCredentials(client, secret))}
}
