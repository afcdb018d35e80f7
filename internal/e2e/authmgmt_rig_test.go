package e2e

import (
	"encoding/json"
	"html"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Paths of the credentials service.
const (
	clientsPath     = "/api/v1/auth-management/clients"
	invitationsPath = "/api/v1/auth-management/user-invitations"
	issuedPath      = "/api/v1/auth-management/tokens"
	acceptPath      = "/api/v1/auth-management/accept-invitation/"
	loginPath       = "/api/v0/login"
)

// Access tokens of the document that writeOrganizations writes.
const (
	rootToken  = "at-acme-root-00112233445566778899aabbccddeeff"
	adminToken = "at-acme-admins-00112233445566778899aabbccddee"
	otherToken = "at-other-root-00112233445566778899aabbccddeef"
)

// writeOrganizations writes a document with two organizations. In acme roles can be
// assigned, in other they cannot. more is put into the first one: `"clients": [...]`.
func writeOrganizations(t *testing.T, more string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "organizations.json")
	if more != "" {
		more = ", " + more
	}
	require.NoError(t, os.WriteFile(path, []byte(`{"organizations": [
		{"id": "acme", "rbac_enabled": true, "access_tokens": [
			{"token": "`+rootToken+`", "subject": "root"},
			{"token": "`+adminToken+`", "subject": "admin", "roles": [{"role_id": "admin"}]}]`+more+`},
		{"id": "other", "access_tokens": [{"token": "`+otherToken+`", "subject": "root"}]}
	]}`), 0o600))
	return path
}

// assignment is a role assignment, as it is sent and answered.
type assignment struct {
	ID       string  `json:"role_id"`
	Resource *string `json:"resource"`
	Instance *string `json:"resource_instance"`
}

// roles returns assignments: "viewer", "admin client" or "viewer dataset d1".
func roles(texts ...string) []assignment {
	list := []assignment{}
	for _, text := range texts {
		words := strings.Fields(text)
		a := assignment{ID: words[0]}
		if len(words) > 1 {
			a.Resource = &words[1]
		}
		if len(words) > 2 {
			a.Instance = &words[2]
		}
		list = append(list, a)
	}
	return list
}

type credentials struct {
	ID     string       `json:"client_id"`
	Secret string       `json:"client_secret"`
	Name   string       `json:"name"`
	Roles  []assignment `json:"roles"`
}

type invitation struct {
	ID      string `json:"invitation_id"`
	Inviter struct{ Name string }
	Invitee struct {
		Email, Name string
		Roles       []assignment
	}
	URL       string    `json:"invitation_url"`
	CreatedAt time.Time `json:"created_at"`
	ExpiresAt time.Time `json:"expires_at"`
	Roles     []assignment
}

// linkToken is the end of the invitation's link.
func (i invitation) linkToken(t *testing.T) string {
	t.Helper()
	_, token, ok := strings.Cut(i.URL, acceptPath)
	require.True(t, ok, i.URL)
	return token
}

// ask sends a request, with v as its body unless that is nil, wants a status, and reads
// the answer into a T.
func ask[T any](s *server, want int, method, path, token string, v any) (got T) {
	s.t.Helper()
	var body []byte
	if v != nil {
		var err error
		body, err = json.Marshal(v)
		require.NoError(s.t, err)
	}
	a := s.do(method, path, token, string(body))
	require.Equal(s.t, want, a.status, "%s %s: %s", method, path, a.body)
	if a.body != "" {
		require.NoError(s.t, json.Unmarshal([]byte(a.body), &got), a.body)
	}
	return got
}

// object is a JSON object to send, or one that was answered.
type object map[string]any

func (s *server) newClient(token, name string, r ...string) credentials {
	s.t.Helper()
	c := ask[credentials](s, http.StatusCreated, "POST", clientsPath, token, object{"name": name, "roles": roles(r...)})
	require.NotEmpty(s.t, c.Secret)
	return c
}

func (s *server) invite(token, email string, r ...string) invitation {
	s.t.Helper()
	return ask[invitation](s, http.StatusCreated, "POST", invitationsPath, token, object{"email": email, "name": "Somebody", "roles": roles(r...)})
}

// login sends a form.
func (s *server) login(id, secret string) answer {
	s.t.Helper()
	form := url.Values{"grant_type": {"client_credentials"}, "client_id": {id}, "client_secret": {secret}}
	return s.do("POST", loginPath, "", form.Encode(), "Content-Type", "application/x-www-form-urlencoded")
}

// token logs in and returns the access token.
func (s *server) token(id, secret string) string {
	s.t.Helper()
	a := s.login(id, secret)
	require.Equal(s.t, http.StatusOK, a.status, a.body)
	var body struct {
		Token string `json:"access_token"`
		Type  string `json:"token_type"`
	}
	require.NoError(s.t, json.Unmarshal([]byte(a.body), &body))
	assert.Equal(s.t, "Bearer", body.Type)
	return body.Token
}

// status asks for something and returns the status only.
func (s *server) status(method, path, token string) int {
	s.t.Helper()
	return s.do(method, path, token, "").status
}

// accept presses the button of the acceptance page.
func (s *server) accept(linkToken string) answer {
	s.t.Helper()
	return s.do("POST", acceptPath+linkToken, "", "", "Content-Type", "application/x-www-form-urlencoded")
}

var shownToken = regexp.MustCompile(`at-[0-9a-f]{64}`)

// accepted returns the access token that the page shows after the button was pressed.
func (a answer) accepted(t testing.TB) string {
	t.Helper()
	require.Equal(t, http.StatusOK, a.status, a.body)
	shown := shownToken.FindAllString(html.UnescapeString(a.body), -1)
	require.Len(t, shown, 1, a.body)
	return shown[0]
}

// refuseIn is refuse in a data folder where a server has run. It returns the one line
// that was said.
func (p program) refuseIn(t *testing.T, folder string, args ...string) string {
	t.Helper()
	return p.refuses(t, 2, append([]string{"-data", folder}, args...)...)
}

// eachStorage runs a test on each storage that the server can have on one machine.
func eachStorage(t *testing.T, p program, test func(t *testing.T, start func(args ...string) *server)) {
	storages := map[string][]string{"SQLite": nil, "memory": {"-memory"}}
	for _, name := range slices.Sorted(maps.Keys(storages)) {
		storage := storages[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, func(args ...string) *server {
				s := p.start(t, nil, append(storage, args...)...)
				s.secrets = append(secrets(), rootToken, adminToken, otherToken)
				return s
			})
		})
	}
}

// guard keeps secrets that the server's output must not show.
func (s *server) guard(texts ...string) { s.secrets = append(s.secrets, texts...) }

// challengeTo is the WWW-Authenticate of a 401 to a request with a token, or with "" for none.
func challengeTo(token string) string {
	if token == "" {
		return "Bearer"
	}
	return `Bearer error="invalid_token"`
}
