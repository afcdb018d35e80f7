package e2e

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/storage/sqlite"
)

// writeTwins writes a document of organizations that have the same of everything, but for
// their secrets, which are made of the organization's name.
func writeTwins(t *testing.T, orgs ...string) string {
	t.Helper()
	const one = `{"id": "ORG", "setup_complete": true, "rbac_enabled": true,
		"api_keys": [{"key": "sk-ORG-0123456789abcdef0123456789abcdef"}],
		"access_tokens": [{"token": "at-ORG-0123456789abcdef0123456789abcdef", "subject": "ops"}],
		"doc_collections": [{"id": "7f1f3c1e-5a0e-4a52-9f0e-0c9a4a3f2b11", "ready": true}],
		"vaults": [{"id": "v1",
			"tables": [{"name": "persons", "columns": [{"name": "email", "tokenization": "deterministic", "format": "uuid"}]}],
			"records": [{"table": "persons", "fields": {"email": "ada@example.com"}}]}],
		"clients": [{"client_id": "c1", "client_secret": "cs-ORG-0123456789abcdef0123456789abcdef", "name": "ci"}],
		"invitations": [{"invitation_id": "i1", "inviter": {"name": "Grace"},
			"invitee": {"email": "alan@example.com", "name": "Alan"}, "expires_in": "168h"}],
		"datasets": [{"id": "d1", "videos": [{"id": "clip-1", "path": "clip-1.mp4", "metadata": {"season": 3}}]}]}`
	var all []string
	for _, org := range orgs {
		all = append(all, strings.ReplaceAll(one, "ORG", org))
	}
	path := filepath.Join(t.TempDir(), "twins.json")
	require.NoError(t, os.WriteFile(path, []byte(`{"organizations": [`+strings.Join(all, ",\n")+`]}`), 0o600))
	return path
}

// twin is what somebody of one of these organizations holds.
type twin struct {
	org     string
	session string // the token of a login
	link    string // of an invitation
}

func newTwin(t *testing.T, s *server, org string) *twin {
	t.Helper()
	w := &twin{org: org}
	s.guard(w.secret("sk"), w.secret("at"), w.secret("cs"))
	w.session = s.token("c1", w.secret("cs"))
	w.link = ask[invitation](s, http.StatusOK, "GET", invitationsPath+"/i1", w.secret("at"), nil).linkToken(t)
	s.guard(w.session, w.link)
	return w
}

func (w *twin) secret(kind string) string {
	return kind + "-" + w.org + "-0123456789abcdef0123456789abcdef"
}

// knocks makes a request with each credential, to every service that takes it, and returns
// the answers by name.
func (w *twin) knocks(s *server) map[string]answer {
	s.t.Helper()
	answers := map[string]answer{"a login": s.login("c1", w.secret("cs"))}
	for name, token := range map[string]string{"a token": w.secret("at"), "the token of a login": w.session} {
		for service, r := range map[string][3]string{
			"clients":     {"GET", clientsPath},
			"the vault":   {"POST", "/v1/vaults/v1/tokenize", `{"tokenizationParameters":[{"columnGroup":"x","value":"x"}]}`},
			"a search":    {"POST", soundPath, `{"dataset_id":"d1","audio_class":"Silence"}`},
			"invitations": {"GET", invitationsPath + "/i1"},
		} {
			answers[name+" for "+service] = s.do(r[0], r[1], token, r[2])
		}
	}
	return answers
}

// deletions delete an organization in each domain, in the file of a running server.
func deletions(t *testing.T, db *sqlite.DB) map[string]func(ctx context.Context, org string) (more bool, err error) {
	t.Helper()
	tables := db.AuthMgmt().Store.(*sqlite.AuthMgmt)
	credentials, err := authmgmt.New(authmgmt.Backend{Store: tables, Directory: tables}, nil)
	require.NoError(t, err)
	by := authmgmt.Caller{Actor: "operator", Access: authmgmt.FullAccess()}
	return map[string]func(ctx context.Context, org string) (more bool, err error){
		"authmgmt": func(ctx context.Context, org string) (bool, error) {
			return credentials.DeleteOrganization(ctx, org, by)
		},
	}
}

