package arrows

import (
	"flag"
	"fmt"
	"go/ast"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write testdata/size.txt")

// sizeFile has the size of the API, so that a change of it is a line in a diff.
const sizeFile = "testdata/size.txt"

// TestSize: testdata/size.txt has the present size of the API. After a change of the API:
//
//	go test ./internal/arrows -run TestSize -update
func TestSize(t *testing.T) {
	tr := readTree(t)
	got := size(tr.packages)
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(sizeFile), 0o755))
		require.NoError(t, os.WriteFile(sizeFile, []byte(got), 0o644))
	}
	want, err := os.ReadFile(sizeFile)
	require.NoError(t, err)
	require.Equal(t, string(want), got, "the API has another size: run the test with -update, and read the difference")
}

// size counts the exported names of the root and of the domains, the exported fields of the
// structs named ...Options of all packages that a host can import, the suites and fakes
// for its tests aside, and the methods of the interfaces that a whole backend
// implements.
func size(packages map[string][]*sourceFile) string {
	var b strings.Builder
	section := func(title string, counts map[string]int) {
		total := 0
		for _, n := range counts {
			total += n
		}
		fmt.Fprintf(&b, "%s: %d\n", title, total)
		for _, key := range sortedKeys(counts) {
			fmt.Fprintf(&b, "\t%s %d\n", key, counts[key])
		}
	}
	count := func(pkg string) (names int) {
		for _, same := range exportsOf(packages[pkg]) {
			names += len(same)
		}
		return names
	}
	names := make(map[string]int)
	for _, a := range audiences {
		names[a.pkg] = count(a.pkg)
	}
	fmt.Fprintf(&b, "exported names of the root: %d\n", count(root))
	section("exported names of the domains", names)
	options, methods := make(map[string]int), make(map[string]int)
	for pkg, files := range packages {
		if strings.HasPrefix(pkg, "internal/") || strings.Contains(pkg, "/internal/") || strings.HasPrefix(pkg, "examples/") ||
			strings.HasSuffix(pkg, "test") {
			continue
		}
		isDomain := slices.ContainsFunc(audiences, func(a audience) bool { return a.pkg == pkg })
		eachType(files, func(name string, typ ast.Expr) {
			switch typ := typ.(type) {
			case *ast.StructType:
				if strings.HasSuffix(name, "Options") {
					for _, f := range typ.Fields.List {
						if len(f.Names) == 0 {
							options[pkg+"."+name]++
						}
						for _, field := range f.Names {
							if field.IsExported() {
								options[pkg+"."+name]++
							}
						}
					}
				}
			case *ast.InterfaceType:
				if isDomain && !slices.Contains(ofHosts, name) || pkg == root && slices.Contains(ofBackends, name) {
					for _, m := range typ.Methods.List {
						methods[pkg+"."+name] += len(m.Names)
					}
				}
			}
		})
	}
	section("fields of options", options)
	for key, n := range methods {
		if n == 0 { // composed of others
			delete(methods, key)
		}
	}
	section("methods of a whole backend", methods)
	return b.String()
}

// ofHosts are the interfaces of the domains that hosts implement, and no backend does.
var ofHosts = []string{"Directory"}

// ofBackends are the interfaces of the root that a backend implements.
var ofBackends = []string{"Remover", "Deletion", "Counter", "Leases", "Holder", "DeadJobs", "Sharer", "HostTx", "Transactor", "LossReporter"}

// eachType calls f with the exported types of a package.
func eachType(files []*sourceFile, f func(name string, typ ast.Expr)) {
	for _, file := range files {
		if file.test {
			continue
		}
		for _, decl := range file.syntax.Decls {
			general, ok := decl.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range general.Specs {
				if spec, ok := spec.(*ast.TypeSpec); ok && spec.Name.IsExported() {
					f(spec.Name.Name, spec.Type)
				}
			}
		}
	}
}
