// Package e2e drives whole programs as their users do.
package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestServer runs the example server as a process.
func TestServer(t *testing.T) {
	t.Parallel()
	p := buildServer(t)
	for name, test := range map[string]func(*testing.T, program){
		"demo":                     testDemo,
		"refusals":                 testRefusals,
		"ignored environment":      testIgnoredEnvironment,
		"pages":                    testPages,
		"without docs":             testWithoutDocs,
		"provisioning":             testProvisioning,
		"errors":                   testErrors,
		"load":                     testLoad,
		"command":                  testCommand,
		"command retried":          testCommandRetried,
		"command killed":           testCommandKilled,
		"command's output bounded": testCommandOutput,
		"shutdown":                 testShutdown,
		"shutdown while locked":    testShutdownWhileLocked,
		"shutdown while opening":   testShutdownWhileOpening,
		"data folder":              testDataFolder,
		"data in odd places":       testOddFolders,
		"data not usable":          testUnusableData,
		"memory":                   testMemory,
		"restart":                  testRestart,
		"restart after a crash":    testCrash,
		"restart of the demo":      testDemoKeys,
		"two servers, one folder":  testTwoServers,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, p)
		})
	}
}

// demoKey returns the API key that a demo has printed.
func (s *server) demoKey() (key string) {
	s.t.Helper()
	s.await("the demo's key", func() bool {
		key = regexp.MustCompile(`sk-[0-9a-f]{64}`).FindString(s.stdout.String())
		return key != ""
	})
	return key
}

// demoToken returns the access token that a demo has printed.
func (s *server) demoToken() (token string) {
	s.t.Helper()
	s.await("the demo's text", func() bool { return strings.Contains(s.stdout.String(), s.url+"/docs\n") })
	return shownToken.FindString(s.stdout.String())
}

// testDemo pastes what the demo prints, at a first start and at a second one on the same data.
func testDemo(t *testing.T, p program) {
	dir := t.TempDir()
	s := p.startIn(t, dir, nil)
	first := s.demoToken()
	pasteDemo(s)
	ada := s.demoVaultToken()
	s.stop()
	s = p.startIn(t, dir, nil)
	assert.NotEqual(t, first, s.demoToken())
	assert.Equal(t, http.StatusUnauthorized, s.status("GET", clientsPath, first), "it ends with the process")
	pasteDemo(s)
	assert.Equal(t, ada, s.demoVaultToken(), "a token stays the same")
	assert.NotContains(t, s.stderr.String(), first)
}

// demoVaultToken returns the token of a value that the demo's vault has.
func (s *server) demoVaultToken() string {
	s.t.Helper()
	body := parameters(inGroup("emails", "ada@example.com"))
	return ask[tokenRecords](s, http.StatusOK, "POST", "/v1/vaults/demo/tokenize", s.demoToken(), body).tokens()[0]
}

