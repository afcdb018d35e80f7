package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/nightly"
)

// TestPostgresVersions: the server of the last version goes on while one of this version makes
// its tables, works beside it, and can be started again. So versions change without a pause,
// and a change can be taken back. Until the first tag, the commit before the newest migration
// is the last version.
func TestPostgresVersions(t *testing.T) {
	t.Parallel()
	nightly.Only(t)
	older := buildVersion(t, lastVersion(t))
	db := startPostgres(t)
	f := newFleet(t, 2, databaseURL(db), "-config", writeConfig(t))
	newer := f.program
	l := newLoad(t, seeded(t), 8)
	l.lostConnections = true
	work := func() {
		l.share(f.urls, 200)()
		l.awaitIdle(f.servers[0])
		l.awaitIdle(f.servers[1])
	}

	f.program = older
	f.start(0)
	l.share(f.urls[:1], 50)()
	f.program = newer
	f.start(1) // makes the tables
	work()
	f.program = older
	f.kill(0)
	f.start(0)
	work()
	f.program = newer
	f.kill(1)
	f.start(1)
	work()

	for _, s := range f.servers {
		l.checkEach(s)
	}
	history, unanswered := l.check(f.servers[0])
	runs, each := f.stop()
	require.Zero(t, unanswered)
	l.checkRuns(history, runs)
	for i, k := range each {
		require.NotZero(t, k, "server %d has done nothing", i)
	}
}

// git runs git in the tree, and returns what it prints.
func git(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command(tool(t, "git"), args...)
	cmd.Dir = filepath.Join("..", "..")
	out, err := cmd.Output()
	require.NoError(t, err, "git %s; this test needs the whole history", strings.Join(args, " "))
	return strings.TrimSpace(string(out))
}

// lastVersion returns the commit of the last version.
func lastVersion(t *testing.T) (commit string) {
	t.Helper()
	if tag := git(t, "tag", "--list", "v[0-9]*", "--no-contains", "HEAD", "--merged", "HEAD", "--sort=-v:refname"); tag != "" {
		tag, _, _ = strings.Cut(tag, "\n")
		return tag
	}
	files, err := filepath.Glob(filepath.Join("..", "..", "storage", "postgres", "migrations", "*.sql"))
	require.NoError(t, err)
	newest := "storage/postgres/migrations/" + filepath.Base(slices.Max(files))
	if added := git(t, "log", "-1", "--diff-filter=A", "--format=%H", "--", newest); added != "" {
		return added + "^"
	}
	return "HEAD" // the migration is not committed yet
}

// buildVersion builds the server of a commit.
func buildVersion(t *testing.T, commit string) program {
	t.Helper()
	dir := t.TempDir()
	archive := filepath.Join(dir, "archive.tar")
	git(t, "archive", "-o", archive, commit)
	unpack := exec.Command(tool(t, "tar"), "-xf", archive)
	unpack.Dir = dir
	require.NoError(t, unpack.Run())
	server := filepath.Join(dir, "server")
	build := exec.Command("go", "build", "-buildvcs=false", "-o", server, ".")
	build.Dir = filepath.Join(dir, "examples", "server")
	build.Env = append(os.Environ(), "GOWORK=")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return program(server)
}
