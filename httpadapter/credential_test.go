package httpadapter_test

import (
	"encoding/json"
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

// openapiDocument is what the test reads of one.
type openapiDocument struct {
	Paths map[string]map[string]struct {
		OperationID string
		Security    []map[string]any
		Responses   map[string]map[string]any
	}
	Components map[string]map[string]map[string]any
}

func (d *openapiDocument) follow(t *testing.T, v map[string]any) map[string]any {
	t.Helper()
	ref, isRef := v["$ref"].(string)
	if !isRef {
		return v
	}
	kind, name, _ := strings.Cut(strings.TrimPrefix(ref, "#/components/"), "/")
	require.Contains(t, d.Components[kind], name, ref)
	return d.Components[kind][name]
}

// However the services of one document name their credentials, it says of each what it is
// answered with.
func TestOpenAPINamesCredentials(t *testing.T) {
	names := []string{"", "JWT of acme.example <v2> & others", "session token"}
	var services [3][]*anyService
	for i, name := range names {
		services[i] = everyService(t, httpadapter.Options{Credential: name})
	}
	for n := 0; n < 81; n += 5 { // in these, each service goes by each name
		choice := n
		chosen := map[string]*anyService{} // by operation
		var handlers []*httpadapter.Handler
		var credentials []string
		for i := range 4 {
			which := choice % 3
			choice /= 3
			s := services[which][i]
			handlers, credentials = append(handlers, s.handler), append(credentials, names[which])
			for _, r := range s.handler.Routes() {
				chosen[r.ID] = s
			}
		}
		raw, err := httpadapter.OpenAPI(nil, handlers...)
		require.NoError(t, err, credentials)
		var doc openapiDocument
		require.NoError(t, json.Unmarshal(raw, &doc))
		credentialOf := map[string]string{}
		for i, h := range handlers {
			credentialOf[h.Routes()[0].Service] = credentials[i]
		}
		described := 0
		for _, item := range doc.Paths {
			for _, op := range item {
				if len(op.Security) != 1 || op.Security[0]["clientBasic"] != nil {
					continue // public
				}
				described++
				s := chosen[op.OperationID]
				body, challenge := refused(t, s, false, func(s *anyService) string { return s.fine })
				_, ofToken := refused(t, s, true, func(s *anyService) string { return s.fine })
				answer := doc.follow(t, op.Responses["401"])
				content := answer["content"].(map[string]any)["application/json"].(map[string]any)
				example, err := json.Marshal(content["example"])
				require.NoError(t, err)
				require.JSONEq(t, body, string(example), op.OperationID)
				header := doc.follow(t, answer["headers"].(map[string]any)["WWW-Authenticate"].(map[string]any))
				require.Equal(t, challenge, header["example"])
				require.Equal(t, []any{challenge, ofToken}, header["schema"].(map[string]any)["enum"])
				require.Contains(t, header["description"], "`"+challenge+"`")
				require.Contains(t, header["description"], "`"+ofToken+"`")
				require.Len(t, op.Security[0], 1)
				for name := range op.Security[0] {
					require.Regexp(t, `^[A-Za-z0-9._-]+$`, name)
					require.Contains(t, doc.Components["securitySchemes"], name)
					scheme := doc.Components["securitySchemes"][name]
					require.Equal(t, "bearer", scheme["scheme"])
					if credential := credentialOf[s.name]; credential != "" {
						require.Contains(t, scheme["description"], "The "+credential+". ")
						require.Contains(t, answer["description"], "The "+credential+" is missing")
						require.NotContains(t, scheme["description"], "API")
					} else if s.name == "trigger" {
						require.Contains(t, scheme["description"], "The organization's API key. Send it")
					} else {
						require.Contains(t, scheme["description"], "An access token. ")
					}
				}
			}
		}
		require.Greater(t, described, 15)
	}
}

// Nothing of the words of the default is left, where the service is not about tokens.
func TestOpenAPIOfANamedCredentialSaysNothingElse(t *testing.T) {
	for _, s := range everyService(t, httpadapter.Options{Credential: "session"}) {
		raw, err := httpadapter.OpenAPI(nil, s.handler)
		require.NoError(t, err)
		for _, word := range []string{"ccess token is missing", "API key", "accessToken", "bearerAuth", "of the access token;"} {
			// The document is long.
			require.False(t, strings.Contains(string(raw), word), "%s: %s", s.name, word)
		}
		if s.name != "authmgmt" {
			require.False(t, strings.Contains(strings.ToLower(string(raw)), "access token"), s.name)
		}
	}
}

func TestOpenAPIOfTwoCredentialsOfOneService(t *testing.T) {
	one := everyService(t, httpadapter.Options{Credential: "session"})
	two := everyService(t, httpadapter.Options{})
	for i := range one {
		_, err := httpadapter.OpenAPI(nil, one[i].handler, two[i].handler)
		require.ErrorContains(t, err, "differ in Options.Credential")
		_, err = httpadapter.OpenAPI(nil, one[i].handler, one[i].handler)
		require.NoError(t, err)
	}
}
