package e2e

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// demoKey returns the API key that a demo has printed.
func (s *server) demoKey() string { return s.demoSecret("sk-") }

// demoToken returns the access token that a demo has printed.
func (s *server) demoToken() string { return s.demoSecret("at-") }

func (s *server) demoSecret(prefix string) string {
	s.t.Helper()
	s.await("the demo's text", func() bool { return strings.Contains(s.stdout.String(), s.url+"/docs\n") })
	secret := regexp.MustCompile(`\b` + prefix + `[\w-]{43}`).FindString(s.stdout.String())
	require.NotEmpty(s.t, secret)
	return secret
}

// inShell runs a text that a demo has printed. Nothing but the shell, curl and the least
// of what POSIX has may be needed. It returns what is put out, and how often each status
// was answered.
func inShell(t testing.TB, text string) (string, map[string]int) {
	t.Helper()
	bin, answers := t.TempDir(), t.TempDir()
	for _, name := range []string{"grep", "sed", "sleep"} {
		require.NoError(t, os.Symlink(tool(t, name), filepath.Join(bin, name)))
	}
	sh := tool(t, "sh")
	curl := "#!" + sh + "\nexec '" + tool(t, "curl") + "' \"$@\" -D '" + answers + "'/$$\n"
	// A process that another test starts meanwhile would inherit the open file, and nobody
	// can run a program that somebody has open for writing (ETXTBSY).
	syscall.ForkLock.RLock()
	err := os.WriteFile(filepath.Join(bin, "curl"), []byte(curl), 0o700)
	syscall.ForkLock.RUnlock()
	require.NoError(t, err)
	cmd := exec.Command(sh, "-euc", text)
	cmd.Env = []string{"PATH=" + bin, "NO_PROXY=*"}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s: %s", text, out)
	statuses := make(map[string]int)
	files, err := os.ReadDir(answers)
	require.NoError(t, err)
	for _, file := range files {
		head, err := os.ReadFile(filepath.Join(answers, file.Name()))
		require.NoError(t, err)
		statuses[strings.Fields(string(head))[1]]++
	}
	return string(out), statuses
}

// testDemo pastes what the demo prints, at a first start and at a second one on the same
// data.
func testDemo(t *testing.T, p program) {
	dir := t.TempDir()
	s := p.startIn(t, dir, nil)
	first := s.demoToken()
	ada := pasteDemo(s)
	s.stop()
	s = p.startIn(t, dir, nil)
	assert.NotEqual(t, first, s.demoToken())
	assert.Equal(t, http.StatusUnauthorized, s.status("GET", clientsPath, first), "it ends with the process")
	assert.Equal(t, ada, pasteDemo(s), "a token stays the same")
	assert.NotContains(t, s.stderr.String(), first)
}

// pasteDemo runs each of the demo's three commands in a shell of its own. It returns the
// token of a value that the demo's vault has.
func pasteDemo(s *server) string {
	t := s.t
	token, key := s.demoToken(), s.demoKey()
	var outputs []string
	for paragraph := range strings.SplitSeq(s.stdout.String(), "\n\n") {
		if strings.Contains(paragraph, "\ncurl ") {
			out, _ := inShell(t, paragraph)
			outputs = append(outputs, out)
		}
	}
	require.Len(t, outputs, 3)
	var submitted event
	var history struct{ Triggers []event }
	var found tokenRecords
	require.NoError(t, json.Unmarshal([]byte(outputs[0]), &submitted), outputs[0])
	require.NoError(t, json.Unmarshal([]byte(outputs[1]), &history), outputs[1])
	require.NoError(t, json.Unmarshal([]byte(outputs[2]), &found), outputs[2])
	assert.Equal(t, submitted.ID, history.Triggers[0].ID)
	done := s.awaitStatus(key, submitted.ID, "completed")
	assert.Contains(t, s.stderr.String(), submitted.ID, "the event's id is not logged")
	assert.NotEmpty(t, done.Outcome.Summary)
	require.Len(t, found.Records, 2)
	assert.Regexp(t, uuidForm, found.Records[0].Token)
	assert.Regexp(t, `^[0-9]{12}1111$`, found.Records[1].Token)
	assert.Equal(t, http.StatusOK, s.status("GET", "/search", ""), "the page for sounds")
	for _, secret := range []string{key, token, "ada@example.com", "4111111111111111"} {
		assertUntold(t, secret, s.stderr.String())
	}
	return found.Records[0].Token
}

// testDemoCommands pastes the command of each operation, all in one shell, twice, since a
// person may.
func testDemoCommands(t *testing.T, p program) {
	s := p.start(t, nil, "-demo-commands")
	s.demoToken()
	_, text, _ := strings.Cut(s.stdout.String(), "\n")
	for range 2 {
		pasteAll(s, text)
	}
}

func pasteAll(s *server, text string) {
	t := s.t
	out, statuses := inShell(t, text)
	assert.GreaterOrEqual(t, statuses["200"], 28, "%v", statuses)
	delete(statuses, "200")
	// Three triggers, credentials, two invitations, and the cancelling of a search that has ended.
	assert.Equal(t, map[string]int{"202": 3, "201": 3, "409": 1}, statuses)

	for _, shown := range []string{
		`"context":{"commit":"4f2a9c1"}`, `"name":"dashboard","roles":[{"role_id":"viewer"`, "<h1>You are invited</h1>",
		`"value":"********1111"`, `"value":"4111111111111111"`, `"deleted":true`,
		`"termination_type":"SUCCESS"`, `"video_id":"kitchen-alarm"`, `"place":"kitchen"`,
	} {
		assert.Contains(t, out, shown)
	}
	given := regexp.MustCompile(`<code>(at-[0-9a-f]{64})</code>`).FindStringSubmatch(out)
	require.NotNil(t, given, "%s", out)
	assert.Equal(t, http.StatusForbidden, s.status("GET", clientsPath, given[1]), "an editor")
	login := regexp.MustCompile(`"access_token":"(at-[0-9a-f]{64})"`).FindStringSubmatch(out)
	require.NotNil(t, login, "%s", out)
	assert.Equal(t, http.StatusUnauthorized, s.status("GET", clientsPath, login[1]), "it was revoked")
	secrets := regexp.MustCompile(`(at|cs|sk)-[0-9a-f]{64}|ada@example.com|4111111111111111`)
	for _, secret := range secrets.FindAllString(out, -1) {
		assertUntold(t, secret, s.stderr.String())
	}
	assertUntold(t, s.demoKey(), s.stderr.String())
	assertUntold(t, s.demoToken(), s.stderr.String())
}
