package e2e

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// issuedToken is what is listed of an access token.
type issuedToken struct {
	ID        string       `json:"token_id"`
	Subject   string       `json:"subject"`
	Client    *string      `json:"client_id"`
	Roles     []assignment `json:"roles"`
	CreatedAt time.Time    `json:"created_at"`
	ExpiresAt *time.Time   `json:"expires_at"`
	RevokedAt *time.Time   `json:"revoked_at"`
}

type tokenList struct {
	Data []issuedToken
	Meta struct{ Offset, Limit, Total int }
}

// issuedTokens lists all tokens.
func (s *server) issuedTokens(as string) []issuedToken {
	s.t.Helper()
	list := ask[tokenList](s, http.StatusOK, "GET", issuedPath+"?limit=1000", as, nil)
	require.Len(s.t, list.Data, list.Meta.Total)
	return list.Data
}

// issuedToken returns what is listed of a token.
func (s *server) issuedToken(as, id string) issuedToken {
	s.t.Helper()
	for _, token := range s.issuedTokens(as) {
		if token.ID == id {
			return token
		}
	}
	require.Fail(s.t, "not listed", id)
	return issuedToken{}
}

// testIssuedTokens: what was given to somebody who accepted an invitation can be found
// and ended, by who may and in whose organization.
func testIssuedTokens(t *testing.T, start func(args ...string) *server) {
	s := start("-config", writeOrganizations(t, ""))
	for _, token := range s.issuedTokens(rootToken) {
		assert.Nil(t, token.ExpiresAt, "those of the provisioning document do not end")
	}
	given := s.accept(s.invite(rootToken, "alan@example.com", "editor").linkToken(t)).accepted(t)
	login := s.newClient(rootToken, "build", "viewer")
	session := s.token(login.ID, login.Secret)
	s.guard(given, login.Secret, session)
	var ofAlan, ofClient issuedToken
	for _, token := range s.issuedTokens(adminToken) {
		switch {
		case token.Subject == "alan@example.com":
			ofAlan = token
		case token.Client != nil:
			ofClient = token
		}
	}
	assert.Equal(t, roles("editor"), ofAlan.Roles)
	require.NotNil(t, ofAlan.ExpiresAt)
	assert.Equal(t, 90*24*time.Hour, ofAlan.ExpiresAt.Sub(ofAlan.CreatedAt))
	require.NotNil(t, ofClient.Client)
	assert.Equal(t, login.ID, *ofClient.Client)
	assert.Equal(t, time.Hour, ofClient.ExpiresAt.Sub(ofClient.CreatedAt))
	for _, text := range []string{given, session, rootToken} {
		assert.NotContains(t, s.do("GET", issuedPath, rootToken, "").body, text)
	}

	for _, token := range []string{given, session} { // of an editor, and of a viewer
		assert.Equal(t, http.StatusForbidden, s.status("GET", issuedPath, token))
		assert.Equal(t, http.StatusForbidden, s.status("DELETE", issuedPath+"/"+ofAlan.ID, token))
	}
	// Another organization's is answered like one that there is not.
	theirs, unknown := s.do("DELETE", issuedPath+"/"+ofAlan.ID, otherToken, ""), s.do("DELETE", issuedPath+"/00000000-0000-4000-8000-000000000000", otherToken, "")
	assert.Equal(t, http.StatusNotFound, theirs.status)
	assert.Equal(t, unknown.body, theirs.body)
	assert.Len(t, s.issuedTokens(otherToken), 1, "its own")
	// Nobody locks out somebody who holds more.
	for _, token := range s.issuedTokens(rootToken) {
		if token.Subject == "root" {
			assert.Equal(t, http.StatusForbidden, s.status("DELETE", issuedPath+"/"+token.ID, adminToken))
		}
	}

	for _, end := range []struct{ id, text string }{{ofAlan.ID, given}, {ofClient.ID, session}} {
		a := s.do("DELETE", issuedPath+"/"+end.id, adminToken, "")
		assert.Equal(t, http.StatusOK, a.status)
		assert.Empty(t, a.body)
		assert.Equal(t, http.StatusUnauthorized, s.status("GET", clientsPath, end.text))
		assert.NotNil(t, s.issuedToken(rootToken, end.id).RevokedAt)
	}
	assert.Equal(t, http.StatusOK, s.status("GET", issuedPath, rootToken))
}

// testIssuedTokensOfTwoServers: a token that is revoked on one server is refused by
// both at once.
func testIssuedTokensOfTwoServers(t *testing.T, p program) {
	dir, config := t.TempDir(), writeOrganizations(t, "")
	one, two := p.startIn(t, dir, nil, "-config", config), p.startIn(t, dir, nil, "-config", config)
	given := one.accept(one.invite(rootToken, "alan@example.com", "admin").linkToken(t)).accepted(t)
	for _, s := range []*server{one, two} {
		assert.Equal(t, http.StatusOK, s.status("GET", clientsPath, given))
	}
	for _, token := range two.issuedTokens(given) {
		if token.Subject == "alan@example.com" {
			assert.Equal(t, http.StatusOK, two.status("DELETE", issuedPath+"/"+token.ID, given), "one's own")
		}
	}
	for _, s := range []*server{one, two} {
		assert.Equal(t, http.StatusUnauthorized, s.status("GET", clientsPath, given))
	}
}
