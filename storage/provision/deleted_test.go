package provision

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

// TestDeletedIsNotedOnce: a line for each organization and each vault, at each start.
func TestDeletedIsNotedOnce(t *testing.T) {
	var out bytes.Buffer
	doc := &Document{}
	for start := 1; start <= 2; start++ {
		out.Reset()
		doc.log, doc.deleted = slog.New(slog.NewTextHandler(&out, nil)), make(map[[2]string]bool)
		for range 3 {
			doc.noteDeleted("acme", "")
			doc.noteDeleted("acme", "v1")
			doc.noteDeleted("globex", "v1")
		}
		if lines := strings.Count(out.String(), "\n"); lines != 3 {
			t.Errorf("start %d: %d lines, want 3:\n%s", start, lines, out.String())
		}
		for _, want := range []string{"organization=acme\n", "organization=acme vault=v1\n", "organization=globex vault=v1\n"} {
			if strings.Count(out.String(), want) != 1 {
				t.Errorf("start %d: no line that ends in %q:\n%s", start, want, out.String())
			}
		}
	}
}
