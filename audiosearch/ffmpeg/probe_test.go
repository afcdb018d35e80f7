package ffmpeg

import (
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/nightly"
)

func everyTwoSeconds() (times []time.Duration) {
	for i := range 5 {
		times = append(times, time.Duration(2*i)*time.Second)
	}
	return times
}

// A filmFormat is a kind of video file.
type filmFormat struct {
	name, encoder string
	args          []string
}

func TestKeyframes(t *testing.T) {
	keyframes(t, []filmFormat{
		{"h264.mp4", "libx264", []string{"-c:v", "libx264", "-c:a", "aac"}},
	})
}

func TestKeyframesOtherFormats(t *testing.T) {
	nightly.Only(t)
	keyframes(t, []filmFormat{
		{"mkv.mkv", "mpeg4", []string{"-c:v", "mpeg4", "-c:a", "flac"}},
		{"webm.webm", "libvpx", []string{"-c:v", "libvpx", "-deadline", "realtime", "-cpu-used", "8", "-c:a", "libvorbis"}},
		{"b-frames.mp4", "libx264", []string{"-c:v", "libx264", "-bf", "3", "-c:a", "aac"}},
		{"fragments.mp4", "libx264", []string{"-c:v", "libx264", "-c:a", "aac", "-movflags", "frag_keyframe+empty_moov"}},
		{"mpeg4.mp4", "mpeg4", []string{"-c:v", "mpeg4", "-c:a", "aac"}},
		{"mov.mov", "mpeg4", []string{"-c:v", "mpeg4", "-c:a", "pcm_s16le"}},
		{"avi.avi", "mpeg4", []string{"-c:v", "mpeg4", "-c:a", "mp2"}},
		{"ts.ts", "mpeg2video", []string{"-c:v", "mpeg2video", "-c:a", "mp2"}},
		{"flv.flv", "flv", []string{"-c:v", "flv", "-c:a", "aac"}},
	})
}

func keyframes(t *testing.T, formats []filmFormat) {
	needFFmpeg(t)
	t.Parallel()
	for _, c := range formats {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			needEncoder(t, c.encoder)
			path := video(t, c.name, c.args...)
			info, err := newMedia(t, nil).Probe(t.Context(), path)
			require.NoError(t, err)
			assert.True(t, info.HasVideo)
			assert.InDelta(t, 10, info.Duration.Seconds(), 0.1)
			require.Len(t, info.Keyframes, 5)
			if slices.Contains([]string{"h264.mp4", "b-frames.mp4", "mpeg4.mp4", "mov.mov"}, c.name) {
				assert.Equal(t, everyTwoSeconds(), info.Keyframes)
			}
			for i, want := range everyTwoSeconds() {
				assert.InDelta(t, want.Seconds(), info.Keyframes[i].Seconds(), 0.1, "keyframe %d", i) // others start a few frames late
			}
			got, err := collect(t, t.Context(), newMedia(t, nil), path, 16000)
			require.NoError(t, err)
			assert.InDelta(t, 10, float64(len(got))/16000, 0.1)
		})
	}
}

func TestSoundAlone(t *testing.T) {
	soundAlone(t, map[string]string{"a.mp3": "libmp3lame", "a.opus": "libopus", "a.m4a": "aac"})
}

func TestSoundAloneOtherFormats(t *testing.T) {
	nightly.Only(t)
	soundAlone(t, map[string]string{
		"a.ogg": "libvorbis", "a.flac": "flac", "a.aac": "aac", "a.aiff": "pcm_s16be", "a.wav": "adpcm_ms",
		"a.au": "pcm_mulaw", "a.caf": "pcm_s24le", "a.wma": "wmav2", "a.ac3": "ac3", "a.w64": "pcm_s16le",
	})
}

