// Package e2e drives whole programs as their users do.
package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
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
		"demo commands":            testDemoCommands,
		"ignored environment":      testFlagsFirst,
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

// refuse runs a server that cannot start, and returns the one line that it says before it
// exits with the status. It may leave nothing in its folder.
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

func testFlagsFirst(t *testing.T, p program) {
	s := p.start(t, []string{"MORTISE_ADDR=nowhere"}, "-config", writeConfig(t))
	assert.Equal(t, http.StatusOK, s.do("GET", "/healthz", "", "").status, "the flag must win over MORTISE_ADDR")
}

func testPages(t *testing.T, p program) {
	s := p.start(t, nil, "-config", writeConfig(t), "-public-url", "https://docs.example.com/api/")
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
	a = s.do("GET", "/docs/", "", "")
	assert.Equal(t, http.StatusFound, a.status)
	assert.Equal(t, "../docs", a.header.Get("Location"))
	a = s.do("GET", "/", "", "")
	assert.Equal(t, http.StatusOK, a.status)
	assert.Contains(t, a.body, `<a href="docs">`)
	assert.NotContains(t, a.body, "acme", "an organization")
}

func testWithoutDocs(t *testing.T, p program) {
	s := p.start(t, nil, "-docs=false")
	assert.NotContains(t, s.do("GET", "/", "", "").body, `href="docs"`)
	for _, path := range []string{"/docs", "/docs/", "/openapi.json"} {
		a := s.do("GET", path, "", "")
		assert.Equal(t, http.StatusNotFound, a.status, path)
		assert.Contains(t, a.body, `"error":"not_found"`, path)
	}
	s.await("the demo's text", func() bool { return strings.Contains(s.stdout.String(), "with the access token above.") })
	assert.NotContains(t, s.stdout.String(), "/docs")
}

// testLoad submits from several clients at once, and finds everything in the history,
// completed.
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
