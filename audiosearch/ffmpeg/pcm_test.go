package ffmpeg

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/audiosearch/wav"
	"github.com/seed-6363c74e/mortise/internal/nightly"
)

// level is the RMS, in dB of full scale.
func level(s []float32) float64 {
	var sum float64
	for _, v := range s {
		sum += float64(v) * float64(v)
	}
	return 10 * math.Log10(sum/float64(len(s))+1e-30)
}

// Both decoders must hear the same in a WAV file: the average of the channels, at the
// same time, as loud.
func TestAgreesWithWAV(t *testing.T) {
	agreesWithWAV(t, []wavFormat{
		{44100, 16000, 2, "pcm_s16le", "stereo"}, {48000, 16000, 6, "pcm_f32le", "5.1(side)"}, {8000, 16000, 2, "pcm_s16le", "stereo"},
	})
}

func TestAgreesWithOtherWAV(t *testing.T) {
	nightly.Only(t)
	agreesWithWAV(t, []wavFormat{
		{44100, 16000, 1, "pcm_s16le", "mono"}, {48000, 16000, 6, "pcm_s24le", "5.1"},
		{192000, 16000, 8, "pcm_s32le", "7.1"}, {22050, 16000, 3, "pcm_s16le", "2.1"}, {16000, 16000, 2, "pcm_f64le", "stereo"},
		{11025, 16000, 1, "pcm_s16le", "mono"}, {44101, 16000, 2, "pcm_s16le", "stereo"}, {48000, 32000, 4, "pcm_s16le", "quad"},
	})
}

type wavFormat struct {
	from, to, channels int // from and to are samples a second
	codec, layout      string
}

func agreesWithWAV(t *testing.T, formats []wavFormat) {
	needFFmpeg(t)
	t.Parallel()
	channels := func(n int) (expr string) {
		for i := range n {
			if i > 0 {
				expr += "|"
			}
			expr += fmt.Sprintf("%v*sin(2*PI*%d*t+%d)+%v*sin(2*PI*3000*t)", 0.4/float64(i%3+1), 300+i*700, i, 0.1*float64(i%2*2-1)*float64(i)/8)
		}
		return expr
	}
	for _, c := range formats {
		for _, resampler := range []string{soxr, swr} {
			if resampler == swr && c.channels > 2 {
				continue // the channels are done with by then
			}
			t.Run(fmt.Sprintf("%d to %d, %s, %s, %.10s", c.from, c.to, c.layout, c.codec, resampler), func(t *testing.T) {
				t.Parallel()
				expr := channels(c.channels)
				path := record(t, append(tone(fmt.Sprintf("%s:s=%d:d=1:c=%s", expr, c.from, c.layout)), "-c:a", c.codec, "a.wav")...)
				m := newMedia(t, nil)
				m.resampler = resampler
				got, err := collect(t, t.Context(), m, path, c.to)
				require.NoError(t, err)
				inGo := wav.Media{}
				var want []float32
				for block, err := range inGo.PCM(t.Context(), path, c.to) {
					require.NoError(t, err)
					want = append(want, block...)
				}
				assert.InDelta(t, len(want), len(got), 2)
				n := min(len(got), len(want))
				margin := n / 10 // the ends, where the sound breaks off, depend on the filter
				var rest []float32
				for i := margin; i < n-margin; i++ {
					rest = append(rest, got[i]-want[i])
				}
				assert.Less(t, level(rest), -90.0, "dB")
				t.Logf("they differ by %.1f dB", level(rest))
			})
		}
	}
}

// Eight channels without a name for where they stand, and one of many that is heard.
func TestUnknownLayout(t *testing.T) {
	needFFmpeg(t)
	nightly.Only(t)
	t.Parallel()
	for _, n := range []int{12, 5} {
		expr := "0.8*sin(2*PI*440*t)"
		for range n - 1 {
			expr += "|0"
		}
		path := record(t, append(tone(expr+":s=16000:d=2"), "-c:a", "pcm_s16le", "-f", "w64", "a.w64")...)
		got, err := collect(t, t.Context(), newMedia(t, nil), path, 16000)
		require.NoError(t, err)
		assert.InDelta(t, -3.01+20*math.Log10(0.8/float64(n)), level(got), 0.01, "%d channels", n)
	}
}

