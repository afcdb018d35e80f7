package e2e

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/nightly"
)

// The API keys of the provisioning document.
const (
	goodKey      = "sk-acme-0123456789abcdef0123456789abcdef0123456789abcdef"
	revokedKey   = "sk-gone-0123456789abcdef0123456789abcdef0123456789abcdef"
	setupKey     = "sk-setup-0123456789abcdef0123456789abcdef0123456789abcde"
	unreadyKey   = "sk-unready-0123456789abcdef0123456789abcdef0123456789abc"
	emptyKey     = "sk-empty-0123456789abcdef0123456789abcdef0123456789abcde"
	accessToken  = "at-acme-admin-0123456789abcdef01234567"
	clientSecret = "cs-0123456789abcdef0123456789abcdef"
)

func secrets() []string {
	return []string{goodKey, revokedKey, setupKey, unreadyKey, emptyKey, accessToken, clientSecret}
}

// writeConfig writes a provisioning document that has something of everything.
func writeConfig(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "acme.json")
	require.NoError(t, os.WriteFile(path, []byte(`{"organizations": [
		{"id": "acme", "setup_complete": true, "rbac_enabled": true,
			"api_keys": [{"key": "`+goodKey+`", "revoked": false}, {"key": "`+revokedKey+`", "revoked": true}],
			"access_tokens": [{"token": "`+accessToken+`", "subject": "ops", "roles": [{"role_id": "admin", "resource": null}]}],
			"doc_collections": [{"id": "7f1f3c1e-5a0e-4a52-9f0e-0c9a4a3f2b11", "ready": true}, {"id": "7f1f3c1e-5a0e-4a52-9f0e-0c9a4a3f2b12"}],
			"vaults": [{"id": "v1",
				"tables": [{"name": "persons", "columns": [
					{"name": "email", "tokenization": "deterministic", "column_group": "emails", "format": "uuid"},
					{"name": "note", "tokenization": "none"}]}],
				"records": [{"table": "persons", "fields": {"email": "ada@example.com"}}]}],
			"clients": [{"client_id": "c1", "client_secret": "`+clientSecret+`", "name": "ci",
				"roles": [{"role_id": "viewer", "resource": "dataset", "resource_instance": "d1"}]}],
			"invitations": [{"invitation_id": "inv1", "inviter": {"name": "Grace"},
				"invitee": {"email": "alan@example.com", "name": "Alan", "roles": [{"role_id": "editor"}]}, "expires_in": "168h"}],
			"datasets": [{"id": "d1", "videos": [{"id": "clip-1", "path": "media/clip-1.mp4", "metadata": {"show": "news", "season": 3}}]}]},
		{"id": "new", "setup_complete": false, "api_keys": [{"key": "`+setupKey+`"}],
			"doc_collections": [{"id": "7f1f3c1e-5a0e-4a52-9f0e-0c9a4a3f2b11", "ready": true}]},
		{"id": "busy", "setup_complete": true, "api_keys": [{"key": "`+unreadyKey+`"}],
			"doc_collections": [{"id": "7f1f3c1e-5a0e-4a52-9f0e-0c9a4a3f2b11", "ready": false}]},
		{"id": "empty", "setup_complete": true, "api_keys": [{"key": "`+emptyKey+`"}]}
	]}`), 0o600))
	return path
}

// TestContractDocument: the document that the server's page tells people to copy is the one
// that package provision is tested with. Each is in the module that needs it.
func TestContractDocument(t *testing.T) {
	shown, err := os.ReadFile(filepath.Join(root, "examples/server/testdata/acme.json"))
	require.NoError(t, err)
	tested, err := os.ReadFile(filepath.Join(root, "storage/provision/testdata/acme.json"))
	require.NoError(t, err)
	require.Equal(t, string(tested), string(shown))
}

const validBody = `{"instructions":"Describe the sign-in page."}`

