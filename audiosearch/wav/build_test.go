package wav

import (
	"context"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// build makes a WAV file chunk by chunk. Lengths are what the test wants them to be.
type build struct{ b []byte }

func riff(magic string, size uint32) *build {
	b := binary.LittleEndian.AppendUint32([]byte(magic), size)
	return &build{append(b, "WAVE"...)}
}

func (w *build) chunk(id string, length uint32, content []byte) *build {
	w.b = append(w.b, id...)
	w.b = binary.LittleEndian.AppendUint32(w.b, length)
	w.b = append(w.b, content...)
	return w
}

// padded adds a chunk as it should be.
func (w *build) padded(id string, content []byte) *build {
	w.chunk(id, uint32(len(content)), content)
	if len(content)%2 == 1 {
		w.b = append(w.b, 0)
	}
	return w
}

// finish fills in the size of the file.
func (w *build) finish() []byte {
	binary.LittleEndian.PutUint32(w.b[4:], uint32(len(w.b)-8))
	return w.b
}

// format is the content of a plain fmt chunk.
func format(code, channels, rate, bytes, bits int) []byte {
	le := binary.LittleEndian
	b := le.AppendUint16(nil, uint16(code))
	b = le.AppendUint16(b, uint16(channels))
	b = le.AppendUint32(b, uint32(rate))
	b = le.AppendUint32(b, uint32(rate*channels*bytes))
	b = le.AppendUint16(b, uint16(channels*bytes))
	return le.AppendUint16(b, uint16(bits))
}

// extensible is the content of a fmt chunk with a subformat.
func extensible(code, channels, rate, bytes, valid int, tail string) []byte {
	le := binary.LittleEndian
	b := le.AppendUint16(format(formatExtensible, channels, rate, bytes, 8*bytes), 22)
	b = le.AppendUint16(b, uint16(valid))
	b = le.AppendUint32(b, 0) // speakers
	b = le.AppendUint16(b, uint16(code))
	return append(b, tail...)
}

// simple is a whole file.
func simple(fmt, data []byte) []byte {
	return riff("RIFF", 0).padded("fmt ", fmt).padded("data", data).finish()
}

// encoded writes values in [-1,1) as samples.
func encoded(e encoding, values ...float64) (b []byte) {
	le := binary.LittleEndian
	for _, v := range values {
		switch {
		case e.float && e.bytes == 4:
			b = le.AppendUint32(b, math.Float32bits(float32(v)))
		case e.float:
			b = le.AppendUint64(b, math.Float64bits(v))
		case e.bytes == 1:
			b = append(b, byte(128+v*128))
		case e.bytes == 2:
			b = le.AppendUint16(b, uint16(int16(v*(1<<15))))
		case e.bytes == 3:
			b = le.AppendUint32(b, uint32(int32(v*(1<<23))))[:len(b)+3]
		case e.bytes == 4:
			b = le.AppendUint32(b, uint32(int32(v*(1<<31))))
		}
	}
	return b
}

// save writes a file for one test.
func save(t testing.TB, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sound.mp4") // what is in it decides, not the name
	require.NoError(t, os.WriteFile(path, content, 0o600))
	return path
}

// collect reads a whole file, and checks what every caller relies on.
func collect(t testing.TB, ctx context.Context, path string, rate int) (all []float32, err error) {
	t.Helper()
	for block, e := range (Media{}).PCM(ctx, path, rate) {
		require.NoError(t, err, "an error must be the last element")
		if err = e; e != nil {
			require.Nil(t, block)
			continue
		}
		require.NotEmpty(t, block)
		for _, v := range block {
			require.True(t, v >= -1 && v <= 1, "sample %v", v)
		}
		all = append(all, block...)
	}
	return all, err
}
