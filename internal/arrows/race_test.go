package arrows

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// unwatched holds packages whose tests start goroutines, and which the gate leaves to
// .ci/nightly's race detector, each with a reason.
var unwatched = map[string]string{
	"audiosearch/astfeatures":     "it computes",
	"audiosearch/columnar":        "it computes",
	"audiosearch/ffmpeg":          "its goroutines wait for other programs",
	"audiosearch/inference":       "it computes",
	"audiosearch/onnx":            "it computes, in C",
	"audiosearch/signal":          "it computes",
	"audiosearch/audiosearchtest": suitesElsewhere,
	"authmgmt/authmgmttest":       suitesElsewhere,
	"internal/conformance":        suitesElsewhere,
	"storage/queuetest":           suitesElsewhere,
	"trigger/triggertest":         suitesElsewhere,
	"vault/vaulttest":             suitesElsewhere,
	"internal/e2e":                "it tries other processes; the detector would see the clients alone",
	"internal/e2e/gold":           "it sends one request after another",
	"internal/fft":                "it computes",
}

const suitesElsewhere = "the tests of the backends run the suites with the detector"

// TestRaceDetectorSeesGoroutines: .ci/race lists each package whose tests start goroutines,
// but for those that are unwatched.
func TestRaceDetectorSeesGoroutines(t *testing.T) {
	tr := readTree(t)
	listed := tr.lines(t, ".ci/race")
	for i := range listed {
		listed[i] = filepath.Clean(listed[i])
	}
	var found []string
	for pkg, files := range tr.packages {
		if slices.ContainsFunc(files, startsGoroutines) {
			found = append(found, pkg)
		}
	}
	slices.Sort(listed)
	slices.Sort(found)
	want := slices.DeleteFunc(slices.Clone(found), func(pkg string) bool { return unwatched[pkg] != "" })
	assert.Equal(t, want, listed, ".ci/race: give each package whose tests start goroutines a line there, or a reason in unwatched")
	for pkg := range maps.Keys(unwatched) {
		assert.Contains(t, found, pkg, "it needs no exception")
	}
}

// lines returns the lines of a file but for comments.
func (tr *tree) lines(t *testing.T, name string) (lines []string) {
	text, err := os.ReadFile(filepath.Join(tr.root, name))
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	return lines
}

// TestLeftOutTestsAreThere: each line of .ci/alone matches a test, so that none stays when its
// test is gone, or has another name.
func TestLeftOutTestsAreThere(t *testing.T) {
	tr := readTree(t)
	var tests []string
	for _, files := range tr.packages {
		for _, file := range files {
			for _, d := range file.syntax.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && file.test && f.Recv == nil {
					tests = append(tests, f.Name.Name)
				}
			}
		}
	}
	for _, line := range tr.lines(t, ".ci/alone") {
		assert.True(t, slices.ContainsFunc(tests, regexp.MustCompile("^("+line+")$").MatchString), "no test is called %s", line)
	}
}

// startsGoroutines reports whether a test file has a go statement, calls a method Go or
// starts an HTTP server, or runs a conformance suite, which does so.
func startsGoroutines(file *sourceFile) (starts bool) {
	if !file.test {
		return false
	}
	ast.Inspect(file.syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			starts = true
		case *ast.CallExpr:
			f, ok := n.Fun.(*ast.SelectorExpr)
			if !ok {
				break
			}
			from, _ := f.X.(*ast.Ident)
			starts = starts || f.Sel.Name == "Go" ||
				from != nil && from.Name == "httptest" && strings.HasSuffix(f.Sel.Name, "Server") ||
				from != nil && strings.HasSuffix(from.Name, "test") && strings.HasPrefix(f.Sel.Name, "Run")
		}
		return !starts
	})
	return starts
}

func TestStartsGoroutinesHasTeeth(t *testing.T) {
	for body, want := range map[string]bool{
		"go f()":                            true,
		"var all sync.WaitGroup; all.Go(f)": true,
		"httptest.NewServer(h)":             true,
		"triggertest.Run(t, h)":             true,
		"httptest.NewRecorder()":            false,
		"t.Run(\"x\", f)":                   false,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\nfunc TestX(t *testing.T) {"+body+"}", parser.SkipObjectResolution)
		require.NoError(t, err)
		assert.Equal(t, want, startsGoroutines(&sourceFile{test: true, syntax: file}), body)
	}
}