func testProvisioning(t *testing.T, p program) {
	s := p.start(t, []string{"MORTISE_CONFIG=" + writeConfig(t)})
	s.secrets = secrets()
	assert.Equal(t, 1, strings.Count(s.stdout.String(), "\n"), "no demo beside a document: %s", &s.stdout)

	id := s.submit(goodKey, validBody)
	for name, test := range map[string]struct {
		key    string
		status int
		code   string
	}{
		"revoked":       {revokedKey, http.StatusUnauthorized, "authentication_failed"},
		"unknown":       {goodKey + "0", http.StatusUnauthorized, "authentication_failed"},
		"access token":  {accessToken, http.StatusUnauthorized, "authentication_failed"},
		"none":          {"", http.StatusUnauthorized, "authentication_failed"},
		"setup":         {setupKey, http.StatusConflict, "org_not_configured"},
		"not ready":     {unreadyKey, http.StatusConflict, "no_eligible_doc_collection"},
		"no collection": {emptyKey, http.StatusConflict, "no_eligible_doc_collection"},
	} {
		a := s.do("POST", "/triggers", test.key, validBody)
		assert.Equal(t, test.status, a.status, name)
		assertError(t, a, test.code)
		if test.status == http.StatusUnauthorized {
			assert.Equal(t, challengeTo(test.key), a.header.Get("WWW-Authenticate"), name)
		}
	}
	assert.Equal(t, http.StatusNotFound, s.do("GET", "/triggers/"+id, emptyKey, "").status, "another organization's event")
	s.awaitIngestion()
	assert.Equal(t, 1, strings.Count(s.stderr.String(), `"msg":"a video cannot be searched"`), "the file is not there")
	assert.Contains(t, s.stderr.String(), `"video":"clip-1","problem":"there is no such file`)
}

// assertError checks the shape of an error: these two fields and no other.
func assertError(t testing.TB, a answer, code string) {
	t.Helper()
	var body map[string]string
	if assert.NoError(t, json.Unmarshal([]byte(a.body), &body), a.body) {
		assert.Len(t, body, 2, a.body)
		assert.Equal(t, code, body["error"])
		assert.NotEmpty(t, body["message"])
		assert.Equal(t, "application/json", a.header.Get("Content-Type"))
	}
}

func testErrors(t *testing.T, p program) {
	s := p.start(t, nil, "-config", writeConfig(t))
	s.secrets = secrets()
	id := s.submit(goodKey, validBody)

	a := s.do("DELETE", "/triggers", goodKey, "")
	assert.Equal(t, http.StatusMethodNotAllowed, a.status)
	assert.Equal(t, "POST, GET, HEAD", a.header.Get("Allow"))
	assertError(t, a, "method_not_allowed")

	for _, path := range []string{"/nothing", "/triggers/" + id + "/more", "//triggers", "/./triggers", "/triggers/../triggers", "/triggers/"} {
		a = s.do("GET", path, goodKey, "")
		assert.Equal(t, http.StatusNotFound, a.status, path)
		assertError(t, a, "not_found")
	}
	a = s.do("GET", "/triggers/01890a5d-ac96-774b-bcce-b302099a8057", goodKey, "")
	assert.Equal(t, http.StatusNotFound, a.status)
	assertError(t, a, "not_found")

	a = s.do("POST", "/triggers", goodKey, `{"instructions":"`+strings.Repeat("x", 1<<20)+`"}`)
	assert.Equal(t, http.StatusRequestEntityTooLarge, a.status)
	assertError(t, a, "payload_too_large")
	a = s.do("POST", "/triggers", goodKey, validBody, "Content-Type", "text/plain")
	assert.Equal(t, http.StatusUnsupportedMediaType, a.status)
	assertError(t, a, "unsupported_media_type")

	assert.Equal(t, http.StatusAccepted, s.do("POST", "/triggers", goodKey, validBody, "Idempotency-Key", "k1").status)
	a = s.do("POST", "/triggers", goodKey, `{"instructions":"Something else."}`, "Idempotency-Key", "k1")
	assert.Equal(t, http.StatusConflict, a.status)
	assertError(t, a, "idempotency_key_reused")

	for _, test := range []struct{ method, path, body, loc, typ string }{
		{"POST", "/triggers", `{`, `["body",1]`, "json_invalid"},
		{"POST", "/triggers", `{}`, `["body","instructions"]`, "missing"},
		{"POST", "/triggers", `{"instructions":""}`, `["body","instructions"]`, "string_too_short"},
		{"POST", "/triggers", `{"instructions":"x","context":[]}`, `["body","context"]`, "dict_type"},
		{"POST", "/triggers", `{"instructions":"x","extra":1}`, `["body","extra"]`, "extra_forbidden"},
		{"GET", "/triggers/7", "", `["path","id"]`, "uuid_parsing"},
		{"GET", "/triggers?limit=0", "", `["query","limit"]`, "greater_than_equal"},
	} {
		a = s.do(test.method, test.path, goodKey, test.body)
		var body struct {
			Detail []struct {
				Loc       json.RawMessage
				Msg, Type string
			}
		}
		require.Equal(t, http.StatusUnprocessableEntity, a.status, "%s: %s", test.path, a.body)
		require.NoError(t, json.Unmarshal([]byte(a.body), &body))
		require.Len(t, body.Detail, 1, a.body)
		assert.JSONEq(t, test.loc, string(body.Detail[0].Loc))
		assert.Equal(t, test.typ, body.Detail[0].Type)
		assert.NotEmpty(t, body.Detail[0].Msg)
	}
}

