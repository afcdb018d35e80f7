package signal

import "testing"

// TestExamplesCoded puts all examples into one file, one after another as in a video, and takes them out again.
func TestExamplesCoded(t *testing.T) {
	needFFmpeg(t)
	s := newScorer(t)
	all := examples()
	const raster = 10.5 // seconds
	track := quiet(raster * float64(len(all)))
	start := func(i int) int { return int(float64(i) * raster * sampleRate) }
	for i, e := range all {
		copy(track[start(i):], e.sound)
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
			for i, e := range all {
				check(t, s, e, coded[start(i):start(i)+len(e.sound)], true)
			}
		})
	}
}
