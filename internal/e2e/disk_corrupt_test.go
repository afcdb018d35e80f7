package e2e

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/nightly"
)

// TestCorruptFile: files that something else has changed.
func TestCorruptFile(t *testing.T) {
	nightly.Only(t)
	t.Parallel()
	p := buildServer(t)
	t.Run("database", func(t *testing.T) {
		t.Parallel()
		testCorruptDatabase(t, p)
	})
	t.Run("found later", func(t *testing.T) {
		t.Parallel()
		testCorruptFoundLater(t, p)
	})
	t.Run("after a crash", func(t *testing.T) {
		t.Parallel()
		testCorruptAfterCrash(t, p)
	})
	t.Run("empty database", func(t *testing.T) {
		t.Parallel()
		testEmptyDatabase(t, p)
	})
	t.Run("write-ahead log", func(t *testing.T) {
		t.Parallel()
		testCorruptLog(t, p)
	})
}

// noise returns bytes that are the same in every run.
func noise(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(b)
	return b
}

// overwrite returns a copy of b with other bytes at an offset.
func overwrite(b []byte, at int, with []byte) []byte {
	b = bytes.Clone(b)
	copy(b[at:], with)
	return b
}

// testCorruptDatabase: a database that was closed in peace, and of which header, schema or
// length are wrong.
func testCorruptDatabase(t *testing.T, p program) {
	const page = 4096
	s := p.start(t, nil, "-config", writeConfig(t))
	l := newLedger()
	require.Equal(t, 40, l.offerAll(s, 4, 10, 3000))
	require.Equal(t, 4, l.offerAll(s, 1, 4, 50_000))
	l.checkCompleted(s)
	s.stop()
	good, err := os.ReadFile(s.database())
	require.NoError(t, err)
	pages := len(good) / page
	require.Greater(t, pages, 60)
	middle := pages / 2 * page

	cases := map[string][]byte{
		"garbage":             noise(len(good)),
		"short garbage":       noise(10),
		"zeros":               make([]byte, 10*page),
		"header overwritten":  overwrite(good, 0, noise(100)),
		"magic overwritten":   overwrite(good, 0, []byte("SQLite format 4")),
		"schema overwritten":  overwrite(good, 100, noise(page-100)),
		"cut off in a page":   good[:middle+100],
		"cut off":             good[:middle],
		"only the first page": good[:page],
	}
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		content := cases[name]
		folder := t.TempDir()
		file := filepath.Join(folder, "mortise.db")
		require.NoError(t, os.WriteFile(file, content, 0o600))
		told := p.refuses(t, 2, "-data", folder)
		t.Logf("%s: %s", name, told)
		assert.Contains(t, told, "-data: ", name)
		assert.Contains(t, told, file, name)
		assert.Regexp(t, `not a database|damaged|malformed`, told, "%s: what is wrong", name)
		assert.Contains(t, told, "backup", "%s: what to do", name)
		assert.NotContains(t, told, "panic", name)
		left, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.True(t, bytes.Equal(content, left), "%s: the file was changed", name)
		files, err := os.ReadDir(folder)
		require.NoError(t, err)
		assert.Len(t, files, 1, "%s: files were left behind: %v", name, files)
	}
}

// testCorruptFoundLater: after a clean stop, pages of one event that are overwritten do not
// keep the server from starting. When the event is read, all of the file is looked at:
// then nothing is answered and written any more, and the next start is refused.
func testCorruptFoundLater(t *testing.T, p program) {
	const page, unit = 4096, len("00000000 ")
	s := p.start(t, nil, "-config", writeConfig(t))
	l := newLedger()
	require.True(t, l.offer(s, 50_000))
	l.checkCompleted(s)
	s.stop()
	damaged, err := os.ReadFile(s.database())
	require.NoError(t, err)
	for at := page; at < len(damaged); at += page {
		// Behind the number of the next page, one that only holds a part of the event's
		// context, which repeats.
		if body := damaged[at+4 : at+page]; bytes.Equal(body[unit:], body[:len(body)-unit]) && body[0] != 0 {
			copy(damaged[at:], noise(page))
		}
	}
	require.NoError(t, os.WriteFile(s.database(), damaged, 0o600))

	s = p.startIn(t, s.dir, nil, "-config", writeConfig(t))
	s.awaitReady(true, "damage that nobody has met")
	for id := range l.accepted {
		assert.Equal(t, http.StatusServiceUnavailable, s.do("GET", "/triggers/"+id, goodKey, "").status)
	}
	s.awaitReady(false, "damage was met")
	assert.False(t, l.offer(s, 10), "a damaged file is not written to")
	assert.Equal(t, http.StatusServiceUnavailable, s.do("GET", "/triggers?limit=1", goodKey, "").status)
	assert.Contains(t, s.stderr.String(), "unusable file: it is damaged", "the log of /readyz")
	s.stop()
	told := p.refuses(t, 2, "-data", filepath.Dir(s.database()))
	assert.Contains(t, told, "unusable file: it is damaged")
	assert.Contains(t, told, "backup")
}

