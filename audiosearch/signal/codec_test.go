package signal

import "testing"

// TestExamplesCoded puts all examples that are of a class into one file, one after
// another as in a video, and takes them out again.
func TestExamplesCoded(t *testing.T) {
	needFFmpeg(t)
	s := newScorer(t)
	type place struct {
		example
		from int
	}
	var places []place
	var track []float32
	for _, e := range examples() {
		if len(e.is) > 0 {
			places = append(places, place{e, len(track)})
			track = append(append(track, e.sound...), quiet(0.3)...)
		}
	}
	for name, c := range map[string]struct {
		file string
		args []string
	}{
		"AAC, 64 kbit/s": {"a.m4a", []string{"-ar", "48000", "-c:a", "aac", "-b:a", "64k"}},
		"AAC, 32 kbit/s": {"a.m4a", []string{"-ar", "16000", "-c:a", "aac", "-b:a", "32k"}},
		"MP3, 64 kbit/s": {"a.mp3", []string{"-ar", "44100", "-c:a", "libmp3lame", "-b:a", "64k"}},
		"MP3, 32 kbit/s": {"a.mp3", []string{"-ar", "16000", "-c:a", "libmp3lame", "-b:a", "32k"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			coded := decode(t, encode(t, track, c.file, c.args...))
			for _, p := range places {
				check(t, s, p.example, coded[p.from:p.from+len(p.sound)], true)
			}
		})
	}
}
