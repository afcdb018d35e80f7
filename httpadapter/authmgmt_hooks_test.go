package httpadapter_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
)

// A host's policy takes the place of the roles, but not of the rule that nobody gives
// what they do not hold.
func TestAuthMgmtAuthorize(t *testing.T) {
	var asked []string
	answer := error(nil)
	all := everyAuthOption
	all.Authorize = func(_ context.Context, p httpadapter.Principal, action access.Action, resource access.Resource) error {
		asked = append(asked, fmt.Sprintf("%s %s %s %s", p.Subject, action, resource.Type, resource.ID))
		return answer
	}
	r := newAuthRig(t, &all, nil)
	r.client("acme", "c1", access.Role{ID: "viewer"})
	requireBody(t, r.as("viewer", "PUT", clients+"/c1", `{"roles":[{"role_id":"viewer"}],"name":"x"}`), http.StatusOK,
		`{"client_id":"c1","client_secret":"","name":"x","roles":[`+viewerRole+`]}`)
	require.Contains(t, requireDetail(t, r.as("viewer", "PUT", clients+"/c1", `{"roles":[{"role_id":"admin"}]}`), http.StatusForbidden), "do not hold")
	require.Equal(t, http.StatusOK, r.as("viewer", "GET", invitations, "").Code)
	require.Equal(t, []string{"person:viewer updateClient client c1", "person:viewer updateClient client c1", "person:viewer listUserInvitations invitation "}, asked)
	answer = httpadapter.ErrForbidden
	for _, m := range managementRequests {
		require.Equal(t, "These credentials do not allow this operation.", requireDetail(t, m.send(r, "full", "c1"), http.StatusForbidden))
	}
	answer = errors.New("policy server down")
	requireDetail(t, r.as("full", "GET", clients, ""), http.StatusServiceUnavailable)
	asked = nil
	require.Equal(t, http.StatusNotFound, r.as("", "GET", "/api/v1/auth-management/accept-invitation/x", "").Code)
	require.Equal(t, http.StatusBadRequest, r.as("", "POST", login, "").Code)
	require.Empty(t, asked, "what is public asks nobody")
}

// A principal with the zero Access may do nothing.
func TestZeroAccessMayDoNothing(t *testing.T) {
	r := newAuthRig(t, nil, nil)
	r.client("acme", "c1")
	all := everyAuthOption
	h, err := httpadapter.NewAuthMgmt(r.service, httpadapter.AuthenticatorFunc(func(*http.Request) (httpadapter.Principal, error) {
		return httpadapter.Principal{Organization: "acme", Subject: "somebody"}, nil
	}), &all)
	require.NoError(t, err)
	for _, m := range managementRequests {
		req := httptest.NewRequest(m.method, m.target(r, "c1"), strings.NewReader(m.body))
		req.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, req)
		requireDetail(t, w, http.StatusForbidden)
	}
}

func TestAccessTokens(t *testing.T) {
	r := newAuthRig(t, nil, nil)
	secret := r.client("acme", "c1", access.Role{ID: "admin"})
	_, token, err := r.service.Login(t.Context(), "c1", secret)
	require.NoError(t, err)
	r.tokens["c1"] = token.Reveal()
	require.Equal(t, http.StatusOK, r.as("c1", "GET", clients, "").Code)
	r.as("full", "PUT", clients+"/c1", `{"roles":[{"role_id":"viewer"}]}`)
	requireDetail(t, r.as("c1", "GET", clients, ""), http.StatusForbidden) // at once
	r.faults("TokenByDigest")
	requireDetail(t, r.as("c1", "GET", clients, ""), http.StatusServiceUnavailable)
	r.faults()
	r.as("full", "DELETE", clients+"/c1", "")
	first := r.as("c1", "GET", clients, "")
	requireDetail(t, first, http.StatusUnauthorized)
	for _, other := range []string{"unknown", "secret"} {
		r.tokens["unknown"], r.tokens["secret"] = "at-"+strings.Repeat("0", 64), secret
		w := r.as(other, "GET", clients, "")
		require.Equal(t, first.Body.String(), w.Body.String())
		require.Equal(t, withoutID(first), withoutID(w))
	}
}

func TestNewAuthMgmtRefuses(t *testing.T) {
	r := newAuthRig(t, nil, nil)
	_, err := httpadapter.NewAuthMgmt(nil, httpadapter.Bearer(httpadapter.AccessTokens(r.service)), nil)
	require.Error(t, err)
	_, err = httpadapter.NewAuthMgmt(r.service, nil, nil)
	require.Error(t, err)
	h, err := httpadapter.NewAuthMgmt(r.service, httpadapter.Bearer(httpadapter.AccessTokens(r.service)), nil)
	require.NoError(t, err)
	require.Len(t, h.Routes(), 3)
}
