// Package gold keeps the wire from moving by accident: all that callers and operators
// see is recorded in files, which the tests compare.
//
//	go test ./internal/e2e/gold            # compares
//	go test ./internal/e2e/gold -update    # records again
//
// A changed file is a change of the wire. Name it in the commit.
package gold

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/pgserver"
)

var update = flag.Bool("update", false, "record the golden files again")

func TestMain(m *testing.M) {
	defer func() { _ = os.RemoveAll(built.folder) }()
	pgserver.Main(m)
}

func path(file string) string { return filepath.Join("testdata", filepath.FromSlash(file)) }

// read returns a golden file, or "" if the file does not exist yet.
func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(path(file))
	if *update && os.IsNotExist(err) {
		return ""
	}
	require.NoError(t, err)
	return string(text)
}

// compare fails if got is not what the golden file has. With -update it writes the file,
// if this is the first who could.
func compare(t *testing.T, file, got string, first bool) {
	t.Helper()
	if *update && first {
		require.NoError(t, os.MkdirAll(filepath.Dir(path(file)), 0o755))
		require.NoError(t, os.WriteFile(path(file), []byte(got), 0o644))
		return
	}
	if want := read(t, file); want != got {
		t.Errorf("%s is not as recorded (- recorded, + now):\n%s\nIf that is meant: go test ./internal/e2e/gold -update, "+
			"and name the change in the commit.", file, differences(want, got, most, long))
	}
}

// most bounds how many differences are shown, and long how many lines of each. apart is
// how many equal lines tell one difference from the next.
const most, long, apart = 8, 20, 3

// differences shows the first lines that differ, each with the lines before it.
func differences(want, got string, most, long int) string {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	var out strings.Builder
	i, j := 0, 0
	for n := 0; n < most && (i < len(a) || j < len(b)); {
		if i < len(a) && j < len(b) && a[i] == b[j] {
			i, j = i+1, j+1
			continue
		}
		n++
		di, dj := meet(a[i:], b[j:])
		fmt.Fprintf(&out, "@@ line %d\n", i+1)
		lines(&out, "  ", a[max(0, i-apart):i], long)
		lines(&out, "- ", a[i:i+di], long)
		lines(&out, "+ ", b[j:j+dj], long)
		i, j = i+di, j+dj
	}
	return out.String()
}

// meet returns after how many lines of each both go on alike, for apart lines or to the
// end.
func meet(a, b []string) (di, dj int) {
	same := func(i, j int) bool {
		for k := range apart {
			if i+k >= len(a) || j+k >= len(b) {
				return len(a)-i == len(b)-j
			}
			if a[i+k] != b[j+k] {
				return false
			}
		}
		return true
	}
	for sum := 1; sum < len(a)+len(b); sum++ {
		for i := max(0, sum-len(b)); i <= min(sum, len(a)); i++ {
			if same(i, sum-i) {
				return i, sum - i
			}
		}
	}
	return len(a), len(b)
}

func lines(out *strings.Builder, prefix string, list []string, long int) {
	for n, line := range list {
		if n == long {
			fmt.Fprintf(out, "%s... and %d lines more\n", prefix, len(list)-n)
			return
		}
		out.WriteString(prefix + line + "\n")
	}
}