// TestDeletedOrganization: while the server runs, another process deletes an organization
// in the same file. From then on every credential of it is refused, and the other
// organization works; and so after a start with the same document, which logs one line.
func TestDeletedOrganization(t *testing.T) {
	t.Parallel()
	p := buildServer(t)
	dir, config := t.TempDir(), writeTwins(t, "acme", "globex")
	start := func() *server { return p.startIn(t, dir, nil, "-config", config) }
	s := start()
	acme, globex := newTwin(t, s, "acme"), newTwin(t, s, "globex")
	look := func(deleted bool) {
		t.Helper()
		for _, w := range []*twin{acme, globex} {
			refused := deleted && w == acme
			for name, a := range w.knocks(s) {
				assert.Equal(t, refused, a.status == http.StatusUnauthorized, "%s of %s: %d %s", name, w.org, a.status, a.body)
			}
			status := s.do("GET", acceptPath+w.link, "", "").status
			assert.Equal(t, map[bool]int{true: http.StatusNotFound, false: http.StatusOK}[refused], status, "a link of %s", w.org)
		}
	}
	look(false)
	look(false) // whatever remembers something remembers it

	db, err := sqlite.Open(t.Context(), filepath.Join(dir, "mortise-data", "mortise.db"), &sqlite.Options{BusyTimeout: patience})
	require.NoError(t, err)
	steps := deletions(t, db)
	for domain, step := range steps {
		for more := true; more; {
			more, err = step(t.Context(), "acme")
			require.NoError(t, err, domain)
			if domain == "authmgmt" {
				look(true) // from the mark on, and not from the last step on
			}
		}
	}
	look(true)
	require.NoError(t, db.Close())

	const line = "provisioning document: it names an organization that was deleted"
	assert.NotContains(t, s.stderr.String(), line)
	for range 2 {
		s.stop()
		s = start()
		s.guard(acme.secret("cs"), acme.session, acme.link)
		look(true)
		assert.Equal(t, 1, strings.Count(s.stderr.String(), line), &s.stderr)
		assert.Equal(t, 1, strings.Count(s.stderr.String(), "was deleted"), &s.stderr)
		assert.Contains(t, s.stderr.String(), `"organization":"acme"`)
	}
}

// TestDeletedForWarmServer: a server on a handle of its own refuses the tokens of an
// organization that another one has deleted with its next request; one that was told to
// keep tokens in a cache does so when the time of the cache is over.
func TestDeletedForWarmServer(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "test.db")
	var later atomic.Int64
	open := func(cache time.Duration) *authmgmt.Service {
		db, err := sqlite.Open(t.Context(), path, nil)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		s, err := authmgmt.New(authmgmt.Backend{Store: db.AuthMgmt().Store}, &authmgmt.Options{
			TokenCache: cache, Now: func() time.Time { return time.Now().Add(time.Duration(later.Load())) },
		})
		require.NoError(t, err)
		return s
	}
	warm, caching, other := open(0), open(time.Minute), open(0)
	by := authmgmt.Caller{Actor: "operator", Access: authmgmt.FullAccess()}
	texts := make(map[string]string)
	for _, org := range []string{"acme", "globex"} {
		_, token, err := other.IssueToken(t.Context(), org, by, authmgmt.NewToken{Subject: "ops", FullAccess: true})
		require.NoError(t, err)
		texts[org] = token.Reveal()
	}
	status := func(s *authmgmt.Service, org string) int {
		h, err := httpadapter.NewAuthMgmt(s, httpadapter.Bearer(httpadapter.AccessTokens(s)), &httpadapter.AuthMgmtOptions{Clients: true})
		require.NoError(t, err)
		r := httptest.NewRequest("GET", clientsPath, nil)
		r.Header.Set("Authorization", "Bearer "+texts[org])
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code
	}
	for range 3 {
		for org := range texts {
			require.Equal(t, http.StatusOK, status(warm, org))
			require.Equal(t, http.StatusOK, status(caching, org))
		}
	}
	_, err := other.DeleteOrganization(t.Context(), "acme", by)
	require.NoError(t, err)
	require.Equal(t, http.StatusUnauthorized, status(warm, "acme"))
	require.Equal(t, http.StatusOK, status(caching, "acme"))
	later.Store(int64(time.Minute))
	require.Equal(t, http.StatusUnauthorized, status(caching, "acme"))
	require.Equal(t, http.StatusOK, status(warm, "globex"))
	require.Equal(t, http.StatusOK, status(caching, "globex"))
}
