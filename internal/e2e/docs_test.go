package e2e

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// document is a file of the repository.
func document(t *testing.T, name string) string {
	t.Helper()
	return string(read(t, filepath.Join(root, name)))
}

// documents are all pages of the repository, by name.
func documents(t *testing.T) map[string]string {
	t.Helper()
	pages := make(map[string]string)
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == ".git" {
			return filepath.SkipDir
		}
		if err != nil || d.IsDir() || filepath.Ext(path) != ".md" {
			return err
		}
		name, err := filepath.Rel(root, path)
		pages[filepath.ToSlash(name)] = document(t, name)
		return err
	}))
	return pages
}

// given is what the pieces of code in the pages take for given.
const given = `package main

import (
	"context"
	"log/slog"
	"net/http"
	"os"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	riverqueue "github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"golang.org/x/sync/errgroup"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/ffmpeg"
	"github.com/seed-6363c74e/mortise/audiosearch/folder"
	"github.com/seed-6363c74e/mortise/audiosearch/ingest"
	"github.com/seed-6363c74e/mortise/audiosearch/onnx"
	"github.com/seed-6363c74e/mortise/audiosearch/signal"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/audiosearch/wav"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/storage/postgres"
	"github.com/seed-6363c74e/mortise/storage/river"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/localkeys"
)

var (
	ctx      context.Context
	mux      *http.ServeMux
	group    *errgroup.Group
	check    func(error)
	db       *memory.DB
	auth     httpadapter.Authenticator
	roles    = access.DefaultCatalogue()
	signedIn func(*http.Request) (who struct{ Tenant, ID, Role string }, ok bool)
	grant    func(context.Context, authmgmt.Acceptance) (mortise.Secret, error)
	schema   vault.Schema

	pool    *pgxpool.Pool
	process trigger.Processor

	service     *trigger.Service
	credentials *authmgmt.Service
	by          authmgmt.Caller
	values      *vault.Service
	sounds      *audiosearch.Service

	wavs, others sound.Media
	videos       sound.Files
)

func main() {}
`

// TestServersInDocsHaveTimeouts: a server that people copy from a page ends connections of
// clients that send or read too slowly.
func TestServersInDocsHaveTimeouts(t *testing.T) {
	server := regexp.MustCompile(`(?s)http\.Server\{.*?\}`)
	found := 0
	for name, text := range documents(t) {
		for _, literal := range server.FindAllString(text, -1) {
			found++
			for _, field := range []string{"ReadHeaderTimeout:", "WriteTimeout:", "IdleTimeout:"} {
				assert.Contains(t, literal, field, name)
			}
		}
	}
	assert.NotZero(t, found)
}

// TestDocsCompile builds each piece of Go in the pages as it stands there. Whole programs
// have a test of their own.
func TestDocsCompile(t *testing.T) {
	t.Parallel()
	code := regexp.MustCompile("(?s)```go\n(.*?)```")
	variable := regexp.MustCompile(`(?m)^(\w+)(?:, \w+)* :=`)
	program, pieces := given, 0
	for name, page := range documents(t) {
		for _, block := range code.FindAllStringSubmatch(page, -1) {
			if strings.HasPrefix(block[1], "package ") {
				require.Equal(t, "README.md", name, "no test runs this program")
				continue
			}
			program += fmt.Sprintf("\n// %s\nfunc piece%d() {\n%s", name, pieces, block[1])
			for _, made := range variable.FindAllStringSubmatch(block[1], -1) {
				program += "_ = " + made[1] + "\n"
			}
			program += "}\n"
			pieces++
		}
	}
	require.GreaterOrEqual(t, pieces, 6)
	source := filepath.Join(t.TempDir(), "main.go")
	require.NoError(t, os.WriteFile(source, []byte(program), 0o600))
	// An overlay puts the file into the module without touching the tree.
	target, err := filepath.Abs("docspieces/main.go")
	require.NoError(t, err)
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {target: source}})
	require.NoError(t, err)
	overlayFile := filepath.Join(t.TempDir(), "overlay.json")
	require.NoError(t, os.WriteFile(overlayFile, overlay, 0o600))
	out, err := exec.Command("go", "build", "-overlay", overlayFile, "-o", os.DevNull, "./docspieces").CombinedOutput()
	require.NoError(t, err, string(out))
}

