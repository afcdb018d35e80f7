package arrows

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
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

// readTree returns the tree that this package stands in, which nobody changes. It is read
// once, every folder and file in this process, so that go test's cache of results knows what
// the tests depend on.
func readTree(t *testing.T) *tree {
	t.Helper()
	tr, err := treeHere()
	require.NoError(t, err)
	if tr == nil {
		t.Skip("this is the packed core module, not the repository: its nested modules are not here")
	}
	return tr
}

var treeHere = sync.OnceValues(func() (*tree, error) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(root, "examples", "go.mod")); err != nil {
		return nil, nil
	}
	tr := &tree{root: root, fset: token.NewFileSet(), packages: make(map[string][]*sourceFile)}
	return tr, tr.readDir(".")
})

func (tr *tree) readDir(dir string) error {
	entries, err := os.ReadDir(filepath.Join(tr.root, dir))
	if err != nil {
		return err
	}
	for _, entry := range entries {
		name := entry.Name()
		path := filepath.ToSlash(filepath.Join(dir, name))
		switch {
		case strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata":
			// Neither is for the go command.
		case entry.IsDir():
			err = tr.readDir(path)
		case name == "go.mod":
			tr.modules = append(tr.modules, dir)
		case strings.HasSuffix(name, ".go"):
			err = tr.readSource(dir, path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (tr *tree) readSource(dir, path string) error {
	source, err := os.ReadFile(filepath.Join(tr.root, path))
	if err != nil {
		return err
	}
	syntax, err := parser.ParseFile(tr.fset, path, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	tr.packages[dir] = append(tr.packages[dir], &sourceFile{path: path, test: strings.HasSuffix(path, "_test.go"), syntax: syntax})
	return nil
}
