package e2e

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/seed-6363c74e/mortise/internal/nightly"
)

// testLogin gets access tokens as a stranger's program would, and ends them in every way.
func testLogin(t *testing.T, start func(args ...string) *server) {
	s := start("-config", writeOrganizations(t, ""), "-trusted-proxies", "127.0.0.1")
	c := s.newClient(rootToken, "nightly", "admin client")
	s.guard(c.Secret)
	library := func(style oauth2.AuthStyle, id, secret string) (*oauth2.Token, error) {
		config := clientcredentials.Config{ClientID: id, ClientSecret: secret, TokenURL: s.url + loginPath, AuthStyle: style}
		return config.Token(t.Context())
	}
	styles := map[string]oauth2.AuthStyle{"header": oauth2.AuthStyleInHeader, "parameters": oauth2.AuthStyleInParams, "whichever": oauth2.AuthStyleAutoDetect}
	for name, style := range styles {
		before := time.Now()
		token, err := library(style, c.ID, c.Secret)
		after := time.Now()
		require.NoError(t, err, name)
		s.guard(token.AccessToken)
		assert.Equal(t, "Bearer", token.Type())
		assert.False(t, token.Expiry.Before(before.Add(time.Hour)) || token.Expiry.After(after.Add(time.Hour)), "it ends at %v", token.Expiry)
		config := clientcredentials.Config{ClientID: c.ID, ClientSecret: c.Secret, TokenURL: s.url + loginPath, AuthStyle: style}
		resp, err := config.Client(t.Context()).Get(s.url + clientsPath)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		assert.Equal(t, http.StatusOK, resp.StatusCode, "asked with the library's own client")

		for _, wrong := range [][2]string{{c.ID, c.Secret + "0"}, {"nobody", c.Secret}, {c.ID, ""}, {c.Secret, c.ID}} {
			_, err := library(style, wrong[0], wrong[1])
			var refused *oauth2.RetrieveError
			require.ErrorAs(t, err, &refused, name)
			assert.Equal(t, http.StatusUnauthorized, refused.Response.StatusCode)
			assert.Equal(t, "invalid_client", refused.ErrorCode)
		}
	}
	guess := func(address string) int {
		return s.do("POST", loginPath, "", "grant_type=client_credentials&client_secret=wrong&client_id="+c.ID,
			"Content-Type", "application/x-www-form-urlencoded", "X-Forwarded-For", address).status
	}
	s.await("a log line with the client's ID and the address that the proxy says, one of a second", func() bool {
		tooMany := guess("192.0.2.1, 203.0.113.7") == http.StatusTooManyRequests
		return tooMany && strings.Contains(s.stderr.String(), `"msg":"login refused","client_id":"`+c.ID+`","address":"203.0.113.7:0","count":`)
	})
	assert.Equal(t, http.StatusUnauthorized, guess("203.0.113.8"), "the first of another address")

	// A change of the roles counts for a token that was issued before.
	token := s.token(c.ID, c.Secret)
	s.guard(token)
	assert.Equal(t, http.StatusForbidden, s.status("GET", invitationsPath, token))
	ask[credentials](s, http.StatusOK, "PUT", clientsPath+"/"+c.ID, rootToken, object{"roles": roles("viewer invitation", "admin invitation")})
	assert.Equal(t, http.StatusOK, s.status("GET", invitationsPath, token))
	assert.Equal(t, http.StatusForbidden, s.status("GET", clientsPath, token))
	ask[credentials](s, http.StatusOK, "PUT", clientsPath+"/"+c.ID, rootToken, object{})
	assert.Equal(t, http.StatusOK, s.status("GET", clientsPath, token), "no roles are full access")

	// A secret that was rotated away ends with its tokens, now or later.
	rotate := func(body object) credentials {
		t.Helper()
		fresh := ask[credentials](s, http.StatusOK, "POST", clientsPath+"/"+c.ID+"/rotate-secret", rootToken, body)
		s.guard(fresh.Secret)
		return fresh
	}
	second := rotate(object{"overlap_seconds": 3600})
	assert.Equal(t, http.StatusOK, s.status("GET", clientsPath, token))
	assert.Equal(t, http.StatusOK, s.login(c.ID, c.Secret).status, "during the overlap")
	later := s.token(c.ID, second.Secret)
	s.guard(later)
	third := rotate(object{"overlap_seconds": 0})
	for _, ended := range []string{token, later} {
		assert.Equal(t, http.StatusUnauthorized, s.status("GET", clientsPath, ended), "without overlap")
	}
	for _, ended := range []string{c.Secret, second.Secret} {
		assert.Equal(t, http.StatusUnauthorized, s.login(c.ID, ended).status)
	}
	token = s.token(c.ID, third.Secret)
	s.guard(token)
	assert.Equal(t, http.StatusOK, s.status("GET", clientsPath, token))
	assert.Equal(t, http.StatusOK, s.status("DELETE", clientsPath+"/"+c.ID, rootToken))
	assert.Equal(t, http.StatusUnauthorized, s.status("GET", clientsPath, token), "of a client that was deleted")
	assert.Equal(t, http.StatusUnauthorized, s.login(c.ID, third.Secret).status)
	assert.Equal(t, http.StatusNotFound, s.status("GET", clientsPath+"/"+c.ID, rootToken))
}

