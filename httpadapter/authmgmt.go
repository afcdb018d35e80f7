package httpadapter

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
)

// AcceptPath is the path of the acceptance page, without the link's token, which follows
// it. A host that serves the page gives the address of this path to
// authmgmt.Options.AcceptURL. Whoever has the token can accept the invitation, and it is
// part of the path: keep the paths below out of access logs.
const AcceptPath = managementPath + "accept-invitation/"

const (
	managementPath  = "/api/v1/auth-management/"
	clientsPath     = managementPath + "clients"
	clientPath      = clientsPath + "/{client_id}"
	secretsPath     = clientPath + "/secrets"
	secretPath      = secretsPath + "/{secret_id}"
	invitationsPath = managementPath + "user-invitations"
	invitationPath  = invitationsPath + "/{invitation_id}"
	issuedPath      = managementPath + "tokens"
	issuedTokenPath = issuedPath + "/{token_id}"
	loginPath       = "/api/v0/login"
)

// AuthMgmtOptions are what the credentials service can be mounted with. The zero value
// means the defaults: the three operations of the document.
type AuthMgmtOptions struct {
	Options

	// Clients adds POST and GET .../clients, GET and DELETE .../clients/{client_id},
	// POST .../clients/{client_id}/rotate-secret, GET .../clients/{client_id}/secrets and
	// DELETE .../clients/{client_id}/secrets/{secret_id}.
	Clients bool

	Invitations bool // adds POST and GET .../user-invitations, POST .../user-invitations/{invitation_id}/resend
	Tokens      bool // adds GET .../tokens, DELETE .../tokens/{token_id}
	AcceptPage  bool // adds the page at AcceptPath where a person accepts an invitation
	Login       bool // adds the token endpoint, POST /api/v0/login; its body has at most 64 KiB

	// AcceptNext is the address that the page of an accepted invitation links to, such as the
	// start page of the host: an absolute http or https URL. With "" there is no link.
	AcceptNext string

	// FailedLogins bounds the logins with a wrong ID or secret that are answered with 401 within
	// a minute, for one client ID and one address: 30. Below 0 nothing is bounded. Further
	// failures are answered with 429 and Retry-After. The right secret passes all the same.
	// The address is http.Request.RemoteAddr, of IPv6 its first 64 bits. Behind a proxy it
	// is the proxy's address, unless a middleware of the host sets the client's. Each process
	// counts for itself. Failed logins are logged, in one line a second at most: with the client
	// ID and address of the last one, and as count the failures of all since the line before.
	FailedLogins int

	// PublicOnly leaves out the three operations of the document, for a host that manages
	// clients and invitations by calls of the service alone: what Login and AcceptPage
	// add is all that there is. It takes one of them at least, and none of the others.
	// Nobody is authenticated then, so the Authenticator may be nil.
	PublicOnly bool
}

// NewAuthMgmt mounts a credentials service: PUT .../clients/{client_id}, GET and DELETE
// .../user-invitations/{invitation_id}, and what the options add. All but the acceptance
// page and the token endpoint are governed by roles: see [Options].
//
// Whoever has an invitation's link can take what it gives. So invitation_url is "" in
// answers to a caller whose access does not cover the invitation's roles
// ([access.Access.Covers]).
func NewAuthMgmt(s *authmgmt.Service, auth Authenticator, opts *AuthMgmtOptions) (*Handler, error) {
	if s == nil {
		return nil, errors.New("httpadapter: NewAuthMgmt needs a service")
	}
	var o AuthMgmtOptions
	if opts != nil {
		o = *opts
	}
	if s.AcceptURL() == "" && (o.Invitations || o.AcceptPage) {
		return nil, errors.New("httpadapter: invitations need authmgmt.Options.AcceptURL, the address that their links begin with")
	}
	a := &authMgmtAdapter{service: s, logins: newFailedLogins(o.FailedLogins)}
	var ops []*operation
	switch {
	case !o.PublicOnly:
		ops = append(ops,
			clientOperation(access.UpdateClient, http.MethodPut, clientPath, a.updateClient),
			invitationOperation(access.GetInvitation, http.MethodGet, invitationPath, a.getInvitation),
			invitationOperation(access.DeleteInvitation, http.MethodDelete, invitationPath, a.deleteInvitation),
		)
	case o.Clients || o.Invitations || o.Tokens:
		return nil, errors.New("httpadapter: PublicOnly leaves out what Clients, Invitations and Tokens add; set it or them")
	case !o.Login && !o.AcceptPage:
		return nil, errors.New("httpadapter: PublicOnly leaves nothing to mount without Login or AcceptPage")
	}
	if o.Clients {
		rotate := clientOperation(access.RotateSecret, http.MethodPost, clientPath+"/rotate-secret", a.rotateSecret)
		ops = append(ops,
			clientOperation(access.CreateClient, http.MethodPost, clientsPath, a.createClient).withoutKey(),
			clientOperation(access.ListClients, http.MethodGet, clientsPath, a.listClients),
			clientOperation(access.GetClient, http.MethodGet, clientPath, a.getClient),
			clientOperation(access.DeleteClient, http.MethodDelete, clientPath, a.deleteClient),
			rotate.withOptionalBody().withoutKey(),
			clientOperation(access.ListSecrets, http.MethodGet, secretsPath, a.listSecrets),
			clientOperation(access.RevokeSecret, http.MethodDelete, secretPath, a.revokeSecret).answering(secretErrors),
		)
	}
	if o.Invitations {
		resend := invitationOperation(access.ResendInvitation, http.MethodPost, invitationPath+"/resend", a.resendInvitation)
		ops = append(ops,
			invitationOperation(access.CreateInvitation, http.MethodPost, invitationsPath, a.createInvitation).withoutKey(),
			invitationOperation(access.ListInvitations, http.MethodGet, invitationsPath, a.listInvitations),
			resend.withoutBody().withoutKey(),
		)
	}
	if o.Tokens {
		ops = append(ops,
			tokenOperation(access.ListTokens, http.MethodGet, issuedPath, a.listTokens),
			tokenOperation(access.RevokeToken, http.MethodDelete, issuedTokenPath, a.revokeToken),
		)
	}
	if o.AcceptPage {
		page, err := newAcceptPage(a, o.AcceptNext)
		if err != nil {
			return nil, err
		}
		ops = append(ops, page.operations()...)
	}
	if o.Login {
		ops = append(ops, a.loginOperation())
	}
	h, err := newHandler("authmgmt", auth, authMgmtErrors(""), o.Options, ops)
	if err != nil {
		return nil, err
	}
	a.h = h
	return h, nil
}

