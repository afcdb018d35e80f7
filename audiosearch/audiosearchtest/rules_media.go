package audiosearchtest

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// mediaRules are the rules of a Media.
var mediaRules = []mediaRule{
	{Rule{"media/id", "ID is a name, 1 to 255 bytes, and the same each time."}, func(t *testing.T, s *mediaSubject) {
		id := s.media.ID()
		require.True(t, id != "" && len(id) <= 255 && utf8.ValidString(id) && !strings.Contains(id, "\x00"), "%q is no name", id)
		require.Equal(t, id, s.media.ID())
	}},
	{Rule{"media/samples", "PCM decodes the sound: every sample, in [-1,1], at the rate of the file if that is asked for."}, func(t *testing.T, s *mediaSubject) {
		want := tone(40_001, 16_000, 440, 0.8)
		near(t, want, s.sound(t, s.file(t, "a.wav", wave(16_000, want)), 16_000))
		one := []float64{0.5}
		near(t, one, s.sound(t, s.file(t, "one.wav", wave(16_000, one)), 16_000))
	}},
	{Rule{"media/average-of-channels", "PCM is mono: the average of all channels."}, func(t *testing.T, s *mediaSubject) {
		left, right := tone(16_000, 16_000, 440, 0.8), tone(16_000, 16_000, 330, 0.4)
		want, same := make([]float64, len(left)), make([]float64, len(left))
		for i := range want {
			want[i] = (left[i] + right[i]) / 2
		}
		near(t, want, s.sound(t, s.file(t, "stereo.wav", wave(16_000, left, right)), 16_000))
		near(t, left, s.sound(t, s.file(t, "twice.wav", wave(16_000, left, left)), 16_000))
		for i := range same {
			same[i] = -left[i]
		}
		require.Less(t, effective(s.sound(t, s.file(t, "against.wav", wave(16_000, left, same)), 16_000)), 0.001, "a channel and its opposite")
	}},
	{Rule{"media/resamples", "PCM resamples to the rate: the sound lasts as long and is as loud as before, and what the rate cannot hold is gone."},
		func(t *testing.T, s *mediaSubject) {
			for _, from := range []int{8_000, 44_100, 48_000} {
				in := tone(2*from, from, 1000, 0.5)
				out := s.sound(t, s.file(t, "a.wav", wave(from, in)), 16_000)
				require.InDelta(t, 32_000, len(out), 160, "samples of 2 s, from %d Hz", from)
				require.InDelta(t, effective(in), effective(out[2000:30_000]), 0.01, "how loud it is, from %d Hz", from)
			}
			high := s.sound(t, s.file(t, "high.wav", wave(48_000, tone(96_000, 48_000, 15_000, 0.5))), 16_000)
			require.Less(t, effective(high[2000:30_000]), 0.001, "a tone of 15 kHz at 16 kHz")
		}},
	{Rule{"media/again", "A file can be read again and again, also at once, and is the same each time."}, func(t *testing.T, s *mediaSubject) {
		path := s.file(t, "a.wav", wave(16_000, tone(50_000, 16_000, 440, 0.8)))
		want := s.sound(t, path, 16_000)
		var got [4][]float32
		var errs [4]error
		conformance.Together(len(got), func(i int) {
			for block, err := range s.media.PCM(t.Context(), path, 16_000) {
				errs[i] = err
				got[i] = append(got[i], block...)
			}
		})
		conformance.NoErrors(t, errs[:])
		for i := range got {
			require.True(t, slices.Equal(want, got[i]), "reader %d", i)
		}
	}},
	{Rule{"media/probe", "Probe returns how long the file says it is, or 0; a file without video has no keyframes."}, func(t *testing.T, s *mediaSubject) {
		info, err := s.media.Probe(t.Context(), s.file(t, "a.wav", wave(16_000, tone(40_000, 16_000, 440, 0.8))))
		require.NoError(t, err)
		if info.Duration != 0 {
			require.InDelta(t, 2500, info.Duration.Milliseconds(), 50, "milliseconds")
		}
		require.False(t, info.HasVideo)
		require.Empty(t, info.Keyframes)
	}},
	{Rule{"media/early-end", "Who leaves the loop early gets no more, and can read the file again."}, func(t *testing.T, s *mediaSubject) {
		path := s.file(t, "a.wav", wave(16_000, tone(160_000, 16_000, 440, 0.8)))
		for range 5 {
			for block, err := range s.media.PCM(t.Context(), path, 16_000) {
				require.NoError(t, err)
				require.NotEmpty(t, block)
				break
			}
		}
		require.Len(t, s.sound(t, path, 16_000), 160_000)
		require.NoError(t, os.Remove(path))
	}},
	{Rule{"media/ended-context", "When the context has ended, or ends on the way, there is an error that is not the file's fault, with a nil block, as the last element."},
		func(t *testing.T, s *mediaSubject) {
			path := s.file(t, "a.wav", wave(16_000, tone(1_600_000, 16_000, 440, 0.8)))
			_, err := s.media.Probe(conformance.Ended(t), path)
			require.Error(t, err)
			require.NotErrorIs(t, err, sound.ErrBadMedia)
			require.NotErrorIs(t, err, sound.ErrFormat)
			_, err = s.pcm(conformance.Ended(t), t, path, 16_000)
			require.Error(t, err)
			require.NotErrorIs(t, err, sound.ErrBadMedia)
			require.NotErrorIs(t, err, sound.ErrFormat)

			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var last error
			n := 0
			for block, err := range s.media.PCM(ctx, path, 16_000) {
				require.NoError(t, last, "an element after the error")
				cancel()
				n += len(block)
				last = err
			}
			require.Error(t, last, "after %d samples", n)
			require.NotErrorIs(t, last, sound.ErrBadMedia)
		}},
	{Rule{"media/broken-files", "What is wrong with the content of a file is BadMedia, or ErrFormat if another Media may read it; the text names no folder."},
		func(t *testing.T, s *mediaSubject) {
			whole := wave(16_000, tone(1000, 16_000, 440, 0.8))
			for name, content := range map[string][]byte{
				"empty.wav": nil, "text.wav": []byte("this is no sound, whatever its name says"), "zeros.wav": make([]byte, 5000), "magic.wav": whole[:4],
				"header.wav": whole[:20], "picture.wav": []byte("\x89PNG\r\n\x1a\n then nothing"), "playlist.wav": []byte("#EXTM3U\n/etc/passwd\n"),
			} {
				s.refuses(t, s.file(t, name, content))
			}
		}},
	{Rule{"media/no-sound", "A file without sound is an error, BadMedia or ErrFormat."}, func(t *testing.T, s *mediaSubject) {
		s.refuses(t, s.file(t, "none.wav", wave(16_000, []float64{})))
	}},
	{Rule{"media/cut", "A file that is cut off gives the sound that there is, or an error that names no folder; never anything else."}, func(t *testing.T, s *mediaSubject) {
		want := tone(20_000, 16_000, 440, 0.8)
		whole := wave(16_000, want)
		for _, keep := range []int{44, 45, 46, 1001, len(whole) - 1} {
			samples, err := s.pcm(t.Context(), t, s.file(t, "cut.wav", whole[:keep]), 16_000)
			require.LessOrEqual(t, len(samples), (keep-44)/2)
			if err != nil {
				require.NotContains(t, err.Error(), s.dir)
				continue
			}
			near(t, want[:len(samples)], samples)
		}
	}},
	{Rule{"media/no-file", "A folder, and a name that leads nowhere, are errors that name no folder."}, func(t *testing.T, s *mediaSubject) {
		for _, path := range []string{s.dir, filepath.Join(s.dir, "nothing.wav")} {
			_, err := s.media.Probe(t.Context(), path)
			require.Error(t, err, "Probe")
			require.NotContains(t, err.Error(), s.dir)
			samples, err := s.pcm(t.Context(), t, path, 16_000)
			require.Error(t, err, "PCM")
			require.Empty(t, samples)
			require.NotContains(t, err.Error(), s.dir)
		}
	}},
	{Rule{"media/blocks", "Nothing but the block at hand is in memory: a long file comes in blocks that are short beside it."}, func(t *testing.T, s *mediaSubject) {
		const seconds = 60
		path := s.file(t, "long.wav", wave(16_000, make([]float64, seconds*16_000)))
		longest, total := 0, 0
		for block, err := range s.media.PCM(t.Context(), path, 16_000) {
			require.NoError(t, err)
			longest, total = max(longest, len(block)), total+len(block)
		}
		require.Equal(t, seconds*16_000, total)
		require.LessOrEqual(t, time.Duration(longest)*time.Second/16_000, seconds*time.Second/4, "the longest block")
	}},
}
