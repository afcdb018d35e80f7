package httpadapter_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/httpadapter"
)

// refusals are the bodies of a 401, with the credential's name left out.
var refusals = map[string]string{
	"trigger":     `{"error":"authentication_failed","message":"The NAME is missing, invalid, expired or revoked."}`,
	"authmgmt":    `{"detail":"The NAME is missing, invalid, expired or revoked."}`,
	"audiosearch": `{"detail":"The NAME is missing, invalid, expired or revoked."}`,
	"vault": `{"error":{"grpc_code":16,"http_code":401,"http_status":"Unauthorized",` +
		`"message":"The NAME is missing, invalid, expired or revoked.","details":[]}}`,
}

// refused asks a service with an unknown token or without one, and returns the body and the
// challenge.
func refused(t *testing.T, s *anyService, token bool, edit func(*anyService) string) (body, challenge string) {
	t.Helper()
	method, path, _ := strings.Cut(edit(s), " ")
	r := httptest.NewRequest(method, path, nil)
	if token {
		r.Header.Set("Authorization", "Bearer unknown")
	}
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	require.Equal(t, 401, w.Code, w.Body)
	require.Len(t, w.Header()["Www-Authenticate"], 1)
	return w.Body.String(), w.Header()["Www-Authenticate"][0]
}

// A 401 has the host's name of the credential, or else the service's own.
func TestCredential(t *testing.T) {
	for name, want := range map[string]map[string]string{
		"": {
			"trigger": "API key", "authmgmt": "access token",
			"audiosearch": "access token", "vault": "access token",
		},
		"JWT of acme.example <v2> & others": nil,
		strings.Repeat("x", 100):            nil,
	} {
		for _, s := range everyService(t, httpadapter.Options{Credential: name}) {
			credential, realm := name, map[bool]string{false: `Bearer realm="` + name + `"`, true: `Bearer realm="` + name + `", error="invalid_token"`}
			if want != nil {
				credential, realm = want[s.name], map[bool]string{false: "Bearer", true: `Bearer error="invalid_token"`}
			}
			for _, at := range []func(*anyService) string{
				func(s *anyService) string { return s.fine },
				func(s *anyService) string { return s.read },
				// Would be a 405.
				func(s *anyService) string { return "PATCH " + s.read[len("POST "):] },
			} {
				for token, want := range realm {
					body, challenge := refused(t, s, token, at)
					require.Equal(t, strings.Replace(refusals[s.name], "NAME", credential, 1), body)
					require.Equal(t, want, challenge)
				}
			}
		}
	}
}

func TestCredentialRefused(t *testing.T) {
	r := newRig(t, nil)
	for _, bad := range []string{
		" ", "  ", " token", "token ", `a"b`, `a\b`, "a\nb", "a\rb", "a\x00b", "a\tb", "a\x7fb", "clé",
		strings.Repeat("x", 101),
	} {
		_, err := httpadapter.NewTrigger(r.service, httpadapter.Bearer(httpadapter.TriggerKeys(r.service)),
			&httpadapter.TriggerOptions{Options: httpadapter.Options{Credential: bad}})
		require.ErrorContains(t, err, "Options.Credential must be", "%q", bad)
		require.NotContains(t, err.Error(), "\n")
	}
}
