package httpadapter_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
)

// TestDeletedOrganization: from the mark on, which another server makes, every credential
// is answered as one that never was.
func TestDeletedOrganization(t *testing.T) {
	r := newAuthRig(t, nil, nil)
	secret := r.client("acme", "robot")
	i := r.invitation("acme", "ada")
	link := strings.TrimPrefix(r.url(&i), "https://app.example.com")
	enter := func() *httptest.ResponseRecorder {
		return r.form("grant_type=client_credentials", basic("robot", secret))
	}
	for caller := range callers {
		require.NotEqual(t, http.StatusUnauthorized, r.as(caller, "GET", clients, "").Code, caller)
	}
	require.Equal(t, http.StatusOK, enter().Code)
	require.Equal(t, http.StatusOK, r.as("", "GET", link, "").Code)

	other, err := authmgmt.New(authmgmt.Backend{Store: r.store}, nil)
	require.NoError(t, err)
	_, err = other.DeleteOrganization(t.Context(), "acme", root)
	require.NoError(t, err)
	r.tokens["unknown"] = "at-0123456789abcdef0123456789abcdef"
	unknown := r.as("unknown", "GET", clients, "")
	requireDetail(t, unknown, http.StatusUnauthorized)
	for caller := range callers {
		for path, method := range map[string]string{clients: "GET", clients + "/robot": "DELETE", invitations + "/ada": "GET", issued: "GET"} {
			w := r.as(caller, method, path, "")
			if caller == "rival" {
				require.NotEqual(t, http.StatusUnauthorized, w.Code, path)
				continue
			}
			require.Equal(t, unknown.Code, w.Code, path)
			require.Equal(t, unknown.Body.String(), w.Body.String(), path)
			require.Equal(t, withoutID(unknown), withoutID(w), path)
		}
	}
	wrong := r.form("grant_type=client_credentials", basic("robot", "wrong"))
	w := enter()
	require.Equal(t, http.StatusUnauthorized, w.Code)
	require.Equal(t, wrong.Body.String(), w.Body.String())
	require.Equal(t, http.StatusNotFound, r.as("", "GET", link, "").Code)
	require.Equal(t, http.StatusNotFound, r.as("", "POST", link, "").Code)
}

// TestDeletedDuringTheRequest: in a deleted organization nothing is made. A caller that the
// host vouches for gets 403, for another login would not help. An access token, which a cache
// still knows, gets the 401 that it gets from then on.
func TestDeletedDuringTheRequest(t *testing.T) {
	r := newAuthRig(t, nil, nil)
	r.tokens["unknown"] = "at-0123456789abcdef0123456789abcdef"
	unknown := r.as("unknown", "POST", clients, "{}")
	requireDetail(t, unknown, http.StatusUnauthorized)
	caching, err := authmgmt.New(authmgmt.Backend{Store: r.store}, &authmgmt.Options{TokenCache: time.Minute})
	require.NoError(t, err)
	_, err = caching.VerifyToken(t.Context(), r.tokens["full"])
	require.NoError(t, err)
	_, err = r.service.DeleteOrganization(t.Context(), "acme", root)
	require.NoError(t, err)
	for _, c := range []struct {
		authenticate httpadapter.Authenticator
		status       int
		body         string
	}{
		{httpadapter.AuthenticatorFunc(func(*http.Request) (httpadapter.Principal, error) {
			return httpadapter.Principal{Organization: "acme", Subject: "session", Access: access.Full()}, nil
		}), http.StatusForbidden, `{"detail":"The organization was deleted, and its ID is never reused. Use another organization."}`},
		{httpadapter.Bearer(httpadapter.AccessTokens(caching)), http.StatusUnauthorized, unknown.Body.String()},
	} {
		r.makesNothing(c.authenticate, c.status, c.body)
	}
}

func (r *authRig) makesNothing(by httpadapter.Authenticator, status int, body string) {
	r.t.Helper()
	t, all := r.t, everyAuthOption
	h, err := httpadapter.NewAuthMgmt(r.service, by, &all)
	require.NoError(t, err)
	for _, roles := range []string{`[]`, `[{"role_id":"viewer"}]`} {
		for path, request := range map[string]string{
			clients:     `{"name":"x","roles":` + roles + `}`,
			invitations: `{"inviter":{"name":"x"},"invitee":{"name":"x","email":"x@example.com","roles":` + roles + `}}`,
		} {
			w := httptest.NewRecorder()
			req := httptest.NewRequest("POST", path, strings.NewReader(request))
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Authorization", "Bearer "+r.tokens["full"])
			h.ServeHTTP(w, req)
			require.Equal(t, status, w.Code, w.Body.String())
			require.Equal(t, body, w.Body.String())
			challenge := map[int]string{http.StatusUnauthorized: `Bearer error="invalid_token"`}[status]
			require.Equal(t, challenge, w.Header().Get("WWW-Authenticate"))
		}
	}
}