// soundAlone tries a file of each name, by its encoder.
func soundAlone(t *testing.T, encoders map[string]string) {
	needFFmpeg(t)
	t.Parallel()
	for _, name := range slices.Sorted(maps.Keys(encoders)) {
		encoder := encoders[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			needEncoder(t, encoder)
			path := record(t, append(tone("0.5*sin(2*PI*440*t):s=48000:d=3"), "-c:a", encoder, name)...)
			info, err := newMedia(t, nil).Probe(t.Context(), path)
			require.NoError(t, err)
			assert.False(t, info.HasVideo)
			assert.Empty(t, info.Keyframes)
			assert.InDelta(t, 3, info.Duration.Seconds(), 0.2)
			got, err := collect(t, t.Context(), newMedia(t, nil), path, 16000)
			require.NoError(t, err)
			assert.InDelta(t, 3, float64(len(got))/16000, 0.1)
			assert.InDelta(t, -9.03, level(got[16000:32000]), 0.6, "dB") // LAME makes it 0.45 dB quieter
		})
	}
}

func TestCoverIsNoVideo(t *testing.T) {
	needFFmpeg(t)
	t.Parallel()
	needEncoder(t, "libmp3lame")
	cover := record(t, append(film, "-frames:v", "1", "cover.jpg")...)
	args := append(tone("0.5*sin(2*PI*440*t):s=48000:d=3"), "-i", cover, "-map", "0", "-map", "1", "-c:a", "libmp3lame", "-c:v", "copy", "-id3v2_version", "3", "-disposition:v", "attached_pic")
	info, err := newMedia(t, nil).Probe(t.Context(), record(t, append(args, "a.mp3")...))
	require.NoError(t, err)
	assert.False(t, info.HasVideo)
	assert.Empty(t, info.Keyframes)
}

// A sound track that begins after the pictures has silence before it, so that times are
// those of a player.
func TestLateSound(t *testing.T) {
	needFFmpeg(t)
	t.Parallel()
	for _, name := range []string{"late.mkv", "late.mp4", "late.ts"} {
		args := append(append([]string{}, film...), "-itsoffset", "3")
		args = append(append(args, tone("0.5*sin(2*PI*440*t):s=48000:d=7")...), "-t", "10", "-c:v", "mpeg2video", "-g", "50", "-c:a", "mp2", name)
		path := record(t, args...)
		info, err := newMedia(t, nil).Probe(t.Context(), path)
		require.NoError(t, err)
		require.Len(t, info.Keyframes, 5)
		assert.InDelta(t, 2, (info.Keyframes[2] - info.Keyframes[1]).Seconds(), 0.001)
		assert.InDelta(t, 0, info.Keyframes[0].Seconds(), 0.1)
		got, err := collect(t, t.Context(), newMedia(t, nil), path, 16000)
		require.NoError(t, err)
		assert.InDelta(t, 10, float64(len(got))/16000, 0.1)
		assert.Less(t, level(got[:16000*29/10]), -90.0)
		assert.InDelta(t, -9.03, level(got[16000*31/10:16000*4]), 0.2)
	}
}

// A sound that begins later than ffprobe looks.
func TestVeryLateSound(t *testing.T) {
	needFFmpeg(t)
	nightly.Only(t)
	t.Parallel()
	files := map[string][]string{
		"late.mkv": {"mpeg4", "flac"}, "late.mp4": {"mpeg4", "aac"}, "late.ts": {"mpeg2video", "mp2"}, "late.mpg": {"mpeg2video", "mp2"},
	}
	for name, codecs := range files {
		args := append(append([]string{}, film...), "-itsoffset", "12")
		args = append(args, tone("0.5*sin(2*PI*440*t):s=48000:d=3")...)
		path := record(t, append(args, "-t", "15", "-c:v", codecs[0], "-c:a", codecs[1], name)...)
		got, err := collect(t, t.Context(), newMedia(t, nil), path, 16000)
		require.NoError(t, err, name)
		if assert.InDelta(t, 15, float64(len(got))/16000, 0.1, name) {
			assert.Less(t, level(got[:16000*119/10]), -90.0, name)
			assert.InDelta(t, -9.03, level(got[16000*122/10:16000*14]), 0.2, name)
		}
	}
}

