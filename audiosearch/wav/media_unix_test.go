//go:build unix

package wav

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Opening a pipe that nobody writes to would wait for ever.
func TestNamedPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	_, err := Media{}.Probe(t.Context(), path)
	assert.ErrorContains(t, err, "a pipe")
	_, err = collect(t, t.Context(), path, 16000)
	assert.ErrorContains(t, err, "a pipe")
}

func TestPermission(t *testing.T) {
	if os.Geteuid() == 0 {
		runAsNobody(t) // root may read everything
		return
	}
	path := save(t, []byte("RIFF"))
	require.NoError(t, os.Chmod(path, 0))
	_, err := Media{}.Probe(t.Context(), path)
	require.ErrorIs(t, err, fs.ErrPermission)
	assert.ErrorContains(t, err, "may not be read")
	assert.NotContains(t, err.Error(), path)
	_, err = collect(t, t.Context(), path, 16000)
	require.ErrorIs(t, err, fs.ErrPermission)
	assert.NotContains(t, err.Error(), path)
}

// runAsNobody runs the test once more, in a process of a user who is not root.
func runAsNobody(t *testing.T) {
	t.Helper()
	const nobody = 65534
	folder, err := os.MkdirTemp("", "nobody-") // not t.TempDir, which others cannot reach
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(folder)) })
	binary, err := os.ReadFile(os.Args[0])
	require.NoError(t, err)
	program := filepath.Join(folder, "test")
	require.NoError(t, os.WriteFile(program, binary, 0o700))
	cmd := exec.Command(program, "-test.v", "-test.run=^"+t.Name()+"$")
	cmd.Dir, cmd.Env = folder, append(os.Environ(), "TMPDIR="+folder)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	var out []byte
	if err = errors.Join(os.Chown(program, nobody, nobody), os.Chown(folder, nobody, nobody)); err == nil {
		out, err = cmd.CombinedOutput()
	}
	if cmd.ProcessState == nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("cannot run a test as another user: %v", err)
		}
		t.Skipf("cannot run a test as another user: %v", err)
	}
	require.NoError(t, err, "%s", out)
	assert.Contains(t, string(out), "--- PASS: "+t.Name())
}
