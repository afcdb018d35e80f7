package wav

import (
	"bytes"
	"errors"
	"testing"

	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// FuzzMedia says that any bytes are a sound or an error for whoever gave them, and that
// what a header claims does not decide how much memory is taken or how long the result
// is.
func FuzzMedia(f *testing.F) {
	pcm := format(formatPCM, 2, 44100, 2, 16)
	data := encoded(encoding{false, 2}, 0.5, -0.5, 0.25, 0.125)
	f.Add(simple(pcm, data))
	f.Add(simple(extensible(formatFloat, 1, 16000, 8, 64, subformatTail), encoded(encoding{true, 8}, 0.5, 1e300)))
	f.Add(riff("RF64", unknownSize).padded("ds64", make([]byte, 28)).padded("fmt ", pcm).chunk("data", unknownSize, data).b)
	f.Add(riff("RIFF", 0).padded("LIST", []byte("odd")).padded("fmt ", format(formatPCM, 256, 768000, 4, 32)).chunk("data", 0, data).b)
	f.Add(riff("RIFF", 0).chunk("JUNK", 0xFFFFFFFF, nil).b)
	f.Add([]byte("#EXTM3U\n"))
	f.Fuzz(func(t *testing.T, file []byte) {
		s, err := parse(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			if !errors.Is(err, sound.ErrBadMedia) && !errors.Is(err, sound.ErrFormat) {
				t.Fatalf("%v is neither ErrBadMedia nor ErrFormat", err)
			}
			return
		}
		if s.offset+s.frames*int64(s.frameBytes()) > int64(len(file)) {
			t.Fatalf("%+v is more than the file has", s)
		}
		var samples int64
		err = stream(t.Context(), bytes.NewReader(file), s, 8000, func(block []float32, err error) bool {
			if len(block) > 1<<20 {
				t.Fatalf("a block of %d samples", len(block))
			}
			for _, v := range block {
				if !(v >= -1 && v <= 1) {
					t.Fatalf("sample %v", v)
				}
			}
			samples += int64(len(block))
			return true
		})
		if want := (s.frames*8000 + int64(s.rate) - 1) / int64(s.rate); err != nil || samples != want {
			t.Fatalf("%d samples, not %d: %v", samples, want, err)
		}
	})
}
