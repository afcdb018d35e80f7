package durable_test

import (
	"io/fs"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/durable"
)

func TestNames(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, durable.Names(folder))
	if runtime.GOOS != "windows" {
		require.ErrorIs(t, durable.Names(filepath.Join(folder, "nowhere")), fs.ErrNotExist)
	}
}