func pasteDemo(s *server) {
	t := s.t
	sh := tool(t, "sh")
	token, key := s.demoToken(), s.demoKey()
	defer func() {
		assertUntold(t, key, s.stderr.String())
		assertUntold(t, token, s.stderr.String())
	}()

	// Nothing but the shell, curl and the least of what POSIX has may be needed.
	bin := t.TempDir()
	for _, name := range []string{"curl", "grep", "sleep"} {
		require.NoError(t, os.Symlink(tool(t, name), filepath.Join(bin, name)))
	}
	var outputs []string
	for line := range strings.Lines(s.stdout.String()) {
		if strings.HasPrefix(line, "#") || strings.HasPrefix(line, "listening") || line == "\n" {
			continue
		}
		cmd := exec.Command(sh, "-c", line)
		cmd.Env = []string{"PATH=" + bin, "NO_PROXY=*"}
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s: %s", line, out)
		outputs = append(outputs, string(out))
	}
	require.Len(t, outputs, 18)

	var submitted, read event
	var history struct{ Triggers []event }
	require.NoError(t, json.Unmarshal([]byte(outputs[0]), &submitted), outputs[0])
	require.NoError(t, json.Unmarshal([]byte(outputs[1]), &history), outputs[1])
	require.NoError(t, json.Unmarshal([]byte(outputs[2]), &read), outputs[2])
	assert.Equal(t, submitted.ID, history.Triggers[0].ID)
	assert.JSONEq(t, `{"commit":"4f2a9c1"}`, string(history.Triggers[0].Context))
	assert.Equal(t, "Add the release notes.", read.Instructions)
	assert.Contains(t, outputs[3], `"detail":[{"loc":["body","instructions"]`)
	assert.True(t, strings.HasSuffix(outputs[3], "\n422\n"), outputs[3])

	done := s.awaitStatus(key, submitted.ID, "completed")
	assert.Contains(t, s.stderr.String(), submitted.ID, "the event's id is not logged")
	assert.NotEmpty(t, done.Outcome.Summary)

	var created, renamed credentials
	var login struct {
		Token string `json:"access_token"`
	}
	var invited, cancelled invitation
	require.NoError(t, json.Unmarshal([]byte(outputs[4]), &created), outputs[4])
	require.NoError(t, json.Unmarshal([]byte(outputs[5]), &login), outputs[5])
	require.NoError(t, json.Unmarshal([]byte(outputs[6]), &renamed), outputs[6])
	require.NoError(t, json.Unmarshal([]byte(outputs[7]), &invited), outputs[7])
	listed, status, _ := strings.Cut(outputs[9], "\n")
	assert.Equal(t, "200\n", status, outputs[9])
	var ended tokenList
	require.NoError(t, json.Unmarshal([]byte(listed), &ended), outputs[9])
	require.Len(t, ended.Data, 1)
	assert.NotNil(t, s.issuedToken(token, ended.Data[0].ID).RevokedAt)
	checkVaultOfDemo(s, outputs[10:])
	checkSearchOfDemo(s, outputs[14:])
	last, status, _ := strings.Cut(outputs[8], "\n")
	require.NoError(t, json.Unmarshal([]byte(last), &cancelled), outputs[8])
	assert.Equal(t, "200\n", status)
	assert.Equal(t, http.StatusOK, s.login(created.ID, created.Secret).status)
	assert.Equal(t, http.StatusOK, s.status("GET", clientsPath, login.Token))
	assert.Equal(t, credentials{ID: renamed.ID, Name: "dashboard", Roles: roles("viewer")}, renamed)
	assert.Equal(t, http.StatusOK, s.status("GET", acceptPath+invited.linkToken(t), ""))
	given := s.accept(invited.linkToken(t)).accepted(t)
	assert.Equal(t, http.StatusForbidden, s.status("GET", clientsPath, given), "an editor")
	assert.Equal(t, http.StatusNotFound, s.status("GET", acceptPath+cancelled.linkToken(t), ""))
	for _, secret := range []string{created.Secret, login.Token, given, invited.linkToken(t), cancelled.linkToken(t)} {
		assertUntold(t, secret, s.stderr.String())
	}
}

// checkVaultOfDemo looks at what the commands of the demo's vault put out.
func checkVaultOfDemo(s *server, outputs []string) {
	t := s.t
	var found tokenRecords
	var inserted insertedRecords
	var shown struct{ Records []shownValue }
	require.NoError(t, json.Unmarshal([]byte(outputs[0]), &found), outputs[0])
	require.NoError(t, json.Unmarshal([]byte(outputs[1]), &inserted), outputs[1])
	require.NoError(t, json.Unmarshal([]byte(outputs[2]), &shown), outputs[2])
	require.Len(t, found.Records, 2)
	email, card := found.Records[0].Token, found.Records[1].Token
	assert.Regexp(t, uuidForm, email)
	assert.Regexp(t, `^[0-9]{12}1111$`, card)
	require.Len(t, inserted.Records, 1)
	assert.Equal(t, email, inserted.Records[0].Tokens["email"], "the value was there")
	assert.Regexp(t, `^[0-9]{12}4444$`, inserted.Records[0].Tokens["card"])
	assert.Equal(t, []shownValue{{card, "********1111", "MASKED"}, {card, "4111111111111111", "PLAIN_TEXT"}}, shown.Records)
	assert.Contains(t, outputs[3], `"reason":"value_not_found"`)
	assert.True(t, strings.HasSuffix(outputs[3], "\n404\n"), outputs[3])
	for _, value := range []string{"ada@example.com", "nobody@example.com", "4111111111111111", "5555555555554444"} {
		assertUntold(t, value, s.stderr.String())
	}
}

