package arrows

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A stranger cannot name an internal type, so none may stand where they must: in what the
// packages of the core module export.
func TestNoInternalTypeIsExported(t *testing.T) {
	tr := readTree(t)
	var packages []string
	for pkg, files := range tr.packages {
		isCode := slices.ContainsFunc(files, func(f *sourceFile) bool { return !f.test })
		if r := rowOf(pkg); isCode && r != nil && !r.module && !r.inner && !strings.HasPrefix(pkg, "internal/") {
			packages = append(packages, pkg)
		}
	}
	slices.Sort(packages)
	require.Contains(t, packages, "trigger")

	// The compiler's own export data: exact, and in the build cache already.
	args := []string{"-export", "-deps", "-f", "{{if .Export}}{{.ImportPath}}={{.Export}}{{end}}"}
	for _, pkg := range packages {
		args = append(args, "./"+pkg)
	}
	exports := make(map[string]string)
	for _, line := range goList(t, tr, args...) {
		pkg, file, _ := strings.Cut(line, "=")
		exports[pkg] = file
	}
	imp := importer.ForCompiler(token.NewFileSet(), "gc", func(pkg string) (io.ReadCloser, error) { return os.Open(exports[pkg]) })
	for _, pkg := range packages {
		checked, err := imp.Import(path.Join(core, pkg))
		require.NoError(t, err)
		for _, leak := range leaks(checked) {
			t.Errorf("%s: %s", pkg, leak)
		}
	}
}

// leaks returns where the exported surface of a package shows a type of an internal
// package of ours.
func leaks(pkg *types.Package) []string {
	w := &surface{pkg: pkg, seen: make(map[types.Type]bool)}
	for _, name := range pkg.Scope().Names() {
		if obj := pkg.Scope().Lookup(name); obj.Exported() {
			w.at = name
			w.object(obj)
		}
	}
	return w.found
}

// surface walks over all that a user of a package can reach.
type surface struct {
	pkg   *types.Package
	seen  map[types.Type]bool
	at    string // the exported name that the walk began at
	found []string
}

func (w *surface) object(obj types.Object) {
	if alias, ok := obj.Type().(*types.Alias); ok && alias.Obj() == obj {
		w.walk(alias)
		return
	}
	w.walk(obj.Type())
}

// walk looks at a type, and at those that it is made of as far as they can be reached
// from outside.
func (w *surface) walk(t types.Type) {
	if t == nil || w.seen[t] {
		return
	}
	w.seen[t] = true
	switch t := t.(type) {
	case *types.Alias:
		if !w.internal(t.Obj()) {
			w.list(t.TypeArgs())
			w.walk(t.Rhs())
		}
	case *types.Named:
		if w.internal(t.Obj()) {
			return
		}
		w.list(t.TypeArgs())
		if t.Obj().Pkg() != w.pkg {
			return // the business of its own package
		}
		for i := range t.TypeParams().Len() {
			w.walk(t.TypeParams().At(i).Constraint())
		}
		w.walk(t.Underlying())
		for i := range t.NumMethods() {
			if m := t.Method(i); m.Exported() {
				w.walk(m.Type())
			}
		}
	case *types.Signature:
		for i := range t.TypeParams().Len() {
			w.walk(t.TypeParams().At(i).Constraint())
		}
		w.walk(t.Params())
		w.walk(t.Results())
	case *types.Tuple:
		for i := range t.Len() {
			w.walk(t.At(i).Type())
		}
	case *types.Struct:
		for i := range t.NumFields() {
			if f := t.Field(i); f.Exported() || f.Embedded() { // an embedded type lends its methods, whatever its name
				w.walk(f.Type())
			}
		}
	case *types.Interface:
		for i := range t.NumEmbeddeds() {
			w.walk(t.EmbeddedType(i))
		}
		for i := range t.NumExplicitMethods() {
			if m := t.ExplicitMethod(i); m.Exported() {
				w.walk(m.Type())
			}
		}
	case *types.Union:
		for i := range t.Len() {
			w.walk(t.Term(i).Type())
		}
	case *types.TypeParam:
		w.walk(t.Constraint())
	case *types.Map:
		w.walk(t.Key())
		w.walk(t.Elem())
	case interface{ Elem() types.Type }: // pointers, slices, arrays, channels
		w.walk(t.Elem())
	}
}

func (w *surface) list(args *types.TypeList) {
	for i := range args.Len() {
		w.walk(args.At(i))
	}
}

// internal reports whether a type's name is of an internal package of ours, and notes it.
func (w *surface) internal(name *types.TypeName) bool {
	if name.Pkg() == nil || name.Pkg() == w.pkg {
		return false
	}
	pkg, isOurs := ours(name.Pkg().Path())
	if !isOurs || !strings.HasPrefix(pkg, "internal/") {
		return false
	}
	w.found = append(w.found, fmt.Sprintf("%s shows %s.%s", w.at, pkg, name.Name()))
	return true
}

func TestLeaksHasTeeth(t *testing.T) {
	fset := token.NewFileSet()
	known := make(importMap)
	check := func(path, source string) *types.Package {
		file, err := parser.ParseFile(fset, "x.go", source, 0)
		require.NoError(t, err)
		pkg, err := (&types.Config{Importer: known}).Check(path, fset, []*ast.File{file}, nil)
		require.NoError(t, err)
		return pkg
	}
	secret := core + "/internal/secret"
	known[secret] = check(secret, "package secret; type T struct{}; func (T) M() {}; type G[E any] struct{ E E }; type I interface{ M() }; func Make() T { return T{} }")

	for _, source := range []string{
		"func F(secret.T) {}",
		"func F() (n int, t *secret.T) { return }",
		"func F(func(map[string][]chan secret.T)) {}",
		"func F[E secret.I](E) {}",
		"func F() secret.G[int] { panic(0) }",
		"type S struct{ T secret.T }",
		"type S struct{ secret.T }",
		"type hidden struct{ secret.T }; type S struct{ hidden }",
		"type hidden struct{}; func (*hidden) M(secret.T) {}; func New() *hidden { return nil }",
		"type S struct{}; func (s *S) M(secret.T) {}",
		"type L interface{ M(secret.T) }",
		"type L interface{ secret.I }",
		"type N secret.G[string]; func (N) M() secret.T { panic(0) }",
		"type A = secret.T",
		"type hidden = secret.T; func F(hidden) {}",
		"var V = secret.Make()",
		"type P[E any] struct{}; func F(P[secret.T]) {}",
		"func F(...secret.T) {}",
	} {
		pkg := check(core+"/d", "package d; import \"github.com/seed-6363c74e/mortise/internal/secret\"; "+source)
		require.NotEmpty(t, leaks(pkg), source)
	}
	for _, source := range []string{
		"type S struct{ t secret.T }",
		"type S struct{}; func (s *S) m(secret.T) {}",
		"func f(secret.T) {}",
		"func F() { _ = secret.Make() }",
		"var v = secret.Make()",
		"type hidden struct{ secret.T }; type S struct{ h hidden }",
	} {
		pkg := check(core+"/d", "package d; import \"github.com/seed-6363c74e/mortise/internal/secret\"; "+source)
		require.Empty(t, leaks(pkg), source)
	}
}

type importMap map[string]*types.Package

func (m importMap) Import(path string) (*types.Package, error) { return m[path], nil }
