package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/nightly"
)

// TestTwoServersOneFile runs two servers on one data folder, and stops one of them by
// SIGSTOP, while it works, for longer than its leases: the machine that swaps, the
// container that is frozen. The other one takes over what it held, and what it says about
// that when it goes on changes nothing.
func TestTwoServersOneFile(t *testing.T) {
	t.Parallel()
	nightly.Only(t)
	testTwoServersOneFile(t, false)
}

// TestTwoServersOneFileLocked stops the server in the middle of a transaction, where it
// keeps the lock of the file: nobody can write until it goes on, and clients get 503 or
// no answer. To hit such a moment can take long.
func TestTwoServersOneFileLocked(t *testing.T) {
	nightly.Only(t)
	t.Parallel()
	testTwoServersOneFile(t, true)
}

func testTwoServersOneFile(t *testing.T, inTransaction bool) {
	const clients = 8
	const events = int64(2000)
	const concurrency = 4 // WorkerOptions.Concurrency
	p := buildServer(t)
	folder, config := filepath.Join(t.TempDir(), "data"), writeConfig(t)
	// The command of the first server notes the event and goes on for as long as the file
	// hold is there. So the moment of the stop can be one at which all of its workers are
	// at work.
	dir, command := script(t, `
IFS= read -r event
id=${event#*:\"}
echo "${id%%\"*}" >>begun.txt
while [ -e hold ]; do sleep 0.02; done
echo "${id%%\"*}" >>ended.txt
`)
	hold := filepath.Join(dir, "hold")
	one := p.start(t, nil, "-config", config, "-data", folder, "-trigger-exec", command)
	two := p.start(t, nil, "-config", config, "-data", folder)
	one.secrets, two.secrets = secrets(), secrets()
	l := newLoad(t, seeded(t), clients)
	urls := []string{one.url, two.url}

	wait := l.share(urls, events*9/10)
	one.await("the first requests to be answered", func() bool { return l.acknowledged.Load() >= events/4 })
	require.NoError(t, os.WriteFile(hold, nil, 0o600))
	one.await("all workers of the first server to be at work", func() bool {
		return countLines(t, dir, "begun.txt")-countLines(t, dir, "ended.txt") == concurrency
	})
	probe := l.client("probe", 0)
	probe.allKeys = true
	stops := 0
	for locked := !inTransaction; locked != inTransaction; {
		if stops > 0 {
			one.signal(syscall.SIGCONT)
			time.Sleep(time.Duration(stops%7) * time.Millisecond)
		}
		one.freeze()
		stops++
		// Whether it holds the lock of the file shows in the other one's answer. On a
		// busy machine that may be wrong, which makes the test less sharp, and no failure
		// of it.
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		status, err := probe.send(ctx, two.url, probe.take())
		cancel()
		locked = err != nil
		require.True(t, !locked || retryable(status, err), "%v", err)
		require.Less(t, stops, 1000)
	}
	stopped := time.Now()
	require.NoError(t, os.Remove(hold))
	one.await("the commands to end", func() bool { return countLines(t, dir, "begun.txt") == countLines(t, dir, "ended.txt") })

	var before map[string]entry
	if inTransaction {
		for time.Since(stopped) < lease+2*time.Second {
			time.Sleep(time.Second)
			l.history(two, "&status=processing") // a lock on writes does not hold up reads
		}
	} else {
		wait()
		l.awaitIdle(two) // what the first server holds included
		before = l.history(two, "")
		time.Sleep(time.Until(stopped.Add(lease + 2*time.Second)))
	}
	one.signal(syscall.SIGCONT)
	wait()
	l.share(urls, events/10)() // both take requests again
	if r := probe.pending; r != nil {
		_, err := probe.send(t.Context(), two.url, r)
		assert.NoError(t, err)
	}
	l.awaitIdle(two)
	for i, c := range l.clients {
		// A key that was used is known on both sides.
		for _, r := range l.sent {
			if r.from == c && c.rand.IntN(20) == 0 {
				_, err := c.send(t.Context(), urls[i%2], r)
				assert.NoError(t, err)
			}
		}
	}
	one.stop() // by then it has written whatever it wants to write
	history, unanswered := l.check(two)
	two.stop()

	for id, e := range before {
		assert.Equal(t, e.FinishedAt, history[id].FinishedAt, "event %s was completed twice", id)
		assert.Equal(t, e.Attempts, history[id].Attempts, "event %s was begun after its end", id)
	}
	assert.Zero(t, unanswered, "every request was sent until it got a 202")
	runs := make(map[string]int)
	two.countRuns(runs)
	byTwo := len(runs)
	text, err := os.ReadFile(filepath.Join(dir, "begun.txt"))
	require.NoError(t, err)
	for id := range strings.Lines(string(text)) {
		runs[strings.TrimSpace(id)]++
	}
	// What the stopped server held is run again; where it kept the other one from
	// writing, what that one held too.
	bound := 2 * concurrency * stops
	duplicates := l.checkRuns(history, runs)
	assert.LessOrEqual(t, duplicates, bound)
	attempts := make(map[int]int)
	for _, e := range history {
		attempts[e.Attempts]++
	}
	if !inTransaction {
		assert.GreaterOrEqual(t, duplicates, concurrency, "the stopped server held nothing: the test has tested nothing")
	}
	t.Logf("%d requests with a 202, %d events; %d run by the second server, %d by the first; processed twice: %d (at most %d); events by attempts: %v; stops until one was of the right kind: %d",
		l.acknowledged.Load(), len(history), byTwo, countLines(t, dir, "begun.txt"), duplicates, bound, attempts, stops)
}

// freeze stops the server where it stands, and waits until every thread of it has
// stopped.
func (s *server) freeze() {
	s.t.Helper()
	s.signal(syscall.SIGSTOP)
	s.await("the server to stop", func() bool {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", s.cmd.Process.Pid))
		require.NoError(s.t, err)
		require.NotEmpty(s.t, threads)
		for _, thread := range threads {
			stat, err := os.ReadFile(thread)
			require.NoError(s.t, err)
			if _, state, _ := strings.Cut(string(stat), ") "); !strings.HasPrefix(state, "T") {
				return false
			}
		}
		return true
	})
}

func countLines(t *testing.T, dir, name string) int {
	text, err := os.ReadFile(filepath.Join(dir, name))
	if !errors.Is(err, os.ErrNotExist) {
		require.NoError(t, err)
	}
	return strings.Count(string(text), "\n")
}

// share has the clients send n requests in all, in turns to each of the servers. A
// request that gets 503 or no answer in time is sent again, with its Idempotency-Key, to
// the other server, and that one is kept to until it fails too.
func (l *load) share(urls []string, n int64) (wait func()) {
	var left atomic.Int64
	left.Store(n)
	var running sync.WaitGroup
	for at, c := range l.clients {
		c.allKeys = true
		running.Go(func() {
			failed := false
			for left.Add(-1) >= 0 {
				if !failed {
					at++
				}
				for r := c.take(); ; at++ {
					ctx, cancel := context.WithTimeout(l.t.Context(), 2*time.Second)
					status, err := c.send(ctx, urls[at%len(urls)], r)
					cancel()
					if err == nil {
						break
					}
					lost := l.lostConnections && status == 0
					if !assert.True(l.t, lost || retryable(status, err), "%v", err) || l.t.Context().Err() != nil {
						return
					}
					failed = true
				}
			}
		})
	}
	return running.Wait
}

// retryable says whether a request shall be sent again.
func retryable(status int, err error) bool {
	return status == http.StatusServiceUnavailable || status == 0 && errors.Is(err, context.DeadlineExceeded)
}
