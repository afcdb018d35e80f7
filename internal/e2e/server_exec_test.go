package e2e

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/nightly"
)

// script writes a shell script into a folder whose name needs quoting, and returns the
// folder and a command for -trigger-exec that runs the script in it.
func script(t *testing.T, body string) (dir, command string) {
	t.Helper()
	sh := tool(t, "sh")
	dir = filepath.Join(t.TempDir(), "it's a folder")
	require.NoError(t, os.Mkdir(dir, 0o700))
	path := filepath.Join(dir, "run.sh")
	require.NoError(t, os.WriteFile(path, []byte("cd \"$1\" || exit 9\n"+body), 0o600))
	return dir, fmt.Sprintf(`%s "%s" %s`, sh, path, strings.NewReplacer("'", `\'`, " ", `\ `).Replace(dir))
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// testCommand keeps a to-do list in Markdown.
func testCommand(t *testing.T, p program) {
	dir, command := script(t, `
IFS= read -r event
printf -- '- [ ] %s\n' "$event" >>TODO.md
env >env.txt
echo chatter
echo 'added to the list'
echo
`)
	s := p.start(t, []string{"MORTISE_TRIGGER_EXEC=" + command, "MORTISE_SECRET=hidden", "KEPT=yes"}, "-config", writeConfig(t))
	s.secrets = secrets()
	id := s.submit(goodKey, `{"instructions":"Describe \"quotes\",\nlines and ü.","context":{"n": 1.0}}`)
	done := s.awaitStatus(goodKey, id, "completed")
	assert.Equal(t, 1, done.Attempts)
	assert.Nil(t, done.LastError)
	assert.Equal(t, "added to the list", done.Outcome.Summary)

	list, err := os.ReadFile(filepath.Join(dir, "TODO.md"))
	require.NoError(t, err)
	assert.Equal(t, 1, strings.Count(string(list), "\n"), "one line: %s", list)
	assert.True(t, strings.HasPrefix(string(list), `- [ ] {"trigger_event_id":"`+id+`","status":"processing",`), "%s", list)
	assert.Contains(t, string(list), `"instructions":"Describe \"quotes\",\nlines and ü.","context":{"n":1.0}`)

	env, err := os.ReadFile(filepath.Join(dir, "env.txt"))
	require.NoError(t, err)
	assert.NotContains(t, string(env), "MORTISE_")
	assert.Contains(t, string(env), "KEPT=yes\n")
}

func testCommandRetried(t *testing.T, p program) {
	dir, command := script(t, `
echo attempt >>attempts.txt
[ -e failed ] && exit 0
: >failed
echo 'the wiki is down' >&2
exit 3
`)
	s := p.start(t, nil, "-config", writeConfig(t), "-trigger-exec", command)
	s.secrets = secrets()
	id := s.submit(goodKey, validBody)
	done := s.awaitStatus(goodKey, id, "completed")
	assert.Equal(t, 2, done.Attempts)
	if assert.NotNil(t, done.LastError) {
		assert.Contains(t, *done.LastError, "exit status 3: the wiki is down")
	}
	attempts, err := os.ReadFile(filepath.Join(dir, "attempts.txt"))
	require.NoError(t, err)
	assert.Equal(t, "attempt\nattempt\n", string(attempts))
	assert.Regexp(t, `"msg":"an attempt failed; trying again".*"error":"the command failed: exit status 3: the wiki is down"`, s.stderr.String())
}

// testCommandOutput runs a command that reads nothing and writes much.
func testCommandOutput(t *testing.T, p program) {
	nightly.Only(t)
	_, command := script(t, `
i=0
while [ $i -lt 20000 ]; do echo "line $i of much output"; echo "error $i" >&2; i=$((i+1)); done
[ -e failed ] && exit 0
: >failed
exit 1
`)
	s := p.start(t, nil, "-config", writeConfig(t), "-trigger-exec", command)
	s.secrets = secrets()
	big := strings.Repeat("x", 1<<20-100)
	id := s.submit(goodKey, `{"instructions":"`+big+`"}`)
	done := s.awaitStatus(goodKey, id, "completed")
	assert.Equal(t, "line 19999 of much output", done.Outcome.Summary)
	assert.True(t, strings.HasSuffix(*done.LastError, "error 19999"), *done.LastError)
	assert.Less(t, len(*done.LastError), 1200)
}

// testCommandKilled ends the server while a command runs that would go on for ever, with
// a child of its own.
func testCommandKilled(t *testing.T, p program) {
	nightly.Only(t)
	dir, command := script(t, `
sleep 1000 &
echo "$$ $!" >pids
wait
`)
	s := p.start(t, nil, "-config", writeConfig(t), "-trigger-exec", command)
	s.secrets = secrets()
	s.submit(goodKey, validBody)
	var leader, child int
	s.await("the command to run", func() bool {
		text, _ := os.ReadFile(filepath.Join(dir, "pids"))
		n, _ := fmt.Sscan(string(text), &leader, &child)
		return n == 2
	})
	took := s.stop()
	assert.Greater(t, took, 7*time.Second, "the command has 8 s")
	assert.Less(t, took, stopLimit, "it would go on for longer")
	for _, pid := range []int{leader, child} {
		s.await("the process group to be gone", func() bool { return !alive(pid) })
	}
}

// alive reports whether a process runs. One that is dead and has not been waited for, by
// an init that does not care, does not.
func alive(pid int) bool {
	if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil {
		_, state, _ := strings.Cut(string(stat), ") ")
		return !strings.HasPrefix(state, "Z") && !strings.HasPrefix(state, "X")
	}
	return syscall.Kill(pid, 0) == nil
}

// testShutdown ends the server while a request and a command are in flight: both are
// finished.
func testShutdown(t *testing.T, p program) {
	dir, command := script(t, `
: >begun
until [ -e release ]; do sleep 0.05; done
: >finished
`)
	s := p.start(t, nil, "-config", writeConfig(t), "-trigger-exec", command)
	s.secrets = secrets()
	s.submit(goodKey, validBody)
	s.await("the command to run", func() bool { return exists(filepath.Join(dir, "begun")) })

	conn, from := s.beginRequest()
	s.signal(syscall.SIGTERM)
	s.await("the listener to close", func() bool { return !s.accepts() })
	_, err := fmt.Fprint(conn, validBody)
	require.NoError(t, err)
	resp, err := http.ReadResponse(from, nil)
	require.NoError(t, err)
	resp.Body.Close()
	assert.Equal(t, http.StatusAccepted, resp.StatusCode)

	require.NoError(t, os.WriteFile(filepath.Join(dir, "release"), nil, 0o600))
	s.awaitExit()
	assert.True(t, exists(filepath.Join(dir, "finished")), "the command was cut off")
}

// accepts reports whether the server listens.
func (s *server) accepts() bool {
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err == nil {
		conn.Close()
	}
	return err == nil
}

// beginRequest sends a request up to its body, which the server waits for when this
// returns.
func (s *server) beginRequest() (net.Conn, *bufio.Reader) {
	s.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	require.NoError(s.t, err)
	s.t.Cleanup(func() { conn.Close() })
	require.NoError(s.t, conn.SetDeadline(time.Now().Add(patience)))
	_, err = fmt.Fprintf(conn, "POST /triggers HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n",
		goodKey, len(validBody))
	require.NoError(s.t, err)
	from := bufio.NewReader(conn)
	line, err := from.ReadString('\n')
	require.NoError(s.t, err)
	require.Contains(s.t, line, "100 Continue", "the server reads the body now")
	_, err = from.ReadString('\n')
	require.NoError(s.t, err)
	return conn, from
}

// lockBytes takes a lock of the kind that SQLite takes, so that the database hangs for
// everybody else.
func lockBytes(t *testing.T, file string, start, length int64) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	require.Eventually(t, func() bool {
		return syscall.FcntlFlock(f.Fd(), syscall.F_SETLK, &syscall.Flock_t{Type: syscall.F_WRLCK, Start: start, Len: length}) == nil
	}, patience, time.Millisecond)
}

