package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
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
)

// busyLimit is when a request counts as one that hangs. The wait for a lock ends after
// 3 s; how long the rest takes depends on the machine.
const busyLimit = 30 * time.Second

// cannot ends a test that this machine does not allow. In CI it has to run.
func cannot(t testing.TB, what string, err error, out []byte) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s: %v: %s", what, err, out)
	}
	t.Skipf("%s: %v: %s", what, err, out)
}

// ledger knows what was submitted, and what of it was acknowledged.
type ledger struct {
	mu       sync.Mutex
	size     []int          // of the padding, by number
	accepted map[string]int // numbers by event ID
	slowest  time.Duration  // of the answers
}

func newLedger() *ledger { return &ledger{accepted: make(map[string]int)} }

// content is what is sent under a number. Every byte of it depends on the number.
func content(n, size int) (instructions, context string) {
	unit := fmt.Sprintf("%08d ", n)
	return fmt.Sprintf("Describe %d.", n), `{"pad":"` + strings.Repeat(unit, size/len(unit)) + `"}`
}

// next returns a number and the body of the request that it stands for.
func (l *ledger) next(size int) (n int, body string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n = len(l.size)
	l.size = append(l.size, size)
	instructions, context := content(n, size)
	return n, fmt.Sprintf(`{"instructions":%q,"context":%s}`, instructions, context)
}

// sizeOf returns the size that the request of a number was to have.
func (l *ledger) sizeOf(n int) (size int, sent bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n < 0 || n >= len(l.size) {
		return 0, false
	}
	return l.size[n], true
}

// offer submits a request of about size bytes and reports whether it was accepted. If
// not, the answer must say that the storage is unavailable, in time.
func (l *ledger) offer(s *server, size int) bool {
	s.t.Helper()
	n, body := l.next(size)
	begun := time.Now()
	a := s.do("POST", "/triggers", goodKey, body)
	took := time.Since(begun)
	assert.Less(s.t, took, busyLimit, "the answer to a submission (%d)", a.status)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.slowest = max(l.slowest, took)
	if a.status != http.StatusAccepted {
		assert.Equal(s.t, http.StatusServiceUnavailable, a.status, a.body)
		assertError(s.t, a, "runtime_store_unavailable")
		return false
	}
	var e event
	assert.NoError(s.t, json.Unmarshal([]byte(a.body), &e), a.body)
	l.accepted[e.ID] = n
	return true
}

// offerAll submits from several clients at once, so that the writes of several requests
// share a transaction, and returns how many requests were accepted.
func (l *ledger) offerAll(s *server, clients, each, size int) (accepted int) {
	s.t.Helper()
	var mu sync.Mutex
	var done sync.WaitGroup
	for range clients {
		done.Go(func() {
			for range each {
				if l.offer(s, size) {
					mu.Lock()
					accepted++
					mu.Unlock()
				}
			}
		})
	}
	done.Wait()
	return accepted
}

// count returns how many requests were accepted so far.
func (l *ledger) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.accepted)
}

// check reads the whole history: everything that was acknowledged is in it as it was
// sent, and nothing is that nobody sent. What was answered with 503 may be there or not.
func (l *ledger) check(s *server) (found map[string]event) {
	s.t.Helper()
	found = make(map[string]event)
	for cursor := ""; ; {
		var page struct {
			Triggers []event
			Next     *string `json:"next_cursor"`
		}
		a := s.do("GET", "/triggers?limit=200"+cursor, goodKey, "")
		require.Equal(s.t, http.StatusOK, a.status, a.body)
		require.NoError(s.t, json.Unmarshal([]byte(a.body), &page))
		for _, e := range page.Triggers {
			var n int
			_, err := fmt.Sscanf(e.Instructions, "Describe %d.", &n)
			require.NoError(s.t, err, e.Instructions)
			size, sent := l.sizeOf(n)
			require.True(s.t, sent, n)
			instructions, context := content(n, size)
			require.Equal(s.t, instructions, e.Instructions)
			require.True(s.t, context == string(e.Context), "the context of %d has changed", n)
			found[e.ID] = e
		}
		if page.Next == nil {
			break
		}
		cursor = "&cursor=" + *page.Next
	}
	l.mu.Lock()
	accepted := maps.Clone(l.accepted)
	l.mu.Unlock()
	for id, n := range accepted {
		require.Equal(s.t, fmt.Sprintf("Describe %d.", n), found[id].Instructions, "an acknowledged request is lost")
	}
	return found
}

// checkCompleted waits until the workers have done all that is in the history, and checks
// it.
func (l *ledger) checkCompleted(s *server) {
	s.t.Helper()
	s.await("the workers to be through", func() bool {
		for _, status := range []string{"received", "processing"} {
			if a := s.do("GET", "/triggers?limit=1&status="+status, goodKey, ""); !strings.Contains(a.body, `"triggers":[]`) {
				return false
			}
		}
		return true
	})
	for id, e := range l.check(s) {
		assert.Equal(s.t, "completed", e.Status, "%s: %v", id, e.LastError)
	}
}

// checkAfterRestarts checks that a clean stop keeps everything, and so does a crash after
// the next start.
func (l *ledger) checkAfterRestarts(p program, s *server, args ...string) {
	s.t.Helper()
	s.stop()
	s = p.startIn(s.t, s.dir, nil, args...)
	assert.True(s.t, l.offer(s, 100), "a submission after a restart")
	l.checkCompleted(s) // what a killed server was working on would have to wait for the end of its lease
	s.kill()
	s = p.startIn(s.t, s.dir, nil, args...)
	assert.True(s.t, l.offer(s, 100), "a submission after a crash")
	l.checkCompleted(s)
	s.stop()
}

