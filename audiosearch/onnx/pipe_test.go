//go:build cgo && unix

package onnx

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A named pipe, which nobody writes to, is refused at once.
func TestPipes(t *testing.T) {
	needLibrary(t)
	pipe := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	_, err := Open(pipe, nil)
	require.ErrorContains(t, err, "is no file")
	require.ErrorContains(t, checkLibrary(pipe), "is no file")
}
