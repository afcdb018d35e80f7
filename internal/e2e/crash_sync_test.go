package e2e

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/nightly"
)

// TestSerialClientIsSynced watches the server's system calls while one client submits,
// one request after the other: between the arrival of each request and its 202 the log of
// the database has been synced to the disk. kill -9 cannot show that: what a process has
// written survives its end without a sync, and only a power cut takes it.
//
// The server's worker would commit, and so sync, all the time. So it gets a command that
// does not end, for as many events as it runs at a time: with these it is busy, and
// claims no more. There remain the extension of four leases every 200 s and a look at
// forgotten events every 15 s. A server that did not sync for a 202 could pass for a
// request that coincides with one of those, not for all of them.
func TestSerialClientIsSynced(t *testing.T) {
	nightly.Only(t)
	t.Parallel()
	const concurrency = 4
	const requests = 100
	strace, sleep := tool(t, "strace"), tool(t, "sleep")
	p := buildServer(t)

	// -D makes strace a child of the server, so that the server is ours to signal and to
	// wait for, as it is in other tests. -y names the files.
	trace := filepath.Join(t.TempDir(), "trace")
	traced := filepath.Join(t.TempDir(), "traced.sh")
	text := fmt.Sprintf("#!/bin/sh\nexec '%s' -D -f -y -s 2000 -e trace=fsync,fdatasync,read,write -e signal=none -o '%s' '%s' \"$@\"\n", strace, trace, p)
	require.NoError(t, os.WriteFile(traced, []byte(text), 0o700))
	s := program(traced).start(t, nil, "-config", writeConfig(t), "-lease", "10m", "-trigger-exec", sleep+" 1000")
	s.secrets = secrets()
	for range concurrency {
		s.awaitStatus(goodKey, s.submit(goodKey, `{"instructions":"Keep a worker busy."}`), "processing")
	}

	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Now().Add(endurance)))
	from := bufio.NewReader(conn)
	for i := range requests {
		body := fmt.Sprintf(`{"instructions":"Serial request %d."}`, i)
		_, err := fmt.Fprintf(conn, "POST /triggers HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
			goodKey, len(body), body)
		require.NoError(t, err)
		resp, err := http.ReadResponse(from, nil)
		require.NoError(t, err)
		_, err = from.Discard(int(resp.ContentLength))
		require.NoError(t, err)
		require.Equal(t, http.StatusAccepted, resp.StatusCode)
		// A sync that comes after its answer shall not pass for one that comes before the
		// next.
		time.Sleep(time.Millisecond)
	}
	s.kill() // strace ends with it, before exited is closed: it has the same standard error

	total, answered, unsynced := readTrace(t, trace)
	assert.Equal(t, requests, answered, "the trace is not complete")
	assert.Empty(t, unsynced, "requests that were answered with 202 and not on the disk yet")
	assert.GreaterOrEqual(t, total, requests)
	t.Logf("%d requests with a 202 one after the other, %d syncs of the database's log from the first to the last", answered, total)
}

var (
	arrival = regexp.MustCompile(`Serial request (\d+)\.`)
	// A call that another thread's interrupts is on two lines, of which the second has
	// the result.
	synced   = regexp.MustCompile(`^(\d+) +(?:fsync|fdatasync)\(\d+<([^>]*)>\) += 0`)
	begun    = regexp.MustCompile(`^(\d+) +(?:fsync|fdatasync)\(\d+<([^>]*)> <unfinished`)
	resumed  = regexp.MustCompile(`^(\d+) +<\.\.\. (?:fsync|fdatasync) resumed>\) += 0`)
	accepted = regexp.MustCompile(`^\d+ +write\(.*"HTTP/1\.1 202 `)
)

// readTrace counts the syncs of the write-ahead log that succeeded while the requests
// were sent, and finds the requests that had none between arrival and answer.
func readTrace(t *testing.T, path string) (total, answered int, unsynced []int) {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	isLog := func(name string) bool { return strings.HasSuffix(name, "/mortise.db-wal") }
	current, since := -1, 0        // the request that is under way, and the syncs since it came
	under := make(map[string]bool) // threads that sync the log
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		done := false
		if m := synced.FindStringSubmatch(line); m != nil {
			done = isLog(m[2])
		} else if m := begun.FindStringSubmatch(line); m != nil {
			under[m[1]] = isLog(m[2])
		} else if m := resumed.FindStringSubmatch(line); m != nil {
			done = under[m[1]]
		}
		switch m := arrival.FindStringSubmatch(line); {
		case done && current >= 0:
			since++
			total++
		case m != nil:
			number, err := strconv.Atoi(m[1])
			require.NoError(t, err)
			require.Equal(t, answered, number, "one request after the other")
			current, since = number, 0
		case current == answered && accepted.MatchString(line):
			if since == 0 {
				unsynced = append(unsynced, current)
			}
			answered++
		}
	}
	require.NoError(t, lines.Err())
	return total, answered, unsynced
}
