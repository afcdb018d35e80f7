package main

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// writeDocument writes a document, and files beside it by name.
func writeDocument(t *testing.T, text string, files map[string]string) (path string) {
	t.Helper()
	dir := t.TempDir()
	write := func(name, content string) {
		file := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for name, content := range files {
		write(name, content)
	}
	write("acme.json", text)
	return filepath.Join(dir, "acme.json")
}

// TestSecretsFromElsewhere: a secret can be in a variable or in a file. What is wrong with
// it is said with the place and the name, and never with the value.
func TestSecretsFromElsewhere(t *testing.T) {
	const weak = "hush-hush"
	env := []string{"ACME_KEY=" + docKey, "WEAK=" + weak, "EMPTY=", "SPACED=" + docKey + " x"}
	files := map[string]string{"key.txt": docToken + "\r\n", "sub/long": docSecret + strings.Repeat("x", 4096)}
	key := func(from string) string { return `{"organizations":[{"id":"a","api_keys":[{"key":` + from + `}]}]}` }
	const at = "line 1, column 48: organizations[0].api_keys[0].key: "
	for from, want := range map[string]string{
		`{"env":"ACME_KEY"}`:        "",
		`{"file":"key.txt"}`:        "",
		`{"file":"sub/../key.txt"}`: "",
		`{"env":"WEAK"}`:            at + "environment variable WEAK must be 32 to 1024 bytes long",
		`{"env":"EMPTY"}`:           at + "environment variable EMPTY must not be empty",
		`{"env":"NONE"}`:            at + "environment variable NONE is not set",
		`{"env":"SPACED"}`:          at + "environment variable SPACED must be visible ASCII",
		`{"env":"` + docKey + `"}`:  at + "env must be the name of an environment variable",
		`{"env":"` + strings.ReplaceAll(docKey, "-", "_") + `"}`: at + "environment variable is not set",
		`{"file":"none.txt"}`:                 at + "file none.txt cannot be read: ",
		`{"file":"` + docKey + `"}`:           at + "file cannot be read: ",
		`{"file":"sub"}`:                      at + "file sub cannot be read: it is not a regular file",
		`{"file":"sub/long"}`:                 at + "file sub/long cannot be read: the file is too large: it may have 4096 bytes",
		`{"file":"../acme.json"}`:             "key.file: must be relative and stay in the document's folder",
		`{"file":"/etc/passwd"}`:              "key.file: must be relative",
		`{}`:                                  at + "must have either env or file",
		`{"env":"ACME_KEY","file":"key.txt"}`: at + "must have either env or file",
		`{"env":1}`:                           "key.env: must be a string",
		`{"variable":"ACME_KEY"}`:             `key: unknown key "variable"`,
		`7`:                                   at + "must be a string, or an object with env or file",
		`"` + docKey + `"},{"key":{"env":"ACME_KEY"}`: "api_keys[1].key: environment variable ACME_KEY is the same secret as at line 1, column 48",
	} {
		_, err := readProvisioning(t.Context(), writeDocument(t, key(from), files), env)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want %s", from, err, want)
		}
		if err != nil && (strings.Contains(err.Error(), weak) || strings.Contains(err.Error(), docKey) || strings.Contains(err.Error(), docSecret)) {
			t.Errorf("%s: the error repeats a secret: %v", from, err)
		}
	}

	text := `{"organizations":[{"id":"a","api_keys":[{"key":{"env":"ACME_KEY"}}],"access_tokens":[{"token":{"file":"key.txt"},"subject":"s"}],` +
		`"clients":[{"client_id":"c","name":"n","client_secret":{"env":"SECRET"}}]}]}`
	path := writeDocument(t, text, files)
	if runtime.GOOS != "windows" {
		if err := os.Chmod(filepath.Join(filepath.Dir(path), "key.txt"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	doc, err := readProvisioning(t.Context(), path, append(env, "SECRET="+docSecret))
	if err != nil {
		t.Fatal(err)
	}
	if len(doc.Exposed()) != 1 && runtime.GOOS != "windows" {
		t.Errorf("others can read %v", doc.Exposed())
	}
	s, err := wire(testSettings(), storages["memory"](t), testKey(), discard())
	if err != nil {
		t.Fatal(err)
	}
	if err := applyDocument(t.Context(), s, doc, discard()); err != nil {
		t.Fatal(err)
	}
	_, keyErr := s.trigger.service.VerifyKey(t.Context(), docKey)
	_, tokenErr := s.authmgmt.service.VerifyToken(t.Context(), docToken)
	_, _, loginErr := s.authmgmt.service.Login(t.Context(), "c", docSecret)
	if err := errors.Join(keyErr, tokenErr, loginErr); err != nil {
		t.Error(err)
	}
}

// TestSecretFileBehindALink: no link leads out of the document's folder.
func TestSecretFileBehindALink(t *testing.T) {
	path := writeDocument(t, `{"organizations":[{"id":"a","api_keys":[{"key":{"file":"link"}}]}]}`, nil)
	outside := filepath.Join(t.TempDir(), "key")
	if err := errors.Join(os.WriteFile(outside, []byte(docKey), 0o600), os.Symlink(outside, filepath.Join(filepath.Dir(path), "link"))); err != nil {
		t.Fatal(err)
	}
	_, err := readProvisioning(t.Context(), path, nil)
	if err == nil || !strings.Contains(err.Error(), "file link cannot be read: ") {
		t.Error(err)
	}
}

// TestCheckConfig: it reads and rehearses the document, and neither needs nor makes a data
// folder.
func TestCheckConfig(t *testing.T) {
	good, err := os.ReadFile("testdata/acme.json")
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		text   string
		status int
		stderr string
	}{
		"good":    {string(good), exitOK, ""},
		"refused": {`{"organizations":[{"id":"a","vaults":[{"id":".."}]}]}`, exitUsage, "line 1, column 45: organizations[0].vaults[0].id: must not be . or .."},
		"no JSON": {`{`, exitUsage, "line 1, column 2: not valid JSON"},
	} {
		path := writeDocument(t, test.text, nil)
		data := filepath.Join(filepath.Dir(path), "data")
		var stdout, stderr bytes.Buffer
		status := run([]string{"-check-config", "-config", path, "-data", data, "-vault-key", "none", "-addr", "127.0.0.1:0"}, nil, &stdout, &stderr)
		if status != test.status || !strings.Contains(stderr.String(), test.stderr) || (stderr.Len() > 0) != (test.stderr != "") || strings.Count(stderr.String(), "\n") > 1 {
			t.Errorf("%s: status %d: %s", name, status, &stderr)
		}
		if want := "nothing is wrong with " + path + "\n"; (stdout.String() == want) != (status == exitOK) {
			t.Errorf("%s: printed %q", name, &stdout)
		}
		if _, err := os.Stat(data); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: there is a data folder: %v", name, err)
		}
	}
	var stderr bytes.Buffer
	if status := run([]string{"-check-config"}, nil, io.Discard, &stderr); status != exitUsage || stderr.String() != "-check-config: needs -config, which names the document\n" {
		t.Errorf("without a document: status %d: %s", status, &stderr)
	}
}

// TestVersion: it is one line, and nothing else is begun.
func TestVersion(t *testing.T) {
	var stdout, stderr bytes.Buffer
	status := run([]string{"-version", "-config", "none.json"}, nil, &stdout, &stderr)
	if said := stdout.String(); status != exitOK || stderr.Len() > 0 || !strings.HasPrefix(said, "mortise ") || strings.Count(said, "\n") != 1 {
		t.Errorf("status %d: %q %q", status, said, &stderr)
	}
}