// Recorders leave out what they did not get in time.
func TestGap(t *testing.T) {
	needFFmpeg(t)
	t.Parallel()
	path := record(t, append(tone("0.5*sin(2*PI*440*t):s=44100:d=8"), "-af", `aselect=not(between(t\,3\,5))`, "-c:a", "flac", "gap.mkv")...)
	got, err := collect(t, t.Context(), newMedia(t, nil), path, 16000)
	require.NoError(t, err)
	assert.InDelta(t, 8, float64(len(got))/16000, 0.01)
	assert.InDelta(t, -9.03, level(got[:16000*29/10]), 0.1)
	assert.Less(t, level(got[16000*31/10:16000*48/10]), -90.0) // what the resampler held comes after the gap
	assert.InDelta(t, -9.03, level(got[16000*51/10:16000*79/10]), 0.1)
}

func TestPacketLines(t *testing.T) {
	for line, want := range map[string]time.Duration{
		"0,      23040,      25600,      512,      100, 0xa1b2c3d4":                            2 * time.Second,
		"0,      23040,      25600,      512,      100, 0xa1b2c3d4, S=1,        8, 0x00020000": 2 * time.Second,
		"0, 0, 12800, 512, 100, 0xa1b2c3d4, F=0x11":                                            time.Second,
		"0, 25600, -9223372036854775808, 512, 100, 0xa1b2c3d4":                                 2 * time.Second,
		"0, 0, -6400, 512, 100, 0xa1b2c3d4":                                                    0,
	} {
		list := &packetList{times: thinned{max: 1}}
		list.add("#tb 0: 1/12800")
		list.add(line)
		assert.Equal(t, []time.Duration{want}, list.times.kept, line)
	}
	const none = "-9223372036854775808"
	list := &packetList{times: thinned{max: 1}}
	for _, line := range []string{
		"0, 0, 0, 1, 1, 0x0", "#tb 0: 1/0", "0, 0, 0, 1, 1, 0x0", "#tb 0: 1/12800", "", "#software: x", "0, 0, 0, 1, 1, 0x0, F=0x0", "0, 0, 0, 1, 1, 0x0, F=0x5",
		"0, " + none + ", " + none + ", 1, 1, 0x0", "0, x, y, 1, 1, 0x0", ",,,,,", "0, 0, 0",
	} {
		list.add(line)
	}
	assert.Empty(t, list.times.kept)
}

func TestSeconds(t *testing.T) {
	for said, want := range map[string]time.Duration{"1.5": 1500 * time.Millisecond, "": 0, "N/A": 0, "NaN": 0, "Inf": 0, "-2": 0, "1e300": math.MaxInt64} {
		assert.Equal(t, want, seconds(number(said)), said)
	}
}

func TestThinned(t *testing.T) {
	for _, most := range []int{1, 2, 3, 7, 8, 100} {
		for n := range 300 {
			times := thinned{max: most}
			for i := range n {
				times.add(time.Duration(i))
			}
			require.LessOrEqual(t, len(times.kept), most)
			for i, at := range times.kept {
				require.Equal(t, time.Duration(i*(times.every+1)), at, "%d of %d", i, n)
			}
			if n > 0 {
				last := int(times.kept[len(times.kept)-1])
				require.Less(t, n-1-last, times.every+1, "the end is covered")
			}
			if n <= most {
				require.Len(t, times.kept, n)
			} else if most > 1 {
				require.Greater(t, len(times.kept), most/2-1)
			}
		}
	}
}

func TestMaxKeyframes(t *testing.T) {
	needFFmpeg(t)
	nightly.Only(t)
	t.Parallel()
	path := video(t, "many.avi", "-c:v", "mjpeg", "-c:a", "mp2") // each picture is a keyframe: 250
	m := newMedia(t, nil)
	m.maxKeyframes = 20
	info, err := m.Probe(t.Context(), path)
	require.NoError(t, err)
	require.Len(t, info.Keyframes, 16)
	assert.InDelta(t, 16.0/25, (info.Keyframes[9] - info.Keyframes[8]).Seconds(), 0.001)
}
