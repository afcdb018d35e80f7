package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/nightly"
)

// TestFsyncFails: what the disk has not confirmed is not acknowledged.
func TestFsyncFails(t *testing.T) {
	t.Parallel()
	p := buildServer(t)
	args := []string{"-config", writeConfig(t)}
	s := p.start(t, nil, args...)
	s.secrets = secrets()
	l := newLedger()
	require.Equal(t, 8, l.offerAll(s, 4, 2, 1000))
	for _, which := range []string{"", ":when=1+2"} { // all of them, and every other one
		detach := s.strace("-e", "trace=fsync,fdatasync", "-e", "inject=fsync,fdatasync:error=EIO"+which)
		accepted := l.offerAll(s, 4, 5, 1000) + l.offerAll(s, 1, 5, 1000)
		if which == "" {
			assert.Zero(t, accepted, "no fsync has succeeded")
			s.awaitReady(false, "fsync fails")
		}
		s.checkReads("fsync fails")
		l.check(s)
		failed := strings.Count(detach(), "(INJECTED)")
		require.Positive(t, failed, "strace has not let anything fail")
		t.Logf("%d of 25 accepted, %d fsyncs failed", accepted, failed)
		s.awaitReady(true, "the disk works again")
		assert.Equal(t, 6, l.offerAll(s, 2, 3, 1000), "the disk works again")
	}
	l.checkCompleted(s)
	s.kill()
	s = p.startIn(t, s.dir, nil, args...)
	l.checkCompleted(s)
	l.checkAfterRestarts(p, s, args...)
}

// TestFsyncOfDatabaseFails: when the database file cannot be synced, the write-ahead log
// has to stay as it is and take all that comes.
func TestFsyncOfDatabaseFails(t *testing.T) {
	t.Parallel()
	nightly.Only(t)
	p := buildServer(t)
	args := []string{"-config", writeConfig(t)}
	s := p.start(t, nil, args...)
	s.secrets = secrets()
	file := filepath.Join(s.dir, "mortise-data", "mortise.db")
	l := newLedger()
	detach := s.strace("-P", file, "-e", "trace=fsync,fdatasync", "-e", "inject=fsync,fdatasync:error=EIO")
	const size = 900_000
	const offers = 20
	require.Equal(t, offers, l.offerAll(s, 4, offers/4, size), "the write-ahead log takes it all")
	s.checkUp("no checkpoint")
	info, err := os.Stat(file + "-wal")
	require.NoError(t, err)
	assert.Greater(t, info.Size(), int64(offers*size), "the write-ahead log was begun anew though the database was not synced")
	failed := strings.Count(detach(), "(INJECTED)")
	require.Positive(t, failed, "strace has not let anything fail")
	t.Logf("%d fsyncs failed, the write-ahead log has %d bytes", failed, info.Size())
	assert.Equal(t, 4, l.offerAll(s, 2, 2, size))
	l.checkCompleted(s)
	s.kill()
	s = p.startIn(t, s.dir, nil, args...)
	l.checkCompleted(s)
	l.checkAfterRestarts(p, s, args...)
}
