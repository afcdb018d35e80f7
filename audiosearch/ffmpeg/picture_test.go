package ffmpeg

import (
	"bytes"
	"image/jpeg"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/internal/nightly"
)

func TestPicture(t *testing.T) {
	needFFmpeg(t)
	t.Parallel()
	for _, name := range []string{"a.ts", "a.mp4"} { // the time stamps of the first one do not begin at 0
		args := append([]string{"-f", "lavfi", "-i", "color=red:s=160x90:r=25:d=2[a];color=blue:s=160x90:r=25:d=2[b];[a][b]concat"}, tone("0:s=16000:d=4")...)
		path := record(t, append(args, "-c:v", "mpeg2video", "-c:a", "mp2", name)...)
		m := newMedia(t, nil)
		for _, at := range []time.Duration{0, time.Second, 2100 * time.Millisecond, 3500 * time.Millisecond} {
			red := at < 2*time.Second
			b, err := m.Picture(t.Context(), path, at, 320)
			require.NoError(t, err)
			picture, err := jpeg.Decode(bytes.NewReader(b))
			require.NoError(t, err)
			assert.Equal(t, 320, picture.Bounds().Dx())
			assert.Equal(t, 180, picture.Bounds().Dy())
			r, _, bl, _ := picture.At(160, 90).RGBA()
			assert.Equal(t, red, r > bl, "%s at %v", name, at)
		}
		_, err := m.Picture(t.Context(), path, time.Minute, 320)
		assert.ErrorContains(t, err, "shows nothing at 1m0s")
	}
}

func TestPictureOfWhat(t *testing.T) {
	needFFmpeg(t)
	t.Parallel()
	m := newMedia(t, nil)
	audio := flac(t)
	_, err := m.Picture(t.Context(), audio, 0, 320)
	assert.ErrorIs(t, err, sound.ErrBadMedia)
	assert.ErrorContains(t, err, "no pictures")
	for _, width := range []int{-1, 0, 15, 1921} {
		_, err = m.Picture(t.Context(), audio, 0, width)
		assert.ErrorContains(t, err, "16 to 1920")
	}
	_, err = m.Picture(t.Context(), audio, -1, 320)
	assert.ErrorContains(t, err, "0 or more")
}

// A tall picture must fit too.
func TestPictureThatIsTall(t *testing.T) {
	needFFmpeg(t)
	nightly.Only(t)
	t.Parallel()
	args := append([]string{"-f", "lavfi", "-i", "color=red:s=32x1024:r=5:d=1"}, tone("0:s=16000:d=1")...)
	b, err := newMedia(t, nil).Picture(t.Context(), record(t, append(args, "-c:v", "mpeg4", "a.mkv")...), 0, 320)
	require.NoError(t, err)
	picture, err := jpeg.DecodeConfig(bytes.NewReader(b))
	require.NoError(t, err)
	assert.Equal(t, 320, picture.Height)
	assert.Equal(t, 10, picture.Width)
}
