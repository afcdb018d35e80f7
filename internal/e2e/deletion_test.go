package e2e

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/internal/nightly"
	"github.com/seed-6363c74e/mortise/storage/sqlite"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/localkeys"
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
		"datasets": [{"id": "d1", "videos": [{"id": "clip-1", "path": "tone.wav", "metadata": {"season": 3}}]}]}`
	var all []string
	for _, org := range orgs {
		all = append(all, strings.ReplaceAll(one, "ORG", org))
	}
	m := newMedia(t)
	m.wav("tone.wav", dialTone(3))
	m.write("twins.json", []byte(`{"organizations": [`+strings.Join(all, ",\n")+`]}`))
	return m.path("twins.json")
}

// twin is what somebody of one of these organizations holds.
type twin struct {
	org     string
	session string // the token of a login
	link    string // of an invitation

	token string // of a value in the vault
	event string // that has been processed
	slow  string // one that is being processed
	found []segment
}

func newTwin(t *testing.T, s *server, org string) *twin {
	t.Helper()
	w := &twin{org: org}
	s.guard(w.secret("sk"), w.secret("at"), w.secret("cs"))
	w.session = s.token("c1", w.secret("cs"))
	w.link = ask[invitation](s, http.StatusOK, "GET", invitationsPath+"/i1", w.secret("at"), nil).linkToken(t)
	s.guard(w.session, w.link)
	w.token = s.tokenize(w.secret("at"), inColumn("email", "ada@example.com"))[0]
	w.event = s.submit(w.secret("sk"), `{"instructions": "quick"}`)
	s.awaitStatus(w.secret("sk"), w.event, "completed")
	w.slow = s.submit(w.secret("sk"), `{"instructions": "slow"}`)
	s.awaitStatus(w.secret("sk"), w.slow, "processing")
	w.found = s.find(w.secret("at"), "Dial tone", nil)
	require.NotEmpty(t, w.found)
	return w
}

func (w *twin) secret(kind string) string {
	return kind + "-" + w.org + "-0123456789abcdef0123456789abcdef"
}

// works requires that the organization has all that it had.
func (w *twin) works(t *testing.T, s *server) {
	t.Helper()
	assert.Equal(t, w.token, s.tokenize(w.secret("at"), inColumn("email", "ada@example.com"))[0])
	assert.Equal(t, "completed", s.event(w.secret("sk"), w.event).Status)
	assert.Equal(t, w.found, s.find(w.secret("at"), "Dial tone", nil))
}

// knocked is a request with a credential, and its answer.
type knocked struct {
	name, domain string // domain is what would answer it
	byKey        bool   // with an API key, which is that domain's own
	answer       answer
}

// knocks makes a request with each credential, to every service that takes it.
func (w *twin) knocks(s *server) []knocked {
	s.t.Helper()
	all := []knocked{{"a login", "authmgmt", false, s.login("c1", w.secret("cs"))}}
	add := func(name, domain, token, method, path, body string) {
		all = append(all, knocked{name, domain, domain == "trigger", s.do(method, path, token, body)})
	}
	for name, token := range map[string]string{"a token": w.secret("at"), "the token of a login": w.session} {
		add(name+" for clients", "authmgmt", token, "GET", clientsPath, "")
		add(name+" for invitations", "authmgmt", token, "GET", invitationsPath+"/i1", "")
		add(name+" for an insertion", "vault", token, "POST", personsPath, `{"records": [{"fields": {"email": "ada@example.com"}}]}`)
		add(name+" for a search", "audiosearch", token, "POST", soundPath, `{"dataset_id": "d1", "audio_class": "Silence"}`)
	}
	add("an API key for a trigger", "trigger", w.secret("sk"), "POST", "/triggers", `{"instructions": "quick"}`)
	add("an API key for the history", "trigger", w.secret("sk"), "GET", "/triggers", "")
	return all
}

// want is the kind of answer, 2 for 200 or 202, where the organization was deleted in
// some domains. Who still has a credential is told that there is nothing.
func (k *knocked) want(deleted map[string]bool) int {
	switch {
	case k.byKey && deleted[k.domain], !k.byKey && deleted["authmgmt"]:
		return http.StatusUnauthorized
	case deleted[k.domain]:
		return http.StatusNotFound
	}
	return 2
}

// deletion deletes an organization in a domain.
type deletion struct {
	domain string
	step   func(ctx context.Context, org string) (more bool, err error)
}

// deletions are those of all domains, in the file of a running server. That of
// credentials is the first one.
func deletions(t *testing.T, db *sqlite.DB) []deletion {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	credentials, err := authmgmt.New(db.AuthMgmt(), &authmgmt.Options{Env: mortise.Env{Logger: quiet}})
	require.NoError(t, err)
	triggers, err := trigger.New(db.Trigger(), &trigger.Options{Env: mortise.Env{Logger: quiet}})
	require.NoError(t, err)
	root, err := localkeys.NewRoot([]byte("nobody's key, and nothing is sealed under it"[:32]))
	require.NoError(t, err)
	keyring, err := localkeys.New(localkeys.Key{Version: 1, Root: root})
	require.NoError(t, err)
	vaults, err := vault.New(db.Vault(), keyring, &vault.Options{Env: mortise.Env{Logger: quiet}})
	require.NoError(t, err)
	searches, err := audiosearch.New(db.AudioSearch(), &audiosearch.Options{Env: mortise.Env{Logger: quiet}})
	require.NoError(t, err)
	by := authmgmt.Caller{Actor: "operator", Access: access.Full()}
	return []deletion{
		{"authmgmt", func(ctx context.Context, org string) (bool, error) {
			return credentials.DeleteOrganization(ctx, org, by)
		}},
		{"trigger", func(ctx context.Context, org string) (bool, error) {
			return triggers.DeleteOrganization(ctx, org, "operator")
		}},
		{"vault", func(ctx context.Context, org string) (bool, error) {
			return vaults.DeleteOrganization(ctx, org, "operator")
		}},
		{"audiosearch", func(ctx context.Context, org string) (bool, error) {
			return searches.DeleteOrganization(ctx, org, "operator")
		}},
	}
}

// tablesWith returns the tables of a file that have rows in which a text has the name of
// an organization, and of no other that begins alike, and how many rows these are.
func tablesWith(t *testing.T, path, org string) map[string]int {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	defer db.Close()
	name := regexp.MustCompile(`(?i)\b` + org + `\b`)
	query := func(query string, each func(values []any)) {
		rows, err := db.QueryContext(t.Context(), query)
		require.NoError(t, err, query)
		defer rows.Close()
		columns, err := rows.Columns()
		require.NoError(t, err)
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		for rows.Next() {
			require.NoError(t, rows.Scan(into...))
			each(values)
		}
		require.NoError(t, rows.Err())
	}
	var tables []string
	query("SELECT name FROM sqlite_schema WHERE type = 'table'", func(values []any) { tables = append(tables, fmt.Sprint(values[0])) })
	require.Greater(t, len(tables), 40)
	found := make(map[string]int)
	for _, table := range tables {
		query(`SELECT * FROM "`+table+`"`, func(values []any) {
			for _, value := range values {
				if b, ok := value.([]byte); ok {
					value = string(b)
				}
				if text, ok := value.(string); ok && name.MatchString(text) {
					found[table]++
					return
				}
			}
		})
	}
	return found
}

// TestDeletedOrganization: while the server runs, another process deletes organizations
// in the same file, in all domains. From then on every credential of them is refused, and
// the other organization has what it had; and so after a start with the same document,
// which logs one line for each. At the end the file has marks and events of them, and no
// more.
func TestDeletedOrganization(t *testing.T) {
	nightly.Only(t)
	t.Parallel()
	p := buildServer(t)
	scriptDir, command := script(t, `
