package httpadapter_test

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
)

// says is an authenticator that gives an answer, and notes that it was asked.
func says(asked *[]string, name string, p httpadapter.Principal, err error) httpadapter.Authenticator {
	return httpadapter.AuthenticatorFunc(func(*http.Request) (httpadapter.Principal, error) {
		*asked = append(*asked, name)
		return p, err
	})
}

// mounted is the rig's service behind another authenticator.
func (r *rig) mounted(auth httpadapter.Authenticator) *httpadapter.Handler {
	r.t.Helper()
	h, err := httpadapter.NewTrigger(r.service, auth, &httpadapter.TriggerOptions{
		History: true, Options: httpadapter.Options{Logger: slog.New(slog.NewJSONHandler(r.log, nil))},
	})
	require.NoError(r.t, err)
	return h
}

// Whoever does not say ErrUnauthenticated decides, over HTTP, too, and nobody after them
// is asked.
func TestFirstOf(t *testing.T) {
	ada := httpadapter.Principal{Organization: "acme", Subject: "ada", Access: access.Full()}
	unknown := fmt.Errorf("host: expired: %w", httpadapter.ErrUnauthenticated)
	away := errors.New("host: the store of sessions is away")
	for name, c := range map[string]struct {
		first   httpadapter.Principal
		err     error
		inner   error // of the second, which knows Ada if it is nil
		asked   []string
		status  int
		subject string
	}{
		"the first":          {first: ada, asked: []string{"first"}, status: 200, subject: "ada"},
		"the second":         {err: unknown, asked: []string{"first", "second"}, status: 200, subject: "ada"},
		"nobody":             {err: unknown, inner: unknown, asked: []string{"first", "second", "third"}, status: 401},
		"the first is away":  {err: away, asked: []string{"first"}, status: 503},
		"the second is away": {err: unknown, inner: away, asked: []string{"first", "second"}, status: 503},
		"forbidden":          {err: httpadapter.ErrForbidden, asked: []string{"first"}, status: 403},
		"a principal beside": {first: ada, err: away, asked: []string{"first"}, status: 503},
		"no organization": {first: httpadapter.Principal{Subject: "ada", Access: access.Full()},
			asked: []string{"first"}, status: 503, subject: "ada"},
	} {
		t.Run(name, func(t *testing.T) {
			var asked []string
			auth := httpadapter.FirstOf(
				says(&asked, "first", c.first, c.err),
				httpadapter.FirstOf(says(&asked, "second", ada, c.inner)),
				says(&asked, "third", ada, unknown),
			)
			p, err := auth.Authenticate(httptest.NewRequest("GET", "/triggers", nil))
			require.Equal(t, c.asked, asked)
			require.Equal(t, c.subject, p.Subject, "none beside an error")
			require.Equal(t, c.status == 401, errors.Is(err, httpadapter.ErrUnauthenticated))
			require.Equal(t, c.status == 503 && c.err != nil, errors.Is(err, away))

			r := newRig(t, nil)
			h := r.mounted(auth)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest("GET", "/triggers", nil))
			require.Equal(t, c.status, w.Code, w.Body)
			require.Equal(t, c.status == 503, r.log.String() != "", "the operator hears of it")
		})
	}
}

// A store of tokens that is away must not make a 401 of a good token, and what comes
// after it must not let the caller in.
func TestFirstOfWithAStoreThatIsAway(t *testing.T) {
	credentials := newAuthRig(t, nil, nil)
	weaker := httpadapter.AuthenticatorFunc(func(*http.Request) (httpadapter.Principal, error) {
		return httpadapter.Principal{Organization: "acme", Subject: "anybody", Access: access.Full()}, nil
	})
	r := newRig(t, nil)
	h := r.mounted(httpadapter.FirstOf(
		httpadapter.Bearer(httpadapter.TriggerKeys(r.service)),
		httpadapter.Bearer(httpadapter.AccessTokens(credentials.service)), weaker,
	))
	ask := func(token string) int {
		req := httptest.NewRequest("GET", "/triggers", nil)
		req.Header.Set("Authorization", "Bearer "+token)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, req)
		return w.Code
	}
	_, machine, err := credentials.service.IssueToken(t.Context(), "acme",
		authmgmt.Caller{Actor: "operator", Access: access.Full()},
		authmgmt.NewToken{Subject: "ci", Roles: []access.Role{{ID: "viewer"}}})
	require.NoError(t, err)
	require.Equal(t, 200, ask(r.key))
	require.Equal(t, 200, ask(machine.Reveal()))
	credentials.faults("TokenByDigest")
	require.Equal(t, 200, ask(r.key), "the first knows it")
	require.Equal(t, 503, ask(machine.Reveal()))
	credentials.faults()
	r.store.keyErr = errors.New("connection refused")
	require.Equal(t, 503, ask(r.key))
	require.Equal(t, 503, ask(machine.Reveal()), "it may have been a key")
}

// What has nobody to ask is refused at the start, and asks nobody later.
func TestAuthenticatorsOfNothing(t *testing.T) {
	r := newRig(t, nil)
	var asked []string
	known := says(&asked, "known", httpadapter.Principal{Organization: "acme"}, nil)
	for text, auth := range map[string]httpadapter.Authenticator{
		"needs an authenticator":                httpadapter.FirstOf(),
		"a nil authenticator, number 2 of 2":    httpadapter.FirstOf(known, nil),
		"a nil authenticator, number 1 of 1":    httpadapter.FirstOf(known, httpadapter.FirstOf(nil)),
		"a nil authenticator, number 1 of 2":    httpadapter.FirstOf(nil, known),
		"httpadapter: FirstOf was given a nil ": httpadapter.FirstOf(httpadapter.FirstOf(known, known, nil)),
		"Bearer needs a function":               httpadapter.Bearer(nil),
		"needs a function that verifies tokens": httpadapter.FirstOf(httpadapter.Bearer(nil), known),
		"and of a service that is nil":          httpadapter.Bearer(httpadapter.TriggerKeys(nil)),
		"of a service that is nil there is":     httpadapter.FirstOf(httpadapter.Bearer(httpadapter.AccessTokens(nil))),
		"the AuthenticatorFunc is nil":          httpadapter.FirstOf(httpadapter.AuthenticatorFunc(nil)),
	} {
		_, err := httpadapter.NewTrigger(r.service, auth, nil)
		require.ErrorContains(t, err, text)
		_, err = auth.Authenticate(httptest.NewRequest("GET", "/", nil))
		require.ErrorContains(t, err, text)
		require.NotErrorIs(t, err, httpadapter.ErrUnauthenticated)
	}
	require.Empty(t, asked)
	_, err := httpadapter.NewTrigger(r.service, httpadapter.AuthenticatorFunc(nil), nil)
	require.ErrorContains(t, err, "the AuthenticatorFunc is nil")
	list := []httpadapter.Authenticator{known}
	auth := httpadapter.FirstOf(list...)
	list[0] = nil
	_, err = auth.Authenticate(httptest.NewRequest("GET", "/", nil))
	require.NoError(t, err, "the list is the caller's")
}
