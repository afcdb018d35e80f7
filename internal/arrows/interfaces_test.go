package arrows

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"testing"

	"github.com/stretchr/testify/require"
)

// mostMethods is how many methods an interface may declare. A wider one is composed of
// parts: see CONTRIBUTING.md.
const mostMethods = 5

// An interface that declares few methods can be read, wrapped and replaced by a host.
func TestInterfacesAreNarrow(t *testing.T) {
	found := 0
	for _, files := range readTree(t).packages {
		for _, file := range files {
			if file.test {
				continue
			}
			wide, seen := wideInterfaces(file.syntax)
			found += seen
			for _, problem := range wide {
				t.Errorf("%s: %s", file.path, problem)
			}
		}
	}
	require.Greater(t, found, 50, "interfaces that were looked at")
}

// wideInterfaces returns the exported interfaces that declare too many methods, and how many
// exported ones there are.
func wideInterfaces(file *ast.File) (wide []string, seen int) {
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok || !spec.Name.IsExported() {
			return true
		}
		declared, ok := spec.Type.(*ast.InterfaceType)
		if !ok {
			return true
		}
		seen++
		methods := 0
		for _, m := range declared.Methods.List {
			methods += len(m.Names) // none: it is embedded
		}
		if methods > mostMethods {
			wide = append(wide, fmt.Sprintf("interface %s declares %d methods: make parts of it", spec.Name, methods))
		}
		return true
	})
	return wide, seen
}

func TestWideInterfacesHasTeeth(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "x.go", `package x
type Wide interface { A(); B(); C(); D(); E(); F() }
type Store interface { Parts; Others; A(); B(); C(); D(); E() }
type private interface { A(); B(); C(); D(); E(); F() }
`, parser.SkipObjectResolution)
	require.NoError(t, err)
	wide, seen := wideInterfaces(file)
	require.Equal(t, []string{"interface Wide declares 6 methods: make parts of it"}, wide)
	require.Equal(t, 2, seen)
}
