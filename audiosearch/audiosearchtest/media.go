package audiosearchtest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// RunMedia tries every rule of [sound.Media] on a media that reads WAV files, as a
// subtest named by the rule's id, like [Run]. The suite writes the files. open returns
// a media, which may be the same each time.
func RunMedia(t *testing.T, open func(*testing.T) sound.Media) {
	t.Helper()
	mediaSuite(open).Run(t)
}

// MediaRules returns every rule of [RunMedia].
func MediaRules() []Rule { return conformance.RulesOf[Rule](mediaSuite(nil)) }

func mediaSuite(open func(*testing.T) sound.Media) *conformance.Suite[*mediaSubject] {
	s := &conformance.Suite[*mediaSubject]{Name: "audiosearchtest", Open: func(t *testing.T) *mediaSubject {
		return &mediaSubject{media: open(t), dir: t.TempDir()}
	}}
	for _, r := range mediaRules {
		s.Add(r.ID, r.Text, 0, r.check)
	}
	return s
}

type mediaRule struct {
	Rule
	check func(t *testing.T, s *mediaSubject)
}

type mediaSubject struct {
	media sound.Media
	dir   string
}

// file writes a file and returns its name.
func (s *mediaSubject) file(t *testing.T, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(s.dir, name)
	require.NoError(t, os.WriteFile(path, content, 0o600))
	return path
}

// wave is a WAV file of 16-bit PCM (Microsoft and IBM, Multimedia Programming Interface
// and Data Specifications 1.0, 1991) with the given channels, which are equally long.
func wave(rate int, channels ...[]float64) []byte {
	frames := len(channels[0])
	var b bytes.Buffer
	put := func(values ...any) {
		for _, v := range values {
			_ = binary.Write(&b, binary.LittleEndian, v) // a buffer takes everything
		}
	}
	size := uint32(frames * len(channels) * 2)
	put([]byte("RIFF"), 36+size, []byte("WAVEfmt "), uint32(16), uint16(1), uint16(len(channels)), uint32(rate), uint32(rate*len(channels)*2),
		uint16(len(channels)*2), uint16(16), []byte("data"), size)
	for i := range frames {
		for _, channel := range channels {
			put(int16(math.Round(channel[i] * 32767)))
		}
	}
	return b.Bytes()
}

// tone returns n samples of a sine.
func tone(n, rate int, hertz, amplitude float64) []float64 {
	samples := make([]float64, n)
	for i := range samples {
		samples[i] = amplitude * math.Sin(2*math.Pi*hertz*float64(i)/float64(rate))
	}
	return samples
}

// pcm reads a file to its end, and requires that an error comes last and with a nil block.
func (s *mediaSubject) pcm(ctx context.Context, t *testing.T, path string, rate int) (samples []float32, err error) {
	t.Helper()
	for block, failed := range s.media.PCM(ctx, path, rate) {
		require.NoError(t, err, "an element after the error")
		if err = failed; err != nil {
			require.Nil(t, block, "a block beside an error")
			continue
		}
		samples = append(samples, block...)
	}
	return samples, err
}

// sound reads a file that can be read.
func (s *mediaSubject) sound(t *testing.T, path string, rate int) []float32 {
	t.Helper()
	samples, err := s.pcm(t.Context(), t, path, rate)
	require.NoError(t, err)
	return samples
}

// near requires that samples are those wanted, but for what 16 bits lose.
func near(t *testing.T, want []float64, got []float32) {
	t.Helper()
	require.Len(t, got, len(want), "samples")
	for i := range want {
		require.InDelta(t, want[i], got[i], 2.0/32768, "sample %d", i)
	}
}

// effective returns the root mean square of samples.
func effective[T float32 | float64](samples []T) float64 {
	var sum float64
	for _, v := range samples {
		sum += float64(v) * float64(v)
	}
	return math.Sqrt(sum / float64(len(samples)))
}

// refuses requires that a file is refused by Probe and PCM for what is in it, without a
// word of where it is.
func (s *mediaSubject) refuses(t *testing.T, path string) {
	t.Helper()
	_, probed := s.media.Probe(t.Context(), path)
	samples, read := s.pcm(t.Context(), t, path, 16_000)
	require.Empty(t, samples)
	require.Error(t, read, "PCM")
	for _, err := range []error{probed, read} {
		if err != nil {
			require.True(t, errors.Is(err, sound.ErrBadMedia) || errors.Is(err, sound.ErrFormat), "neither BadMedia nor ErrFormat: %v", err)
			require.NotContains(t, err.Error(), s.dir)
		}
	}
}
