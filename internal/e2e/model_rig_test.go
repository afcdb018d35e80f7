//go:build cgo

package e2e

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/onnx"
)

// withONNXRuntime is the environment of a server that finds the library of this test.
func withONNXRuntime(t *testing.T) []string {
	t.Helper()
	runtimeLibrary(t)
	l, err := onnx.Find("")
	require.NoError(t, err)
	return []string{onnx.Environment + "=" + l.Path}
}

// modelFile writes the transformer with small layers to a file. Another one has other weights.
func modelFile(t *testing.T, path string, another bool) {
	t.Helper()
	model := onnxData(t, "ast_tiny_random.onnx")
	if another {
		// In the middle are weights: their signs are turned, which no bit of the format is.
		for at := len(model) / 2; at < len(model)/2+4000; at += 4 {
			model[at+3] ^= 0x80
		}
	}
	require.NoError(t, os.WriteFile(path, model, 0o600))
}

// kept returns how many windows of unfinished scorings by the transformer the server of a
// folder has kept.
func kept(t *testing.T, dir string) (windows int) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, "mortise-data", "mortise.db"))
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	row := db.QueryRowContext(t.Context(), "SELECT coalesce(sum(windows), 0) FROM audiosearch_unfinished WHERE video IS NOT NULL AND name LIKE 'ast/%'")
	require.NoError(t, row.Scan(&windows))
	return windows
}
