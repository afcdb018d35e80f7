//go:build cgo

package onnx

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	ort "github.com/yalue/onnxruntime_go"
)

// step is what a process of its own does: it makes a scorer with a library.
type step struct {
	Library string // as in Options
	Env     string // MORTISE_ONNXRUNTIME
	Host    string // a library that another package of the program loads before
}

// childSteps is the environment variable with the steps of such a process.
const childSteps = "MORTISE_TEST_STEPS"

// outcome is how a step ended.
type outcome struct{ Error, Path, Version string }

// TestMain makes this program the process of a test, if it is told to.
func TestMain(m *testing.M) {
	if dir := os.Getenv(childModels); dir != "" {
		skip, _ := strconv.Atoi(os.Getenv(childSkip))
		if err := openAll(dir, skip); err != nil {
			panic(err)
		}
		return
	}
	text := os.Getenv(childSteps)
	if text == "" {
		os.Exit(m.Run())
	}
	var steps []step
	if err := json.Unmarshal([]byte(text), &steps); err != nil {
		panic(err)
	}
	for _, s := range steps {
		var o outcome
		if s.Host != "" {
			ort.SetSharedLibraryPath(s.Host)
			if err := ort.InitializeEnvironment(); err != nil {
				panic(err)
			}
		}
		os.Setenv(Environment, s.Env)
		scorer, err := New(waveform(4).model(), &Options{Library: s.Library, Description: []byte(described)})
		if err == nil {
			_, err = scorer.Score(context.Background(), [][]float32{tone(100)})
			if err == nil {
				err = scorer.Close()
			}
			l, _ := Find("")
			o.Path, o.Version = l.Path, l.Version
		}
		if err != nil {
			o.Error = err.Error()
		}
		if err := json.NewEncoder(os.Stdout).Encode(o); err != nil {
			panic(err)
		}
	}
}

// inProcess runs steps in a process of their own, in a folder, and requires that it writes
// nothing to the standard error.
func inProcess(t *testing.T, dir string, steps ...step) []outcome {
	t.Helper()
	text, err := json.Marshal(steps)
	require.NoError(t, err)
	program, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(program)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), childSteps+"="+string(text))
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	require.NoError(t, cmd.Run(), "%s", stderr.String())
	require.Empty(t, stderr.String())
	var outcomes []outcome
	for d := json.NewDecoder(&stdout); d.More(); {
		var o outcome
		require.NoError(t, d.Decode(&o))
		if o.Error != "" {
			require.NotContains(t, o.Error, "\n")
			require.True(t, strings.HasPrefix(o.Error, "onnx: "), o.Error)
		}
		outcomes = append(outcomes, o)
	}
	require.Len(t, outcomes, len(steps))
	return outcomes
}

