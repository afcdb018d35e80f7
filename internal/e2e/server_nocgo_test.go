//go:build !cgo

package e2e

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestServerWithoutCompiler: what the server says and does on a machine without a C
// compiler. There all these tests use such a server; elsewhere this one runs with
// CGO_ENABLED=0.
func TestServerWithoutCompiler(t *testing.T) {
	t.Parallel()
	p := buildServer(t)
	model := filepath.Join(t.TempDir(), "model.onnx")
	require.NoError(t, os.WriteFile(model, []byte("not looked at"), 0o600))
	said := p.refusal(t, 2, nil, "-model", model)
	assert.Contains(t, said, "C compiler")
	assert.Contains(t, said, "CGO_ENABLED=1")

	m := newMedia(t)
	m.wav("tone.wav", dialTone(5))
	s := p.start(t, nil, "-config", m.document(clip{"tone", "tone.wav", nil})).guardMedia(m)
	require.NotEmpty(t, s.find(viewerToken, "Dial tone", nil))
	s.stop()
	require.NotEmpty(t, p.start(t, nil).stdout.String(), "the demo")
}
