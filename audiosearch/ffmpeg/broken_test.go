package ffmpeg

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/internal/nightly"
)

// refused says that both methods give an error of the file, which says what to do and
// names no folder.
func refused(t *testing.T, path, says string) {
	t.Helper()
	m := newMedia(t, nil)
	_, err := m.Probe(t.Context(), path)
	_, pcmErr := collect(t, t.Context(), m, path, 16000)
	for _, err := range []error{err, pcmErr} {
		require.Error(t, err, filepath.Base(path))
		assert.ErrorIs(t, err, sound.ErrBadMedia, filepath.Base(path))
		assert.NotErrorIs(t, err, sound.ErrFormat)
		assert.ErrorContains(t, err, says, filepath.Base(path))
		assert.NotContains(t, err.Error(), "/")
	}
}

func TestNoMedia(t *testing.T) {
	needFFmpeg(t)
	t.Parallel()
	refused(t, write(t, "empty.mp4", ""), "is empty")
	for _, c := range []struct{ name, content, says string }{
		{"text.mp4", "Dear Sir,\nthis is no video.\n", "convert it to WAV"},
		{"zeros.mp4", strings.Repeat("\x00", 100_000), "convert it to WAV"},
		{"one.mp4", "R", "convert it to WAV"},
		{"picture.mp4", string(readFile(t, record(t, append(film, "-frames:v", "1", "a.png")...))), "of a kind that is not read here"},
		{"subtitles.mp4", "1\n00:00:01,000 --> 00:00:02,000\nHello\n", "of a kind that is not read here"},
	} {
		refused(t, write(t, c.name, c.content), c.says)
	}
	refused(t, record(t, append(film, "-t", "2", "silent.mkv")...), "no sound")
	// The header of this one is right.
	_, err := collect(t, t.Context(), newMedia(t, nil), record(t, append(tone("0:s=16000:d=1"), "-af", "atrim=end_sample=0", "-c:a", "pcm_s16le", "none.wav")...), 16000)
	assert.ErrorIs(t, err, errNoSound)
}

func TestUnknownCodec(t *testing.T) {
	needFFmpeg(t)
	t.Parallel()
	content := string(readFile(t, record(t, append(tone("0.5*sin(2*PI*440*t):s=16000:d=1"), "-c:a", "aac", "a.mp4")...)))
	require.Contains(t, content, "mp4a")
	content = strings.ReplaceAll(strings.ReplaceAll(content, "mp4a", "zzzz"), "esds", "zzzz")
	_, err := collect(t, t.Context(), newMedia(t, nil), write(t, "a.mp4", content), 16000)
	assert.ErrorIs(t, err, errNoCodec)
}

// What is in a file decides, not its name.
func TestWrongExtension(t *testing.T) {
	nightly.Only(t)
	needFFmpeg(t)
	t.Parallel()
	sound := record(t, append(tone("0.5*sin(2*PI*440*t):s=16000:d=2"), "-c:a", "flac", "a.flac")...)
	for _, name := range []string{"a.mp4", "a.m3u8", "a", "a.ffconcat", "%03d.jpg", "-i", "a b'c\"d,b;c[d]:e.mp4"} {
		got, err := collect(t, t.Context(), newMedia(t, nil), write(t, name, string(readFile(t, sound))), 16000)
		require.NoError(t, err, name)
		assert.Len(t, got, 32000, name)
	}
}

func TestListsOfOtherFiles(t *testing.T) {
	needFFmpeg(t)
	t.Parallel()
	secret := record(t, append(tone("0.5*sin(2*PI*440*t):s=16000:d=2"), "-c:a", "aac", "-f", "mpegts", "secret.ts")...)
	m := newMedia(t, nil)
	for _, target := range []string{"file:" + secret, "http://127.0.0.1:1/a.ts"} {
		files := map[string]string{
			"hls.mp4":     "#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:10,\n" + target + "\n#EXT-X-ENDLIST\n",
			"master.mp4":  "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\n" + target + "\n",
			"concat.mp4":  "ffconcat version 1.0\nfile '" + target + "'\n",
			"dash.mp4":    `<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static"><Period><AdaptationSet><BaseURL>` + target + `</BaseURL></AdaptationSet></Period></MPD>`,
			"session.mp4": "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\nm=audio 5004 RTP/AVP 0\n",
			"meta.mp4":    ";FFMETADATA1\ntitle=" + target + "\n",
			"redir.mp4":   "[Reference]\nRef1=" + target + "\n",
			"smooth.mp4":  "<SmoothStreamingMedia>" + target + "</SmoothStreamingMedia>\n",
			"list.mp4":    target + "\n",
		}
		for _, name := range slices.Sorted(maps.Keys(files)) {
			got, err := collect(t, t.Context(), m, write(t, name, files[name]), 16000)
			assert.ErrorIs(t, err, sound.ErrBadMedia, name) // whatever it is taken for
			assert.Empty(t, got, name)
		}
	}
	refused(t, write(t, "hls.mp4", "#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:10,\n/etc/passwd\n#EXT-X-ENDLIST\n"), "such as a list of other files")
	refused(t, write(t, "concat.mp4", "ffconcat version 1.0\nfile /etc/passwd\n"), "such as a list of other files")
}

