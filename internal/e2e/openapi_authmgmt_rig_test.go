package e2e

import (
	"context"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/authmgmt/authmgmttest"
	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/storage/memory"
)

// authMgmtRig is the credentials service. What is public fails at the store, all else at
// the look at the access token.
type authMgmtRig struct {
	*openapiRig
	service *authmgmt.Service
	tokens  map[string]string
	issued  map[string]uuid.UUID // their IDs
	admit   error
	grant   error
}

func newAuthMgmtRig(t *testing.T) *authMgmtRig {
	t.Helper()
	r := &authMgmtRig{openapiRig: &openapiRig{t: t, answered: make(map[string]map[string]bool)}, tokens: make(map[string]string), issued: make(map[string]uuid.UUID)}
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	key, err := authmgmt.NewInvitationKey([]byte("not random, and nobody's key !?>"))
	require.NoError(t, err)
	faults := &authmgmttest.Faults{Before: func(op string) error { return r.fault(op[strings.Index(op, ".")+1:]) }}
	r.service, err = authmgmt.New(authmgmt.Backend{Store: faults.Store(db.AuthMgmt().Store), Directory: db.AuthMgmt().Directory}, &authmgmt.Options{
		InvitationKey: key,
		AcceptURL:     "https://api.example.com" + httpadapter.AcceptPath, Env: mortise.Env{Logger: silent},
		Admit: func(context.Context, authmgmt.Invitation, mortise.Actor) error { return r.admit },
		Grant: func(context.Context, authmgmt.Acceptance) (mortise.Secret, error) {
			return mortise.NewSecret("shown once"), r.grant
		},
	})
	require.NoError(t, err)
	r.rbac(true)
	for name, roles := range map[string][]access.Role{"full": nil, "admin": {{ID: "admin"}}, "viewer": {{ID: "viewer"}}, "spare": {{ID: "viewer"}}} {
		token, text, err := r.service.IssueToken(t.Context(), "acme", operator, authmgmt.NewToken{
			Subject: name, Roles: roles, FullAccess: len(roles) == 0, Lifetime: authmgmt.NoExpiry,
		})
		require.NoError(t, err)
		r.tokens[name], r.issued[name] = text.Reveal(), token.ID
	}
	r.key = r.tokens["full"]
	h, err := httpadapter.NewAuthMgmt(r.service, unlessHasty(httpadapter.Bearer(httpadapter.AccessTokens(r.service))), &httpadapter.AuthMgmtOptions{
		Options: r.options(), Clients: true, Invitations: true, Tokens: true, AcceptPage: true, Login: true,
	})
	require.NoError(t, err)
	r.serve(h)
	return r
}

var operator = authmgmt.Caller{Actor: "operator", Access: access.Full()}

func (r *authMgmtRig) rbac(enabled bool) {
	r.t.Helper()
	require.NoError(r.t, r.service.SetRBAC(context.Background(), "acme", operator, enabled))
}

const authMgmtSecret = "cs-EXAMPLE-0123456789-EXAMPLE-0123456789"

// client makes one, with a secret if it is to log in.
func (r *authMgmtRig) client(id, secret string) {
	r.t.Helper()
	if secret == "" {
		secret = authMgmtSecret + id
	}
	_, err := r.service.ImportClient(r.t.Context(), "acme", operator, authmgmt.NewClient{ID: id, Name: id, FullAccess: true}, secret)
	require.NoError(r.t, err)
}

func (r *authMgmtRig) invite(id string, roles ...access.Role) (path string) {
	r.t.Helper()
	i, err := r.service.ImportInvitation(r.t.Context(), "acme", operator, authmgmt.NewInvitation{
		ID: id, Inviter: "Grace", Email: id + "@example.com", Name: "Ada", Roles: roles, FullAccess: len(roles) == 0,
	})
	require.NoError(r.t, err)
	link, err := r.service.LinkToken(r.t.Context(), &i)
	require.NoError(r.t, err)
	return httpadapter.AcceptPath + link.Reveal()
}
