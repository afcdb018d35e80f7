package httpadapter_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
)

// What an operator does with a token that somebody has who should not: find it, and end
// it.
func TestListAndRevokeTokens(t *testing.T) {
	r := newAuthRig(t, nil, nil)
	all, err := r.service.ListTokens(t.Context(), "acme", "", 0)
	require.NoError(t, err)
	total := strconv.Itoa(len(all.Items) + 1)
	r.advance(time.Second)
	r.tokens["ada"] = r.token("acme", "ada", access.Role{ID: "admin"})
	require.Equal(t, http.StatusOK, r.as("ada", "GET", clients, "").Code)

	const ada = `{"token_id":"{id}","subject":"ada@example.com","client_id":null,` +
		`"roles":[{"role_id":"admin","resource":null,"resource_instance":null}],` +
		`"created_at":"2026-01-17T09:12:46.123456Z","expires_at":"2026-01-17T10:12:46.123456Z","revoked_at":null}`
	want := strings.ReplaceAll(ada, "{id}", tokenID("ada").String())
	w := r.as("client admin", "GET", issued+"?limit=1", "")
	requireBody(t, w, http.StatusOK, `{"data":[`+want+`],"meta":{"offset":0,"limit":1,"total":`+total+`}}`)
	require.NotContains(t, r.as("admin", "GET", issued, "").Body.String(), r.tokens["ada"])

	r.advance(time.Second)
	w = r.as("admin", "DELETE", issued+"/"+tokenID("ada").String(), "")
	requireBody(t, w, http.StatusOK, "")
	require.Empty(t, w.Header().Get("Content-Type"))
	requireDetail(t, r.as("ada", "GET", clients, ""), http.StatusUnauthorized)
	want = strings.ReplaceAll(want, `"revoked_at":null`, `"revoked_at":"2026-01-17T09:12:47.123456Z"`)
	r.advance(time.Second)
	requireBody(t, r.as("admin", "DELETE", issued+"/"+tokenID("ada").String(), ""), http.StatusOK, "")
	requireBody(t, r.as("admin", "GET", issued+"?limit=1", ""), http.StatusOK,
		`{"data":[`+want+`],"meta":{"offset":0,"limit":1,"total":`+total+`}}`)

	page, err := r.service.ListAuditEvents(t.Context(), "acme", authmgmt.AuditQuery{Kind: mortise.KindTokenRevoked})
	require.NoError(t, err)
	require.Len(t, page.Items, 1, "the second time changed nothing")
	require.EqualValues(t, "person:admin", page.Items[0].Actor)
	require.Equal(t, tokenID("ada").String(), page.Items[0].Target)
}

// A client's token is listed with the client and its roles as they are now.
func TestListTokensOfClients(t *testing.T) {
	r := newAuthRig(t, nil, nil)
	secret := r.client("acme", "c1", access.Role{ID: "viewer"})
	r.advance(time.Second)
	token, _, err := r.service.Login(t.Context(), "c1", secret)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, r.as("full", "PUT", clients+"/c1", `{"roles":[{"role_id":"editor"}]}`).Code)
	list := r.as("full", "GET", issued+"?limit=1", "").Body.String()
	require.Contains(t, list, `{"token_id":"`+token.ID.String()+`","subject":"client:c1","client_id":"c1",`+
		`"roles":[{"role_id":"editor","resource":null,"resource_instance":null}],`)
	require.NotContains(t, list, secret)
}

func TestTokensAreMountedOnRequest(t *testing.T) {
	r := newAuthRig(t, &httpadapter.AuthMgmtOptions{Clients: true, Invitations: true, Login: true, AcceptPage: true}, nil)
	require.Equal(t, http.StatusNotFound, r.as("full", "GET", issued, "").Code)
	require.Equal(t, http.StatusNotFound, r.as("full", "DELETE", issued+"/"+tokenID("x").String(), "").Code)
}