// TestDocsNameRealThings: the tests and benchmarks that the pages name are there.
func TestDocsNameRealThings(t *testing.T) {
	t.Parallel()
	declared := make(map[string]bool) // tests, and "folder: benchmark"
	function := regexp.MustCompile(`(?m)^func ((?:Test|Benchmark)\w+)\(`)
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}
		folder, err := filepath.Rel(root, filepath.Dir(path))
		for _, f := range function.FindAllStringSubmatch(string(read(t, path)), -1) {
			declared[f[1]] = true
			declared[filepath.ToSlash(folder)+": "+f[1]] = true
		}
		return err
	}))
	measure := regexp.MustCompile(`go test \./(\S+) -run '\^\$' -bench (\w+)`)
	tests, benchmarks := 0, 0
	for name, page := range documents(t) {
		if name == "CHANGELOG.md" { // which also says what was
			continue
		}
		assert.NotContains(t, page, "@@", "a figure is missing in %s", name)
		for _, test := range regexp.MustCompile("`(Test[A-Z]\\w*)`").FindAllStringSubmatch(page, -1) {
			tests++
			assert.True(t, declared[test[1]], "%s names %s, which is not there", name, test[1])
		}
		for _, bench := range measure.FindAllStringSubmatch(page, -1) {
			benchmarks++
			found := false
			for f := range declared {
				folder, function, _ := strings.Cut(f, ": ")
				isBenchmark := folder == bench[1] && strings.HasPrefix(function, "Benchmark")
				found = found || isBenchmark && strings.Contains(function, bench[2])
			}
			assert.True(t, found, "%s measures %s in %s, where there is none", name, bench[2], bench[1])
		}
	}
	assert.Greater(t, tests, 150)
	assert.Greater(t, benchmarks, 5)
}

// TestDocsNameRealFlags: the flags of the example server that the pages name are there.
func TestDocsNameRealFlags(t *testing.T) {
	t.Parallel()
	usage := document(t, "examples/server/usage.txt")
	for _, name := range []string{"README.md", "examples/server/README.md", "docs/models.md"} {
		flags := regexp.MustCompile("`(-[a-z-]+)`").FindAllStringSubmatch(document(t, name), -1)
		require.NotEmpty(t, flags, name)
		for _, flag := range flags {
			if flag[1] == "-replace" { // of go mod edit
				continue
			}
			assert.Contains(t, usage, "\n  "+flag[1]+" ", "%s names a flag that is not there", name)
		}
	}
}

// TestDocsLinks: each link from one page to another file, or to a heading, leads there.
func TestDocsLinks(t *testing.T) {
	t.Parallel()
	pages := documents(t)
	links := 0
	for name, page := range pages {
		for _, link := range regexp.MustCompile(`\]\(([^)\s]+)\)`).FindAllStringSubmatch(page, -1) {
			if strings.Contains(link[1], "://") {
				continue
			}
			links++
			path, anchor, _ := strings.Cut(link[1], "#")
			target := name
			if path != "" {
				target = filepath.ToSlash(filepath.Join(filepath.Dir(name), path))
				_, err := os.Stat(filepath.Join(root, target))
				assert.NoError(t, err, "%s links to %s", name, link[1])
			}
			if anchor != "" {
				assert.Contains(t, anchors(pages[target]), anchor, "%s links to %s", name, link[1])
			}
		}
	}
	assert.Greater(t, links, 30)
}

// anchors are the names that the usual renderers give to the headings of a page.
func anchors(page string) []string {
	var names []string
	code := false
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "```") {
			code = !code
		}
		heading, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " ")
		if code || !ok || !strings.HasPrefix(line, "#") {
			continue
		}
		name := regexp.MustCompile(`[^\w -]`).ReplaceAllString(strings.ToLower(strings.TrimSpace(heading)), "")
		names = append(names, strings.ReplaceAll(name, " ", "-"))
	}
	return names
}
