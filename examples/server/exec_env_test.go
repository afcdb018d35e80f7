//go:build unix

package main

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
)

// TestCommandWithoutSecrets: the command of -trigger-exec has the server's environment, but
// for the variables that secrets are from.
func TestCommandWithoutSecrets(t *testing.T) {
	path := writeDocument(t, `{"organizations":[{"id":"a","setup_complete":true,"doc_collections":[{"id":"`+uuid.NewString()+`","ready":true}],`+
		`"api_keys":[{"key":{"env":"ACME_KEY"}}]}]}`, nil)
	out := filepath.Join(t.TempDir(), "env")
	ctx, stop := context.WithCancel(t.Context())
	stdout, output := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- start(ctx, []string{"-config", path, "-memory", "-addr", "127.0.0.1:0", "-trigger-exec", `/bin/sh -c 'env >"$0.part" && mv "$0.part" "$0"' ` + out},
			[]string{"ACME_KEY=" + docKey, "ACME_OTHER=1", "MORTISE_X=1", "PATH=" + os.Getenv("PATH")}, output, io.Discard)
		output.Close()
	}()
	said := make([]byte, 100)
	n, _ := stdout.Read(said)
	url, ok := strings.CutPrefix(strings.TrimSpace(string(said[:n])), "listening on ")
	if !ok {
		t.Fatalf("%q, %v", said[:n], <-done)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/triggers", strings.NewReader(`{"instructions":"x"}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+docKey)
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil || resp.StatusCode != http.StatusAccepted {
		t.Fatal(resp, err)
	}
	resp.Body.Close()
	var text []byte
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if text, err = os.ReadFile(out); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if env := string(text); !strings.Contains(env, "ACME_OTHER=1\n") || strings.Contains(env, "ACME_KEY") || strings.Contains(env, "MORTISE_") {
		t.Errorf("the command has the environment\n%s", env)
	}
}
