package gold

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/folder"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/storage/provision"
)

// TestProvision compares what is said of provisioning documents. The golden file holds
// its own script, like a recording: a line of two # begins with services that hold
// nothing, to which the documents behind it are applied, one after another; lines with >
// are a document, and lines with < say what became of it.
func TestProvision(t *testing.T) {
	const file = "provision.txt"
	dir := t.TempDir()
	for name, text := range map[string]string{
		"secret": "sk-file-0123456789abcdef0123456789abcdef\n", "short": "short", "empty": "",
		"lines": "sk-file-0123456789abcdef\n0123456789abcdef",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	require.NoError(t, os.Mkdir(filepath.Join(dir, "folder"), 0o700))
	files, err := folder.Open(dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, files.Close()) })
	env := []string{"SECRET=sk-env-0123456789abcdef0123456789abcdef", "SHORT=short", "EMPTY="}

	var out strings.Builder
	var document []string
	var w *world
	var s *services
	flush := func() {
		if document != nil {
			text := apply(t, w, s, filepath.Join(dir, "acme.json"), expand(strings.Join(document, "\n")), env)
			text = visible(strings.ReplaceAll(text, dir+string(filepath.Separator), ""))
			out.WriteString("< " + strings.ReplaceAll(text, "\n", "\n< ") + "\n")
		}
		document = nil
	}
	for line := range strings.Lines(read(t, file)) {
		line = strings.TrimSuffix(line, "\n")
		if !strings.HasPrefix(line, ">") {
			flush()
		}
		switch {
		case strings.HasPrefix(line, "<"):
			continue // it is made anew
		case strings.HasPrefix(line, "## "):
			db, err := memory.Open(t.Context(), nil)
			require.NoError(t, err)
			w = &world{files: files, log: quiet}
			s, err = w.services(backsOf(db))
			require.NoError(t, err)
		case strings.HasPrefix(line, "! delete-organization "):
			s.deleteOrganization(t, strings.Fields(line)[2])
		case strings.HasPrefix(line, "! delete-vault "):
			words := strings.Fields(line)
			_, err := s.vault.DeleteVault(t.Context(), words[2], "operator", words[3])
			require.NoError(t, err)
		case strings.HasPrefix(line, ">"):
			document = append(document, strings.TrimPrefix(line[1:], " "))
		}
		out.WriteString(line + "\n")
	}
	flush()
	compare(t, file, out.String(), true)
}

// apply returns what is said of a document, and logged.
func apply(t *testing.T, w *world, s *services, file, text string, env []string) string {
	t.Helper()
	var log bytes.Buffer
	to := s.provisioned()
	timeless := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}
	to.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{ReplaceAttr: timeless}))
	doc, err := provision.Parse(file, []byte(text), env)
	if err == nil {
		err = doc.Rehearse(t.Context(), w.empty)
	}
	if err == nil {
		err = doc.Apply(t.Context(), to, w.empty)
	}
	said := "applied"
	if err != nil {
		said = strings.ReplaceAll(err.Error(), "; ", ";\n  ")
	}
	return strings.TrimSuffix(said+"\n"+log.String(), "\n")
}