// checkUp: the process lives, and is ready.
func (s *server) checkUp(what string) {
	s.t.Helper()
	s.checkReads(what)
	assert.Equal(s.t, http.StatusOK, s.do("GET", "/readyz", "", "").status, what)
}

// awaitReady waits until the server says that it is ready, or that it is not: whether
// writes succeed is found out within seconds.
func (s *server) awaitReady(ready bool, what string) {
	s.t.Helper()
	s.await("readiness: "+what, func() bool { return (s.do("GET", "/readyz", "", "").status == http.StatusOK) == ready })
}

// checkReads: the process lives, and reads are answered, whatever has become of writes.
func (s *server) checkReads(what string) {
	s.t.Helper()
	for _, path := range []string{"/healthz", "/triggers?limit=1"} {
		assert.Equal(s.t, http.StatusOK, s.do("GET", path, goodKey, "").status, "%s: %s", what, path)
	}
}

// refuses is refuse with a limit: a server that starts where it should not would run for
// ever.
func (p program) refuses(t *testing.T, status int, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, string(p), append([]string{"-addr", "127.0.0.1:0"}, args...)...)
	cmd.Dir, cmd.Env = t.TempDir(), environment()
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	require.Error(t, cmd.Run())
	assert.Equal(t, status, cmd.ProcessState.ExitCode(), "stderr: %s", &stderr)
	assert.Empty(t, stdout.String())
	assert.Equal(t, 1, strings.Count(stderr.String(), "\n"), "one line: %q", &stderr)
	return stderr.String()
}

// mountMemory mounts a file system in RAM until the test ends.
func mountMemory(t *testing.T, options string) (dir string) {
	t.Helper()
	mount, umount := tool(t, "mount"), tool(t, "umount")
	dir = t.TempDir()
	if out, err := exec.Command(mount, "-t", "tmpfs", "-o", options, "tmpfs", dir).CombinedOutput(); err != nil {
		cannot(t, "mount", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command(umount, dir).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
			_ = exec.Command(umount, "-l", dir).Run()
		}
	})
	return dir
}

// fill writes a file until the disk is full.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	require.NoError(t, err)
	defer f.Close()
	_, err = io.Copy(f, endless{})
	require.ErrorIs(t, err, syscall.ENOSPC)
}

type endless struct{}

func (endless) Read(b []byte) (int, error) { return len(b), nil }

// strace lets system calls of the server fail, until detach is called, which returns what
// failed.
func (s *server) strace(args ...string) (detach func() string) {
	s.t.Helper()
	log := filepath.Join(s.t.TempDir(), "strace.log")
	args = append([]string{"-f", "-p", fmt.Sprint(s.cmd.Process.Pid), "-o", log}, args...)
	cmd := exec.Command(tool(s.t, "strace"), args...)
	var said processOutput
	cmd.Stdout, cmd.Stderr = &said, &said
	require.NoError(s.t, cmd.Start())
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	end := sync.OnceFunc(func() {
		_ = cmd.Process.Signal(os.Interrupt) // lets go of the server
		select {
		case <-exited:
		case <-time.After(patience):
			_ = cmd.Process.Kill()
			s.t.Errorf("strace does not end: %s", &said)
		}
	})
	s.t.Cleanup(end)
	for begun := time.Now(); !strings.Contains(said.String(), "attached"); time.Sleep(5 * time.Millisecond) {
		select {
		case err := <-exited:
			exited <- err
			cannot(s.t, "strace", err, []byte(said.String()))
		default:
		}
		require.Less(s.t, time.Since(begun), patience, "strace: %s", &said)
	}
	return func() string {
		s.t.Helper()
		end()
		text, err := os.ReadFile(log)
		require.NoError(s.t, err)
		return string(text)
	}
}

// immutable returns functions that make files unchangeable, even for root and through
// open descriptors, as a file system that has become read-only is, and take that back.
// The files are in dir.
func immutable(t *testing.T, dir string) (set, clear func(names ...string)) {
	t.Helper()
	chattr := tool(t, "chattr")
	change := func(flag string, names []string) {
		for _, name := range names {
			out, err := exec.Command(chattr, flag, filepath.Join(dir, name)).CombinedOutput()
			require.NoError(t, err, "%s", out)
		}
	}
	set = func(names ...string) { change("+i", names) }
	clear = func(names ...string) { change("-i", names) }

	// Not every file system has the flag, and some look at it when a file is opened only.
	probe, err := os.Create(filepath.Join(dir, "probe"))
	require.NoError(t, err)
	defer os.Remove(probe.Name())
	defer probe.Close()
	if out, err := exec.Command(chattr, "+i", probe.Name()).CombinedOutput(); err != nil {
		cannot(t, "chattr +i", err, out)
	}
	_, err = probe.Write([]byte("x"))
	clear("probe")
	if !errors.Is(err, syscall.EPERM) {
		cannot(t, "chattr +i does not stop writes", err, nil)
	}
	t.Cleanup(func() {
		files, _ := filepath.Glob(filepath.Join(dir, "*"))
		for _, file := range files {
			_ = exec.Command(chattr, "-i", file).Run()
		}
	})
	return set, clear
}
