package e2e

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/nightly"
)

// TestReadOnlyFile: files that cannot be changed any more, as on a file system that the
// kernel has made read-only after an error.
func TestReadOnlyFile(t *testing.T) {
	t.Parallel()
	nightly.Only(t)
	p := buildServer(t)
	t.Run("while it runs", func(t *testing.T) {
		t.Parallel()
		testReadOnlyWhileRunning(t, p)
	})
	t.Run("at the start", func(t *testing.T) {
		t.Parallel()
		testReadOnlyAtStart(t, p)
	})
}

func testReadOnlyWhileRunning(t *testing.T, p program) {
	dir := t.TempDir()
	data := filepath.Join(dir, "mortise-data")
	require.NoError(t, os.Mkdir(data, 0o700))
	set, clear := immutable(t, data)
	args := []string{"-config", writeConfig(t)}
	s := p.startIn(t, dir, nil, args...)
	s.secrets = secrets()
	l := newLedger()
	for _, files := range [][]string{{"mortise.db", "mortise.db-wal", "mortise.db-shm"}, {"mortise.db-wal"}, {"mortise.db-shm"}} {
		require.Equal(t, 8, l.offerAll(s, 4, 2, 1000))
		l.checkCompleted(s)
		warnings := strings.Count(s.stderr.String(), "cannot claim jobs")
		set(files...)
		assert.Zero(t, l.offerAll(s, 4, 2, 1000), "%v cannot be written", files)
		if files[len(files)-1] == "mortise.db-wal" {
			s.checkReads("read-only")
			s.awaitReady(false, "read-only")
			l.check(s)
			s.await("a worker to fail", func() bool { return strings.Count(s.stderr.String(), "cannot claim jobs") > warnings })
		} else {
			s.checkAlive("read-only")
		}
		clear(files...)
		s.awaitReady(true, "it can be written again")
		assert.True(t, l.offer(s, 1000), "%v can be written again", files)
	}

	// The database itself is written at checkpoints only. Until then the write-ahead log
	// takes everything.
	set("mortise.db")
	assert.Equal(t, 8, l.offerAll(s, 2, 4, 900_000))
	s.checkUp("read-only")
	l.check(s)
	clear("mortise.db")
	assert.Equal(t, 8, l.offerAll(s, 2, 4, 900_000))
	l.checkCompleted(s)
	l.checkAfterRestarts(p, s, args...)
}

// checkAlive is checkUp where reads may fail: SQLite notes in the -shm file how far a
// reader has come, unless another one has noted the same before. So it depends on what
// happened last whether a read needs to write that.
func (s *server) checkAlive(what string) {
	s.t.Helper()
	assert.Equal(s.t, http.StatusOK, s.do("GET", "/healthz", "", "").status, what)
	for _, path := range []string{"/readyz", "/triggers?limit=1"} {
		status := s.do("GET", path, goodKey, "").status
		assert.Contains(s.t, []int{http.StatusOK, http.StatusServiceUnavailable}, status, "%s: %s", what, path)
	}
}

func testReadOnlyAtStart(t *testing.T, p program) {
	disk := mountMemory(t, "size=4m")
	data := filepath.Join(disk, "data")
	args := []string{"-config", writeConfig(t), "-data", data}
	s := p.start(t, nil, args...)
	s.secrets = secrets()
	l := newLedger()
	require.Equal(t, 4, l.offerAll(s, 4, 1, 1000))
	s.stop()
	remount := func(how string) {
		out, err := exec.Command(tool(t, "mount"), "-o", "remount,"+how, disk).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	t.Cleanup(func() { remount("rw") })
	remount("ro")
	assert.Contains(t, p.refuses(t, 2, args...), "-data: ")
	assert.Contains(t, p.refuses(t, 2, "-data", filepath.Join(disk, "new")), "-data: ")
	remount("rw")
	files, err := os.ReadDir(data)
	require.NoError(t, err)
	assert.Len(t, files, 3, "a clean stop leaves the database, the root key and the number of revocations")
	s = p.start(t, nil, args...)
	l.checkCompleted(s)
	l.checkAfterRestarts(p, s, args...)
}
