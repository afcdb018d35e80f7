package arrows

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"iter"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// named is a test in the text that effort is given: "TestServer/data_folder, and TestOpenPaths
// of storage/sqlite".
var named = regexp.MustCompile(`(Test[A-Z]\w*(?:/[\w,.'-]*\w)?)(?: of ([a-z]+(?:/[a-z]+)*))?`)

// TestLeftOutIsTriedElsewhere: what effort leaves out on somebody's machine names tests that
// are there, as go test prints them, and that are not left out as a whole, too.
func TestLeftOutIsTriedElsewhere(t *testing.T) {
	problems, checked := leftOut(readTree(t).packages)
	for _, problem := range problems {
		t.Error(problem)
	}
	assert.Greater(t, checked, 70)
}

// leftOut returns what is wrong with the names that effort is given, of which it has checked
// so many.
func leftOut(packages map[string][]*sourceFile) (problems []string, checked int) {
	functions := make(map[string]*ast.FuncDecl) // by folder and name
	for folder, files := range packages {
		for _, file := range files {
			for _, decl := range file.syntax.Decls {
				if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && f.Body != nil {
					functions[folder+" "+f.Name.Name] = f
				}
			}
		}
	}
	left := make(map[string]bool) // by folder and name of a test or subtest: whether it is left out
	for name, f := range functions {
		left[name] = isLeftOut(f.Body)
		folder, _, _ := strings.Cut(name, " ")
		for text, beside := range texts(f.Body) { // any text may name a subtest
			out := left[name]
			switch f := beside.(type) {
			case *ast.FuncLit:
				out = out || isLeftOut(f.Body)
			case *ast.Ident:
				test := functions[folder+" "+f.Name]
				out = out || test != nil && isLeftOut(test.Body)
			}
			subtest := name + "/" + strings.ReplaceAll(text, " ", "_")
			left[subtest] = left[subtest] || out
		}
	}
	for name, f := range functions {
		ast.Inspect(f.Body, func(n ast.Node) bool {
			how := effortCall(n)
			if how != "InCI" && !strings.HasPrefix(how, "Leave") {
				return true
			}
			given := testsIn(n)
			if len(given) == 0 { // a variable
				given = testsIn(f.Body)
			}
			for _, instead := range given {
				where, _, _ := strings.Cut(name, " ")
				if instead[2] != "" {
					where = instead[2]
				} else if how == "LeaveToMemory" {
					where = "storage/memory"
				}
				checked++
				switch out, there := left[where+" "+instead[1]]; {
				case !there:
					problems = append(problems, fmt.Sprintf("%s: there is no %s of %s", name, instead[1], where))
				case out:
					problems = append(problems, fmt.Sprintf("%s: %s is left out, too", name, instead[1]))
				}
			}
			return true
		})
	}
	return problems, checked
}

// effortCall returns the name of the function of package effort that a node calls, or "".
func effortCall(n ast.Node) string {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return ""
	}
	if f, ok := call.Fun.(*ast.SelectorExpr); ok {
		if pkg, ok := f.X.(*ast.Ident); ok && pkg.Name == "effort" {
			return f.Sel.Name
		}
	}
	return ""
}

// isLeftOut reports whether a test is left out as a whole.
func isLeftOut(test *ast.BlockStmt) bool {
	return slices.ContainsFunc(test.List, func(s ast.Stmt) bool {
		does, ok := s.(*ast.ExprStmt)
		return ok && effortCall(does.X) == "InCI"
	})
}

// testsIn returns the tests that the texts in a node name, as named finds them.
func testsIn(n ast.Node) (tests [][]string) {
	for text := range texts(n) {
		if strings.HasPrefix(text, "Test") {
			tests = append(tests, named.FindAllStringSubmatch(text, -1)...)
		}
	}
	return tests
}

// texts are the string literals in a node, each with what stands behind it in a call, or in a
// row of a table, or nil. So "name", f is a test of that name.
func texts(n ast.Node) iter.Seq2[string, ast.Expr] {
	return func(yield func(string, ast.Expr) bool) {
		behind := make(map[ast.Expr]ast.Expr)
		ended := false
		ast.Inspect(n, func(n ast.Node) bool {
			var row []ast.Expr
			switch n := n.(type) {
			case *ast.CallExpr:
				row = n.Args
			case *ast.CompositeLit:
				row = n.Elts
			case *ast.KeyValueExpr:
				row = []ast.Expr{n.Key, n.Value}
			case *ast.BasicLit:
				if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING && !ended {
					ended = !yield(text, behind[n])
				}
			}
			for i := range len(row) - 1 {
				behind[row[i]] = row[i+1]
			}
			return !ended
		})
	}
}

func TestLeftOutHasTeeth(t *testing.T) {
	const rest = `
func TestHere(t *testing.T) {
	for name, test := range map[string]func(*testing.T){"one": testOne, "two of them": testTwo} { t.Run(name, test) }
	t.Run("three", func(t *testing.T) { t.Parallel(); effort.InCI(t, "TestHere/one") })
}
func TestGone(t *testing.T) { effort.InCI(t, "TestHere") }
func testOne(t *testing.T) { if testing.Short() { effort.InCI(t, "TestHere") } }
func testTwo(t *testing.T) { effort.InCI(t, "TestHere/one") }`
	problemsOf := func(test string) []string {
		file, err := parser.ParseFile(token.NewFileSet(), "x_test.go", "package x\n"+test+rest, parser.SkipObjectResolution)
		require.NoError(t, err)
		memory, err := parser.ParseFile(token.NewFileSet(), "y_test.go", "package y\nfunc TestQueue(t *testing.T) {}", parser.SkipObjectResolution)
		require.NoError(t, err)
		problems, _ := leftOut(map[string][]*sourceFile{"a/x": {{syntax: file}}, "storage/memory": {{syntax: memory}}})
		return problems
	}
	for _, instead := range []string{
		`effort.InCI(t, "TestHere")`, `effort.InCI(t, "TestHere/one, and TestQueue of storage/memory")`, `effort.LeaveToMemory(2, rules, "TestQueue")`,
		`effort.LeaveOut("TestHere", "queue/failure")`, `for _, instead := range []string{"TestHere"} { effort.InCI(t, instead) }`,
	} {
		require.Empty(t, problemsOf("func TestIt(t *testing.T) { "+instead+" }"), instead)
	}
	for _, instead := range []string{
		`effort.InCI(t, "TestNowhere")`, `effort.InCI(t, "TestHere/four")`, `effort.InCI(t, "TestQueue of storage/river")`, `effort.InCI(t, "TestGone")`,
		`effort.InCI(t, "TestHere/two_of_them")`, `effort.InCI(t, "TestHere/three")`, `effort.Leave(2, rules, "TestQueue")`,
		`effort.LeaveOut("TestGone", "queue/failure")`, `for _, instead := range []string{"TestGone"} { effort.InCI(t, instead) }`,
	} {
		require.Len(t, problemsOf("func TestIt(t *testing.T) { "+instead+" }"), 1, instead)
	}
}
