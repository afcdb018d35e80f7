package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/nightly"
)

// TestGeneratedClient: oapi-codegen makes a client of the server's document, and a program that
// is written against the client compiles, and calls every operation of the demo. The program
// and the generator are a module of their own, so that they move no version of the others'.
func TestGeneratedClient(t *testing.T) {
	nightly.Only(t)
	t.Parallel() // the go command works in other processes
	s := buildServer(t).start(t, nil, "-memory")
	key, token := s.demoKey(), s.demoToken()
	document := []byte(s.do("GET", "/openapi.json", "", "").body)

	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "client"))))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "openapi.json"), document, 0o600))
	run := func(name string, args ...string) {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOWORK=off", "CLIENT_ADDRESS="+s.url, "CLIENT_KEY="+key, "CLIENT_TOKEN="+token)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s %v: %s", name, args, out)
	}
	run("go", "tool", "oapi-codegen", "-generate", "types,client", "-package", "main", "-o", "client.gen.go", "openapi.json")
	run("go", "build", "-ldflags=-w", "-o", "client", ".")
	run(filepath.Join(dir, "client"))

	var described struct {
		Paths map[string]map[string]json.RawMessage
	}
	require.NoError(t, json.Unmarshal(document, &described))
	answered := s.do("GET", "/metrics", "", "").body
	for path, members := range described.Paths {
		for member, described := range members {
			var op struct{ OperationID string }
			if member == "servers" {
				continue
			}
			require.NoError(t, json.Unmarshal(described, &op))
			// A run that has ended cannot be cancelled.
			assert.Regexp(t, `mortise_http_request_duration_seconds_count\{code="(2..|409)",operation="`+op.OperationID+`"`, answered, path)
		}
	}
}