// Which library is loaded, once, whatever the program does.
func TestLoad(t *testing.T) {
	library := needLibrary(t)
	real, err := filepath.Abs(library.Path)
	require.NoError(t, err)
	dir := t.TempDir()
	whole, err := os.ReadFile(real)
	require.NoError(t, err)
	copied := filepath.Join(dir, "copied.so")
	require.NoError(t, os.WriteFile(copied, whole, 0o600))
	half := filepath.Join(dir, "half.so")
	require.NoError(t, os.WriteFile(half, whole[:len(whole)/2], 0o600))
	link := filepath.Join(dir, "link.so")
	require.NoError(t, os.Symlink(real, link))
	text := filepath.Join(dir, "text.so")
	require.NoError(t, os.WriteFile(text, []byte("nothing"), 0o600))

	t.Run("again after an error", func(t *testing.T) {
		got := inProcess(t, dir, step{Library: text}, step{Library: half}, step{Library: dir}, step{Library: "libc.so.6"}, step{Env: text, Library: "copied.so"})
		for i, o := range got[:4] {
			require.NotEmpty(t, o.Error, "%d", i)
			require.Contains(t, o.Error, "npm pack onnxruntime-node@1.30.0")
		}
		require.Equal(t, outcome{Path: copied, Version: library.Version}, got[4])
	})
	t.Run("environment", func(t *testing.T) {
		got := inProcess(t, dir, step{Env: text}, step{Env: real}, step{Env: text}, step{})
		require.Contains(t, got[0].Error, text+" cannot be used", "and no other one is taken instead")
		for _, o := range got[1:] {
			require.Equal(t, outcome{Path: real, Version: library.Version}, o, "it is loaded")
		}
	})
	t.Run("two of them", func(t *testing.T) {
		got := inProcess(t, dir, step{Library: real}, step{Library: link}, step{Library: copied}, step{Library: text}, step{Library: real})
		for _, i := range []int{0, 1, 4} {
			require.Equal(t, outcome{Path: real, Version: library.Version}, got[i])
		}
		require.Contains(t, got[2].Error, "this process has loaded "+real+", and cannot load "+copied)
		require.Contains(t, got[3].Error, "cannot load "+text)
	})
	t.Run("found", func(t *testing.T) {
		if runtime.GOOS+"/"+runtime.GOARCH != "linux/amd64" {
			t.Skip("needs linux/amd64")
		}
		at := filepath.Join(dir, "node_modules", "onnxruntime-node", "bin", "napi-v6", "linux", "x64", "libonnxruntime.so.1")
		require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o700))
		require.NoError(t, os.Symlink(real, at))
		below := filepath.Join(dir, "project", "cmd")
		require.NoError(t, os.MkdirAll(below, 0o700))
		require.Equal(t, []outcome{{Path: at, Version: library.Version}}, inProcess(t, below, step{}))
	})
	t.Run("the program has one", func(t *testing.T) {
		got := inProcess(t, dir, step{Host: copied}, step{Library: real}, step{Env: text})
		require.Equal(t, outcome{Version: library.Version}, got[0])
		require.Contains(t, got[1].Error, "another package of this program has loaded ONNX Runtime")
		require.Equal(t, got[0], got[2])
	})
}

// Files that are no library for this system, and would end the process if they were loaded.
func TestCheckLibrary(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs Linux's format of libraries")
	}
	library := needLibrary(t)
	require.NoError(t, checkLibrary(library.Path))
	whole, err := os.ReadFile(library.Path)
	require.NoError(t, err)
	dir := t.TempDir()
	file := func(name string, content []byte) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, content, 0o600))
		return path
	}
	other := bytes.Clone(whole)
	other[18]++                    // e_machine
	stripped := bytes.Clone(whole) // of its sections: e_shoff, e_shnum and e_shstrndx
	clear(stripped[0x28:0x30])
	clear(stripped[0x3c:0x40])
	require.NoError(t, checkLibrary(file("stripped", stripped)))
	old := bytes.ReplaceAll(whole, []byte("VERS_"+library.Version), []byte("VERS_1.9.99")[:len("VERS_"+library.Version)])
	if libc := "/lib/x86_64-linux-gnu/libc.so.6"; fileExists(libc) {
		require.ErrorContains(t, checkLibrary(libc), "is a library, but not ONNX Runtime")
	}
	for want, path := range map[string]string{
		"is a folder":                 dir,
		"no such file":                filepath.Join(dir, "nothing"),
		"is no file":                  os.DevNull,
		"is ONNX Runtime 1.9.99":      file("old", old),
		"a part of a library: fetch":  file("stripped half", stripped[:len(stripped)/2]),
		"no library of this system":   file("text", []byte("not found")),
		"no library of this system: ": file("empty", nil),
		"no library of this":          file("machine", other),
		"only a part of a library":    file("half", whole[:len(whole)/2]),
		"only a part of a":            file("head", whole[:100]),
		"only a part":                 file("almost", whole[:len(whole)-1]),
	} {
		require.ErrorContains(t, checkLibrary(path), want)
	}
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
