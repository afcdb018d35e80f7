//go:build unix

package wav

import (
	"io/fs"
	"os"
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
	_, err := newMedia(t, nil).Probe(t.Context(), path)
	assert.ErrorContains(t, err, "a pipe")
	_, err = collect(t, t.Context(), newMedia(t, nil), path, 16000)
	assert.ErrorContains(t, err, "a pipe")
}

func TestPermission(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may read everything")
	}
	path := save(t, []byte("RIFF"))
	require.NoError(t, os.Chmod(path, 0))
	_, err := newMedia(t, nil).Probe(t.Context(), path)
	assert.ErrorIs(t, err, fs.ErrPermission)
	assert.NotContains(t, err.Error(), path)
}
