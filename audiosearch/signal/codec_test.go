package signal

import (
	"testing"

	"github.com/seed-6363c74e/mortise/internal/nightly"
)

// TestExamplesCoded puts the examples that are of a class into one file, one after another
// as in a video, and takes them out again. Each coder gets another part of them.
func TestExamplesCoded(t *testing.T) {
	nightly.Only(t)
	needFFmpeg(t)
	s := newScorer(t)
	const parts = 4
	for i, c := range []struct {
		name, file string
		args       []string
	}{
		{"AAC, 64 kbit/s", "a.m4a", []string{"-ar", "48000", "-c:a", "aac", "-b:a", "64k"}},
		{"AAC, 32 kbit/s", "a.m4a", []string{"-ar", "16000", "-c:a", "aac", "-b:a", "32k"}},
		{"MP3, 64 kbit/s", "a.mp3", []string{"-ar", "44100", "-c:a", "libmp3lame", "-b:a", "64k"}},
		{"MP3, 32 kbit/s", "a.mp3", []string{"-ar", "16000", "-c:a", "libmp3lame", "-b:a", "32k"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			places, track := examplesOf(i%parts, parts)
			coded := decode(t, encode(t, track, c.file, c.args...))
			for _, p := range places {
				check(t, s, p.example, coded[p.from:p.from+len(p.sound)], true)
			}
		})
	}
}

// place is where an example is in a track.
type place struct {
	example
	from int
}

// examplesOf joins one part of the examples that are of a class. The parts take them in
// turn.
func examplesOf(part, parts int) (places []place, track []float32) {
	turn := 0
	for _, e := range examples() {
		if len(e.is) == 0 {
			continue
		}
		if turn%parts == part {
			places = append(places, place{e, len(track)})
			track = append(append(track, e.sound...), quiet(0.3)...)
		}
		turn++
	}
	return places, track
}
