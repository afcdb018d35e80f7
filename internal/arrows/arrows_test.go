package arrows

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestArrows(t *testing.T) {
	tr := readTree(t)
	require.Contains(t, tr.packages, "trigger", "the walk found nothing")
	for pkg, files := range tr.packages {
		for _, file := range files {
			if rowOf(pkg) == nil {
				t.Errorf("%s: %s stands in no row of the table; give it one, and a place in the design", file.path, pkg)
				continue
			}
			for _, path := range file.imports() {
				if err := checkArrow(pkg, file.test, path); err != nil {
					t.Errorf("%s: %v", file.path, err)
				}
			}
		}
	}
}

// The walk must see all that the go command sees, and go.work must name every module, or
// "go test work" would pass one over.
func TestTreeIsTheWorkspace(t *testing.T) {
	tr := readTree(t)

	var modules []string
	for _, dir := range goList(t, tr, "-m", "-f", "{{.Dir}}") {
		rel, err := filepath.Rel(tr.root, dir)
		require.NoError(t, err)
		modules = append(modules, filepath.ToSlash(rel))
	}
	require.ElementsMatch(t, tr.modules, modules, "the go.mod files of the tree (left) and the modules of go.work (right)")

	for _, path := range goList(t, tr, "-find", "-f", "{{.ImportPath}}", "work") {
		pkg, isOurs := ours(path)
		require.True(t, isOurs, "%s: a module's path is the core's and its folder", path)
		require.Contains(t, tr.packages, pkg)
	}
}

func goList(t *testing.T, tr *tree, args ...string) []string {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list"}, args...)...)
	cmd.Dir = tr.root
	cmd.Env = append(cmd.Environ(), "GOWORK="+filepath.Join(tr.root, "go.work"))
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%s: %s", cmd, &stderr)
	return strings.Fields(string(out))
}

// What the table calls a nested module is one, and nothing else is.
func TestNestedModules(t *testing.T) {
	tr := readTree(t)
	for _, dir := range tr.modules {
		if dir == "." {
			continue
		}
		r := rowOf(dir)
		require.NotNil(t, r, "%s stands in no row of the table", dir)
		require.True(t, r.module && r.pkg == dir+"/...", "%s/go.mod: the table does not call it a nested module", dir)
	}
	for pkg := range tr.packages {
		if r := rowOf(pkg); r != nil && r.module {
			require.Contains(t, tr.modules, strings.TrimSuffix(r.pkg, "/..."), "%s must not be part of the core module", pkg)
		}
	}
}

func TestTopLevel(t *testing.T) {
	tr := readTree(t)
	// Only what is committed or about to be: developers may keep what they like beside
	// it. The look at git's index tells go test's cache of results that this test depends
	// on it.
	_, _ = os.Stat(filepath.Join(tr.root, ".git", "index"))
	cmd := exec.Command("git", "ls-files")
	cmd.Dir = tr.root
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("not a git repository: %v", err)
	}
	for line := range strings.Lines(string(out)) {
		name, _, _ := strings.Cut(strings.TrimSpace(line), "/")
		require.True(t, slices.Contains(topLevel, name) || strings.HasSuffix(name, ".go"), "%s does not belong at the top level", name)
	}
}

