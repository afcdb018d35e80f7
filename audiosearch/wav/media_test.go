package wav

import (
	"encoding/binary"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

func TestEncodings(t *testing.T) {
	values := []float64{0, 0.5, -1, 0.25, -0.125, 0.75, -0.5, 0.0625, -0.25, 0.5, 0, -1} // exact in 8 bits
	for _, e := range []encoding{{false, 1}, {false, 2}, {false, 3}, {false, 4}, {true, 4}, {true, 8}} {
		code := formatPCM
		if e.float {
			code = formatFloat
		}
		for _, channels := range []int{1, 2, 3, 6, 12} {
			var want []float32
			for frame := range len(values) / channels {
				var sum float64
				for _, v := range values[frame*channels:][:channels] {
					sum += v
				}
				want = append(want, float32(sum/float64(channels)))
			}
			data := encoded(e, values...)
			for name, fmt := range map[string][]byte{
				"plain":      format(code, channels, 16000, e.bytes, 8*e.bytes),
				"longer":     append(format(code, channels, 16000, e.bytes, 8*e.bytes), 0, 0),
				"extensible": extensible(code, channels, 16000, e.bytes, 8*e.bytes, subformatTail),
			} {
				path := save(t, simple(fmt, data))
				got, err := collect(t, t.Context(), path, 16000)
				require.NoError(t, err, "%s %+v", name, e)
				require.InDeltaSlice(t, want, got, 1e-7, "%s %+v, %d channels", name, e, channels)
				info, err := Media{}.Probe(t.Context(), path)
				require.NoError(t, err)
				require.Equal(t, sound.Info{Duration: time.Duration(len(want)) * time.Second / 16000}, info)
			}
		}
	}
}

func TestValidBits(t *testing.T) {
	data := encoded(encoding{false, 4}, 0.5, -0.25)
	for name, fmt := range map[string][]byte{
		"24 of 32, extensible": extensible(formatPCM, 1, 8000, 4, 24, subformatTail),
		"24 of 32, plain":      format(formatPCM, 1, 8000, 4, 24),
		"20 of 32, plain":      format(formatPCM, 1, 8000, 4, 20),
	} {
		got, err := collect(t, t.Context(), save(t, simple(fmt, data)), 8000)
		require.NoError(t, err, name)
		assert.Equal(t, []float32{0.5, -0.25}, got, name)
	}
	got, err := collect(t, t.Context(), save(t, simple(format(formatPCM, 1, 8000, 2, 12), encoded(encoding{false, 2}, 0.5))), 8000)
	require.NoError(t, err)
	assert.Equal(t, []float32{0.5}, got, "12 of 16")
}

func TestFloatsThatAreNone(t *testing.T) {
	for _, e := range []encoding{{true, 4}, {true, 8}} {
		data := encoded(e, math.NaN(), 0.5, math.Inf(1), 1, math.Inf(-1), math.Inf(1), 3e38, 3e38, -3e38, 0, 1e-42, 0, 1.5, 0.25)
		got, err := collect(t, t.Context(), save(t, simple(format(formatFloat, 2, 16000, e.bytes, 8*e.bytes), data)), 16000)
		require.NoError(t, err)
		assert.InDeltaSlice(t, []float32{0.25, 0.5, 0, 1, -1, 0, 0.875}, got, 1e-30)
	}
	data := encoded(encoding{true, 8}, math.MaxFloat64, math.MaxFloat64, -math.MaxFloat64)
	got, err := collect(t, t.Context(), save(t, simple(format(formatFloat, 3, 16000, 8, 64), data)), 16000)
	require.NoError(t, err)
	assert.Len(t, got, 1) // in [-1,1], as collect checks: the sum is infinite on the way
}

// A square wave at full scale rings beyond it when it is resampled.
func TestClipping(t *testing.T) {
	var data []byte
	for i := range 8000 {
		data = append(data, encoded(encoding{false, 2}, -1+float64(i/50%2)*1.999)...)
	}
	got, err := collect(t, t.Context(), save(t, simple(format(formatPCM, 1, 44100, 2, 16), data)), 16000)
	require.NoError(t, err)
	assert.Contains(t, got, float32(1))
	assert.Contains(t, got, float32(-1))
}

// The sound of these files is 0.5, -0.25, whatever is around it.
func TestStructure(t *testing.T) {
	pcm := format(formatPCM, 1, 16000, 2, 16)
	data := encoded(encoding{false, 2}, 0.5, -0.25)
	sizes := append(append(make([]byte, 8), 4), make([]byte, 19)...) // ds64: 4 bytes of data
	none := make([]byte, 28)
	list := []byte("INFOISFT\x05\x00\x00\x00abcde\x00")
	for name, file := range map[string][]byte{
		"chunks before and after":    riff("RIFF", 0).padded("JUNK", list).padded("fmt ", pcm).padded("LIST", list).padded("data", data).padded("LIST", list).finish(),
		"odd chunk":                  riff("RIFF", 0).padded("bext", list[:7]).padded("fmt ", pcm).padded("odd ", list[:1]).padded("data", data).finish(),
		"empty chunk":                riff("RIFF", 0).padded("JUNK", nil).padded("fmt ", pcm).padded("data", data).finish(),
		"data before fmt":            riff("RIFF", 0).padded("data", data).padded("fmt ", pcm).finish(),
		"half a frame":               riff("RIFF", 0).padded("fmt ", pcm).padded("data", append(data[:4:4], 7)).finish(),
		"bytes after":                append(simple(pcm, data), "trailing"...),
		"size 0, from a crash":       riff("RIFF", 0).padded("fmt ", pcm).chunk("data", 0, data).b,
		"size 0, the file's right":   riff("RIFF", 0).padded("fmt ", pcm).chunk("data", 0, data).finish(),
		"empty data before data":     riff("RIFF", 0).padded("fmt ", pcm).padded("data", nil).padded("data", data).finish(),
		"size 0 of an empty file":    riff("RIFF", 36).padded("fmt ", pcm).chunk("data", 0, data).b,
		"size -1, from a pipe":       riff("RIFF", unknownSize).padded("fmt ", pcm).chunk("data", unknownSize, data).b,
		"size of 2 GiB, from a pipe": riff("RIFF", 0x7FFFFFFF).padded("fmt ", pcm).chunk("data", 0x7FFFFFDB, data).b,
		"size of the file wrong":     riff("RIFF", 12345).padded("fmt ", pcm).padded("data", data).b,
		"RF64":                       riff("RF64", unknownSize).padded("ds64", sizes).padded("fmt ", pcm).chunk("data", unknownSize, data).padded("LIST", list).b,
		"BW64":                       riff("BW64", unknownSize).padded("ds64", sizes).padded("fmt ", pcm).chunk("data", unknownSize, data).padded("axml", list).b,
		"RF64 with a small size":     riff("RF64", unknownSize).padded("ds64", none).padded("fmt ", pcm).padded("data", data).padded("LIST", list).b,
		"RF64 that was not finished": riff("RF64", unknownSize).padded("ds64", none).padded("fmt ", pcm).chunk("data", unknownSize, data).b,
		"RF64 without ds64":          riff("RF64", unknownSize).padded("fmt ", pcm).chunk("data", unknownSize, data).b,
		"frame size 0":               simple(format(formatPCM, 1, 16000, 0, 16), data),
		"frame size 4":               simple(frameSize(pcm, 4), data),
		"frame size 16":              simple(frameSize(pcm, 16), data),
		"RIFX":                       rifx(data),
		// Chunks of odd length without the pad byte.
		"LIST before fmt":       riff("RIFF", 0).chunk("LIST", 17, list[:17]).padded("fmt ", pcm).padded("data", data).finish(),
		"bext before data":      riff("RIFF", 0).padded("fmt ", pcm).chunk("bext", 603, make([]byte, 603)).padded("data", data).finish(),
		"fmt of 19 bytes":       riff("RIFF", 0).chunk("fmt ", 19, append(pcm[:16:16], 0, 0, 0)).padded("data", data).finish(),
		"LIST before LIST":      riff("RIFF", 0).chunk("LIST", 17, list[:17]).padded("LIST", list).padded("fmt ", pcm).padded("data", data).finish(),
		"bext of such a size":   riff("RIFF", 0).chunk("LIST", 17, list[:17]).chunk("bext", 0x25A, make([]byte, 0x25A)).padded("fmt ", pcm).padded("data", data).finish(),
		"pad byte of a space":   riff("RIFF", 0).padded("fmt ", pcm).chunk("odd ", 1, []byte("a ")).padded("LIST", list).padded("data", data).finish(),
		"pad byte that is no 0": riff("RIFF", 0).chunk("LIST", 17, append(list[:17:17], 'x')).padded("fmt ", pcm).padded("data", data).finish(),
	} {
		got, err := collect(t, t.Context(), save(t, file), 16000)
		if assert.NoError(t, err, name) {
			assert.Equal(t, []float32{0.5, -0.25}, got, name)
		}
	}
}

// frameSize is a fmt chunk whose frames have a size that its bytes of a second contradict.
func frameSize(fmt []byte, bytes byte) []byte {
	fmt = slices.Clone(fmt)
	fmt[12] = bytes
	return fmt
}

// rifx is a file of 16 bits at 16 kHz whose numbers have the highest byte first.
func rifx(data []byte) []byte {
	b := binary.BigEndian.AppendUint32([]byte("RIFX"), uint32(36+len(data)))
	b = binary.BigEndian.AppendUint32(append(b, "WAVEfmt "...), 16)
	for _, v := range []uint16{formatPCM, 1, 0, 16000, 0, 32000, 2, 16} {
		b = binary.BigEndian.AppendUint16(b, v)
	}
	b = binary.BigEndian.AppendUint32(append(b, "data"...), uint32(len(data)))
	for ; len(data) >= 2; data = data[2:] {
		b = append(b, data[1], data[0])
	}
	return b
}

// TestWrongFrameSize: the bytes of a second say which of two sizes of a sample is right.
func TestWrongFrameSize(t *testing.T) {
	for _, e := range []encoding{{false, 1}, {false, 2}, {false, 3}, {true, 4}} {
		code := formatPCM
		if e.float {
			code = formatFloat
		}
		right := format(code, 1, 16000, e.bytes, 8*e.bytes)
		data := encoded(e, 0.5, -0.25, 0.125, 0)
		for _, times := range []int{2, 8} {
			got, err := collect(t, t.Context(), save(t, simple(frameSize(right, byte(times*e.bytes)), data)), 16000)
			require.NoError(t, err)
			assert.Equal(t, []float32{0.5, -0.25, 0.125, 0}, got, "%+v, %d times", e, times)
		}
	}
}

// TestIncomplete: a file that was cut gives the sound that is there, and says how much is
// missing. Less than a tenth of a second, and sizes that stand for none, are no reason
// to.
func TestIncomplete(t *testing.T) {
	pcm := format(formatPCM, 2, 16000, 2, 16)
	second := make([]byte, 64000)
	for i := range second {
		second[i] = byte(i % 50)
	}
	sizes := binary.LittleEndian.AppendUint64(make([]byte, 8), 5<<32)
	sizes = append(sizes, make([]byte, 12)...)
	for name, c := range map[string]struct {
		file []byte
		says string
	}{
		"half":              {riff("RIFF", 128036).padded("fmt ", pcm).chunk("data", 128000, second).b, "the file ends at 1s, and its header says 2s: copy it again, completely"},
		"a tenth":           {riff("RIFF", 70436).padded("fmt ", pcm).chunk("data", 70400, second).b, "the file ends at 1s, and its header says 1.1s: copy it again, completely"},
		"in a frame":        {riff("RIFF", 128036).padded("fmt ", pcm).chunk("data", 128000, second[:63999]).b, "the file ends at 1s, and its header says 2s: copy it again, completely"},
		"2 GiB":             {riff("RIFF", 0x7FFFF023).padded("fmt ", pcm).chunk("data", 0x7FFFEFFF, second).b, "the file ends at 1s, and its header says 9h19m14.368s: copy it again, completely"},
		"20 GiB":            {riff("RF64", unknownSize).padded("ds64", sizes).padded("fmt ", pcm).chunk("data", unknownSize, second).b, "the file ends at 1s, and its header says 93h12m24.32s: copy it again, completely"},
		"little":            {riff("RIFF", 70432).padded("fmt ", pcm).chunk("data", 70396, second).b, ""},
		"36 bytes too many": {riff("RIFF", 64036).padded("fmt ", pcm).chunk("data", 64036, second).b, ""},
		"arecord":           {riff("RIFF", 0x80000024).padded("fmt ", pcm).chunk("data", 0x80000000, second).b, ""},
		"0x7FFFF000":        {riff("RIFF", 0x7FFFF024).padded("fmt ", pcm).chunk("data", 0x7FFFF000, second).b, ""},
		"pipe":              {riff("RIFF", unknownSize).padded("fmt ", pcm).chunk("data", unknownSize, second).b, ""},
		"none":              {riff("RIFF", 0).padded("fmt ", pcm).chunk("data", 0, second).b, ""},
		"all":               {simple(pcm, second), ""},
	} {
		got, err := collect(t, t.Context(), save(t, c.file), 16000)
		assert.InDelta(t, 16000, len(got), 1, name)
		if c.says == "" {
			assert.NoError(t, err, name)
			continue
		}
		assert.ErrorIs(t, err, sound.ErrIncomplete, name)
		assert.NotErrorIs(t, err, sound.ErrBadMedia, name)
		assert.EqualError(t, err, c.says, name)
	}
}

func TestRefused(t *testing.T) {
	pcm := format(formatPCM, 1, 16000, 2, 16)
	data := encoded(encoding{false, 2}, 0.5)
	many := riff("RIFF", 0)
	for range maxChunks + 1 {
		many.padded("JUNK", nil)
	}
	for name, c := range map[string]struct {
		file []byte
		is   error
		says string
	}{
		"empty":              {nil, sound.ErrBadMedia, "is empty"},
		"text":               {[]byte("Dear Sir, this is no sound.\n"), sound.ErrFormat, "no WAV file"},
		"one byte":           {[]byte("R"), sound.ErrFormat, "no WAV file"},
		"mp4":                {[]byte("\x00\x00\x00\x20ftypisom\x00\x00\x02\x00"), sound.ErrFormat, "no WAV file"},
		"avi":                {[]byte("RIFF\x00\x00\x00\x00AVI LIST"), sound.ErrFormat, "no WAV file"},
		"cut RIFX":           {[]byte("RIFX\x00\x00\x00\x00WAVEfmt "), sound.ErrBadMedia, "copy it again"},
		"cut in the magic":   {[]byte("RIFF\x00\x00\x00\x00WA"), sound.ErrBadMedia, "copy it again"},
		"cut after it":       {[]byte("RIFF\x00\x00\x00\x00WAVE"), sound.ErrBadMedia, "copy it again"},
		"cut in fmt":         {simple(pcm, data)[:30], sound.ErrBadMedia, "copy it again"},
		"cut before data":    {simple(pcm, data)[:36], sound.ErrBadMedia, "copy it again"},
		"cut in ds64":        {riff("RF64", 0).chunk("ds64", 28, make([]byte, 9)).b, sound.ErrBadMedia, "copy it again"},
		"no samples":         {simple(pcm, nil), sound.ErrBadMedia, "no sound"},
		"no samples, LIST":   {riff("RIFF", 0).padded("fmt ", pcm).padded("data", nil).padded("LIST", []byte("INFO")).finish(), sound.ErrBadMedia, "no sound"},
		"half a sample":      {simple(pcm, data[:1]), sound.ErrBadMedia, "no sound"},
		"DATA for data":      {riff("RIFF", 0).padded("fmt ", pcm).padded("DATA", data).finish(), sound.ErrBadMedia, "no part named"},
		"size -1 of nothing": {riff("RIFF", unknownSize).padded("fmt ", pcm).chunk("data", unknownSize, nil).b, sound.ErrBadMedia, "no sound"},
		"fmt of 14 bytes":    {simple(pcm[:14], data), sound.ErrBadMedia, "too short"},
		"no channels":        {simple(format(formatPCM, 0, 16000, 2, 16), data), sound.ErrBadMedia, "0 channels"},
		"257 channels":       {simple(format(formatPCM, 257, 16000, 2, 16), data), sound.ErrBadMedia, "1 to 256"},
		"99 Hz":              {simple(format(formatPCM, 1, 99, 2, 16), data), sound.ErrBadMedia, "100 to 768000"},
		"4 GHz":              {simple(format(formatPCM, 1, 1<<32-1, 2, 16), data), sound.ErrBadMedia, "100 to 768000"},
		"A-law":              {simple(format(6, 1, 16000, 1, 8), data), sound.ErrFormat, "codec 0x0006"},
		"ADPCM":              {simple(format(2, 1, 16000, 256, 4), data), sound.ErrFormat, "codec 0x0002"},
		"MP3":                {simple(format(0x55, 1, 16000, 1, 0), data), sound.ErrFormat, "codec 0x0055"},
		"extensible A-law":   {simple(extensible(6, 1, 16000, 1, 8, subformatTail), data), sound.ErrFormat, "codec 0x0006"},
		"other GUID":         {simple(extensible(1, 1, 16000, 2, 16, strings.Repeat("x", 14)), data), sound.ErrFormat, "codec of its own"},
		"extensible, cut":    {simple(format(formatExtensible, 1, 16000, 2, 16), data), sound.ErrFormat, "codec 0xFFFE"},
		"no bits":            {simple(format(formatPCM, 1, 16000, 0, 0), data), sound.ErrFormat, "0 bits"},
		"64 bits":            {simple(format(formatPCM, 1, 16000, 8, 64), data), sound.ErrFormat, "64 bits"},
		"float of 16 bits":   {simple(format(formatFloat, 1, 16000, 2, 16), data), sound.ErrFormat, "16 bits"},
		"many chunks":        {many.padded("fmt ", pcm).padded("data", data).finish(), sound.ErrBadMedia, "too many parts"},
		"chunk of 4 GiB":     {riff("RIFF", 0).chunk("JUNK", unknownSize, pcm).b, sound.ErrBadMedia, "copy it again"},
	} {
		path := save(t, c.file)
		_, err := Media{}.Probe(t.Context(), path)
		assert.ErrorIs(t, err, c.is, name)
		assert.ErrorContains(t, err, c.says, name)
		all, pcmErr := collect(t, t.Context(), path, 16000)
		assert.Equal(t, err, pcmErr, name)
		assert.Empty(t, all)
	}
}

// TestLimits: a file and a sound beyond the limits are errors, and none that says that they
// are no media.
func TestLimits(t *testing.T) {
	second := simple(format(formatPCM, 1, 8000, 2, 16), make([]byte, 16000))
	path := save(t, simple(format(formatPCM, 1, 100, 1, 8), make([]byte, 100*24*60*60)))
	info, err := Media{}.Probe(t.Context(), path)
	require.NoError(t, err)
	require.Equal(t, 24*time.Hour, info.Duration)

	large := save(t, second)
	require.NoError(t, os.Truncate(large, maxBytes)) // a hole, which takes no room
	_, err = Media{}.Probe(t.Context(), large)
	require.ErrorContains(t, err, "longer than 24h0m0s")
	require.NoError(t, os.Truncate(large, maxBytes+1))
	for path, says := range map[string]string{
		large: "larger than 68719476736 bytes",
		save(t, simple(format(formatPCM, 1, 100, 1, 8), make([]byte, 100*24*60*60+1))): "longer than 24h0m0s",
	} {
		_, err := Media{}.Probe(t.Context(), path)
		_, pcmErr := collect(t, t.Context(), path, 16000)
		assert.Equal(t, err, pcmErr)
		assert.NotErrorIs(t, err, sound.ErrBadMedia, "it may be right")
		assert.ErrorContains(t, err, says)
	}
	for _, rate := range []int{-1, 0, 999, 768_001} {
		_, err := collect(t, t.Context(), path, rate)
		assert.ErrorContains(t, err, "1000 to 768000")
		assert.NotErrorIs(t, err, sound.ErrBadMedia)
	}
}

func TestCut(t *testing.T) {
	file := riff("RIFF", 0).padded("bext", make([]byte, 33)).padded("fmt ", extensible(1, 3, 44100, 3, 24, subformatTail)).padded("data", make([]byte, 900)).finish()
	start := len(file) - 900
	for n := range file {
		path := save(t, file[:n])
		all, err := collect(t, t.Context(), path, 44100)
		info, probeErr := Media{}.Probe(t.Context(), path)
		require.Equal(t, err, probeErr)
		require.Equal(t, time.Duration(len(all))*time.Second/44100, info.Duration, "what is there, not what the header says")
		if frames := (n - start) / 9; frames > 0 {
			require.NoError(t, err, n)
			require.Len(t, all, frames)
		} else if n < 4 && n > 0 {
			require.ErrorIs(t, err, sound.ErrFormat, n)
		} else {
			require.ErrorIs(t, err, sound.ErrBadMedia, n)
		}
	}
}

func TestOneSampleAndExtremes(t *testing.T) {
	for _, c := range []struct{ channels, rate, frames, want int }{
		{1, 16000, 1, 1}, {1, 44100, 1, 1}, {1, 768000, 1, 1}, {1, 8000, 1, 2}, {1, 100, 1, 160}, {8, 192000, 24000, 2000}, {256, 100, 3, 480},
	} {
		file := simple(format(formatPCM, c.channels, c.rate, 2, 16), make([]byte, 2*c.channels*c.frames))
		all, err := collect(t, t.Context(), save(t, file), 16000)
		require.NoError(t, err)
		assert.Equal(t, make([]float32, c.want), all, "%+v", c)
	}
}
