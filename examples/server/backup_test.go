package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBackup: the copy that is made while a server uses the database is one that a server
// can be started on, with the same key. It is made once, and nothing else is.
func TestBackup(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	config := in("acme.json")
	if err := os.WriteFile(config, []byte(`{"organizations":[{"id":"acme","api_keys":[{"key":"`+docKey+`"}]}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	serve := func(data string, listening func()) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		stdout := writerFunc(func(text []byte) (int, error) {
			listening()
			cancel()
			return len(text), nil
		})
		args := []string{"-config", config, "-data", data, "-vault-key", in("root.key"), "-addr", "127.0.0.1:0"}
		if err := start(ctx, args, nil, stdout, io.Discard); err != nil {
			t.Fatal(err)
		}
	}
	backup := func(data, file string) (status int, stdout, stderr string) {
		var out, told bytes.Buffer
		status = run([]string{"-data", data, "-backup", file}, nil, &out, &told)
		return status, out.String(), told.String()
	}
	if err := os.WriteFile(in("root.key"), []byte(strings.Repeat("0123456789abcdef", 4)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(in("restored"), 0o700); err != nil {
		t.Fatal(err)
	}
	restored := filepath.Join(in("restored"), databaseFile)
	serve(in("data"), func() {
		if status, said, told := backup(in("data"), restored); status != exitOK || !strings.Contains(said, restored) || told != "" {
			t.Errorf("status %d: %q %q", status, said, told)
		}
	})
	// What is there belongs to the organization of the first document.
	if err := os.WriteFile(config, []byte(`{"organizations":[{"id":"thief","api_keys":[{"key":"`+docKey+`"}]}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	err := start(t.Context(), []string{"-config", config, "-data", in("restored"), "-vault-key", in("root.key"), "-addr", "127.0.0.1:0"}, nil, io.Discard, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "belongs to another organization") {
		t.Error(err)
	}

	for name, test := range map[string][2]string{
		"a file that is there":     {in("data"), restored},
		"a folder that is missing": {in("data"), filepath.Join(in("none"), "copy.db")},
		"no data":                  {in("none"), in("copy.db")},
	} {
		status, said, told := backup(test[0], test[1])
		if status != exitUsage || said != "" || strings.Count(told, "\n") != 1 {
			t.Errorf("%s: status %d: %q %q", name, status, said, told)
		}
	}
	for _, name := range []string{"none", "copy.db"} {
		if _, err := os.Stat(in(name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s was made: %v", name, err)
		}
	}
	for _, args := range [][]string{{"-backup", ""}, {"-backup", "x", "-memory"}, {"-backup", "x", "-postgres", "postgres://h/d"}} {
		var told bytes.Buffer
		if status := run(args, nil, io.Discard, &told); status != exitUsage || !strings.HasPrefix(told.String(), "-backup: ") {
			t.Errorf("%v: status %d: %s", args, status, &told)
		}
	}
}
