package e2e

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/nightly"
)

// TestReadmeServers runs the commands by which the page of the example server starts three
// of them behind a proxy, and then restarts them one after the other, as it says, while
// clients submit by way of the proxy. They see no refusal, and nothing is lost.
func TestReadmeServers(t *testing.T) {
	t.Parallel()
	nightly.Only(t)
	tool(t, "haproxy")
	tool(t, "openssl")
	sh := tool(t, "sh")
	_, section, found := strings.Cut(string(read(t, filepath.Join(root, "examples/server/README.md"))), "\n## Several servers\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	var blocks []string
	for _, m := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(section, -1) {
		blocks = append(blocks, m[1])
	}
	require.Len(t, blocks, 5)

	// The test's own server of PostgreSQL in the place of the machine's, other ports, and what
	// the commands write in a folder of the test's.
	database := sharedDatabase(t)
	dir, document := t.TempDir(), writeConfig(t)
	clone, err := filepath.Abs(root)
	require.NoError(t, err)
	var ports []string
	for _, port := range []string{"8080", "8081", "8082", "8083"} {
		_, free, _ := strings.Cut(freeAddress(t, "127.0.0.1"), ":")
		ports = append(ports, port, free)
	}
	moved := strings.NewReplacer(ports...)
	config := moved.Replace(string(read(t, filepath.Join(root, "examples/server/haproxy.cfg"))))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "haproxy.cfg"), []byte(config), 0o600))
	require.Contains(t, blocks[0], "export MORTISE_POSTGRES=")
	script := "export MORTISE_POSTGRES='" + database + "'\n" + moved.Replace(strings.Join(blocks[1:], "\n"))
	script = strings.NewReplacer("go build -o mortise ./examples/server\n",
		"go build -C '"+clone+"/examples/server' -o '"+dir+"/mortise' .\n",
		"=examples/server/testdata/acme.json", "="+document, "-f examples/server/haproxy.cfg", "-f haproxy.cfg").Replace(script)
	cmd := exec.Command(sh, "-euc", script)
	cmd.Dir, cmd.Env = dir, environment()
	t.Cleanup(func() {
		for _, pid := range append(ports, "haproxy") {
			if text, err := os.ReadFile(filepath.Join(dir, pid+".pid")); err == nil {
				signalPID(t, string(text), syscall.SIGKILL)
			}
		}
	})
	said := output(t, cmd)
	require.Contains(t, said, `{"status":"ok"}`)
	asked := regexp.MustCompile(`"trigger_event_id":"(.*?)".*"instructions":"(.*?)"`).FindStringSubmatch(strings.ReplaceAll(said, "\n", ""))
	require.NotNil(t, asked, said)

	l := newLoad(t, seeded(t), 8)
	l.sent[asked[2]] = &request{id: asked[1], instructions: asked[2], context: "null"}
	proxy := "http://127.0.0.1:" + ports[1]
	wait := l.share([]string{proxy}, 1000)
	for _, port := range []string{ports[3], ports[5], ports[7]} {
		pid := strings.TrimSpace(string(read(t, filepath.Join(dir, port+".pid"))))
		signalPID(t, pid, syscall.SIGTERM)
		own := "http://127.0.0.1:" + port
		require.True(t, eventually(func() bool {
			conn, err := net.Dial("tcp", "127.0.0.1:"+port)
			if err == nil {
				_ = conn.Close()
			}
			return err != nil // until then it answers those who do not know yet
		}), "%s did not end", port)
		again := exec.Command(filepath.Join(dir, "mortise"), "-addr", "127.0.0.1:"+port)
		again.Dir = dir
		again.Env = environment("MORTISE_POSTGRES="+database, "MORTISE_VAULT_KEY_FILE=root.key", "MORTISE_CONFIG="+document)
		require.NoError(t, again.Start())
		t.Cleanup(func() {
			_ = again.Process.Kill()
			_ = again.Wait()
		})
		require.True(t, eventually(func() bool { return answers(own) }), "%s did not start again", port)
	}
	wait()
	s := &server{t: t, url: proxy, exited: make(chan struct{})}
	l.awaitIdle(s)
	_, unanswered := l.check(s)
	assert.Zero(t, unanswered)
}

// answers reports whether a server is ready.
func answers(url string) bool {
	reply, err := http.Get(url + "/readyz")
	if err != nil {
		return false
	}
	_ = reply.Body.Close()
	return reply.StatusCode == http.StatusOK
}

func signalPID(t *testing.T, text string, signal syscall.Signal) {
	t.Helper()
	for line := range strings.Lines(text) {
		pid, err := strconv.Atoi(strings.TrimSpace(line))
		require.NoError(t, err)
		_ = syscall.Kill(pid, signal) // it may have ended
	}
}