// testRefusals starts the server wrongly.
func testRefusals(t *testing.T, p program) {
	const short = "sk-short-secret-value"
	config := filepath.Join(t.TempDir(), "acme.json")
	require.NoError(t, os.WriteFile(config, []byte("{\"organizations\": [\n  {\"id\": \"acme\", \"api_keys\": [{\"key\": \""+short+"\"}],\n  \"color\": 1}]}"), 0o600))
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	tests := map[string]struct {
		args []string
		env  []string
		want []string
	}{
		"unknown flag":     {args: []string{"-nonsense"}, want: []string{"-nonsense"}},
		"argument":         {args: []string{"nonsense"}, want: []string{`"nonsense"`}},
		"flag to come":     {args: []string{"-nats", short}, want: []string{"-nats: not available yet in this build"}},
		"another":          {args: []string{"-postgres=" + short}, want: []string{"-postgres: not available yet in this build"}},
		"bad boolean":      {args: []string{"-docs=perhaps"}, want: []string{"docs"}},
		"memory, data":     {args: []string{"-memory", "-data", file}, want: []string{"-memory: cannot go together with -data"}},
		"memory, data set": {args: []string{"-memory"}, env: []string{"MORTISE_DATA=" + file}, want: []string{"-memory: cannot go together with MORTISE_DATA"}},
		"data is a file":   {args: []string{"-data", file}, want: []string{"-data: " + file + " is not a folder"}},
		"data in a file":   {env: []string{"MORTISE_DATA=" + filepath.Join(file, "x")}, want: []string{"-data", file}},
		"data is nowhere":  {args: []string{"-data", ""}, want: []string{"-data: names no folder"}},
		"data, no right":   {args: []string{"-data", "/proc/x"}, want: []string{"-data", "/proc/x"}},
		"bad address":      {args: []string{"-addr", "nowhere"}, want: []string{"-addr"}},
		"bad port":         {args: []string{"-addr", "127.0.0.1:http2000"}, want: []string{"-addr"}},
		"bad address, env": {env: []string{"MORTISE_ADDR=nowhere"}, want: []string{"-addr"}},
		"bad public URL":   {args: []string{"-public-url", "ftp://u:" + short + "@x"}, want: []string{"-public-url"}},
		"missing config":   {args: []string{"-config", "/nonexistent.json"}, want: []string{"-config", "/nonexistent.json"}},
		"bad config":       {args: []string{"-config", config}, want: []string{"line 2, column 39: organizations[0].api_keys[0].key", `line 3, column 3: organizations[0]: unknown key "color"`}},
		"missing program":  {args: []string{"-trigger-exec", "no-such-program --now"}, want: []string{"-trigger-exec", "no-such-program"}},
		"pipe":             {args: []string{"-trigger-exec", "cat | wc"}, want: []string{"sh -c '...'"}},
		"variable":         {args: []string{"-trigger-exec", `cat "$HOME"`}, want: []string{"sh -c '...'"}},
		"open quote":       {args: []string{"-trigger-exec", "cat 'x"}, want: []string{"-trigger-exec", "quote"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			told := p.refuse(t, 2, test.env, test.args...)
			for _, want := range test.want {
				assert.Contains(t, told, want)
			}
			assertUntold(t, short, told)
		})
	}

	// A port in use may be free at another time.
	s := p.start(t, nil)
	assert.Contains(t, p.refuse(t, 1, nil, "-addr", strings.TrimPrefix(s.url, "http://")), "-addr")
}

// refuse runs a server that cannot start, and returns the one line that it says before it exits with the status. It may leave
// nothing in its folder.
func (p program) refuse(t *testing.T, status int, env []string, args ...string) string {
	t.Helper()
	dir := t.TempDir()
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(string(p), args...)
	cmd.Dir, cmd.Env = dir, environment(append([]string{"MORTISE_ADDR=127.0.0.1:0"}, env...)...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	require.Error(t, cmd.Run())
	assert.Equal(t, status, cmd.ProcessState.ExitCode(), "stderr: %s", &stderr)
	assert.Empty(t, stdout.String())
	assert.Equal(t, 1, strings.Count(stderr.String(), "\n"), "one line: %q", &stderr)
	assert.True(t, strings.HasSuffix(stderr.String(), "\n"))
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, left)
	return stderr.String()
}

func testIgnoredEnvironment(t *testing.T, p program) {
	const value = "postgres://user:a-password-of-32-characters-0123@db/x"
	s := p.start(t, []string{"MORTISE_POSTGRES=" + value, "MORTISE_ADDR=nowhere"})
	s.secrets = append(s.secrets, value)
	assert.Equal(t, http.StatusOK, s.do("GET", "/healthz", "", "").status, "the flag must win over MORTISE_ADDR")
	assert.Contains(t, s.stderr.String(), "MORTISE_POSTGRES")
}

