package e2e

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestDocsNameRealGo: what the pages call by the name of a package of ours and that of
// something in it is there, as in `trigger.Options.PublicError`.
func TestDocsNameRealGo(t *testing.T) {
	t.Parallel()
	ours := exported(t)
	checked := 0
	// A span of code may go on: with arguments, or with a value.
	name := regexp.MustCompile("`\\*?([a-z]\\w*)\\.([A-Z]\\w*)(?:\\.([A-Z]\\w*))?[^`]*`")
	for page, text := range documents(t) {
		if page == "CHANGELOG.md" { // which also says what was
			continue
		}
		for _, found := range name.FindAllStringSubmatch(text, -1) {
			names := ours[found[1]]
			if names == nil {
				continue // a variable, or another's package
			}
			checked++
			assert.True(t, names[found[2]], "%s names %s.%s, which is not there", page, found[1], found[2])
			if found[3] != "" {
				// A member may come from what is embedded.
				there := names[found[2]+"."+found[3]] || names["."+found[3]]
				assert.True(t, there, "%s names %s, which is not there", page, found[0])
			}
		}
	}
	assert.Greater(t, checked, 50)
}

// exported returns, by package, what it exports: names, "Type.Member", and ".Member" for
// one of any type.
func exported(t *testing.T) map[string]map[string]bool {
	t.Helper()
	packages := make(map[string]map[string]bool)
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && (d.Name() == "testdata" || d.Name() == "internal" || d.Name() == "examples") {
			return filepath.SkipDir
		}
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		names := packages[file.Name.Name]
		if names == nil {
			names = make(map[string]bool)
			packages[file.Name.Name] = names
		}
		for _, d := range file.Decls {
			declared(names, d)
		}
		return nil
	}))
	return packages
}

// declared notes the names of a declaration.
func declared(names map[string]bool, d ast.Decl) {
	member := func(of, name string) { names[of+"."+name], names["."+name] = true, true }
	if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
		names[f.Name.Name] = true
		return
	} else if ok {
		receiver := f.Recv.List[0].Type
		if star, ok := receiver.(*ast.StarExpr); ok {
			receiver = star.X
		}
		if of, ok := receiver.(*ast.Ident); ok {
			member(of.Name, f.Name.Name)
		}
		return
	}
	for _, spec := range d.(*ast.GenDecl).Specs {
		switch s := spec.(type) {
		case *ast.ValueSpec:
			for _, name := range s.Names {
				names[name.Name] = true
			}
		case *ast.TypeSpec:
			names[s.Name.Name] = true
			var members *ast.FieldList
			switch of := s.Type.(type) {
			case *ast.StructType:
				members = of.Fields
			case *ast.InterfaceType:
				members = of.Methods
			default:
				continue
			}
			for _, field := range members.List {
				for _, name := range field.Names {
					member(s.Name.Name, name.Name)
				}
			}
		}
	}
}