type authMgmtAdapter struct {
	h       *Handler
	service *authmgmt.Service
	logins  *failedLogins
}

func clientOperation(action access.Action, method, pattern string, handle func(*call) response) *operation {
	return governed(action, access.Client, method, pattern, handle).answering(clientErrors)
}

func invitationOperation(action access.Action, method, pattern string, handle func(*call) response) *operation {
	return governed(action, access.Invitation, method, pattern, handle).answering(invitationErrors)
}

// tokenOperation is one on access tokens. It takes the same rights as one on clients: a
// token is a client's, or can do what a client could.
func tokenOperation(action access.Action, method, pattern string, handle func(*call) response) *operation {
	return governed(action, access.Client, method, pattern, handle).answering(tokenErrors)
}

// checked answers problems of fields, and asks for authorization if there are none. It
// returns nil if the operation may go on.
func (a *authMgmtAdapter) checked(c *call, d *decoder, id string) *response {
	if len(d.details) > 0 {
		return c.refuse(problem{kind: invalid, details: d.details})
	}
	return a.h.authorize(c, id)
}

// caller is who asks for a change.
func (c *call) caller() authmgmt.Caller {
	return authmgmt.Caller{Actor: mortise.Actor(c.principal.Subject), Access: c.principal.Access}
}

// maxID bounds an ID in a path, in bytes, as package authmgmt does.
const maxID = 255

// pathID reads the ID of a client or an invitation. What no ID can be is refused here, so
// that every backend answers alike.
func pathID(d *decoder, r *http.Request, name string) string {
	id := r.PathValue(name)
	wrong := ""
	switch {
	case len(id) > maxID:
		wrong = "must be at most 255 bytes"
	case !utf8.ValidString(id):
		wrong = "must be valid UTF-8"
	case strings.ContainsRune(id, 0):
		wrong = "must not contain U+0000"
	default:
		return id
	}
	d.add([]any{"path", name}, "value_error", msgValue+wrong)
	return ""
}

// listMeta follows the items of a listing.
type listMeta struct {
	Offset int `json:"offset"`
	Limit  int `json:"limit"`
	Total  int `json:"total"`
}

const (
	maxListOffset = 10_000 // so far a listing is walked
	walkItems     = 200    // items that are read at once on the way
)

// source is a list of package authmgmt, and its count.
type source[T any] struct {
	page  func(ctx context.Context, org string, after mortise.Cursor, limit int) (mortise.Page[T], error)
	count func(ctx context.Context, org string) (int, error)
}

// behind returns the cursor behind so many items, and false if there are no more items.
func (s source[T]) behind(ctx context.Context, org string, items int) (after mortise.Cursor, ok bool, err error) {
	for items > 0 {
		page, err := s.page(ctx, org, after, min(items, walkItems))
		if err != nil || page.Next == "" {
			return "", false, err
		}
		items -= len(page.Items)
		after = page.Next
	}
	return after, true, nil
}

// listing answers with a page of a list. wire makes the JSON of an item.
func listing[T, W any](a *authMgmtAdapter, c *call, list source[T], wire func(*T) (W, error)) response {
	var d decoder
	p := newParams(&d, c.r)
	var meta listMeta
	meta.Offset = int(p.integer("offset", 0, 0, maxListOffset))
	meta.Limit = int(p.integer("limit", 50, 1, mortise.MaxPageSize))
	if failed := a.checked(c, &d, ""); failed != nil {
		return *failed
	}
	ctx, org := c.r.Context(), c.principal.Organization
	var after mortise.Cursor
	left, begun := meta.Limit, false
	return a.h.list(c, `{"data":[`, func(b *listStep) (err error) {
		more := true
		if !begun {
			if meta.Total, err = list.count(ctx, org); err != nil {
				return err
			}
			if after, more, err = list.behind(ctx, org, meta.Offset); err != nil {
				return err
			}
			begun = true
		}
		if more {
			page, err := list.page(ctx, org, after, min(left, stepItems))
			if err != nil {
				return err
			}
			for i := range page.Items {
				item, err := wire(&page.Items[i])
				if err != nil {
					return err
				}
				if err := b.item(item); err != nil {
					return err
				}
			}
			left -= len(page.Items)
			after, more = page.Next, page.Next != ""
		}
		if left <= 0 || !more {
			b.end(`],"meta":` + string(mustJSON(meta)) + `}`)
		}
		return nil
	})
}
