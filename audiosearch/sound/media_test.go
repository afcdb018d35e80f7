package sound_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/audiosearch/wav"
)

// decode returns how many samples a Media decodes, and its error.
func decode(t *testing.T, m sound.Media, path string) (samples int, err error) {
	t.Helper()
	for block, err := range m.PCM(t.Context(), path, 1000) {
		if err != nil {
			assert.Nil(t, block)
			return samples, err
		}
		samples += len(block)
	}
	return samples, nil
}

// TestFirstMedia: each file is read by the first that knows it; a bad file is not passed
// on, and the last refusal is the answer.
func TestFirstMedia(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	wavs := wav.Media{}
	media := sound.FirstMedia(wavs, bytesMedia{})
	assert.Equal(t, wavs.ID()+" or bytes/1", media.ID())

	n, err := decode(t, media, file("raw", "\x01\x02\x03"))
	require.NoError(t, err)
	assert.Equal(t, 3, n)
	_, err = media.Probe(t.Context(), file("raw", "\x01\x02\x03"))
	require.NoError(t, err)

	// A WAV file without sound is the first one's to refuse.
	silent := file("silent", "RIFF\x24\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x80\x3e\x00\x00\x02\x00\x10\x00data\x00\x00\x00\x00")
	_, err = decode(t, media, silent)
	require.ErrorIs(t, err, sound.ErrBadMedia)

	_, err = decode(t, media, file("huh", "HUH"))
	require.ErrorIs(t, err, sound.ErrFormat)
	_, err = media.Probe(t.Context(), file("huh", "HUH"))
	require.ErrorIs(t, err, sound.ErrFormat)
	telling := sound.FirstMedia(wavs, refusing{fmt.Errorf("%w: codec 7 inside", sound.ErrFormat)})
	_, err = decode(t, telling, file("huh", "HUH"))
	require.ErrorContains(t, err, "codec 7 inside")

	_, err = decode(t, sound.FirstMedia(), silent)
	require.ErrorIs(t, err, sound.ErrFormat)
	require.ErrorContains(t, err, "convert it")
	broken := errors.New("broken")
	_, err = decode(t, sound.FirstMedia(refusing{broken}, bytesMedia{}), silent)
	require.ErrorIs(t, err, broken)
}

// refusing is a Media that answers every file with an error.
type refusing struct{ err error }

func (refusing) ID() string { return "refusing/1" }

func (r refusing) Probe(context.Context, string) (sound.Info, error) {
	return sound.Info{}, r.err
}

func (r refusing) PCM(context.Context, string, int) iter.Seq2[[]float32, error] {
	return func(yield func([]float32, error) bool) { yield(nil, r.err) }
}
