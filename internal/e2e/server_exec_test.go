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
)

// script writes a shell script into a folder whose name needs quoting, and returns the folder and a command for -trigger-exec
// that runs the script in it.
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
	assert.NotContains(t, s.stderr.String(), "the wiki is down", "what a command says is for the history, not for the log")
}

// testCommandOutput runs a command that reads nothing and writes much.
func testCommandOutput(t *testing.T, p program) {
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

// testCommandKilled ends the server while a command runs that would go on for ever, with a child of its own.
func testCommandKilled(t *testing.T, p program) {
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
	assert.Less(t, took, 10*time.Second)
	for _, pid := range []int{leader, child} {
		s.await("the process group to be gone", func() bool { return !alive(pid) })
	}
}

// alive reports whether a process runs. One that is dead and has not been waited for, by an init that does not care, does not.
func alive(pid int) bool {
	if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil {
		_, state, _ := strings.Cut(string(stat), ") ")
		return !strings.HasPrefix(state, "Z") && !strings.HasPrefix(state, "X")
	}
	return syscall.Kill(pid, 0) == nil
}

// testShutdown ends the server while a request and a command are in flight: both are finished.
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

	address := strings.TrimPrefix(s.url, "http://")
	conn, err := net.Dial("tcp", address)
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Now().Add(patience)))
	_, err = fmt.Fprintf(conn, "POST /triggers HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n",
		goodKey, len(validBody))
	require.NoError(t, err)
	from := bufio.NewReader(conn)
	line, err := from.ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, line, "100 Continue", "the server reads the body now")
	_, err = from.ReadString('\n')
	require.NoError(t, err)

	s.signal(syscall.SIGTERM)
	s.await("the listener to close", func() bool {
		other, err := net.Dial("tcp", address)
		if err == nil {
			other.Close()
		}
		return err != nil
	})
	_, err = fmt.Fprint(conn, validBody)
	require.NoError(t, err)
	resp, err := http.ReadResponse(from, nil)
	require.NoError(t, err)
	resp.Body.Close()
	assert.Equal(t, http.StatusAccepted, resp.StatusCode)

	require.NoError(t, os.WriteFile(filepath.Join(dir, "release"), nil, 0o600))
	s.awaitExit()
	assert.True(t, exists(filepath.Join(dir, "finished")), "the command was cut off")
}
