package arrows

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// rooms of PostgreSQL are the parts of its package that keep one domain each: the files whose
// names begin with the room's name. The other files are the engine, which names nothing that
// a room declares. A room names nothing of another room, but of those that are listed here.
var rooms = map[string][]string{
	"jobs": nil, "trigger": {"jobs"}, "audiosearch": {"jobs"}, "authmgmt": nil, "vault": nil,
}

// house are the files that put the rooms together.
var house = []string{"postgres.go", "backends.go"}

// roomOf returns the room that a file is part of; "": the engine.
func roomOf(name string) string {
	word, _, _ := strings.Cut(strings.TrimSuffix(name, ".go"), "_")
	if _, is := rooms[word]; is {
		return word
	}
	return ""
}

// TestRooms: storage/postgres is an engine and a room for each domain. Those of storage/sqlite are
// packages.
func TestRooms(t *testing.T) {
	paths, err := filepath.Glob("../../storage/postgres/*.go")
	require.NoError(t, err)
	files, declared := make(map[string]*ast.File), make(map[string]string)
	for _, path := range paths {
		name := filepath.Base(path)
		if strings.HasSuffix(name, "_test.go") || slices.Contains(house, name) {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		require.NoError(t, err)
		files[name] = file
		for _, decl := range namesOf(file) {
			declared[decl] = name
		}
	}
	for name, file := range files {
		of := roomOf(name)
		for _, used := range file.Unresolved {
			from, is := declared[used.Name]
			in := roomOf(from)
			assert.True(t, !is || in == "" || in == of || slices.Contains(rooms[of], in),
				"%s names %s of %s: the engine knows no room, and a room no other one", name, used.Name, from)
		}
	}
}

// namesOf returns the names that a file declares for its package.
func namesOf(file *ast.File) (names []string) {
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Recv == nil {
				names = append(names, decl.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					names = append(names, spec.Name.Name)
				case *ast.ValueSpec:
					for _, name := range spec.Names {
						names = append(names, name.Name)
					}
				}
			}
		}
	}
	return names
}
