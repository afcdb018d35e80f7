package gold

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/pgserver"
)

// built is the example server that the tests share.
var built struct {
	once   sync.Once
	folder string
	out    []byte
	err    error
}

func buildServer(t *testing.T) string {
	t.Helper()
	built.once.Do(func() {
		if built.folder, built.err = os.MkdirTemp("", "mortise-gold-"); built.err != nil {
			return
		}
		// What a debugger needs takes half of the linker's time.
		build := exec.Command("go", "build", "-o", built.folder, "-ldflags=-w", ".")
		build.Dir = filepath.Join("..", "..", "..", "examples", "server")
		built.out, built.err = build.CombinedOutput()
	})
	require.NoError(t, built.err, "%s", built.out)
	return filepath.Join(built.folder, "server")
}

// output collects what a process writes.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// command prepares the server in a folder, with no settings in the environment but these.
func command(t *testing.T, dir string, env, args []string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(buildServer(t), args...)
	cmd.Dir, cmd.Env = dir, env
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "MORTISE_") {
			cmd.Env = append(cmd.Env, entry)
		}
	}
	return cmd
}

var lineNumber = regexp.MustCompile(`(?m)^@@ line \d+$`)

// TestServer compares what the example server does, on each storage: how it answers its
// own pages and some requests, what its OpenAPI document has otherwise than that of all
// services with everything that they can be mounted with, and after that run the names
// and labels of its metrics, and the levels, texts and keys of its log.
func TestServer(t *testing.T) {
	for n, storage := range []struct {
		name string
		args func(t *testing.T, dir string) []string
	}{
		{"memory", func(*testing.T, string) []string { return []string{"-memory"} }},
		{"SQLite", func(*testing.T, string) []string { return []string{"-data", "data"} }},
		{"PostgreSQL", func(t *testing.T, dir string) []string {
			key := filepath.Join(dir, "root.key")
			require.NoError(t, os.WriteFile(key, []byte(strings.Repeat("0123456789abcdef", 4)), 0o600))
			server := pgserver.Shared(t)
			db, err := pgx.Connect(t.Context(), server.DSN("postgres"))
			require.NoError(t, err)
			defer db.Close(t.Context())
			name := fmt.Sprint("gold_", made.Add(1))
			_, err = db.Exec(t.Context(), "CREATE DATABASE "+name)
			require.NoError(t, err)
			return []string{"-postgres", server.URL(name), "-vault-key", key}
		}},
	} {
		t.Run(storage.name, func(t *testing.T) {
			if n > 0 {
				t.Parallel() // the first one may write what the others are compared with
			}
			dir := t.TempDir()
			writeSounds(t, dir)
			require.NoError(t, os.WriteFile(filepath.Join(dir, "world.json"), []byte(read(t, "world.json")), 0o600))
			args := append(storage.args(t, dir), "-addr", "127.0.0.1:0", "-config", "world.json",
				"-public-url", "https://api.example.com", "-tokenize-rate", "0.001", "-trigger-exec", "cat")
			cmd := command(t, dir, nil, args)
			var stdout, stderr output
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			require.NoError(t, cmd.Start())
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			t.Cleanup(func() { _ = cmd.Process.Kill() })
			require.Eventually(t, func() bool {
				return strings.Contains(stdout.String(), "\n") && strings.Contains(stderr.String(), "all videos have been looked at")
			}, time.Minute, 2*time.Millisecond, "%s", &stderr)
			address := strings.TrimPrefix(strings.TrimSpace(stdout.String()), "listening on http://")

			const file = "server/requests.txt"
			script := read(t, file)
			r := &recording{&rig{t: t}, address, newMasks(script), script, make(map[string]bool)}
			r.masks.timed = true
			compare(t, file, r.play(), n == 0)
			_, document := r.send("GET", "/openapi.json", http.Header{}, "")
			others := differences(read(t, "openapi/full.json"), string(document)+"\n", math.MaxInt, math.MaxInt)
			compare(t, "server/openapi.txt", lineNumber.ReplaceAllString(others, "@@"), n == 0)
			var metrics []byte
			require.Eventually(t, func() bool { // the end of the search is told after it is stored
				_, metrics = r.send("GET", "/metrics", http.Header{}, "")
				return strings.Contains(string(metrics), `kind="terminated",service="audiosearch"`)
			}, time.Minute, 10*time.Millisecond)
			compare(t, "server/metrics_"+storage.name+".txt", labels(string(metrics)), true)

			require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
			require.NoError(t, <-ended, "%s", &stderr)
			compare(t, "server/log_"+storage.name+".txt", logLines(t, stderr.String()), true)
		})
	}
}

