//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestSecretFileIsAPipe: what is no regular file is refused, and nobody waits for it. The
// pipe is open and holds enough, so that whoever reads it says something else at once.
func TestSecretFileIsAPipe(t *testing.T) {
	path := writeDocument(t, `{"organizations":[{"id":"a","api_keys":[{"key":{"file":"pipe"}}]}]}`, nil)
	pipe := filepath.Join(filepath.Dir(path), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(pipe, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(strings.Repeat("x", 4096+1)); err != nil {
		t.Fatal(err)
	}
	_, err = readProvisioning(t.Context(), path, nil)
	if err == nil || !strings.Contains(err.Error(), "file pipe cannot be read: it is not a regular file") {
		t.Error(err)
	}
}