// testLoginTimes measures how long the refusals take. They say nothing about which part
// was wrong, and their times should not either; on a machine that does other things that
// cannot be asserted.
func testLoginTimes(t *testing.T, start func(args ...string) *server) {
	nightly.Only(t)
	s := start("-config", writeOrganizations(t, ""))
	there := s.newClient(rootToken, "there")
	rotated := s.newClient(rootToken, "rotated")
	deleted := s.newClient(rootToken, "deleted")
	ask[credentials](s, http.StatusOK, "POST", clientsPath+"/"+rotated.ID+"/rotate-secret", rootToken, object{"overlap_seconds": 0})
	require.Equal(t, http.StatusOK, s.status("DELETE", clientsPath+"/"+deleted.ID, rootToken))
	// No more logins of a client may fail within a minute than these.
	const rounds = 29
	unknown := "cs-" + "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	kinds := []struct{ name, id, secret string }{
		{"unknown client", "0b3c1d5e-0000-4000-8000-000000000000", unknown},
		{"wrong secret", there.ID, unknown},
		{"secret of another client", s.newClient(rootToken, "third").ID, s.newClient(rootToken, "another").Secret},
		{"secret rotated away", rotated.ID, rotated.Secret},
		{"deleted client", deleted.ID, deleted.Secret},
	}
	var tries []try
	first := s.login(kinds[0].id, kinds[0].secret)
	for _, kind := range kinds {
		tries = append(tries, try{kind.name, func() {
			a := s.login(kind.id, kind.secret)
			require.Equal(t, http.StatusUnauthorized, a.status, kind.name)
			require.Equal(t, first.body, a.body, "an answer tells what was wrong")
		}})
	}
	logTimes(t, rounds, tries)
}

// testTokenTimes is testLoginTimes for access tokens.
func testTokenTimes(t *testing.T, start func(args ...string) *server) {
	nightly.Only(t)
	revoked := "at-" + strings.Repeat("0123456789abcdef", 4)
	s := start("-config", writeOrganizations(t, `"clients": []}, {"id": "ended", "access_tokens": [{"token": "`+revoked+`", "subject": "s", "revoked": true}]`))
	there, deleted := s.newClient(rootToken, "there"), s.newClient(rootToken, "deleted")
	valid, orphan := s.token(there.ID, there.Secret), s.token(deleted.ID, deleted.Secret)
	s.guard(revoked, there.Secret, deleted.Secret, valid, orphan)
	require.Equal(t, http.StatusOK, s.status("DELETE", clientsPath+"/"+deleted.ID, rootToken))
	unknown := "at-" + strings.Repeat("fedcba9876543210", 4)
	ask := func(token string) answer { return s.do("GET", clientsPath+"/"+there.ID, token, "") }
	first := ask(unknown)
	require.Equal(t, http.StatusUnauthorized, first.status)
	tries := []try{{"valid", func() { require.Equal(t, http.StatusOK, ask(valid).status) }}}
	for _, kind := range []struct{ name, token string }{
		{"unknown", unknown}, {"revoked", revoked}, {"of a deleted client", orphan}, {"cut off", valid[:len(valid)-1]}, {"malformed", "no token at all"},
	} {
		tries = append(tries, try{kind.name, func() {
			a := ask(kind.token)
			require.Equal(t, http.StatusUnauthorized, a.status, kind.name)
			require.Equal(t, first.body, a.body, "an answer tells what was wrong")
		}})
	}
	logTimes(t, 100, tries)
}

// try is something of which the time is of interest.
type try struct {
	name string
	do   func()
}

// logTimes does each of them so many times, in turns, so that what else the machine does
// hits all alike.
func logTimes(t *testing.T, rounds int, tries []try) {
	t.Helper()
	took := make([][]time.Duration, len(tries))
	for range rounds {
		for i, try := range tries {
			begun := time.Now()
			try.do()
			took[i] = append(took[i], time.Since(begun))
		}
	}
	for i, try := range tries {
		slices.Sort(took[i])
		t.Logf("%-25s median %v", try.name, took[i][len(took[i])/2])
	}
}
