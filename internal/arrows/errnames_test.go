package arrows

import (
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestErrorsThatAreNamed: an error that a comment or a text names is there. The compiler
// does not see one whose name has changed, as in the sentence of a rule.
func TestErrorsThatAreNamed(t *testing.T) {
	tr := readTree(t)
	declared := tr.errors()
	require.NotEmpty(t, declared["ErrNotFound"])
	for dir, files := range tr.packages {
		if strings.HasSuffix(dir, "internal/arrows") {
			continue // these have names of nothing
		}
		for _, file := range files {
			for _, name := range namedErrors(file.syntax) {
				assert.True(t, isThere(declared, name), "%s names %s, which is nowhere", file.path, name)
			}
		}
	}
}

func TestErrorsThatAreNamedHaveTeeth(t *testing.T) {
	declared := map[string][]string{"ErrExists": {"audiosearch", "vault"}}
	for name, there := range map[string]bool{
		"ErrExists": true, "vault.ErrExists": true, "Store.ErrExists": true, "io.ErrClosed": true,
		"ErrRunExists": false, "vault.ErrRunExists": false, "authmgmt.ErrExists": false,
	} {
		assert.Equal(t, there, isThere(declared, name), name)
	}
}

// errors are the packages, by their names, that declare each error of ours.
func (tr *tree) errors() map[string][]string {
	declared := make(map[string][]string)
	for _, files := range tr.packages {
		for _, file := range files {
			for _, decl := range file.syntax.Decls {
				group, ok := decl.(*ast.GenDecl)
				if !ok {
					continue
				}
				for _, spec := range group.Specs {
					values, _ := spec.(*ast.ValueSpec)
					if values == nil {
						continue
					}
					for _, name := range values.Names {
						declared[name.Name] = append(declared[name.Name], file.syntax.Name.Name)
					}
				}
			}
		}
	}
	return declared
}

var errorName = regexp.MustCompile(`(?:\b\w+\.)?\bErr[A-Z]\w*`)

// namedErrors returns the names of errors, with what stands before their dot, in the
// comments and texts of a file.
func namedErrors(file *ast.File) (names []string) {
	find := func(text string) {
		if strings.Contains(text, "Err") { // few do, and to look for more takes a while
			names = append(names, errorName.FindAllString(text, -1)...)
		}
	}
	for _, group := range file.Comments {
		find(group.Text())
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING {
			find(text.Value)
		}
		return true
	})
	return names
}

// isThere reports whether somebody declares the error. One of a package that is not ours
// is not looked for.
func isThere(declared map[string][]string, name string) bool {
	before, err, qualified := strings.Cut(name, ".")
	if !qualified {
		return len(declared[name]) > 0
	}
	ours := false
	for _, r := range rows {
		if path.Base(strings.TrimSuffix(r.pkg, "/...")) == before {
			ours = true
		}
	}
	if !ours {
		return true
	}
	for _, pkg := range declared[err] {
		if strings.TrimSuffix(pkg, "_test") == before {
			return true
		}
	}
	return false
}
