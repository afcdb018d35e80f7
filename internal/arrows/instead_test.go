package arrows

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// How gofmt leaves what TestLeftOutIsTriedElsewhere looks for.
var (
	function = regexp.MustCompile(`(?ms)^func (\w+)\((?:[^\n]*\}$|.*?^\})`)
	inCI     = regexp.MustCompile(`(?m)^\teffort\.InCI\(`) // first of all, for the whole function
	anyText  = regexp.MustCompile(`"([^"\n]+)"(?:[:,]\s+(\w+)(?:\(t \*testing\.T\) \{\n(?:\t+t\.Parallel\(\)\n)?\t+(effort\.InCI)?)?)?`)
	asks     = regexp.MustCompile(`effort\.(InCI|Leave|LeaveToMemory|LeaveOut)\(`)
	texts    = regexp.MustCompile(`"Test[A-Z][^"]*"`)
	named    = regexp.MustCompile(`(Test[A-Z]\w*(?:/[\w,.'-]*\w)?)(?: of ([a-z]+(?:/[a-z]+)*))?`)
)

// TestLeftOutIsTriedElsewhere: what effort leaves out on somebody's machine names tests that
// are there, as go test prints them, and that are not left out as a whole, too.
func TestLeftOutIsTriedElsewhere(t *testing.T) {
	tr := readTree(t)
	functions := make(map[string]string) // by folder and name
	for folder, files := range tr.packages {
		for _, file := range files {
			source, err := os.ReadFile(filepath.Join(tr.root, file.path))
			require.NoError(t, err)
			for _, f := range function.FindAllSubmatch(source, -1) {
				functions[folder+" "+string(f[1])] = string(f[0])
			}
		}
	}
	left := make(map[string]bool) // by folder and name of a test or subtest: whether it is left out
	for name, body := range functions {
		left[name] = inCI.MatchString(body)
		folder, _, _ := strings.Cut(name, " ")
		for _, sub := range anyText.FindAllStringSubmatch(body, -1) { // any text may name one
			subtest := name + "/" + strings.ReplaceAll(sub[1], " ", "_")
			left[subtest] = left[name] || left[subtest] || sub[3] != "" || inCI.MatchString(functions[folder+" "+sub[2]])
		}
	}
	checked := 0
	for name, body := range functions {
		if !asks.MatchString(body) {
			continue
		}
		for _, text := range texts.FindAllString(body, -1) {
			for _, instead := range named.FindAllStringSubmatch(text, -1) {
				where, _, _ := strings.Cut(name, " ")
				if instead[2] != "" {
					where = instead[2]
				} else if strings.Contains(body, "LeaveToMemory") {
					where = "storage/memory"
				}
				out, there := left[where+" "+instead[1]]
				assert.True(t, there, "%s: there is no %s of %s", name, instead[1], where)
				assert.False(t, out, "%s: %s is left out, too", name, instead[1])
				checked++
			}
		}
	}
	assert.Greater(t, checked, 70)
}