// A QuickTime file may say that its samples are in another file.
func TestExternalReference(t *testing.T) {
	needFFmpeg(t)
	t.Parallel()
	path := record(t, append(tone("0.5*sin(2*PI*440*t):s=16000:d=2"), "-c:a", "pcm_s16le", "a.mov")...)
	content := string(readFile(t, path))
	// dref with one entry that says "in this file" becomes one that names another.
	const inside = "\x00\x00\x00\x0curl \x00\x00\x00\x01"
	require.Contains(t, content, inside)
	content = strings.ReplaceAll(content, inside, "\x00\x00\x00\x0calis\x00\x00\x00\x00")
	got, err := collect(t, t.Context(), newMedia(t, nil), write(t, "b.mov", content), 16000)
	if err != nil {
		assert.ErrorIs(t, err, sound.ErrBadMedia)
	} else {
		assert.LessOrEqual(t, len(got), 32000)
	}
}

func TestCut(t *testing.T) {
	nightly.Only(t)
	needFFmpeg(t)
	t.Parallel()
	files := map[string]struct {
		args []string
		end  bool // the index is at the end
	}{
		"a.mp4":     {[]string{"-c:v", "mpeg4", "-c:a", "aac"}, true},
		"front.mp4": {[]string{"-c:v", "mpeg4", "-c:a", "aac", "-movflags", "+faststart"}, false},
		"a.mkv":     {[]string{"-c:v", "mpeg4", "-c:a", "flac"}, false},
		"a.ts":      {[]string{"-c:v", "mpeg2video", "-c:a", "mp2"}, false},
		"a.avi":     {[]string{"-c:v", "mpeg4", "-c:a", "mp2"}, false},
	}
	for name, c := range files {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := video(t, name, c.args...)
			whole := len(readFile(t, path))
			m := newMedia(t, nil)
			for _, n := range []int{whole / 2, 4, 40, 1000, whole * 9 / 10, whole - 1} {
				got, err := collect(t, t.Context(), m, cut(t, path, n), 16000)
				if err != nil {
					assert.True(t, errors.Is(err, sound.ErrBadMedia) || errors.Is(err, sound.ErrIncomplete) && len(got) > 0, "%d: %v", n, err)
					assert.NotContains(t, err.Error(), "/")
				}
				if c.end && n == whole/2 {
					assert.ErrorContains(t, err, "ends before its index")
				}
				if !c.end && n == whole/2 {
					assert.NotErrorIs(t, err, sound.ErrBadMedia)
					assert.InDelta(t, 5, float64(len(got))/16000, 3, "half of the sound")
				}
			}
		})
	}
}

func TestNoFile(t *testing.T) {
	folder := t.TempDir()
	m := newMedia(t, nil)
	for _, path := range []string{filepath.Join(folder, "missing"), folder} {
		_, err := m.Probe(t.Context(), path)
		assert.Error(t, err)
		assert.NotErrorIs(t, err, sound.ErrBadMedia, "it is not the content that is wrong")
		assert.NotContains(t, err.Error(), folder)
		_, pcmErr := collect(t, t.Context(), m, path, 16000)
		assert.Equal(t, err, pcmErr)
		_, err = m.Picture(t.Context(), path, 0, 320)
		assert.Error(t, err)
	}
	_, err := m.Probe(t.Context(), filepath.Join(folder, "missing"))
	assert.ErrorIs(t, err, fs.ErrNotExist)

	needFFmpeg(t)
	link := filepath.Join(folder, "link")
	if err := os.Symlink(flac(t), link); err != nil {
		t.Skip("this system has no symbolic links:", err)
	}
	_, err = m.Probe(t.Context(), link) // the folder's guard is sound.Files
	assert.NoError(t, err)
}

func TestSentence(t *testing.T) {
	for said, want := range map[string]string{
		"":                                    "",
		"one\ntwo three.\n":                   "two three",
		"[mov @ 0x55f] bad atom":              "[mov @ bad atom",
		"file:/proc/self/fd/3: No such thing": "No such thing",
		`C:\Users\x: No such thing`:           "No such thing",
		"a\x1b[31mred\x00 b":                  "a[31mred b",
		strings.Repeat("x", 1000):             strings.Repeat("x", maxSentence),
	} {
		assert.Equal(t, want, sentence(said))
	}
}