func mode(t *testing.T, path string) os.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	require.NoError(t, err)
	return info.Mode().Perm()
}

// testDataFolder: what is made is for the operator alone.
func testDataFolder(t *testing.T, p program) {
	s := p.start(t, nil)
	folder := filepath.Join(s.dir, "mortise-data")
	assert.Equal(t, os.FileMode(0o700), mode(t, folder))
	files, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		if file.Name() == "demo-media" {
			assert.Equal(t, os.FileMode(0o700), mode(t, filepath.Join(folder, file.Name())))
			continue
		}
		assert.True(t, strings.HasPrefix(file.Name(), "mortise.db") || file.Name() == "vault.key" || file.Name() == "vault.key.revocations", file.Name())
		assert.Equal(t, os.FileMode(0o600), mode(t, filepath.Join(folder, file.Name())), file.Name())
	}
	s.demoKey()
	assert.Contains(t, s.stdout.String(), "\n# What you send is kept in the folder ./mortise-data.\n")

	// A folder that is there is the operator's own business.
	folder = filepath.Join(t.TempDir(), "data")
	require.NoError(t, os.Mkdir(folder, 0o755))
	p.start(t, []string{"MORTISE_DATA=" + folder}, "-config", writeConfig(t))
	assert.Equal(t, os.FileMode(0o755), mode(t, folder))
	assert.Equal(t, os.FileMode(0o600), mode(t, filepath.Join(folder, "mortise.db")))
}

func testOddFolders(t *testing.T, p program) {
	nightly.Only(t)
	config := writeConfig(t)
	for _, name := range []string{"a/b/c", "it's a folder", "x?mode=memory&cache=shared", "100%25 #1", "ü;:memory:", "file:x", "-memory", "x/../y/"} {
		dir := t.TempDir()
		s := p.startIn(t, dir, nil, "-config", config, "-data", name)
		assert.True(t, exists(filepath.Join(dir, name, "mortise.db")), name)
		assert.Equal(t, os.FileMode(0o700), mode(t, filepath.Join(dir, name)), name)
		s.stop()
	}
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(t.TempDir(), link))
	p.start(t, nil, "-config", config, "-data", link)
	assert.True(t, exists(filepath.Join(link, "mortise.db")))
}

// testUnusableData starts the server on what is no database of its own, or cannot be
// opened.
func testUnusableData(t *testing.T, p program) {
	nightly.Only(t)
	source := p.start(t, nil, "-config", writeConfig(t))
	for range 40 {
		source.submit(goodKey, `{"instructions":"`+strings.Repeat("x", 2000)+`"}`)
	}
	source.stop()
	good, err := os.ReadFile(filepath.Join(source.dir, "mortise-data", "mortise.db"))
	require.NoError(t, err)
	damaged := append([]byte(nil), good...)
	for i := len(damaged) / 3; i < len(damaged); i++ {
		damaged[i] ^= 0x5a
	}
	for name, content := range map[string][]byte{
		"text": []byte("This is my diary.\n"), "text of a page": []byte(strings.Repeat("dear diary\n", 1000)),
		"damaged": damaged, "cut off": good[:len(good)/2], "of another version": fileOf54962722(t),
	} {
		folder := t.TempDir()
		file := filepath.Join(folder, "mortise.db")
		require.NoError(t, os.WriteFile(file, content, 0o600))
		told := p.refuse(t, 2, nil, "-data", folder)
		assert.True(t, strings.HasPrefix(told, "-data: "), "%s: %s", name, told)
		assert.Contains(t, told, file, name)
		if name == "of another version" {
			assert.Contains(t, told, "made by another development version of Mortise (the tables of trigger): remove it, or open it with")
		}
		left, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Equal(t, content, left, "%s: the file was changed", name)
	}
	folder := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(folder, "mortise.db"), 0o700))
	assert.Contains(t, p.refuse(t, 2, nil, "-data", folder), "-data: ")

	// Another program's lock may be gone at another time.
	lockBytes(t, filepath.Join(source.dir, "mortise-data", "mortise.db"), lockPage, lockPageSize)
	assert.Contains(t, p.refuse(t, 1, nil, "-data", filepath.Join(source.dir, "mortise-data")), "locked")
}

