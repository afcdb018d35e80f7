package arrows

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// theMap begins the page in a doc.go that leads through a large package.
const theMap = "A map for those who work on this package."

// TestMaps: the files that a map names are there. One that begins with an underscore is
// the end of a name, and an X stands for any part of one.
func TestMaps(t *testing.T) {
	tr := readTree(t)
	drawn := 0
	for _, pkg := range tr.packages {
		var files []string
		text := ""
		for _, f := range pkg {
			files = append(files, path.Base(f.path))
			for _, c := range f.syntax.Comments {
				if path.Base(f.path) == "doc.go" && strings.Contains(c.Text(), theMap) {
					text += c.Text()
				}
			}
		}
		if text == "" {
			continue
		}
		drawn++
		for _, name := range lost(text, files) {
			t.Errorf("the map in %s names %s, which is not there", path.Dir(pkg[0].path), name)
		}
	}
	assert.GreaterOrEqual(t, drawn, 7, "those of storage/sqlite, audiosearch/columnar and the suites")
}

var fileName = regexp.MustCompile(`\w+\.go\b`)

// lost returns the files that a text names and that are none of these.
func lost(text string, files []string) (names []string) {
	for _, name := range fileName.FindAllString(text, -1) {
		pattern := strings.Replace(name, "_X", "_*", 1)
		if name[0] == '_' {
			pattern = "*" + pattern
		}
		if !slices.ContainsFunc(files, func(file string) bool {
			is, err := path.Match(pattern, file)
			return err == nil && is
		}) {
			names = append(names, name)
		}
	}
	return names
}

func TestMapsHaveTeeth(t *testing.T) {
	files := []string{"scan_rows.go", "view.go"}
	assert.Empty(t, lost("view.go, then scan_rows.go, that is _rows.go, or scan_X.go", files))
	assert.Equal(t, []string{"view_X.go", "scan_X_test.go"}, lost("view_X.go and scan_X_test.go", files))
	assert.Equal(t, []string{"rows.go", "_view.go", "views.go"}, lost("rows.go (_view.go), views.go", files))
}
