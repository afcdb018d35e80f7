package signal

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// needFFmpeg skips the test where ffmpeg is not installed, which in CI is a failure.
func needFFmpeg(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("ffmpeg"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("ffmpeg is not installed")
		}
		t.Skip("ffmpeg is not installed")
	}
}

// runFFmpeg returns what ffmpeg writes.
func runFFmpeg(t *testing.T, input []byte, args ...string) []byte {
	t.Helper()
	command := exec.CommandContext(t.Context(), "ffmpeg", append([]string{"-nostdin", "-v", "error", "-y"}, args...)...)
	var stdout, stderr bytes.Buffer
	command.Stdin, command.Stdout, command.Stderr = bytes.NewReader(input), &stdout, &stderr
	require.NoError(t, command.Run(), "ffmpeg: %s", &stderr)
	return stdout.Bytes()
}

// decode returns the sound of a file: mono, 16 kHz.
func decode(t *testing.T, file string) []float32 {
	t.Helper()
	bytes := runFFmpeg(t, nil, "-i", file, "-ac", "1", "-ar", "16000", "-f", "f32le", "-")
	x := make([]float32, len(bytes)/4)
	for i := range x {
		x[i] = math.Float32frombits(binary.LittleEndian.Uint32(bytes[4*i:]))
	}
	return x
}

// encode writes a sound to a file of a kind.
func encode(t *testing.T, x []float32, name string, args ...string) (file string) {
	t.Helper()
	raw := make([]byte, 0, 4*len(x))
	for _, v := range x {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
	}
	file = filepath.Join(t.TempDir(), name)
	args = append([]string{"-f", "f32le", "-ar", "16000", "-ac", "1", "-i", "-"}, args...)
	runFFmpeg(t, raw, append(args, file)...)
	return file
}
