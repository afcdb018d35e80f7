package ffmpeg

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/internal/nightly"
)

// TestIncomplete: half of a file that says how long it is gives its sound and a sentence.
// A whole file gives no sentence, and neither does one that does not say it.
func TestIncomplete(t *testing.T) { incomplete(t, "front.mp4", "a.ts") }

func TestIncompleteOtherFormats(t *testing.T) {
	nightly.Only(t)
	incomplete(t, "a.webm", "a.mp3", "frag.mp4", "front.mov", "a.mkv", "late.mkv", "a.flv", "a.flac", "a.aiff", "vbr.mp3", "a.aac", "a.ogg")
}

func incomplete(t *testing.T, names ...string) {
	needFFmpeg(t)
	t.Parallel()
	audio := append(tone("0.5*sin(2*PI*440*t):s=44100:d=10"), "-map_metadata", "-1")
	pictures := append(append([]string{}, film...), append(tone("0.5*sin(2*PI*440*t):s=44100"), "-t", "10", "-g", "25")...)
	files := map[string]struct {
		input   []string
		args    []string
		encoder string
		says    bool // how long it is
	}{
		"front.mp4": {pictures, []string{"-c:v", "mpeg4", "-c:a", "aac", "-movflags", "+faststart"}, "aac", true},
		"frag.mp4":  {audio, []string{"-c:a", "aac", "-movflags", "+frag_keyframe+empty_moov", "-frag_duration", "1000000"}, "aac", false},
		"front.mov": {pictures, []string{"-c:v", "mpeg4", "-c:a", "pcm_s16le", "-movflags", "+faststart"}, "mpeg4", true},
		"a.mkv":     {pictures, []string{"-c:v", "mpeg4", "-c:a", "flac"}, "mpeg4", true},
		"late.mkv":  {pictures, []string{"-c:v", "mpeg4", "-c:a", "flac", "-output_ts_offset", "100"}, "mpeg4", true},
		"a.webm":    {audio, []string{"-c:a", "libopus"}, "libopus", true},
		"a.flv":     {audio, []string{"-c:a", "aac"}, "aac", true},
		"a.flac":    {audio, nil, "flac", true},
		"a.aiff":    {audio, nil, "pcm_s16be", true},
		"a.mp3":     {audio, []string{"-b:a", "64k"}, "libmp3lame", true},
		"vbr.mp3":   {audio, []string{"-q:a", "2", "-write_xing", "0"}, "libmp3lame", false},
		"a.aac":     {audio, nil, "aac", false},
		"a.ogg":     {audio, []string{"-c:a", "libvorbis"}, "libvorbis", false},
		"a.ts":      {pictures, []string{"-c:v", "mpeg2video", "-c:a", "mp2"}, "mp2", false},
	}
	for _, name := range names {
		c := files[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			needEncoder(t, c.encoder)
			path := record(t, append(append(append([]string{}, c.input...), c.args...), name)...)
			m := newMedia(t, nil)
			all, err := collect(t, t.Context(), m, path, 16000)
			require.NoError(t, err, "a whole file")
			require.InDelta(t, 10, float64(len(all))/16000, 0.1)
			half, err := collect(t, t.Context(), m, cut(t, path, len(readFile(t, path))/2), 16000)
			require.InDelta(t, 5, float64(len(half))/16000, 2)
			if !c.says {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, sound.ErrIncomplete)
			assert.NotErrorIs(t, err, sound.ErrBadMedia)
			assert.Regexp(t, `^its sound ends at [0-9.]+s, and the file says (9\.9|10)[0-9.]*s: if it was cut or damaged, copy it again, completely$`, err.Error())
		})
	}
}

// TestShortSound: a track that ends before the pictures do is no cut file.
func TestShortSound(t *testing.T) {
	nightly.Only(t)
	needFFmpeg(t)
	t.Parallel()
	input := append(append([]string{}, film...), append(tone("0.5*sin(2*PI*440*t):s=44100:d=4"), "-map", "0:v", "-map", "1:a", "-t", "10", "-c:v", "mpeg4")...)
	for _, name := range []string{"a.mp4", "a.mkv", "a.avi"} {
		got, err := collect(t, t.Context(), newMedia(t, nil), record(t, append(append([]string{}, input...), name)...), 16000)
		require.NoError(t, err, name)
		assert.InDelta(t, 4, float64(len(got))/16000, 0.2, name)
	}
}