// fileOf54962722 is a database that the program of that commit made.
func fileOf54962722(t *testing.T) []byte {
	t.Helper()
	packed, err := os.Open(filepath.Join("..", "..", "storage", "sqlite", "testdata", "of_54962722.db.gz"))
	require.NoError(t, err)
	defer packed.Close()
	unpacked, err := gzip.NewReader(packed)
	require.NoError(t, err)
	file, err := io.ReadAll(unpacked)
	require.NoError(t, err)
	return file
}

func testMemory(t *testing.T, p program) {
	s := p.start(t, nil, "-memory", "-config", writeConfig(t))
	s.secrets = secrets()
	s.awaitStatus(goodKey, s.submit(goodKey, validBody), "completed")
	s.stop()
	left, err := os.ReadDir(s.dir)
	require.NoError(t, err)
	assert.Empty(t, left)

	demo := p.start(t, nil, "-memory")
	demo.submit(demo.demoKey(), validBody)
	assert.Contains(t, demo.stdout.String(), "\n# What you send is kept in memory, and ends with the process.\n")
}

// testRestart: what was there before is there after, whatever the document says now, and
// the document of before changes nothing.
func testRestart(t *testing.T, p program) {
	dir, config := t.TempDir(), writeConfig(t)
	empty := filepath.Join(t.TempDir(), "empty.json")
	require.NoError(t, os.WriteFile(empty, []byte("{}"), 0o600))

	s := p.startIn(t, dir, nil, "-config", config)
	s.secrets = secrets()
	id := s.submit(goodKey, `{"instructions":"Describe 1.10.","context":{"b":1.10,"a":[1e400,"ü\u0000"]}}`)
	s.awaitStatus(goodKey, id, "completed")
	event, list := s.do("GET", "/triggers/"+id, goodKey, "").body, s.do("GET", "/triggers", goodKey, "").body
	s.stop()
	for _, document := range []string{config, empty, config, ""} {
		args := []string{"-config", document}
		if document == "" {
			args = nil // the demo
		}
		s = p.startIn(t, dir, nil, args...)
		s.secrets = secrets()
		assert.Equal(t, event, s.do("GET", "/triggers/"+id, goodKey, "").body)
		assert.Equal(t, list, s.do("GET", "/triggers", goodKey, "").body)
		for key, status := range map[string]int{revokedKey: http.StatusUnauthorized, setupKey: http.StatusConflict, emptyKey: http.StatusConflict} {
			assert.Equal(t, status, s.do("POST", "/triggers", key, validBody).status)
		}
		s.stop()
	}
	s = p.startIn(t, dir, nil, "-config", config)
	s.secrets = secrets()
	s.awaitStatus(goodKey, s.submit(goodKey, validBody), "completed")
}

// testCrash: what was answered with 202 is processed, though the server was killed right
// after, with some of it in its hands.
func testCrash(t *testing.T, p program) {
	nightly.Only(t)
	dir, config := t.TempDir(), writeConfig(t)
	var ids []string
	for range 3 {
		s := p.startIn(t, dir, nil, "-config", config, "-trigger-exec", "sleep 0.2")
		s.secrets = secrets()
		for range 5 {
			ids = append(ids, s.submit(goodKey, validBody))
		}
		s.kill()
	}
	s := p.startIn(t, dir, nil, "-config", config)
	s.secrets = secrets()
	for _, id := range ids {
		s.awaitStatus(goodKey, id, "completed")
	}
}

// testDemoKeys: the demo's history stays, and its key ends with the process, even if that
// is killed.
func testDemoKeys(t *testing.T, p program) {
	dir := t.TempDir()
	s := p.startIn(t, dir, nil)
	key := s.demoKey()
	id := s.submit(key, validBody)
	s.kill()
	s = p.startIn(t, dir, nil)
	assert.NotEqual(t, key, s.demoKey())
	assert.Equal(t, http.StatusUnauthorized, s.do("GET", "/triggers", key, "").status)
	assert.Equal(t, id, s.event(s.demoKey(), id).ID)
}

// testTwoServers runs two demos on the same data.
func testTwoServers(t *testing.T, p program) {
	dir := t.TempDir()
	one := p.startIn(t, dir, nil)
	two := p.startIn(t, dir, nil)
	for range 10 {
		id := one.submit(one.demoKey(), validBody)
		two.awaitStatus(two.demoKey(), id, "completed")
	}
	two.stop()
	one.awaitStatus(one.demoKey(), one.submit(one.demoKey(), validBody), "completed")
}
