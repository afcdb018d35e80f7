package testmain_test

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/testmain"
)

// TestMemory: each caller has a folder, and what a process left behind goes.
func TestMemory(t *testing.T) {
	if os.Getenv("MORTISE_LEAVE") != "" {
		dir, _, err := testmain.Memory()
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), []byte("x"), 0o600))
		_, _ = os.Stdout.WriteString("left " + dir + "\n")
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestMemory$", "-test.v")
	cmd.Env = append(os.Environ(), "MORTISE_LEAVE=1")
	out, err := cmd.Output()
	require.NoError(t, err)
	_, left, _ := strings.Cut(string(out), "left ")
	left, _, _ = strings.Cut(left, "\n")
	require.FileExists(t, filepath.Join(left, "file"))

	one, removeOne, err := testmain.Memory()
	require.NoError(t, err)
	defer removeOne()
	if runtime.GOOS == "linux" {
		require.NoDirExists(t, left)
	}
	two, removeTwo, err := testmain.Memory()
	require.NoError(t, err)
	require.NotEqual(t, one, two)
	require.DirExists(t, one, "its process is there")
	removeTwo()
	require.NoDirExists(t, two)
}

// TestTempInMemory: what tests write goes into memory until they are done, and what
// benchmarks write to the usual temporary folder, which is a disk's.
func TestTempInMemory(t *testing.T) {
	bench := flag.Lookup("test.bench")
	defer func(was string) { _ = bench.Value.Set(was) }(bench.Value.String())
	require.NoError(t, bench.Value.Set(""))
	usual := os.TempDir()
	done := testmain.TempInMemory()
	within := t.TempDir()
	inside := os.TempDir()
	require.True(t, strings.HasPrefix(within, inside), within)
	done()
	require.NoDirExists(t, inside)
	require.NotEqual(t, inside, os.TempDir())

	require.NoError(t, bench.Value.Set("."))
	done = testmain.TempInMemory()
	during := os.TempDir()
	done()
	require.Equal(t, usual, during)
	require.Equal(t, usual, os.TempDir())
}
