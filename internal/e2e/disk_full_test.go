package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestDiskFull: a server on a full disk says so, keeps what it has acknowledged, and goes
// on once there is room again.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	p := buildServer(t)
	t.Run("while it runs", func(t *testing.T) {
		t.Parallel()
		testDiskFillsUp(t, p)
	})
	t.Run("at the start", func(t *testing.T) {
		t.Parallel()
		testStartOnFullDisk(t, p)
	})
}

func testDiskFillsUp(t *testing.T, p program) {
	disk := mountMemory(t, "size=8m")
	args := []string{"-config", writeConfig(t), "-data", filepath.Join(disk, "data")}
	s := p.start(t, nil, args...)
	s.secrets = secrets()
	l := newLedger()
	require.Equal(t, 20, l.offerAll(s, 4, 5, 1000))

	// Half a megabyte is left, so that the disk becomes full in the middle of a write.
	ballast, rest := filepath.Join(disk, "ballast"), filepath.Join(disk, "rest")
	fill(t, ballast)
	info, err := os.Stat(ballast)
	require.NoError(t, err)
	require.NoError(t, os.Truncate(ballast, info.Size()-1<<19))
	const offers = 40
	accepted := l.offerAll(s, 4, offers/4, 100_000)
	assert.Positive(t, accepted, "what there was room for")
	assert.Less(t, accepted, offers, "the disk is full")
	fill(t, rest)
	s.checkReads("disk full")
	assert.Zero(t, l.offerAll(s, 4, 2, 100_000))
	l.offerAll(s, 4, 2, 1) // there may be room for these in files that SQLite has already
	l.check(s)
	time.Sleep(time.Second) // the workers try to go on, and cannot
	s.checkReads("disk full")
	s.await("readiness to go: disk full", func() bool {
		l.offer(s, 1) // until the last room in the files is used up
		return s.do("GET", "/readyz", "", "").status != http.StatusOK
	})

	require.NoError(t, os.Remove(ballast))
	require.NoError(t, os.Remove(rest))
	s.awaitReady(true, "there is room again")
	assert.True(t, l.offer(s, 100_000), "there is room again")
	assert.Equal(t, 8, l.offerAll(s, 4, 2, 1000))
	l.checkCompleted(s)
	t.Logf("%d of %d accepted, slowest answer %v", l.count(), len(l.size), l.slowest)
	l.checkAfterRestarts(p, s, args...)
}

func testStartOnFullDisk(t *testing.T, p program) {
	disk := mountMemory(t, "size=2m")
	ballast := filepath.Join(disk, "ballast")
	args := []string{"-config", writeConfig(t), "-data", filepath.Join(disk, "data")}
	l := newLedger()
	refused := func(what string) {
		t.Helper()
		fill(t, ballast)
		told := p.refuses(t, 1, args...)
		assert.Regexp(t, `disk is full|disk I/O error`, told, what)
		assert.NotContains(t, told, "panic", what)
		assertUntold(t, goodKey, told)
		require.NoError(t, os.Remove(ballast))
	}
	refused("without data")
	s := p.start(t, nil, args...)
	assert.True(t, l.offer(s, 1000))
	s.stop()
	refused("after a clean stop")
	s = p.start(t, nil, args...)
	l.check(s)
	assert.True(t, l.offer(s, 1000))
	l.checkCompleted(s) // or it would have to wait for the end of its lease
	s.kill()
	refused("after a crash")
	s = p.start(t, nil, args...)
	assert.True(t, l.offer(s, 1000))
	l.checkCompleted(s)
}
