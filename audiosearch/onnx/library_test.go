package onnx

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// touch makes an empty file, and the folders above it.
func touch(t *testing.T, parts ...string) string {
	t.Helper()
	path := filepath.Join(parts...)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	return path
}

// The places, in their order, with odd names of folders.
func TestCandidates(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs a system whose file names may have stars")
	}
	dir := t.TempDir()
	p := places{
		program: filepath.Join(dir, "bin [1]"), work: filepath.Join(dir, "home*", "a", "b"),
		system: []string{"", "relative", filepath.Join(dir, "usr")}, goos: "linux", goarch: "amd64",
	}
	require.Empty(t, p.candidates())
	modules := func(at string, rest ...string) string {
		return touch(t, append([]string{at, "node_modules", "onnxruntime-node", "bin"}, rest...)...)
	}
	want := []string{
		touch(t, p.program, "libonnxruntime.so"),
		touch(t, p.program, "lib", "libonnxruntime.so.1"),
		touch(t, dir, "usr", "libonnxruntime.so.1"),
		touch(t, dir, "usr", "libonnxruntime.so.1.30.1"),
		touch(t, dir, "usr", "libonnxruntime.so.1.26.0"),
		touch(t, dir, "usr", "libonnxruntime.so.1.9.0"),
		modules(p.work, "napi-v10", "linux", "x64", "libonnxruntime.so.1"),
		modules(p.work, "napi-v6", "linux", "x64", "libonnxruntime.so.1"),
		modules(filepath.Join(dir, "home*"), "napi-v6", "linux", "x64", "libonnxruntime.so.1"),
		modules(dir, "napi-v6", "linux", "x64", "libonnxruntime.so.1"),
		modules(p.program, "napi-v6", "linux", "x64", "libonnxruntime.so.1"),
	}
	touch(t, dir, "usr", "libonnxruntime_providers_shared.so")
	modules(p.work, "napi-v6", "linux", "arm64", "libonnxruntime.so.1")
	modules(p.work, "napi-v6", "darwin", "x64", "libonnxruntime.1.dylib")
	touch(t, dir, "homes", "node_modules", "onnxruntime-node", "bin", "napi-v6", "linux", "x64", "libonnxruntime.so.1")
	found := p.candidates()
	require.Equal(t, append(want, want[len(want)-2]), found, "the last one is above the program, too")

	p.goos, p.goarch = "darwin", "amd64"
	require.Equal(t, []string{filepath.Join(p.work, "node_modules/onnxruntime-node/bin/napi-v6/darwin/x64/libonnxruntime.1.dylib")}, p.candidates())
	p = places{work: dir, goos: "windows", goarch: "arm64"}
	dll := modules(dir, "napi-v6", "win32", "arm64", "onnxruntime.dll")
	require.Equal(t, []string{dll}, p.candidates())
}

func TestSystemFolders(t *testing.T) {
	env := func(name string) string {
		return map[string]string{"LD_LIBRARY_PATH": "/a:/b", "DYLD_LIBRARY_PATH": "/c"}[name]
	}
	linux := systemFolders("linux", "arm64", env)
	require.Equal(t, []string{"/a", "/b"}, linux[:2])
	require.Contains(t, linux, "/usr/lib/aarch64-linux-gnu")
	require.Equal(t, "/c", systemFolders("darwin", "arm64", env)[0])
}

func TestTooOld(t *testing.T) {
	for version, old := range map[string]bool{
		"1.23.2": true, "1.9.0": true, "0.99": true, "1.24.0": false, "1.30.0": false, "2.0.0": false, "": false, "strange": false, "1.x": false,
	} {
		require.Equal(t, old, tooOld(version), version)
	}
}
