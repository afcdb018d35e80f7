package wav_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/wav"
)

// TestWriteFile: a file is there with all that belongs into it, or not at all.
func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.wav")
	require.NoError(t, os.WriteFile(path, []byte("another one"), 0o600))
	samples := []float32{0, 0.5, -0.5}
	require.NoError(t, wav.WriteFile(path, 16000, samples))
	var want bytes.Buffer
	require.NoError(t, wav.Encode(&want, 16000, samples))
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, want.Bytes(), got)

	require.Error(t, wav.WriteFile(path, 0, samples), "no rate")
	again, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, got, again, "the file that is there stays")

	require.NoError(t, os.Mkdir(filepath.Join(dir, "folder"), 0o700))
	require.Error(t, wav.WriteFile(filepath.Join(dir, "folder"), 16000, samples))
	require.ErrorIs(t, wav.WriteFile(filepath.Join(dir, "nowhere", "a.wav"), 16000, samples), os.ErrNotExist)
	left, err := filepath.Glob(filepath.Join(dir, "*.part"))
	require.NoError(t, err)
	require.Empty(t, left)
}
