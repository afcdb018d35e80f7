package e2e

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // the driver

	"github.com/seed-6363c74e/mortise/internal/nightly"
)

// The ways to hold a database.
const (
	holdWrite     = "write"     // in the middle of a write transaction
	holdRead      = "read"      // in the middle of a read transaction
	holdExclusive = "exclusive" // nobody else can open it
)

// holdFile holds a database until standard input is closed.
func holdFile(how, file string) error {
	name := url.URL{Scheme: "file", Path: file, RawQuery: "_pragma=busy_timeout(10000)"}
	db, err := sql.Open("sqlite", name.String())
	if err != nil {
		return err
	}
	defer db.Close()
	ctx := context.Background()
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	for _, statement := range map[string][]string{
		holdWrite:     {"BEGIN IMMEDIATE"},
		holdRead:      {"BEGIN", "SELECT count(*) FROM trigger_events"},
		holdExclusive: {"PRAGMA locking_mode = EXCLUSIVE", "BEGIN IMMEDIATE", "COMMIT"},
	}[how] {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	fmt.Println("held")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// hold lets another process hold the database until release is called.
func hold(t *testing.T, how, file string) (release func()) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "E2E_HOLD="+how, "E2E_HOLD_FILE="+file)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	release = sync.OnceFunc(func() {
		_ = in.Close()
		assert.NoError(t, cmd.Wait(), "the process that holds the database")
	})
	t.Cleanup(release)
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "held\n", line)
	return release
}

// TestLockedFile: another process may hold the database.
func TestLockedFile(t *testing.T) {
	t.Parallel()
	nightly.Only(t)
	p := buildServer(t)
	for name, test := range map[string]func(*testing.T, program){
		"writer":            testLockedByWriter,
		"writer, not long":  testLockedByWriterBriefly,
		"reader":            testLockedByReader,
		"all, at the start": testLockedAtStart,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, p)
		})
	}
}

func (s *server) database() string { return filepath.Join(s.dir, "mortise-data", "mortise.db") }

func testLockedByWriter(t *testing.T, p program) {
	args := []string{"-config", writeConfig(t)}
	s := p.start(t, nil, args...)
	s.secrets = secrets()
	l := newLedger()
	require.Equal(t, 8, l.offerAll(s, 4, 2, 1000))
	release := hold(t, holdWrite, s.database())

	// Some wait together, and some come while these wait: offer says that none of them
	// takes longer than it may.
	var waiting sync.WaitGroup
	for i := range 8 {
		waiting.Go(func() {
			time.Sleep(time.Duration(i/4) * 2 * time.Second)
			assert.False(t, l.offer(s, 1000), "nobody can write")
		})
	}
	l.check(s) // reads do not wait
	s.checkReads("locked")
	left, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, body := l.next(1000)
	r, err := http.NewRequestWithContext(left, "POST", s.url+"/triggers", strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+goodKey)
	r.Header.Set("Content-Type", "application/json")
	_, err = http.DefaultTransport.RoundTrip(r)
	require.ErrorIs(t, err, context.DeadlineExceeded, "a client may leave")
	waiting.Wait()
	s.checkReads("locked")
	s.awaitReady(false, "locked")

	release()
	s.awaitReady(true, "the lock is gone")
	assert.True(t, l.offer(s, 1000), "the lock is gone")
	assert.Equal(t, 8, l.offerAll(s, 4, 2, 1000))
	t.Logf("slowest answer %v", l.slowest)
	l.checkCompleted(s)
	l.checkAfterRestarts(p, s, args...)
}

// testLockedByWriterBriefly: a lock that is gone before the busy timeout is nobody's
// trouble.
func testLockedByWriterBriefly(t *testing.T, p program) {
	s := p.start(t, nil, "-config", writeConfig(t))
	s.secrets = secrets()
	l := newLedger()
	release := hold(t, holdWrite, s.database())
	time.AfterFunc(500*time.Millisecond, release)
	assert.Equal(t, 4, l.offerAll(s, 4, 1, 1000))
	release()
	l.checkCompleted(s)
}

// testLockedByReader: writers do not wait for readers. The write-ahead log only cannot
// begin anew.
func testLockedByReader(t *testing.T, p program) {
	s := p.start(t, nil, "-config", writeConfig(t))
	s.secrets = secrets()
	l := newLedger()
	require.True(t, l.offer(s, 1000))
	l.checkCompleted(s)
	size := func() int64 {
		info, err := os.Stat(s.database() + "-wal")
		require.NoError(t, err)
		return info.Size()
	}
	release := hold(t, holdRead, s.database())
	const each = 100_000
	const offers = 100
	require.Equal(t, offers, l.offerAll(s, 4, offers/4, each))
	s.checkUp("a reader")
	l.checkCompleted(s)
	grown := size()
	assert.Greater(t, grown, int64(offers*each))
	release()
	require.Equal(t, offers, l.offerAll(s, 4, offers/4, each))
	l.checkCompleted(s)
	t.Logf("the write-ahead log has %d bytes after %d under a reader, %d after as much again", grown, offers*each, size())
	assert.Less(t, size(), grown+int64(offers*each)*3/4, "the write-ahead log does not begin anew")
	s.stop()
	assert.False(t, exists(s.database()+"-wal"), "a clean stop leaves one file")
	s = p.startIn(t, s.dir, nil)
	assert.True(t, exists(s.database()))
}

// testLockedAtStart: a file that another process has for itself alone.
func testLockedAtStart(t *testing.T, p program) {
	s := p.start(t, nil, "-config", writeConfig(t))
	s.secrets = secrets()
	l := newLedger()
	require.True(t, l.offer(s, 1000))
	s.stop()
	release := hold(t, holdExclusive, s.database())
	begun := time.Now()
	told := p.refuses(t, 1, "-data", filepath.Dir(s.database()))
	assert.Less(t, time.Since(begun), busyLimit)
	assert.Contains(t, told, s.database()+": database is locked")
	release()
	s = p.startIn(t, s.dir, nil, "-config", writeConfig(t))
	l.checkCompleted(s)
	assert.True(t, l.offer(s, 1000))
}
