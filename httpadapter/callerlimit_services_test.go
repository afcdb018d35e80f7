package httpadapter_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
)

// whoHeader is an authenticator that believes the header Who.
var whoHeader = httpadapter.AuthenticatorFunc(func(r *http.Request) (httpadapter.Principal, error) {
	who := r.Header.Get("Who")
	if who == "" {
		return httpadapter.Principal{}, httpadapter.ErrUnauthenticated
	}
	return httpadapter.Principal{Organization: "acme", Subject: who, Access: access.Full()}, nil
})

// TestCallerLimit: callers have their own rates on every service, and a request over the limit
// is refused in the service's shape before anything but its credentials is looked at.
func TestCallerLimit(t *testing.T) {
	triggers, credentials, values, sounds := newRig(t, nil), newAuthRig(t, nil, nil), newVaultRig(t, nil, nil), newSoundRig(t, nil, nil)
	for name, service := range map[string]struct {
		mount   func(httpadapter.Authenticator, httpadapter.Options) (*httpadapter.Handler, error)
		path    string
		refused string // in the body
	}{
		"trigger": {func(a httpadapter.Authenticator, o httpadapter.Options) (*httpadapter.Handler, error) {
			return httpadapter.NewTrigger(triggers.service, a, &httpadapter.TriggerOptions{Options: o})
		}, "/triggers", `"error":"too_many_requests"`},
		"authmgmt": {func(a httpadapter.Authenticator, o httpadapter.Options) (*httpadapter.Handler, error) {
			return httpadapter.NewAuthMgmt(credentials.service, a, &httpadapter.AuthMgmtOptions{Options: o, Clients: true})
		}, clients, `"detail":"There are too many requests.`},
		"vault": {func(a httpadapter.Authenticator, o httpadapter.Options) (*httpadapter.Handler, error) {
			return httpadapter.NewVault(values.service, a, &httpadapter.VaultOptions{Options: o})
		}, "/v1/vaults/v1/tokenize", `"grpc_code":8`},
		"audiosearch": {func(a httpadapter.Authenticator, o httpadapter.Options) (*httpadapter.Handler, error) {
			return httpadapter.NewAudioSearch(sounds.service, a, &httpadapter.AudioSearchOptions{Options: o})
		}, soundURL, `"detail":"There are too many requests.`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				limit, err := httpadapter.NewCallerLimit(0.5)
				require.NoError(t, err)
				var seen []httpadapter.RequestObservation
				handler, err := service.mount(limit.Around(whoHeader), httpadapter.Options{
					Observer: func(_ context.Context, o httpadapter.RequestObservation) { seen = append(seen, o) },
				})
				require.NoError(t, err)
				ask := func(who, method string) *httptest.ResponseRecorder {
					r := httptest.NewRequest(method, service.path, strings.NewReader("no JSON"))
					r.Header.Set("Who", who)
					r.Header.Set("Content-Type", "text/plain")
					w := httptest.NewRecorder()
					handler.ServeHTTP(w, r)
					return w
				}
				require.Equal(t, http.StatusUnsupportedMediaType, ask("ada", "POST").Code)
				w := ask("ada", "POST")
				require.Equal(t, http.StatusTooManyRequests, w.Code)
				require.Equal(t, "2", w.Header().Get("Retry-After"))
				require.Contains(t, w.Body.String(), service.refused)
				require.Equal(t, "acme", seen[1].Organization)
				require.Equal(t, http.StatusTooManyRequests, seen[1].Status)
				require.Equal(t, http.StatusTooManyRequests, ask("ada", "PATCH").Code, "before the method")
				require.Equal(t, http.StatusUnsupportedMediaType, ask("grace", "POST").Code, "another caller")
				require.Equal(t, http.StatusUnauthorized, ask("", "POST").Code)
				time.Sleep(2 * time.Second)
				require.Equal(t, http.StatusMethodNotAllowed, ask("ada", "PATCH").Code, "what was refused does not count")
			})
		})
	}
}

// TestCallerLimitNamesTheCaller: the observer learns which organization asked too often, also
// where limits and authenticators are nested.
func TestCallerLimitNamesTheCaller(t *testing.T) {
	r := newRig(t, nil)
	wide, err := httpadapter.NewCallerLimit(1000)
	require.NoError(t, err)
	for name, around := range map[string]func(l *httpadapter.CallerLimit) httpadapter.Authenticator{
		"around FirstOf": func(l *httpadapter.CallerLimit) httpadapter.Authenticator {
			return l.Around(httpadapter.FirstOf(whoHeader))
		},
		"within FirstOf": func(l *httpadapter.CallerLimit) httpadapter.Authenticator {
			return httpadapter.FirstOf(l.Around(whoHeader))
		},
		"within another": func(l *httpadapter.CallerLimit) httpadapter.Authenticator { return wide.Around(l.Around(whoHeader)) },
	} {
		limit, err := httpadapter.NewCallerLimit(0.5)
		require.NoError(t, err)
		var seen []httpadapter.RequestObservation
		h, err := httpadapter.NewTrigger(r.service, around(limit), &httpadapter.TriggerOptions{Options: httpadapter.Options{
			Observer: func(_ context.Context, o httpadapter.RequestObservation) { seen = append(seen, o) },
		}})
		require.NoError(t, err)
		for range 2 {
			request := httptest.NewRequest(http.MethodPost, "/triggers", strings.NewReader("{}"))
			request.Header.Set("Who", "ada")
			h.ServeHTTP(httptest.NewRecorder(), request)
		}
		require.Equal(t, http.StatusTooManyRequests, seen[1].Status, name)
		require.Equal(t, "acme", seen[1].Organization, name)
	}
}

// TestCallerLimitChecks: a missing part is found when the service is mounted.
func TestCallerLimitChecks(t *testing.T) {
	r := newRig(t, nil)
	limit, err := httpadapter.NewCallerLimit(1)
	require.NoError(t, err)
	for name, auth := range map[string]httpadapter.Authenticator{
		"no authenticator": limit.Around(nil),
		"no limit":         (*httpadapter.CallerLimit)(nil).Around(whoHeader),
		"Bearer of nil":    limit.Around(httpadapter.Bearer(nil)),
		"within FirstOf":   httpadapter.FirstOf(whoHeader, limit.Around(nil)),
	} {
		_, err := httpadapter.NewTrigger(r.service, auth, nil)
		require.Error(t, err, name)
		_, err = auth.Authenticate(httptest.NewRequest("GET", "/", nil))
		require.Error(t, err, name)
	}
}
