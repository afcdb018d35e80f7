package e2e

import (
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const root = "../.."

// TestReadmeIsShort: the README is what a newcomer reads. The rest has its place in docs/.
func TestReadmeIsShort(t *testing.T) {
	assert.LessOrEqual(t, strings.Count(document(t, "README.md"), "\n"), 200)
}

// TestReadmeProgram makes a program of the README outside of this repository, by the
// README's own commands. Then it sends the README's request to it.
func TestReadmeProgram(t *testing.T) {
	t.Parallel()
	sh, _ := tool(t, "sh"), tool(t, "curl")
	text := document(t, "README.md")
	source := regexp.MustCompile("(?s)```go\n(package main\n.*?)```").FindStringSubmatch(text)
	require.NotNil(t, source, "the README has no program")
	setup := regexp.MustCompile("(?s)```sh\n(go mod init .*?)go run \\.\n```").FindStringSubmatch(text)
	require.NotNil(t, setup, "the README does not say how its program is run")
	request := regexp.MustCompile("(?s)```sh\n(curl .*?)```").FindStringSubmatch(text)
	require.NotNil(t, request, "the README sends no request")
	clone, err := filepath.Abs(root)
	require.NoError(t, err)
	// With the flags of the tests, Go takes packages that it has built for them.
	outside := append(os.Environ(), "GOWORK=off", "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" -mod=mod"))

	// What the README says of SQLite, done to its program.
	moved := strings.ReplaceAll(source[1], "storage/memory", "storage/sqlite")
	moved = strings.ReplaceAll(moved, "memory.Open(ctx, nil)", `sqlite.Open(ctx, "mortise.db", nil)`)
	for _, variant := range []struct{ name, host, source, setup, sums string }{
		{"memory", "127.0.0.2", source[1], setup[1], "go.sum"},
		{"sqlite", "127.0.0.3", moved, strings.Replace(setup[1], "go mod tidy",
			"go mod edit -replace "+corePath+"/storage/sqlite=CLONE/storage/sqlite\ngo mod tidy", 1), "storage/sqlite/go.sum"},
	} {
		t.Run(variant.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			// The sums that the module was checked with, so that no checksum database is asked.
			require.NoError(t, os.WriteFile(filepath.Join(dir, "go.sum"), read(t, filepath.Join(root, variant.sums)), 0o644))
			// Its port may be somebody's.
			address := freeAddress(t, variant.host)
			require.Contains(t, variant.source, `"localhost:8080"`)
			code := strings.Replace(variant.source, "localhost:8080", address, 1)
			require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(code), 0o644))
			prepare := exec.Command(sh, "-ec", strings.ReplaceAll(variant.setup, "CLONE", clone)+"go build -ldflags=-w -o program .")
			prepare.Dir, prepare.Env = dir, outside
			output(t, prepare)

			program := exec.Command(filepath.Join(dir, "program"))
			var log processOutput
			program.Dir, program.Stderr = dir, &log
			require.NoError(t, program.Start())
			defer func() {
				require.NoError(t, program.Process.Signal(syscall.SIGINT))
				require.NoError(t, program.Wait(), "%s", &log)
			}()
			require.Eventually(t, func() bool {
				conn, err := net.Dial("tcp", address)
				if err == nil {
					_ = conn.Close()
				}
				return err == nil
			}, patience, 5*time.Millisecond, "%s", &log)

			// send is the README's command, as somebody.
			send := func(who string) string {
				command := strings.Replace(strings.TrimSpace(request[1]), "localhost:8080", address, 1)
				command = strings.Replace(command, "Bearer ada", "Bearer "+who, 1)
				return output(t, exec.Command(sh, "-c", command+" -sS -w ' %{http_code}'"))
			}
			answer := send("ada")
			require.True(t, strings.HasSuffix(answer, " 202"), answer)
			assert.True(t, strings.HasSuffix(send("bob"), " 403"))
			assert.True(t, strings.HasSuffix(send("eve"), " 401"))
			require.Eventually(t, func() bool { return strings.Contains(history(t, address), `"completed"`) },
				patience, 5*time.Millisecond, "%s", &log)
			assert.Contains(t, log.String(), "for acme: Describe the new sign-in page")
		})
	}
}

// history is what Bob reads of the program's events.
func history(t *testing.T, address string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/docs-api/triggers", nil)
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer bob")
	reply, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer reply.Body.Close()
	require.Equal(t, http.StatusOK, reply.StatusCode)
	body, err := io.ReadAll(reply.Body)
	require.NoError(t, err)
	return string(body)
}

// freeAddress is one where nobody listens: at a host of its own, where no other test takes
// the port meanwhile. Systems on which 127.0.0.1 is the only one use that.
func freeAddress(t *testing.T, host string) string {
	t.Helper()
	l, err := net.Listen("tcp", host+":0")
	if err != nil {
		l, err = net.Listen("tcp", "127.0.0.1:0")
	}
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

// TestTodoScript runs the documentation job that the example server's page shows twice on
// one event.
func TestTodoScript(t *testing.T) {
	sh := tool(t, "sh")
	script, err := filepath.Abs(filepath.Join(root, "examples/server/todo.sh"))
	require.NoError(t, err)
	text, err := os.ReadFile(script)
	require.NoError(t, err)
	page := document(t, "examples/server/README.md")
	require.Contains(t, page, "```sh\n"+string(text)+"```", "the page shows another script")
	todo := filepath.Join(t.TempDir(), "TODO.md")
	run := func(event string) {
		cmd := exec.Command(sh, script, todo)
		cmd.Stdin = strings.NewReader(event)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
	}
	first := `{"trigger_event_id":"01","status":"processing","source":"api","instructions":"Say \"hi\" & go","context":{"source":"x","instructions":"y"},"attempts":1}`
	run(first)
	run(first)
	run(`{"trigger_event_id":"02","status":"processing","source":"api","instructions":"$(touch x); 50% of \\n","context":null,"attempts":1}`)
	got, err := os.ReadFile(todo)
	require.NoError(t, err)
	require.Equal(t, "- [ ] Say \\\"hi\\\" & go (`01`)\n- [ ] $(touch x); 50% of \\\\n (`02`)\n", string(got))
}
