package reference_test

import (
	"html"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/httpadapter"
)

var commandPattern = regexp.MustCompile(`(?s)<h4>Request</h4>\s*<div class="code"><pre><code>(.*?)</code></pre>`)

// commands returns the arguments of each curl command of a page, as a shell understands them.
func commands(t *testing.T, page string, env ...string) [][]string {
	t.Helper()
	if _, err := exec.LookPath("sh"); err != nil {
		require.NotEqual(t, "true", os.Getenv("CI"), "sh is missing")
		t.Skip("sh is missing")
	}
	var list [][]string
	for _, m := range commandPattern.FindAllStringSubmatch(page, -1) {
		script := "curl() { printf '%s\\0' \"$@\"; }\n" + html.UnescapeString(m[1])
		cmd := exec.CommandContext(t.Context(), "sh", "-euc", script)
		cmd.Env = env
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s\n%s", script, out)
		list = append(list, strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"))
	}
	return list
}

// request makes a request of the arguments of a curl command, in the way that curl does.
func request(t *testing.T, args []string) *http.Request {
	t.Helper()
	require.Equal(t, "-X", args[0])
	method, target, body := args[1], args[2], ""
	header := make(http.Header)
	for i := 3; i < len(args); i += 2 {
		switch args[i] {
		case "-H":
			name, value, found := strings.Cut(args[i+1], ": ")
			require.True(t, found)
			header.Add(name, value)
		case "--data-raw":
			body = args[i+1]
		default:
			t.Fatalf("unexpected option %s", args[i])
		}
	}
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Header = header
	return r
}

// The commands of the page, run against the service that the page describes, do what the page says.
func TestCommandsWork(t *testing.T) {
	h, key := triggers(t)
	document, err := httpadapter.OpenAPI([]string{"https://api.example.com"}, h)
	require.NoError(t, err)
	list := commands(t, page(t, document), "MORTISE_KEY="+key)
	require.Len(t, list, 3)
	for i, status := range []int{http.StatusAccepted, http.StatusOK, http.StatusNotFound} { // the event of the example is not there
		w := httptest.NewRecorder()
		h.ServeHTTP(w, request(t, list[i]))
		require.Equal(t, status, w.Code, "%q\n%s", list[i], w.Body)
	}
	require.Equal(t, "https://api.example.com/triggers/0199f2c4-5b1e-7c3a-9d52-6a1f0e8b7c44", list[2][2])
}

func TestCommandsAreQuoted(t *testing.T) {
	list := commands(t, page(t, everything(t)), "MORTISE_KEY=k", "MORTISE_USER=u", "MORTISE_PASSWORD=p w", "HOME=/wrong")
	require.Equal(t, [][]string{
		{"-X", "POST", "https://eu.example.com/it's/v1/vaults/v%201%2Fa%3Fb/tokenize?dry+run=true", "-H", "Authorization: Bearer k",
			"-H", "x-request-id: it's 1", "-H", "Content-Type: application/json", "--data-raw",
			"{\n  \"tokenizationParameters\": [\n    { \"value\": \"it's `$HOME` \\\"quoted\\\" \\\\n\", \"columnGroup\": \"emails\" }\n  ]\n}"},
		{"-X", "POST", "https://eu.example.com/it's/search", "-H", "Authorization: Bearer k", "-H", "Content-Type: application/json", "--data-raw",
			"{\n  \"audio_class\": \"Class 1\",\n  \"filters\": [{ \"key\": \"show\", \"op\": \"=\", \"value\": \"news\" }]\n}"},
		{"-X", "GET", "https://eu.example.com/it's/tree"},
		{"-X", "POST", "https://eu.example.com/it's/token", "-u", "u:p w", "-H", "Content-Type: application/x-www-form-urlencoded",
			"--data-urlencode", "grant_type=client_credentials", "--data-urlencode", "scope=a b'c"},
	}, list)
}

func TestCommandsWithoutServer(t *testing.T) {
	h, key := triggers(t)
	for server, want := range map[string]string{"": "http://x:1/triggers", "/internal": "http://x:1/internal/triggers", "/": "http://x:1/triggers"} {
		var servers []string
		if server != "" {
			servers = []string{server}
		}
		document, err := httpadapter.OpenAPI(servers, h)
		require.NoError(t, err)
		p := page(t, document)
		require.Contains(t, p, "MORTISE_URL")
		list := commands(t, p, "MORTISE_KEY="+key, "MORTISE_URL=http://x:1")
		require.Equal(t, want, list[0][2])
	}
}