// testCorruptAfterCrash: what a crash has left is neither used nor changed if the
// database that it belongs to is damaged or gone.
func testCorruptAfterCrash(t *testing.T, p program) {
	s := p.start(t, nil, "-config", writeConfig(t))
	l := newLedger()
	require.Equal(t, 40, l.offerAll(s, 4, 10, 3000))
	l.checkCompleted(s)
	s.stop()
	s = p.startIn(t, s.dir, nil, "-config", writeConfig(t))
	require.Equal(t, 10, l.offerAll(s, 1, 10, 3000))
	s.kill()
	good, err := os.ReadFile(s.database())
	require.NoError(t, err)
	log, err := os.ReadFile(s.database() + "-wal")
	require.NoError(t, err)

	for name, content := range map[string][]byte{
		"pages overwritten": overwrite(good, len(good)/2/4096*4096, noise(8*4096)),
		"pages zeroed":      overwrite(good, len(good)/2/4096*4096, make([]byte, 8*4096)),
		"empty":             {},
		"missing":           nil,
	} {
		folder := t.TempDir()
		file := filepath.Join(folder, "mortise.db")
		if content != nil {
			require.NoError(t, os.WriteFile(file, content, 0o600))
		}
		require.NoError(t, os.WriteFile(file+"-wal", log, 0o600))
		told := p.refuses(t, 2, "-data", folder)
		t.Logf("%s: %s", name, told)
		assert.Regexp(t, `damaged|malformed|missing or empty`, told, name)
		if content != nil {
			left, err := os.ReadFile(file)
			require.NoError(t, err)
			assert.True(t, bytes.Equal(content, left), "%s: the file was changed", name)
		} else {
			assert.False(t, exists(file), name)
		}
		left, err := os.ReadFile(file + "-wal")
		require.NoError(t, err)
		assert.True(t, bytes.Equal(log, left), "%s: the log was changed", name)
	}
}

// testEmptyDatabase: an empty file is a new database.
func testEmptyDatabase(t *testing.T, p program) {
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "mortise.db"), nil, 0o600))
	s := p.start(t, nil, "-config", writeConfig(t), "-data", folder)
	l := newLedger()
	require.True(t, l.offer(s, 1000))
	l.checkCompleted(s)
}

// testCorruptLog: what a crash leaves behind in the write-ahead log is used up to the
// first damage. What was in the database before is there, and of the rest the earlier
// part.
func testCorruptLog(t *testing.T, p program) {
	dir, config := t.TempDir(), writeConfig(t)
	s := p.startIn(t, dir, nil, "-config", config)
	old := newLedger()
	require.Equal(t, 10, old.offerAll(s, 1, 10, 3000))
	old.checkCompleted(s)
	s.stop()
	s = p.startIn(t, dir, nil, "-config", config)
	recent := newLedger()
	recent.size = append(recent.size, old.size...) // numbers go on
	require.Equal(t, 20, recent.offerAll(s, 1, 20, 3000))
	recent.checkCompleted(s)
	s.kill()
	database, err := os.ReadFile(s.database())
	require.NoError(t, err)
	log, err := os.ReadFile(s.database() + "-wal")
	require.NoError(t, err)
	require.Greater(t, len(log), 20*3000)
	key := filepath.Join(filepath.Dir(s.database()), "vault.key")

	cases := map[string]struct {
		log, index []byte
		all        bool // nothing is lost
		none       bool // all of the log is lost
	}{
		"intact":             {log: log, all: true},
		"index is garbage":   {log: log, index: noise(32768), all: true},
		"index cut off":      {log: log, index: noise(100), all: true},
		"garbage at the end": {log: append(bytes.Clone(log), noise(10_000)...), all: true},
		"cut off":            {log: log[:len(log)/2]},
		"middle overwritten": {log: overwrite(log, len(log)/2, noise(10_000))},
		"garbage":            {log: noise(len(log)), none: true},
		"header overwritten": {log: overwrite(log, 0, noise(32)), none: true},
		"empty":              {log: nil, none: true},
	}
	for name, test := range cases {
		folder := t.TempDir()
		file := filepath.Join(folder, "mortise.db")
		require.NoError(t, os.WriteFile(file, database, 0o600))
		require.NoError(t, os.WriteFile(file+"-wal", test.log, 0o600))
		if test.index != nil {
			require.NoError(t, os.WriteFile(file+"-shm", test.index, 0o600))
		}
		s := p.start(t, nil, "-config", config, "-data", folder, "-vault-key", key)
		next := &ledger{size: slices.Clone(recent.size), accepted: maps.Clone(old.accepted)}
		found := next.check(s)
		kept := keptOf(found, recent)
		for i, is := range kept[1:] {
			assert.False(t, is && !kept[i], "%s: there is a gap in what was kept: %v", name, kept)
		}
		assert.Equal(t, test.all, kept[len(kept)-1], name)
		assert.Equal(t, test.none, !kept[0], name)
		assert.True(t, next.offer(s, 1000), name)
		next.checkCompleted(s)
		s.stop()
	}
}

// keptOf says which of the requests of a ledger are in the history, in the order in which
// they were acknowledged.
func keptOf(found map[string]event, l *ledger) []bool {
	first := len(l.size) - len(l.accepted)
	kept := make([]bool, len(l.accepted))
	for id, n := range l.accepted {
		_, kept[n-first] = found[id]
	}
	return kept
}
