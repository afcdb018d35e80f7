package e2e

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/nightly"
	"github.com/seed-6363c74e/mortise/internal/pgserver"
	"github.com/seed-6363c74e/mortise/internal/testmain"
)

// patience bounds every wait of these tests. It is for machines that are busy, as all are at
// night: the race detector takes most of their time.
var patience = map[bool]time.Duration{false: 2 * time.Minute, true: 10 * time.Minute}[nightly.On()]

// stopLimit is how long a server may take to end: it gives itself 10 s, and a busy
// machine may take as much again.
const stopLimit = 20 * time.Second

// lease is how long a job of a server that was killed waits until another server takes it.
const lease = 2 * time.Second

// program is the example server, built.
type program string

// TestMain runs the tests or, as another process of one of them, does a part of it.
func TestMain(m *testing.M) {
	if how := os.Getenv("E2E_HOLD"); how != "" {
		if err := holdFile(how, os.Getenv("E2E_HOLD_FILE")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if file := os.Getenv("E2E_SCORE"); file != "" {
		if err := scoreVideos(file); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if queue := os.Getenv("E2E_HOST"); queue != "" {
		if err := hostOnPostgres(queue == "river", os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	runTests(m)
}

func runTests(m *testing.M) {
	testmain.Parallel(4)                              // for the disk, for leases, for processes to end
	defer func() { _ = os.RemoveAll(built.folder) }() // what is left is in the folder for temporary files
	pgserver.Main(m)
}

// built is the server that the tests share.
var built struct {
	once   sync.Once
	folder string
	out    []byte
	err    error
}

// buildServer builds examples/server, once. E2E_BUILD_FLAGS may hold flags for it, such
// as -race.
func buildServer(t testing.TB) program {
	t.Helper()
	built.once.Do(func() {
		if built.folder, built.err = os.MkdirTemp("", "mortise-e2e-"); built.err != nil {
			return
		}
		// What a debugger needs takes half of the linker's time.
		args := append([]string{"build", "-o", built.folder, "-ldflags=-w"}, strings.Fields(os.Getenv("E2E_BUILD_FLAGS"))...)
		build := exec.Command("go", append(args, ".")...)
		build.Dir = filepath.Join("..", "..", "examples", "server")
		built.out, built.err = build.CombinedOutput()
	})
	require.NoError(t, built.err, "%s", built.out)
	return program(filepath.Join(built.folder, "server"))
}

// tool returns the path of a program that the test cannot do without.
func tool(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil && os.Getenv("CI") == "true" {
		t.Fatalf("%s is missing", name)
	}
	if err != nil {
		t.Skipf("%s is missing", name)
	}
	return path
}

// server is a running example server.
type server struct {
	t       testing.TB
	cmd     *exec.Cmd
	dir     string // where it runs, and by default keeps its data
	url     string
	stdout  processOutput
	stderr  processOutput
	secrets []string      // that must appear nowhere in its output
	exited  chan struct{} // closed when it has
}

// processOutput collects what a process writes.
type processOutput struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *processOutput) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(b)
}

func (o *processOutput) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// environment is the test's own, without settings for the server, and with some.
func environment(more ...string) []string {
	env := []string{"GORACE=atexit_sleep_ms=0"} // a server with the race detector would need a second more to end
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "MORTISE_") {
			env = append(env, entry)
		}
	}
	return append(env, more...)
}

// start runs the server on a free port in a folder of its own, and waits until it
// listens. When the test ends, the server must end in peace, and must not have told a
// secret.
func (p program) start(t testing.TB, env []string, args ...string) *server {
	t.Helper()
	return p.startIn(t, t.TempDir(), env, args...)
}

// startIn is start in a folder where a server may have run before.
func (p program) startIn(t testing.TB, dir string, env []string, args ...string) *server {
	t.Helper()
	s := p.run(t, dir, env, args...)
	s.awaitListening()
	return s
}

// awaitListening waits until a server listens, and reads where.
func (s *server) awaitListening() {
	s.t.Helper()
	s.listens()
	line, _, _ := strings.Cut(s.stdout.String(), "\n")
	address, ok := strings.CutPrefix(line, "listening on ")
	require.True(s.t, ok, "the first line is %q; stderr: %s", line, &s.stderr)
	s.url = address
}

// listens waits until a server listens or has ended, and reports whether it listens.
func (s *server) listens() bool {
	s.t.Helper()
	s.await("the first line", func() bool {
		select {
		case <-s.exited:
			return true
		default:
			// What a start has to warn of is logged before, and may arrive later: it is
			// another pipe.
			return strings.Contains(s.stdout.String(), "\n") && strings.Contains(s.stderr.String(), `"msg":"storage opened"`)
		}
	})
	return strings.Contains(s.stdout.String(), "\n")
}

// run is startIn without the wait.
func (p program) run(t testing.TB, dir string, env []string, args ...string) *server {
	t.Helper()
	s := &server{t: t, dir: dir, exited: make(chan struct{})}
	s.cmd = exec.Command(string(p), append([]string{"-addr", "127.0.0.1:0", "-lease", lease.String()}, args...)...)
	s.cmd.Dir, s.cmd.Env = dir, environment(env...)
	s.cmd.Stdout, s.cmd.Stderr = &s.stdout, &s.stderr
	require.NoError(t, s.cmd.Start())
	go func() {
		_ = s.cmd.Wait() // the status is read from ProcessState
		close(s.exited)
	}()
	t.Cleanup(func() {
		s.stop()
		s.checkOutput()
	})
	return s
}

// await polls until something has come true.
func (s *server) await(what string, done func() bool) {
	s.t.Helper()
	if !eventually(done) {
		s.t.Fatalf("waiting for %s; stdout: %s; stderr: %s", what, &s.stdout, &s.stderr)
	}
}

// eventually polls until something has come true, and reports whether it has.
func eventually(done func() bool) bool {
	begun := time.Now()
	for !done() {
		if time.Since(begun) > patience {
			return false
		}
		pause(begun)
	}
	return true
}

// pause waits between two looks at what has been awaited since then. What takes long is
// asked for less often, or asking would keep a processor busy that the answer waits for.
func pause(begun time.Time) {
	time.Sleep(min(max(time.Since(begun)/16, 2*time.Millisecond), 250*time.Millisecond))
}

func (s *server) signal(sig os.Signal) {
	s.t.Helper()
	require.NoError(s.t, s.cmd.Process.Signal(sig))
}

// kill ends the server as a crash would.
func (s *server) kill() {
	s.t.Helper()
	s.signal(syscall.SIGKILL)
	<-s.exited
}

// stop ends the server with SIGTERM, if it still runs, and returns how long that took.
func (s *server) stop() time.Duration {
	s.t.Helper()
	begun := time.Now()
	select {
	case <-s.exited:
	default:
		s.signal(syscall.SIGTERM)
		s.awaitExit()
	}
	return time.Since(begun)
}

// awaitExit waits for the end of a server that was told to.
func (s *server) awaitExit() {
	s.t.Helper()
	select {
	case <-s.exited:
		assert.Equal(s.t, 0, s.cmd.ProcessState.ExitCode(), "exit status; stderr: %s", &s.stderr)
	case <-time.After(stopLimit):
		_ = s.cmd.Process.Kill()
		<-s.exited
		s.t.Errorf("the server did not end within %v; stderr: %s", stopLimit, &s.stderr)
	}
}

// checkOutput looks for secrets, and for log lines that are not JSON.
func (s *server) checkOutput() {
	s.t.Helper()
	for _, secret := range s.secrets {
		assertUntold(s.t, secret, s.stdout.String())
		assertUntold(s.t, secret, s.stderr.String())
	}
	log := s.stderr.String()
	if s.stdout.String() == "" { // the start failed: its last line is a sentence for the operator
		log = log[:strings.LastIndexByte(strings.TrimSuffix(log, "\n"), '\n')+1]
	}
	lines := bufio.NewScanner(strings.NewReader(log))
	for lines.Scan() {
		assert.True(s.t, json.Valid(lines.Bytes()), "a log line that is not JSON: %s", lines.Text())
	}
	require.NoError(s.t, lines.Err())
}

// assertUntold fails if text holds the secret in a form from which it, or its digest,
// could be read.
func assertUntold(t testing.TB, secret, text string) {
	t.Helper()
	sum := sha256.Sum256([]byte(secret))
	for _, raw := range [][]byte{[]byte(secret), sum[:]} {
		for name, form := range map[string]string{
			"plain": string(raw), "hex": hex.EncodeToString(raw), "HEX": strings.ToUpper(hex.EncodeToString(raw)),
			"base64": base64.RawStdEncoding.EncodeToString(raw), "base64url": base64.RawURLEncoding.EncodeToString(raw),
		} {
			if strings.Contains(text, form) {
				t.Errorf("the output holds a secret, or its digest, as %s", name)
			}
		}
	}
}

// answer is what the server said.
type answer struct {
	status int
	header http.Header
	body   string
}

// do sends a request. A body is sent as JSON unless a header says otherwise.
func (s *server) do(method, path, key, body string, headers ...string) answer {
	s.t.Helper()
	r, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	require.NoError(s.t, err)
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultTransport.RoundTrip(r) // follows no redirects
	require.NoError(s.t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(s.t, err)
	return answer{resp.StatusCode, resp.Header, string(text)}
}

// event is an entry of the history.
type event struct {
	ID           string `json:"trigger_event_id"`
	Status       string
	Instructions string
	Context      json.RawMessage
	Attempts     int
	LastError    *string `json:"last_error"`
	Outcome      *struct{ Summary string }
}

func (s *server) submit(key, body string) (id string) {
	s.t.Helper()
	a := s.do("POST", "/triggers", key, body)
	require.Equal(s.t, http.StatusAccepted, a.status, a.body)
	var accepted event
	require.NoError(s.t, json.Unmarshal([]byte(a.body), &accepted))
	return accepted.ID
}

func (s *server) event(key, id string) (e event) {
	s.t.Helper()
	a := s.do("GET", "/triggers/"+id, key, "")
	require.Equal(s.t, http.StatusOK, a.status, a.body)
	require.NoError(s.t, json.Unmarshal([]byte(a.body), &e))
	return e
}

func (s *server) awaitStatus(key, id, status string) (e event) {
	s.t.Helper()
	s.await("the event to be "+status, func() bool {
		e = s.event(key, id)
		return e.Status == status
	})
	return e
}

// refusal runs a server that must end by itself, and returns what it wrote to standard error
// before its status. A server that does not end is an error of the test, and is killed.
func (p program) refusal(t *testing.T, status int, env []string, args ...string) string {
	t.Helper()
	return p.refusalIn(t, t.TempDir(), status, env, args...)
}

func (p program) refusalIn(t *testing.T, dir string, status int, env []string, args ...string) string {
	t.Helper()
	cmd := exec.Command(string(p), append([]string{"-addr", "127.0.0.1:0"}, args...)...)
	cmd.Dir, cmd.Env = dir, environment(env...)
	var out, errs processOutput
	cmd.Stdout, cmd.Stderr = &out, &errs
	require.NoError(t, cmd.Start())
	late := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	_ = cmd.Wait() // the status says it
	require.Equal(t, status, cmd.ProcessState.ExitCode(), "%s", &errs)
	assert.Empty(t, out.String())
	lines := strings.Split(strings.TrimSuffix(errs.String(), "\n"), "\n")
	for _, line := range lines[:len(lines)-1] {
		require.True(t, strings.HasPrefix(line, "{"), "more than a sentence: %s", &errs)
	}
	return lines[len(lines)-1]
}
