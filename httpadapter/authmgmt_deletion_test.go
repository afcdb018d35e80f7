package httpadapter_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

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

// TestDeletedDuringTheRequest: what would be made after the mark is refused like a
// credential that does not exist, whatever the host's authenticator says.
func TestDeletedDuringTheRequest(t *testing.T) {
	r := newAuthRig(t, nil, nil)
	unknown := r.as("", "POST", clients, "{}")
	requireDetail(t, unknown, http.StatusUnauthorized)
	_, err := r.service.DeleteOrganization(t.Context(), "acme", root)
	require.NoError(t, err)
	all := everyAuthOption
	h, err := httpadapter.NewAuthMgmt(r.service, httpadapter.AuthenticatorFunc(func(*http.Request) (httpadapter.Principal, error) {
		return httpadapter.Principal{Organization: "acme", Subject: "session", Access: access.Full()}, nil
	}), &all)
	require.NoError(t, err)
	for _, roles := range []string{`[]`, `[{"role_id":"viewer"}]`} {
		for path, body := range map[string]string{
			clients:     `{"name":"x","roles":` + roles + `}`,
			invitations: `{"inviter":{"name":"x"},"invitee":{"name":"x","email":"x@example.com","roles":` + roles + `}}`,
		} {
			w := httptest.NewRecorder()
			req := httptest.NewRequest("POST", path, strings.NewReader(body))
			req.Header.Set("Content-Type", "application/json")
			h.ServeHTTP(w, req)
			require.Equal(t, unknown.Code, w.Code, w.Body.String())
			require.Equal(t, unknown.Body.String(), w.Body.String())
			require.Equal(t, withoutID(unknown).Get("WWW-Authenticate"), w.Header().Get("WWW-Authenticate"))
		}
	}
}
