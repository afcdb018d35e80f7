package arrows

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A library that works on import (func init) or keeps a registry surprises its host, and
// two hosts in one program meet in it.
func TestNoHiddenState(t *testing.T) {
	tr := readTree(t)
	for pkg, files := range tr.packages {
		r := rowOf(pkg)
		if r == nil || slices.Contains(nobody, r.pkg) {
			continue // programs may
		}
		for _, file := range files {
			if file.test {
				continue
			}
			for _, problem := range hiddenState(file.syntax, slices.Contains(domains, pkg)) {
				t.Errorf("%s: %s", file.path, problem)
			}
		}
	}
}

// hiddenState returns what a file holds that outlives a call without a caller having made
// it. It cannot see every such thing: an unexported variable that is assigned to passes.
func hiddenState(file *ast.File, domain bool) []string {
	var problems []string
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Recv == nil && decl.Name.Name == "init" {
				problems = append(problems, "has a func init")
			}
		case *ast.GenDecl:
			if decl.Tok != token.VAR || !domain {
				continue
			}
			for _, spec := range decl.Specs {
				problems = append(problems, mutable(spec.(*ast.ValueSpec))...)
			}
		}
	}
	return problems
}

// mutable returns what is wrong with package-level variables: exported ones are errors,
// and none is made to be filled later.
func mutable(spec *ast.ValueSpec) []string {
	var problems []string
	for _, name := range spec.Names {
		if name.IsExported() && !strings.HasPrefix(name.Name, "Err") {
			problems = append(problems, fmt.Sprintf("var %s is exported and no error: anybody could set it", name))
		}
	}
	ast.Inspect(spec, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false // what runs later is not the variable
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.Ident); ok && f.Name == "make" {
				problems = append(problems, fmt.Sprintf("var %s is made empty, to be filled by somebody", spec.Names[0]))
			}
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && (x.Name == "sync" && slices.Contains([]string{"Mutex", "RWMutex", "Map"}, n.Sel.Name) || x.Name == "atomic") {
				problems = append(problems, fmt.Sprintf("var %s is %s.%s: state for the whole program", spec.Names[0], x, n.Sel))
			}
		}
		return true
	})
	return problems
}

func TestHiddenStateHasTeeth(t *testing.T) {
	parse := func(source string) *ast.File {
		file, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\n"+source, parser.SkipObjectResolution)
		require.NoError(t, err)
		return file
	}
	for _, source := range []string{
		"func init() {}",
		"var Default = New()",
		"var drivers = make(map[string]Driver)",
		"var mu sync.Mutex",
		"var registry struct { sync.RWMutex; m map[string]int }",
		"var count atomic.Int64",
	} {
		require.Len(t, hiddenState(parse(source), true), 1, source)
	}
	for _, source := range []string{
		"func (s *Service) init() {}",
		"var ErrNotFound = errors.New(\"not found\")",
		"var _ Store = (*memory)(nil)",
		"var names = map[string]string{\"a\": \"b\"}",
		"var buffers = sync.Pool{New: func() any { return make([]byte, 1024) }}",
		"func New() *Service { var mu sync.Mutex; return &Service{mu: &mu} }",
	} {
		require.Empty(t, hiddenState(parse(source), true), source)
	}
}
