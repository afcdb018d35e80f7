package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/nightly"
	"github.com/seed-6363c74e/mortise/internal/pgserver"
)

// killmeBuilt is examples/killme, which the tests build once.
var killmeBuilt struct {
	once sync.Once
	path string
	err  error
}

func buildKillme(t *testing.T) (path string) {
	t.Helper()
	buildServer(t) // which makes the folder
	b := &killmeBuilt
	b.once.Do(func() {
		b.path = filepath.Join(built.folder, "killme")
		build := exec.Command("go", "build", "-ldflags=-w", "-o", b.path, ".")
		build.Dir = filepath.Join("..", "..", "examples", "killme")
		if out, err := build.CombinedOutput(); err != nil {
			b.err = fmt.Errorf("%w: %s", err, out)
		}
	})
	require.NoError(t, b.err)
	return b.path
}

// killme runs examples/killme from an empty folder, and requires that no event was lost and none
// came twice. meanwhile, if it is not nil, is called while it runs.
func killme(t *testing.T, dir string, meanwhile func(running <-chan struct{}), args ...string) {
	t.Helper()
	var out, said bytes.Buffer
	cmd := exec.Command(buildKillme(t), args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &said
	cmd.Env = append(os.Environ(), "TMPDIR="+dir, "PATH=")
	require.NoError(t, cmd.Start())
	ended := make(chan struct{})
	var failed error
	go func() {
		failed = cmd.Wait()
		close(ended)
	}()
	if meanwhile != nil {
		meanwhile(ended)
	}
	<-ended
	require.NoError(t, failed, "%s%s", &out, &said)
	line := strings.TrimSpace(out.String())
	t.Log(line)
	require.Regexp(t, `^\d+ servers, .*: \d+ times kill -9, .* acknowledged, .* rows in your table: 0 lost, 0 twice$`, line)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, file := range left {
		assert.NotContains(t, file.Name(), "killme", "a file is left behind")
	}
}

// TestKillme: a built killme works from any folder, and removes what it has made.
func TestKillme(t *testing.T) {
	t.Parallel()
	killme(t, t.TempDir(), nil, "-kills", "1")
}

// TestKillmeOnPostgres: its tables are in a schema of its own, which it removes; and which it
// refuses if it is there.
func TestKillmeOnPostgres(t *testing.T) {
	t.Parallel()
	url := sharedDatabase(t)
	killme(t, t.TempDir(), nil, "-kills", "1", "-postgres", url)
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer func() { assert.NoError(t, conn.Close(t.Context())) }()
	_, err = conn.Exec(t.Context(), "CREATE SCHEMA killme")
	require.NoError(t, err, "the schema is gone")
	out, err := exec.Command(buildKillme(t), "-kills", "1", "-postgres", url).CombinedOutput()
	require.Error(t, err)
	assert.Contains(t, string(out), `schema "killme" already exists`)
	_, err = conn.Exec(t.Context(), "DROP SCHEMA killme")
	require.NoError(t, err, "the schema is as it was")
}

// TestManyKillmes: the promise holds for one, two and four servers, on both databases. The night
// has 500 kills of two servers on SQLite besides.
func TestManyKillmes(t *testing.T) {
	nightly.Only(t)
	for name, args := range map[string][]string{
		"SQLite, one server":       {"-kills", "50", "-servers", "1"},
		"SQLite, four servers":     {"-kills", "50", "-servers", "4"},
		"PostgreSQL":               {"-kills", "100", "-postgres", "URL"},
		"PostgreSQL, four servers": {"-kills", "50", "-servers", "4", "-postgres", "URL"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if i := len(args) - 1; args[i] == "URL" {
				args[i] = sharedDatabase(t)
			}
			killme(t, t.TempDir(), nil, args...)
		})
	}
}

// again calls do every so often until the program has ended.
func again(running <-chan struct{}, every time.Duration, do func()) {
	for {
		select {
		case <-running:
			return
		case <-time.After(every):
			do()
		}
	}
}

// TestKillmeOnASmallDisk: a disk is full every now and then.
func TestKillmeOnASmallDisk(t *testing.T) {
	nightly.Only(t)
	t.Parallel()
	disk := mountMemory(t, "size=256m")
	ballast := filepath.Join(disk, "ballast")
	killme(t, disk, func(running <-chan struct{}) {
		again(running, 2*time.Second, func() {
			fill(t, ballast)
			time.Sleep(time.Second)
			require.NoError(t, os.Remove(ballast))
		})
	}, "-kills", "20")
}

// TestKillmeWithItsDatabase: PostgreSQL is killed, and is failed over to a standby.
func TestKillmeWithItsDatabase(t *testing.T) {
	nightly.Only(t)
	t.Run("killed", func(t *testing.T) {
		t.Parallel()
		db := startPostgres(t)
		killme(t, t.TempDir(), func(running <-chan struct{}) {
			for range 5 {
				time.Sleep(3 * time.Second)
				require.NoError(t, db.Down(pgserver.Crash))
				require.NoError(t, db.Up())
			}
			<-running
		}, "-kills", "40", "-postgres", databaseURL(db))
	})
	t.Run("failed over", func(t *testing.T) {
		t.Parallel()
		primary := startPostgres(t)
		standby := primary.Standby(t)
		url := fmt.Sprintf("postgres://mortise@/mortise?host=%s,%s&port=5432,5432&sslmode=disable&target_session_attrs=read-write", primary.Dir, standby.Dir)
		killme(t, t.TempDir(), func(running <-chan struct{}) {
			time.Sleep(5 * time.Second)
			require.NoError(t, primary.Down(pgserver.Crash))
			require.NoError(t, standby.Promote())
			<-running
		}, "-kills", "30", "-postgres", url)
	})
}