IFS= read -r event
case $event in *slow*) while [ ! -e go ]; do sleep 0.05; done ;; esac
echo done
`)
	dir, config := t.TempDir(), writeTwins(t, "acme", "acme2", "globex")
	start := func() *server {
		s := p.startIn(t, dir, nil, "-config", config, "-trigger-exec", command)
		s.awaitIngestion()
		return s
	}
	s := start()
	acme, acme2, globex := newTwin(t, s, "acme"), newTwin(t, s, "acme2"), newTwin(t, s, "globex")
	deleted := map[*twin]map[string]bool{acme: {}, acme2: {}, globex: {}}
	look := func() {
		t.Helper()
		for w, domains := range deleted {
			for _, k := range w.knocks(s) {
				status := k.answer.status
				if status/100 == 2 {
					status = 2
				}
				assert.Equal(t, k.want(domains), status, "%s of %s without %v: %s", k.name, w.org, domains, k.answer.body)
			}
			link := http.StatusOK
			if domains["authmgmt"] {
				link = http.StatusNotFound
			}
			assert.Equal(t, link, s.do("GET", acceptPath+w.link, "", "").status, "a link of %s", w.org)
		}
		acme2.works(t, s)
	}
	look()
	look() // whatever remembers something remembers it

	file := filepath.Join(dir, "mortise-data", "mortise.db")
	db, err := sqlite.Open(t.Context(), file, &sqlite.Options{BusyTimeout: patience})
	require.NoError(t, err)
	steps := deletions(t, db)
	for i := range steps {
		// One loses its credentials first, the other one last.
		for w, d := range map[*twin]deletion{acme: steps[i], globex: steps[len(steps)-1-i]} {
			for more := true; more; {
				more, err = d.step(t.Context(), w.org)
				require.NoError(t, err, d.domain)
				if !deleted[w][d.domain] { // from the mark on, and not from the last step on
					deleted[w][d.domain] = true
					look()
				}
			}
		}
	}
	require.NoError(t, db.Close())
	require.NoError(t, os.WriteFile(filepath.Join(scriptDir, "go"), nil, 0o600))
	s.awaitStatus(acme2.secret("sk"), acme2.slow, "completed")

	const line = "provisioning document: it names an organization that was deleted"
	stderr := func() string { return s.stderr.String() }
	assert.NotContains(t, stderr(), line)
	for range 3 {
		look()
		s.stop()
		assert.NotContains(t, stderr(), `"level":"WARN","msg":"cannot`)
		assert.NotContains(t, stderr(), `"level":"ERROR"`)
		want := map[string]int{
			"authmgmt_deleted": 1, "authmgmt_audit": 1, "trigger_deleted": 1, "vault_deleted_orgs": 1, "vault_audit": 1,
			"audiosearch_deleted": 1,
		}
		for _, w := range []*twin{acme, globex} {
			found := tablesWith(t, file, w.org)
			assert.Equal(t, want, found, w.org)
			for _, id := range []string{w.token, w.event, w.slow} {
				assert.Empty(t, tablesWith(t, file, id))
			}
		}
		assert.Greater(t, len(tablesWith(t, file, acme2.org)), 10)
		s = start()
		for _, w := range []*twin{acme, globex} {
			s.guard(w.secret("cs"), w.session, w.link)
			assert.Equal(t, 1, strings.Count(stderr(), `"organization":"`+w.org+`"`), &s.stderr)
		}
		assert.Equal(t, 2, strings.Count(stderr(), line), &s.stderr)
		assert.Equal(t, 2, strings.Count(stderr(), "was deleted"), &s.stderr)
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
			TokenCache: cache, Env: mortise.Env{Now: func() time.Time { return time.Now().Add(time.Duration(later.Load())) }},
		})
		require.NoError(t, err)
		return s
	}
	warm, caching, other := open(0), open(time.Minute), open(0)
	by := authmgmt.Caller{Actor: "operator", Access: access.Full()}
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