// Where SQLite locks: https://www.sqlite.org/fileformat.html (the lock-byte page) and
// https://www.sqlite.org/walformat.html (2.3).
const (
	lockPage, lockPageSize = 0x40000000, 512 // of the database: nobody can open it
	walWriteLock           = 120             // of the -shm file: nobody can write
)

// testShutdownWhileLocked ends the server while the database can take no write, with one
// waiting.
func testShutdownWhileLocked(t *testing.T, p program) {
	nightly.Only(t)
	s := p.start(t, nil, "-config", writeConfig(t))
	s.secrets = secrets()
	conn, _ := s.beginRequest()
	lockBytes(t, filepath.Join(s.dir, "mortise-data", "mortise.db-shm"), walWriteLock, 1)
	_, err := fmt.Fprint(conn, validBody)
	require.NoError(t, err)
	assert.Equal(t, http.StatusOK, s.do("GET", "/triggers", goodKey, "").status, "a lock on writes does not hold up reads")
	assert.Less(t, s.stop(), stopLimit)
}

// testShutdownWhileOpening ends the server before it could open its database.
func testShutdownWhileOpening(t *testing.T, p program) {
	dir := t.TempDir()
	p.startIn(t, dir, nil, "-config", writeConfig(t)).stop()
	lockBytes(t, filepath.Join(dir, "mortise-data", "mortise.db"), lockPage, lockPageSize)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, free.Close())
	s := p.run(t, dir, nil, "-addr", free.Addr().String())
	s.url = "http://" + free.Addr().String()
	s.await("the port to be taken", s.accepts)
	assert.Less(t, s.stop(), stopLimit)
	assert.Empty(t, s.stdout.String())
}