func testPages(t *testing.T, p program) {
	s := p.start(t, nil, "-public-url", "https://docs.example.com/api/")
	for _, path := range []string{"/healthz", "/readyz"} {
		a := s.do("GET", path, "", "")
		assert.Equal(t, http.StatusOK, a.status, path)
		assert.JSONEq(t, `{"status":"ok"}`, a.body, path)
		a = s.do("POST", path, "", "")
		assert.Equal(t, http.StatusMethodNotAllowed, a.status, path)
		assert.Equal(t, "GET, HEAD", a.header.Get("Allow"), path)
	}

	var document struct {
		OpenAPI string
		Servers []struct{ URL string }
		Paths   map[string]map[string]json.RawMessage
	}
	a := s.do("GET", "/openapi.json", "", "")
	assert.Equal(t, "application/json", a.header.Get("Content-Type"))
	require.NoError(t, json.Unmarshal([]byte(a.body), &document))
	assert.True(t, strings.HasPrefix(document.OpenAPI, "3.1"), document.OpenAPI)
	require.Len(t, document.Servers, 1)
	assert.Equal(t, "https://docs.example.com/api", document.Servers[0].URL)
	assert.Contains(t, document.Paths["/triggers"], "post")
	assert.Contains(t, document.Paths["/triggers"], "get")
	assert.Contains(t, document.Paths, "/triggers/{id}")
	assert.Contains(t, document.Paths[clientsPath+"/{client_id}"], "put")
	assert.Contains(t, document.Paths[invitationsPath+"/{invitation_id}"], "get")
	assert.Contains(t, document.Paths[invitationsPath+"/{invitation_id}"], "delete")
	assert.Contains(t, document.Paths[loginPath], "post")
	for _, path := range []string{"/tokenize", "/detokenize", "/{table}"} {
		assert.Contains(t, document.Paths["/v1/vaults/{vaultID}"+path], "post", path)
	}
	assert.Contains(t, document.Paths["/v1/vaults/{vaultID}/tokens/{token}"], "delete")

	assert.Contains(t, document.Paths[soundPath], "post")
	assert.Contains(t, document.Paths[runStatusPath+"{run_id}"], "get")
	assert.Contains(t, document.Paths[runResultPath+"{run_id}"], "get")
	assert.Contains(t, document.Paths[runCancelPath+"{run_id}"], "post")

	a = s.do("GET", "/docs", "", "")
	assert.Equal(t, http.StatusOK, a.status)
	assert.True(t, strings.HasPrefix(a.header.Get("Content-Type"), "text/html"))
	assert.Contains(t, a.body, "/triggers")
	a = s.do("GET", "/", "", "")
	assert.Equal(t, http.StatusFound, a.status)
	assert.Equal(t, "docs", a.header.Get("Location"))
}

func testWithoutDocs(t *testing.T, p program) {
	s := p.start(t, nil, "-docs=false")
	for _, path := range []string{"/docs", "/openapi.json", "/"} {
		a := s.do("GET", path, "", "")
		assert.Equal(t, http.StatusNotFound, a.status, path)
		assert.Contains(t, a.body, `"error":"not_found"`, path)
	}
	s.await("the demo's text", func() bool { return strings.Contains(s.stdout.String(), "cancel it (200)") })
	assert.NotContains(t, s.stdout.String(), "/docs")
}

// testLoad submits from several clients at once, and finds everything in the history, completed.
func testLoad(t *testing.T, p program) {
	const clients, each = 8, 25
	s := p.start(t, nil, "-config", writeConfig(t))
	s.secrets = secrets()
	var mu sync.Mutex
	submitted := make(map[string]bool)
	var clientsDone sync.WaitGroup
	for client := range clients {
		clientsDone.Go(func() {
			for i := range each {
				a := s.do("POST", "/triggers", goodKey, fmt.Sprintf(`{"instructions":"Describe %d.","context":{"client":%d}}`, i, client))
				var e event
				if assert.Equal(t, http.StatusAccepted, a.status, a.body) && assert.NoError(t, json.Unmarshal([]byte(a.body), &e)) {
					mu.Lock()
					submitted[e.ID] = true
					mu.Unlock()
				}
			}
		})
	}
	clientsDone.Wait()
	require.Len(t, submitted, clients*each)

	s.await("everything to be completed", func() bool {
		completed := make(map[string]bool)
		for cursor := ""; ; {
			var page struct {
				Triggers []event
				Next     *string `json:"next_cursor"`
			}
			a := s.do("GET", "/triggers?limit=30&status=completed"+cursor, goodKey, "")
			require.NoError(t, json.Unmarshal([]byte(a.body), &page))
			for _, e := range page.Triggers {
				require.True(t, submitted[e.ID], "an event that nobody submitted")
				require.False(t, completed[e.ID], "an event twice in the history")
				completed[e.ID] = true
			}
			if page.Next == nil {
				return len(completed) == len(submitted)
			}
			cursor = "&cursor=" + *page.Next
		}
	})
}
