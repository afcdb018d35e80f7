package arrows

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// tree is the source of all modules of the workspace. It is read file by file, whatever
// their build constraints: the go command lists only the files of one platform.
type tree struct {
	root     string
	fset     *token.FileSet
	modules  []string // folders that hold a go.mod, relative to root; "." is the core
	packages map[string][]*sourceFile
}

type sourceFile struct {
	path   string // relative to root
	test   bool
	syntax *ast.File
}

// imports returns the import paths of a file.
func (f *sourceFile) imports() []string {
	var paths []string
	for _, spec := range f.syntax.Imports {
		path, _ := strconv.Unquote(spec.Path.Value) // the parser has unquoted it once
		paths = append(paths, path)
	}
	return paths
}

// readTree reads the tree that this package stands in. It reads every folder and file in
// this process, so that go test's cache of results knows what the tests depend on.
func readTree(t *testing.T) *tree {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	if _, err := os.Stat(filepath.Join(root, "examples", "go.mod")); err != nil {
		t.Skip("this is the packed core module, not the repository: its nested modules are not here")
	}
	tr := &tree{root: root, fset: token.NewFileSet(), packages: make(map[string][]*sourceFile)}
	tr.readDir(t, ".")
	return tr
}

func (tr *tree) readDir(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(tr.root, dir))
	require.NoError(t, err)
	for _, entry := range entries {
		name := entry.Name()
		path := filepath.ToSlash(filepath.Join(dir, name))
		switch {
		case strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata":
			// Neither is for the go command.
		case entry.IsDir():
			tr.readDir(t, path)
		case name == "go.mod":
			tr.modules = append(tr.modules, dir)
		case strings.HasSuffix(name, ".go"):
			source, err := os.ReadFile(filepath.Join(tr.root, path))
			require.NoError(t, err)
			syntax, err := parser.ParseFile(tr.fset, path, source, parser.ParseComments|parser.SkipObjectResolution)
			require.NoError(t, err)
			tr.packages[dir] = append(tr.packages[dir], &sourceFile{path: path, test: strings.HasSuffix(name, "_test.go"), syntax: syntax})
		}
	}
}