// A checker that never fails would pass too. These arrows must be refused, and those
// after them let through.
func TestCheckArrowHasTeeth(t *testing.T) {
	const code, test = false, true
	for _, arrow := range []struct {
		pkg  string
		test bool
		path string
	}{
		{"trigger", code, core + "/vault"},
		{"trigger", test, core + "/vault"},
		{"trigger", code, core + "/storage/memory"},
		{"trigger", code, core + "/trigger/triggertest"},
		{"trigger", code, core + "/httpadapter"},
		{"vault/localkeys", code, core},
		{".", code, core + "/trigger"},
		{"vault", code, core + "/vault/localkeys"},
		{"audiosearch", code, core + "/authmgmt"},
		{"trigger/triggertest", code, core + "/vault"},
		{"trigger/triggertest", code, core + "/storage/sqlite"},
		{"trigger/triggertest", code, core + "/internal/secret"},
		{"storage/queuetest", code, core + "/trigger"},
		{"vault/localkeys", code, core + "/storage/memory"},
		{"vault/tink", code, core + "/internal/secret"},
		{"vault/tink", code, core + "/vault/localkeys"},
		{"audiosearch/astfeatures", code, core + "/audiosearch"},
		{"audiosearch/signal", code, core + "/audiosearch/astfeatures"},
		{"audiosearch/onnx", code, core + "/audiosearch/ffmpeg"},
		{"storage", code, core + "/storage/memory"},
		{"storage/memory", code, core + "/httpadapter"},
		{"storage/sqlite", code, core + "/internal/overdue"},
		{"storage/sqlite", test, core + "/internal/overdue"},
		{"storage/sqlite", code, core + "/storage/memory"},
		{"storage/sqlite", code, core + "/storage/postgres"},
		{"storage/postgres", test, core + "/storage/sqlite"},
		{"storage/jetstream", code, core + "/storage/postgres/internal/engine"},
		{"storage/sqlite/internal/triggerdb", code, core + "/storage/sqlite/internal/vaultdb"},
		{"storage/sqlite/internal/triggerdb", code, core + "/vault"},
		{"storage/sqlite/internal/file", code, core + "/storage/sqlite/internal/jobs"},
		{"storage/postgres/internal/jobs", code, core + "/storage/postgres/internal/triggerdb"},
		{"httpadapter", code, core + "/storage/memory"},
		{"httpadapter", test, core + "/storage/sqlite"},
		{"httpadapter/openapi", code, core + "/storage"},
		{"internal/overdue", code, core + "/trigger"},
		{"internal/overdue", test, core + "/trigger"},
		{"internal/e2e", test, core + "/examples/server"},
		{"examples/server", code, core + "/internal/e2e"},
		{"examples/server", code, core + "/internal/strictjson"},
		{"examples/server", test, core + "/internal/secret"},
		{"examples/server/apipage", code, core + "/internal/fft"},
		{"examples/custombackend", test, core + "/internal/conformance"},
		{"examples/embed", code, core + "/examples/server"},
		{"storage/memory", test, core + "/internal/e2e"},
		{"storage/mysql", code, "fmt"},
		{"examples/server", code, core + "/storage/mysql"},
		{"triggers", code, core + "/internal/secret"},

		{"trigger", code, "github.com/stretchr/testify/require"},
		{"trigger", code, "github.com/jackc/pgx/v5"},
		{"trigger", code, "golang.org/x/tools/go/packages"},
		{"trigger", code, "github.com/google/uuidx"},
		{"trigger", code, "C"},
		{"trigger", test, "github.com/google/go-cmp/cmp"},
		{"trigger/triggertest", code, "go.uber.org/goleak"},
		{"httpadapter", test, "github.com/go-chi/chi/v5"},
		{"internal/oneline", test, "pgregory.net/rapid"},
		{"internal/oneline", code, core + "/trigger"},
		{"trigger", code, core + "/internal/nightly"},
		{"storage/sqlite", code, core + "/internal/nightly"},
	} {
		require.Error(t, checkArrow(arrow.pkg, arrow.test, arrow.path), "%v", arrow)
	}
	for _, arrow := range []struct {
		pkg  string
		test bool
		path string
	}{
		{"trigger", code, core + "/internal/secret"},
		{"trigger", test, core + "/trigger"},
		{"trigger", test, core + "/trigger/triggertest"},
		{"trigger", test, core + "/storage/memory"},
		{"trigger/triggertest", code, core + "/storage/memory"},
		{"trigger/triggertest", code, core + "/internal/conformance"},
		{"vault/tink", test, core + "/vault/vaulttest"},
		{"audiosearch/onnx", code, core + "/audiosearch/astfeatures"},
		{"storage/memory", code, core + "/audiosearch"},
		{"storage/memory", code, core + "/internal/name"},
		{"storage/memory", test, core + "/trigger/triggertest"},
		{"storage/postgres", code, core + "/trigger"},
		{"storage/postgres", code, core + "/storage/postgres/internal/engine"},
		{"storage/postgres/internal/triggerdb", code, core + "/storage/postgres/internal/jobs"},
		{"storage/postgres", test, core + "/storage/memory"},
		{"httpadapter", code, core + "/httpadapter/openapi"},
		{"httpadapter", test, core + "/storage/memory"},
		{"internal/strictjson", code, core + "/internal/uuid7"},
		{root, code, core + "/internal/oneline"},
		{"internal/e2e", test, core + "/storage/postgres"},
		{"internal/e2e", test, core + "/internal/secret"},
		{"examples/server", code, core + "/examples/server/config"},
		{"examples/server", code, core + "/storage/sqlite"},
		{"examples/server", test, core + "/vault/keyring"},
		{"examples/custombackend", test, core + "/trigger/triggertest"},
		{"vault/tink", test, core + "/internal/nightly"},
		{"internal/oneline", test, core + "/internal/nightly"},

		{"trigger", code, "net/http"},
		{"trigger", code, "golang.org/x/sync/errgroup"},
		{"trigger", test, "github.com/stretchr/testify/require"},
		{"trigger/triggertest", code, "github.com/stretchr/testify/assert"},
		{"storage/sqlite", code, "modernc.org/sqlite"},
		{"audiosearch/onnx", code, "C"},
	} {
		require.NoError(t, checkArrow(arrow.pkg, arrow.test, arrow.path), "%v", arrow)
	}
}
