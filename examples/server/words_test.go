package main

import (
	"bytes"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMessagesAreInWords: a mistake of the operator is reported on one line that names the flag,
// without the texts of Go's packages.
func TestMessagesAreInWords(t *testing.T) {
	dir := t.TempDir()
	none, script := filepath.Join(dir, "none"), filepath.Join(dir, "script.sh")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	for want, args := range map[string][]string{
		"-config: " + none + ": there is no such file or folder":                            {"-config", none},
		"-config: " + dir + ": it is a folder":                                              {"-config", dir},
		"-vault-key: " + none + ": there is no such file or folder":                         {"-memory", "-vault-key", none},
		"-data: " + filepath.Join(none, databaseFile) + ": there is no such file or folder": {"-data", none, "-backup", filepath.Join(dir, "b")},
		"-data: " + filepath.Join(script, "data") + ": a part of the path is not a folder":  {"-addr", "127.0.0.1:0", "-data", filepath.Join(script, "data")},
		"-trigger-exec: no-such-program: there is no such program on the PATH":              {"-trigger-exec", "no-such-program"},
		"-trigger-exec: " + none + ": there is no such file or folder":                      {"-trigger-exec", none},
		"-trigger-exec: " + script + ": this program has no permission for it":              {"-trigger-exec", script},
		"-addr: " + busy.Addr().String() + ": another program listens there":                {"-memory", "-addr", busy.Addr().String()},
		`-addr: "8080" has no port: it must be HOST:PORT, such as 127.0.0.1:8080`:           {"-addr", "8080"},
		`-addr: "http" is no port: it must be a number from 0 to 65535`:                     {"-addr", "localhost:http"},
		`invalid value "fast" for flag -tokenize-rate (-h lists the flags)`:                 {"-tokenize-rate", "fast"},
		`invalid boolean value "perhaps" for -docs (-h lists the flags)`:                    {"-docs=perhaps"},
		`-trusted-proxies: must be addresses or networks such as 10.0.0.0/8, with commas between them; "10.0.0.0/99" is neither`: {
			"-trusted-proxies", "10.0.0.1,10.0.0.0/99"},
	} {
		var told bytes.Buffer
		run(args, nil, io.Discard, &told)
		if got := strings.TrimSuffix(told.String(), "\n"); got != want {
			t.Errorf("%v: got\n%s\nwant\n%s", args, got, want)
		}
	}
}

// TestUsageFitsATerminal: of 100 columns.
func TestUsageFitsATerminal(t *testing.T) {
	for line := range strings.Lines(usage) {
		if len(line) > 101 {
			t.Errorf("%d columns: %s", len(line)-1, line)
		}
	}
}