// A broadcast goes from 5.1 to stereo.
func TestChangeOfChannels(t *testing.T) {
	needFFmpeg(t)
	nightly.Only(t)
	t.Parallel()
	needEncoder(t, "ac3")
	var all string
	for _, expr := range []string{"0|0|0.5*sin(2*PI*440*t)|0|0|0:c=5.1", "0.5*sin(2*PI*440*t)|0.5*sin(2*PI*440*t):c=stereo"} {
		path := record(t, append(tone(expr+":s=48000:d=3"), "-c:a", "ac3", "a.ac3")...)
		all += string(readFile(t, path))
	}
	got, err := collect(t, t.Context(), newMedia(t, nil), write(t, "a.ac3", all), 16000)
	require.NoError(t, err)
	assert.InDelta(t, 6, float64(len(got))/16000, 0.1)
	assert.InDelta(t, -9.03-15.56, level(got[8000:40000]), 0.3, "one of six")
}

func TestSoundFromTheMiddleOfADamagedFile(t *testing.T) {
	needFFmpeg(t)
	nightly.Only(t)
	t.Parallel()
	needEncoder(t, "libmp3lame")
	b := readFile(t, record(t, append(tone("0.5*sin(2*PI*440*t):s=44100:d=10"), "-c:a", "libmp3lame", "a.mp3")...))
	for i := len(b) / 3; i < len(b)/2; i++ {
		b[i] = byte(i * i)
	}
	got, err := collect(t, t.Context(), newMedia(t, nil), write(t, "a.mp3", string(b)), 16000)
	require.ErrorIs(t, err, sound.ErrIncomplete)
	assert.Greater(t, len(got), 16000*6)
}

func TestLimits(t *testing.T) {
	needFFmpeg(t)
	t.Parallel()
	path := record(t, append(tone("0.5*sin(2*PI*440*t):s=16000:d=4"), "-c:a", "flac", "a.flac")...)
	m := newMedia(t, nil)
	m.maxDuration = 3 * time.Second
	_, err := m.Probe(t.Context(), path)
	assert.ErrorContains(t, err, "longer than 3s")
	assert.NotErrorIs(t, err, sound.ErrBadMedia, "it may be right")
	got, err := collect(t, t.Context(), m, path, 16000)
	assert.ErrorContains(t, err, "longer than 3s")
	assert.Empty(t, got)

	m.maxBytes, m.maxDuration = 2*16000*4, time.Hour
	got, err = collect(t, t.Context(), m, path, 16000)
	assert.ErrorContains(t, err, "longer than 2s")
	assert.LessOrEqual(t, len(got), 2*16000)

	m.maxBytes, m.maxDuration = 4*16000*4, 4*time.Second
	got, err = collect(t, t.Context(), m, path, 16000)
	assert.NoError(t, err)
	assert.Len(t, got, 4*16000)

	for _, rate := range []int{-1, 0, 999, 768_001} {
		_, err := collect(t, t.Context(), newMedia(t, nil), path, rate)
		assert.ErrorContains(t, err, "1000 to 768000")
	}
	_, err = New(&Options{Timeout: -1})
	assert.Error(t, err)
}

func TestOneSample(t *testing.T) {
	nightly.Only(t)
	needFFmpeg(t)
	t.Parallel()
	for _, rate := range []int{8000, 16000, 44100} {
		path := record(t, append(tone(fmt.Sprintf("0.5:s=%d:d=1", rate)), "-af", "atrim=end_sample=1", "-c:a", "pcm_s16le", "a.mov")...)
		got, err := collect(t, t.Context(), newMedia(t, nil), path, 16000)
		if rate > 16000 && err != nil {
			assert.ErrorIs(t, err, errNoSound, "less than a sample may be none")
			continue
		}
		require.NoError(t, err)
		assert.NotEmpty(t, got)
		assert.LessOrEqual(t, len(got), 2)
	}
}

func TestClipping(t *testing.T) {
	needFFmpeg(t)
	t.Parallel()
	path := record(t, append(tone("3*sin(2*PI*440*t):s=16000:d=1"), "-c:a", "pcm_f32le", "a.mov")...)
	got, err := collect(t, t.Context(), newMedia(t, nil), path, 16000) // looks at the range
	require.NoError(t, err)
	assert.Contains(t, got, float32(1))
	assert.Zero(t, clipped(float32(math.NaN())))
	assert.Zero(t, clipped(float32(math.Inf(1))))
}