// labels returns metrics without their values. The limits of a histogram are shown once.
func labels(text string) string {
	var b strings.Builder
	shown := make(map[string]bool)
	for line := range strings.Lines(text) {
		if ofRuntime.MatchString(line) {
			continue // its version and the machine decide
		}
		if strings.Contains(line, `kind="scoring"`) {
			continue // told once a second, so a fast machine tells nothing
		}
		if !strings.HasPrefix(line, "#") {
			line = line[:strings.LastIndexByte(line, ' ')] + "\n"
			name, _, _ := strings.Cut(line, "{")
			if name == "mortise_build_info" { // the machine and the commit decide
				line = labelValue.ReplaceAllString(line, `=""`)
			}
			if !strings.HasSuffix(name, "_bucket") || shown[name] {
				line = limit.ReplaceAllString(line, "")
			}
			shown[name] = shown[name] || strings.Contains(line, `le="+Inf"`)
			if shown[line] {
				continue
			}
		}
		shown[line] = true
		b.WriteString(line)
	}
	return b.String()
}

var limit = regexp.MustCompile(`,?le="[^"]*"`)

var labelValue = regexp.MustCompile(`="[^"]*"`)

var ofRuntime = regexp.MustCompile(`^(# \w+ )?(go|process)_`)

// logLines returns the levels, texts and keys of log lines, each once.
func logLines(t *testing.T, text string) string {
	t.Helper()
	all := make(map[string]bool)
	for line := range strings.Lines(text) {
		all[logLine(t, line)] = true
	}
	return strings.Join(slices.Sorted(maps.Keys(all)), "")
}

// logLine returns level, text and keys of a log line, in their order.
func logLine(t *testing.T, line string) string {
	t.Helper()
	var fields struct{ Level, Msg string }
	require.NoError(t, json.Unmarshal([]byte(line), &fields), line)
	var keys []string
	tokens := json.NewDecoder(strings.NewReader(line))
	_, err := tokens.Token()
	require.NoError(t, err)
	for tokens.More() {
		key, err := tokens.Token()
		require.NoError(t, err)
		keys = append(keys, key.(string))
		var value json.RawMessage
		require.NoError(t, tokens.Decode(&value))
	}
	return fmt.Sprintf("%s %q %s\n", fields.Level, fields.Msg, strings.Join(keys, " "))
}

// TestCommands compares what the example server says to flags, environment, documents and
// files, and its exit status. The golden file holds its own script: a line with > makes a
// file of the name and text given, one with $ is a command, with variables before it as
// in a shell, and those with < are its status and what it wrote to standard output (1) and
// standard error (2). Log lines are shown as in the log of TestServer.
func TestCommands(t *testing.T) {
	const file = "server/commands.txt"
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer busy.Close()
	dir := t.TempDir()
	place := strings.NewReplacer("BUSY", busy.Addr().String())
	masked := strings.NewReplacer(dir, "DIR", busy.Addr().String(), "BUSY", runtime.GOOS+"/"+runtime.GOARCH, "SYSTEM")

	var lines []string
	for line := range strings.Lines(read(t, file)) {
		line = strings.TrimSuffix(line, "\n")
		if name, text, ok := strings.Cut(strings.TrimPrefix(line, "> "), " "); ok && strings.HasPrefix(line, "> ") {
			require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		}
		if !strings.HasPrefix(line, "<") {
			lines = append(lines, line)
		}
	}
	said := make([]string, len(lines))
	var running sync.WaitGroup
	slots := make(chan struct{}, 4)
	for i, line := range lines {
		said[i] = line + "\n"
		if strings.HasPrefix(line, "$ ") {
			running.Go(func() {
				slots <- struct{}{}
				defer func() { <-slots }()
				said[i] += masked.Replace(runCommand(t, dir, place.Replace(line[2:])))
			})
		}
	}
	running.Wait()
	compare(t, file, strings.Join(said, ""), true)
}

var (
	word        = regexp.MustCompile(`'([^']*)'|[^' ]+`)
	versionText = regexp.MustCompile(`^mortise \(?[\w.+-]+\)?( [0-9a-f]{40})?( with changes)?\n$`)
)

// runCommand runs the server, which must end by itself.
func runCommand(t *testing.T, dir, line string) string {
	var env, args []string
	for _, m := range word.FindAllStringSubmatch(line, -1) {
		text := m[0]
		if text[0] == '\'' {
			text = m[1]
		}
		switch name, _, ok := strings.Cut(text, "="); {
		case args == nil && ok && strings.ToUpper(name) == name:
			env = append(env, text)
		default:
			args = append(args, text)
		}
	}
	cmd := command(t, dir, env, args[1:]) // without the program's name
	var stdout, stderr output
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	late := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	_ = cmd.Run() // its status tells
	b := fmt.Sprintf("< %d\n", cmd.ProcessState.ExitCode())
	text := stdout.String()
	if versionText.MatchString(text) {
		text = "mortise VERSION\n"
	}
	for out := range strings.Lines(text) {
		b += "< 1: " + out
	}
	for line := range strings.Lines(stderr.String()) {
		if strings.HasPrefix(line, "{") {
			line = logLine(t, line)
		}
		b += "< 2: " + line
	}
	return b
}
