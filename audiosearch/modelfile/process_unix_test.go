//go:build unix

package modelfile

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func become(user int) error { return syscall.Setuid(user) }

// A folder in which nothing can be written serves what is in it, and nothing else.
func TestReadOnlyFolder(t *testing.T) {
	s := newSite(t, randomModel(4, 1<<20))
	base, err := os.MkdirTemp("", "modelfile") // t.TempDir's parents are closed to others
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	require.NoError(t, os.Chmod(base, 0o755))
	dir := filepath.Join(base, "models")
	kept := mustFetch(t, dir, s.URL+"/model.onnx", s.options(), s.data)
	require.NoError(t, filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			err = os.Chmod(path, 0o444)
		}
		return err
	}))
	cert := filepath.Join(base, "cert.pem")
	data, err := os.ReadFile(s.certificate(t))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(cert, data, 0o644))
	require.NoError(t, os.Chmod(dir, 0o555))
	t.Cleanup(func() { _ = os.Chmod(dir, 0o755) })
	env := []string{envCert + "=" + cert}
	if os.Getuid() == 0 { // to whom no folder is closed
		env = append(env, envUser+"="+strconv.Itoa(65534))
	}
	out, err := child(t, dir, s.URL+"/model.onnx", env...).Output()
	require.NoError(t, err)
	require.Equal(t, outcome{Path: kept.Path, Digest: result(t, out).Digest}, result(t, out))
	require.Equal(t, 1, s.requests())

	out, err = child(t, dir, s.URL+"/other.onnx", env...).Output()
	require.NoError(t, err)
	require.Contains(t, result(t, out).Error, "nothing can be written into the folder "+dir)
	require.Contains(t, result(t, out).Error, "let this program write there")
}

func TestNotRegular(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "model.onnx")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	_, err := Open(t.Context(), pipe)
	require.ErrorIs(t, err, errNotRegular)
	_, err = Open(t.Context(), t.TempDir())
	require.ErrorIs(t, err, errNotRegular)
}
