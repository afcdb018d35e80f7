package folder_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/folder"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// TestFolder: what is in it can be had, and nothing else.
func TestFolder(t *testing.T) {
	outside := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(outside, "secret"), []byte("secret"), 0o600))
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "a", "b"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a", "b", "c..wav"), []byte("sound"), 0o600))
	require.NoError(t, os.Symlink(filepath.Join("a", "b", "c..wav"), filepath.Join(dir, "inside")))
	require.NoError(t, os.Symlink(filepath.Join(outside, "secret"), filepath.Join(dir, "absolute")))
	require.NoError(t, os.Symlink(filepath.Join("..", filepath.Base(outside), "secret"), filepath.Join(dir, "relative")))
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "folder")))
	opened := mustFolder(t, dir)

	for _, path := range []string{"a/b/c..wav", "inside", "a/../a/b/c..wav", "./inside"} {
		file, release, err := opened.Local(t.Context(), "acme", path)
		require.NoError(t, err, path)
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Equal(t, "sound", string(content))
		release()
	}
	for path, want := range map[string]string{
		"absolute": "leads out", "relative": "leads out", "folder/secret": "leads out", "../x": "leads out", "a/../../x": "leads out", "/etc/passwd": "leads out",
		"": "leads out", "none": "no such file", "a/none": "no such file", "inside/x": "", "a": "plain file", ".": "plain file", "folder": "leads out",
		strings.Repeat("x", 300): "",
	} {
		_, release, err := opened.Local(t.Context(), "acme", path)
		require.ErrorIs(t, err, sound.ErrBadMedia, path)
		assert.ErrorContains(t, err, want, path)
		assert.NotContains(t, err.Error(), dir)
		release()
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err := opened.Local(ended, "acme", "inside")
	require.ErrorIs(t, err, context.Canceled)
	_, err = folder.Open(filepath.Join(dir, "none"))
	require.Error(t, err)
}

// TestFolderHoldsTheFile: what was opened is read to its end, though the path leads
// elsewhere meanwhile.
func TestFolderHoldsTheFile(t *testing.T) {
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		t.Skip("needs /proc, as Linux has it")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	require.NoError(t, os.WriteFile(path, []byte("first"), 0o600))
	file, release, err := mustFolder(t, dir).Local(t.Context(), "acme", "a")
	require.NoError(t, err)
	defer release()
	require.NoError(t, os.Remove(path))
	require.NoError(t, os.Symlink("/etc/passwd", path))
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, "first", string(content))
}

func mustFolder(t *testing.T, dir string) *folder.Folder {
	t.Helper()
	f, err := folder.Open(dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	return f
}
