package modelfile

import (
	"context"
	"crypto/sha256"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOpen(t *testing.T) {
	data := randomModel(60, 9<<20)
	path := filepath.Join(t.TempDir(), "model.onnx")
	require.NoError(t, os.WriteFile(path, data, 0o600))
	file, err := Open(t.Context(), path)
	require.NoError(t, err)
	require.Equal(t, &File{Data: data, Digest: sha256.Sum256(data), Path: path}, file)

	require.NoError(t, os.WriteFile(path+".json", []byte("{}"), 0o600))
	file, err = Open(t.Context(), path)
	require.NoError(t, err)
	require.Equal(t, "{}", string(file.Sidecar))

	require.NoError(t, os.WriteFile(path+".json", make([]byte, maxSidecarBytes+1), 0o600))
	_, err = Open(t.Context(), path)
	require.ErrorContains(t, err, "the JSON file beside it (.json): it has 1048577 bytes")

	_, err = open(t.Context(), path, &Options{maxBytes: 9<<20 - 1})
	require.ErrorContains(t, err, "it has 9437184 bytes, and at most 9437183 are allowed")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Open(ctx, path)
	require.ErrorIs(t, err, context.Canceled)
	_, err = Open(t.Context(), path+".missing")
	require.ErrorIs(t, err, errNoFile)
}

func TestOpenNoModel(t *testing.T) {
	for content, want := range map[string]error{
		"":                 errEmpty,
		"\n<HTML lang=en>": errWebPage,
		"<!doctype html>":  errWebPage,
		"version https://git-lfs.github.com/spec/v1\n": errPointer,
		"<": nil,
	} {
		path := filepath.Join(t.TempDir(), "model.onnx")
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		_, err := Open(t.Context(), path)
		require.ErrorIs(t, err, want, content)
	}
}

// To open a file makes one copy of it.
func TestOneCopy(t *testing.T) {
	const size = 32 << 20
	path := filepath.Join(t.TempDir(), "model.onnx")
	require.NoError(t, os.WriteFile(path, randomModel(61, size), 0o600))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := Open(t.Context(), path)
	runtime.ReadMemStats(&after)
	require.NoError(t, err)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(size+size/8))
}

// What a disk says, and what people are told.
func TestDiskErrors(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	s := newSite(t, randomModel(62, 1000))
	_, err := Fetch(t.Context(), file, s.URL+"/model.onnx", s.options())
	require.ErrorContains(t, err, "the folder "+file+" cannot be used")
	require.Zero(t, s.requests())

	if _, err := os.Stat("/dev/full"); err != nil {
		return // not Linux
	}
	full := os.WriteFile("/dev/full", []byte("x"), 0o600)
	require.ErrorContains(t, diskError(dir, full), "the disk of the folder "+dir+" is full (no space left on device): make room")
}
