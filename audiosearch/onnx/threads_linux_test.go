//go:build cgo

package onnx

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestThreadsStayWhereTheProcessMayRun: a process that may use one processor has no thread on
// another one. The test runs itself in such a process.
func TestThreadsStayWhereTheProcessMayRun(t *testing.T) {
	needLibrary(t)
	const inside = "MORTISE_TEST_ONE_PROCESSOR"
	if os.Getenv(inside) == "" {
		if _, err := exec.LookPath("taskset"); err != nil {
			missing(t, "taskset is missing")
		}
		cmd := exec.Command("taskset", "-c", "0", os.Args[0], "-test.v", "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), inside+"=1")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		assert.Contains(t, string(out), "--- PASS: "+t.Name())
		return
	}
	for _, opts := range []*Options{nil, {Parallel: 1}, {Threads: 2}} {
		s, err := Open("testdata/ast_tiny_random.onnx", opts)
		require.NoError(t, err)
		threads, err := filepath.Glob("/proc/self/task/*/status")
		require.NoError(t, err)
		require.NotEmpty(t, threads)
		for _, thread := range threads {
			status, err := os.ReadFile(thread)
			if err != nil {
				continue // it has ended
			}
			_, allowed, _ := strings.Cut(string(status), "Cpus_allowed_list:\t")
			allowed, _, _ = strings.Cut(allowed, "\n")
			assert.Equal(t, "0", allowed, "%+v", opts)
		}
		require.NoError(t, s.Close())
	}
}
