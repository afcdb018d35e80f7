package ffmpeg

import (
	"encoding/binary"
	"math"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/nightly"
)

// Files whose clocks do not go from 0 to their end. The player is the judge: a sound is
// where its time stamps, counted from the start of the file, put it.

// beep is ffmpeg's input of so many seconds of silence with a tone in it.
func beep(hertz, from, to, seconds string) []string {
	return tone("0.5*sin(2*PI*" + hertz + "*t)*between(t\\," + from + "\\," + to + "):s=48000:d=" + seconds)
}

// args puts arguments together. One of several words is cut into these.
func args(parts ...any) (all []string) {
	for _, part := range parts {
		switch part := part.(type) {
		case []string:
			all = append(all, part...)
		case string:
			all = append(all, strings.Fields(part)...)
		}
	}
	return all
}

// pictures are so many seconds with a keyframe every two seconds.
func pictures(seconds string) []string {
	return args("-f lavfi -i testsrc2=s=160x90:r=25:d=" + seconds)
}

// A heard file comes with the sounds and pictures that must be found in it.
type heard struct {
	path      string
	onsets    []float64 // seconds
	keyframes []float64 // seconds; nil: no video
	start     time.Duration
}

// check requires these sounds and pictures, and no message about a cut file.
func (h heard) check(t *testing.T) {
	t.Helper()
	m := newMedia(t, nil)
	info, err := m.Probe(t.Context(), h.path)
	require.NoError(t, err)
	assert.InDelta(t, h.start.Seconds(), info.Start.Seconds(), 0.05, "the clock at the start of the file")
	if assert.Len(t, info.Keyframes, len(h.keyframes), "%v", info.Keyframes) {
		for i, at := range h.keyframes {
			assert.InDelta(t, at, info.Keyframes[i].Seconds(), 0.06, "keyframe %d", i)
		}
	}
	samples, err := collect(t, t.Context(), m, h.path, 16000)
	require.NoError(t, err, "the file is whole")
	found := onsets(samples)
	if assert.Len(t, found, len(h.onsets), "%v", found) {
		for i, at := range h.onsets {
			assert.InDelta(t, at, found[i], 0.06, "onset %d", i)
		}
	}
}

// onsets returns when tones begin, in seconds: a block of 10 ms that is loud after a tenth of
// a second that is not.
func onsets(samples []float32) (found []float64) {
	const block = 160
	silent := 10
	for from := 0; from+block <= len(samples); from += block {
		if level(samples[from:from+block]) < -30 {
			silent++
			continue
		}
		if silent >= 10 {
			found = append(found, float64(from)/16000)
		}
		silent = 0
	}
	return found
}

// steps returns the times from one to another, in steps of two seconds.
func steps(from, to float64) (times []float64) {
	for at := from; at < to; at += 2 {
		times = append(times, at)
	}
	return times
}

// join puts files one behind the other.
func join(t *testing.T, name string, paths ...string) string {
	t.Helper()
	var all strings.Builder
	for _, path := range paths {
		all.Write(readFile(t, path))
	}
	return write(t, name, all.String())
}

const mpeg2 = "-c:v mpeg2video -g 50 -bf 0 -c:a mp2"

// TestLostSignal: a receiver that had no signal for a while leaves out its time.
func TestLostSignal(t *testing.T) {
	nightly.Only(t)
	lostSignal(t, "5", "ts", "mkv", "mp4")
	lostSignal(t, "15", "ts", "mpg")
	lostSignal(t, "30", "ts", "mpg", "mkv")
	lostSignal(t, "600", "ts")
}

func lostSignal(t *testing.T, seconds string, kinds ...string) {
	needFFmpeg(t)
	for _, kind := range kinds {
		t.Run(seconds+" s, "+kind, func(t *testing.T) {
			t.Parallel()
			gap, err := time.ParseDuration(seconds + "s")
			require.NoError(t, err)
			// Frames behind the sixth second come later by the gap.
			late := "setpts='PTS+gte(T,6)*" + seconds + "/TB'"
			path := record(t, args(pictures("12"), beep("440", "9", "10", "12"), "-vsync passthrough -vf", []string{late}, "-af", []string{"a" + late}, mpeg2, "a."+kind)...)
			keyframes := append(steps(0, 6), steps(6+gap.Seconds(), 12+gap.Seconds())...)
			heard{path, []float64{9 + gap.Seconds()}, keyframes, 0}.checkFrom(t, kind)
		})
	}
}

// checkFrom is check for a kind of file whose clock ffmpeg begins later.
func (h heard) checkFrom(t *testing.T, kind string) {
	t.Helper()
	switch kind {
	case "ts":
		h.start += 1400 * time.Millisecond
	case "mpg", "vob":
		h.start += 500 * time.Millisecond
	}
	h.check(t)
}

// TestLateSoundInFragments: fragments of a file have no index, which would say when its sound
// begins.
func TestLateSoundInFragments(t *testing.T) {
	nightly.Only(t)
	needFFmpeg(t)
	for _, flags := range []string{"frag_keyframe+empty_moov+delay_moov", "frag_keyframe+empty_moov+default_base_moof"} {
		t.Run(flags, func(t *testing.T) {
			t.Parallel()
			path := record(t, args(pictures("17"), "-itsoffset 12", beep("440", "1", "3", "5"), "-c:v mpeg4 -g 50 -bf 0 -c:a aac -max_interleave_delta 0 -movflags", flags, "a.mp4")...)
			heard{path: path, onsets: []float64{13}, keyframes: steps(0, 17)}.check(t)
		})
	}
}

// TestLateClock: the first time stamp of a part of a live recording is not 0. Time 0 is where
// the file starts, and Start is the time of its clock there.
func TestLateClock(t *testing.T) {
	nightly.Only(t)
	needFFmpeg(t)
	input := args(pictures("10"), beep("440", "3", "5", "10"))
	for name, codecs := range map[string]string{
		"a.mp4": "-c:v mpeg4 -g 50 -bf 0 -c:a aac", "a.mkv": "-c:v mpeg4 -g 50 -bf 0 -c:a flac",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := record(t, args(input, codecs, "-output_ts_offset 7", name)...)
			heard{path, []float64{3}, steps(0, 10), 7 * time.Second}.check(t)
		})
	}
	t.Run("a part of a live recording", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		cmd := exec.Command("ffmpeg", args("-nostdin -v error", input, "-c:v mpeg4 -g 50 -bf 0 -c:a aac -f hls -hls_time 4 -hls_segment_type fmp4",
			"-hls_fmp4_init_filename init.mp4 -hls_segment_filename part%d.m4s list.m3u8")...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		path := join(t, "a.mp4", filepath.Join(dir, "init.mp4"), filepath.Join(dir, "part1.m4s"))
		heard{path, []float64{0}, []float64{0, 2}, 4 * time.Second}.check(t)
	})
}

// TestLongGuess: the duration of a file that does not say it is guessed from its bit rate, and
// refuses nothing.
func TestLongGuess(t *testing.T) {
	nightly.Only(t)
	needFFmpeg(t)
	t.Parallel()
	path := record(t, args(tone("0.5*random(0)*gt(t\\,30):s=16000:d=60"), "-c:a aac -b:a 96k a.aac")...)
	m := newMedia(t, nil)
	m.maxDuration = 10 * time.Minute
	info, err := m.Probe(t.Context(), path)
	require.NoError(t, err)
	require.Greater(t, info.Duration, 10*time.Minute, "the guess is far off")
	assert.True(t, info.Estimated)
	samples, err := collect(t, t.Context(), m, path, 16000)
	require.NoError(t, err)
	assert.InDelta(t, 60, float64(len(samples))/16000, 0.2)
}

// TestJoined: where files were put one behind the other, the next one goes on where the one
// before ends, for the sound and for the pictures.
func TestJoined(t *testing.T) {
	nightly.Only(t)
	joined(t, "a.ts", mpeg2)
	joined(t, "a.flac", "-vn")
	joined(t, "a.mkv", "-c:v mpeg4 -g 50 -bf 0 -c:a flac")
}

func TestJoinedOtherwise(t *testing.T) {
	nightly.Only(t)
	joined(t, "a.mpg", mpeg2)
	joined(t, "a.mp3", "-vn -c:a libmp3lame")
	joined(t, "a.ogg", "-vn -c:a libvorbis")
	joined(t, "a.aac", "-vn -c:a aac")
	joined(t, "a.webm", "-c:v libvpx -deadline realtime -cpu-used 8 -g 50 -c:a libopus")
	// The second file's clock is an hour ahead, or the first file's clock many hours.
	joinedClocks(t, "ahead.ts", mpeg2, "0", "3600")
	joinedClocks(t, "back.ts", mpeg2, "50000", "0")
}

func joined(t *testing.T, name, codecs string) { joinedClocks(t, name, codecs, "0", "0") }

func joinedClocks(t *testing.T, name, codecs, first, second string) {
	needFFmpeg(t)
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		a := record(t, args(pictures("10"), beep("440", "3", "5", "10"), codecs, "-output_ts_offset", first, name)...)
		b := record(t, args(pictures("8"), beep("1000", "2", "4", "8"), codecs, "-output_ts_offset", second, name)...)
		h := heard{path: join(t, name, a, b), onsets: []float64{3, 12}}
		if !strings.Contains(codecs, "-vn") {
			h.keyframes = steps(0, 18)
		}
		start, err := time.ParseDuration(first + "s")
		require.NoError(t, err)
		h.start = start
		h.checkFrom(t, strings.TrimPrefix(filepath.Ext(name), "."))
	})
}

// TestTwoPrograms: each program of a broadcast has a clock of its own. Pictures and sound
// come from the first one, and so does the clock at the start.
func TestTwoPrograms(t *testing.T) {
	nightly.Only(t)
	needFFmpeg(t)
	for name, clocks := range map[string][2]string{"ahead": {"0", "7200"}, "behind": {"7200", "0"}} {
		t.Run("the second one is "+name, func(t *testing.T) {
			t.Parallel()
			testTwoPrograms(t, clocks)
		})
	}
}

func testTwoPrograms(t *testing.T, clocks [2]string) {
	program := func(number, pid, hertz, from, to, offset string) string {
		return record(t, args(pictures("10"), beep(hertz, from, to, "10"), mpeg2, "-mpegts_service_id", number, "-mpegts_pmt_start_pid", "0x1"+pid+"0",
			"-mpegts_start_pid", "0x"+pid+"00", "-output_ts_offset", offset, "a.ts")...)
	}
	first, second := readFile(t, program("1", "1", "440", "3", "5", clocks[0])), readFile(t, program("2", "2", "1000", "6", "8", clocks[1]))
	start, err := time.ParseDuration(clocks[0] + "s")
	require.NoError(t, err)
	h := heard{start: start, path: write(t, "a.ts", string(twoPrograms(first, second))), onsets: []float64{3}, keyframes: steps(0, 10)}
	h.checkFrom(t, "ts")
}

// twoPrograms mixes the packets of two files of one program each, under one table of both
// (ISO/IEC 13818-1, 2.4.4).
func twoPrograms(first, second []byte) (mixed []byte) {
	const size = 188
	section := []byte{0, 0xB0, 17, 0, 1, 0xC1, 0, 0, 0, 1, 0xE0 | 0x01, 0x10, 0, 2, 0xE0 | 0x01, 0x20}
	section = binary.BigEndian.AppendUint32(section, checksum(section))
	table := append([]byte{0x47, 0x40, 0, 0x10, 0}, section...)
	for len(table) < size {
		table = append(table, 0xFF)
	}
	pid := func(packet []byte) int { return int(packet[1]&0x1F)<<8 | int(packet[2]) }
	for len(first) >= size || len(second) >= size {
		if len(first) >= size {
			packet := first[:size]
			if pid(packet) == 0 {
				table[3] = 0x10 | packet[3]&0x0F
				packet = table
			}
			mixed, first = append(mixed, packet...), first[size:]
		}
		if len(second) >= size {
			if p := pid(second); p != 0 && p != 17 {
				mixed = append(mixed, second[:size]...)
			}
			second = second[size:]
		}
	}
	return mixed
}

// checksum is CRC-32/MPEG-2.
func checksum(b []byte) uint32 {
	sum := uint32(math.MaxUint32)
	for _, x := range b {
		sum ^= uint32(x) << 24
		for range 8 {
			if sum&(1<<31) != 0 {
				sum = sum<<1 ^ 0x04C11DB7
			} else {
				sum <<= 1
			}
		}
	}
	return sum
}

// TestDefaultTrack: of several sound tracks, the one that the file marks is heard, else the
// first one that ffmpeg can decode.
func TestDefaultTrack(t *testing.T) {
	nightly.Only(t)
	needFFmpeg(t)
	tracks := args(beep("440", "3", "5", "10"), beep("1000", "6", "8", "10"), "-map 0 -map 1")
	for name, c := range map[string]struct {
		args  string
		onset float64
	}{
		"default.mkv": {"-c:a flac -disposition:a:0 comment -disposition:a:1 default", 6},
		"default.mp4": {"-c:a aac -disposition:a:0 0 -disposition:a:1 default", 6},
		"first.mkv":   {"-c:a flac", 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			heard{path: record(t, args(tracks, c.args, name)...), onsets: []float64{c.onset}}.check(t)
		})
	}
	for codec, in := range map[string]string{"zzzz": "mp4a", "ac-4": "mp4a"} {
		t.Run("first is "+codec, func(t *testing.T) {
			t.Parallel()
			content := string(readFile(t, record(t, args(tracks, "-c:a aac a.mp4")...)))
			content = strings.Replace(strings.Replace(content, in, codec, 1), "esds", "zzzz", 1)
			heard{path: write(t, "a.mp4", content), onsets: []float64{6}}.check(t)
		})
	}
}

// TestSecondTrackIsWhole: the end of the first track does not count for the second one.
func TestSecondTrackIsWhole(t *testing.T) {
	needFFmpeg(t)
	t.Parallel()
	tracks := args(beep("440", "3", "5", "20"), beep("1000", "6", "8", "10"), "-map 0 -map 1 -c:a aac a.mp4")
	content := strings.Replace(string(readFile(t, record(t, tracks...))), "mp4a", "ac-4", 1)
	heard{path: write(t, "a.mp4", strings.Replace(content, "esds", "zzzz", 1)), onsets: []float64{6}}.check(t)
}

// TestSoundThatChanges: rate and channels may change on the way, as before and after adverts.
func TestSoundThatChanges(t *testing.T) {
	nightly.Only(t)
	needFFmpeg(t)
	for _, second := range []string{"-ac 2 -ar 44100", "-ac 1 -ar 48000"} {
		t.Run(second, func(t *testing.T) {
			t.Parallel()
			a := record(t, args(pictures("10"), beep("440", "3", "5", "10"), mpeg2, "-ac 2 a.ts")...)
			b := record(t, args(pictures("8"), beep("440", "2", "4", "8"), mpeg2, second, "-output_ts_offset 10 a.ts")...)
			heard{path: join(t, "a.ts", a, b), onsets: []float64{3, 12}, keyframes: steps(0, 18)}.checkFrom(t, "ts")
		})
	}
}

// TestPicturesThatDoNotCome: a broadcast may announce pictures that do not come, or that
// cannot be read.
func TestPicturesThatDoNotCome(t *testing.T) {
	needFFmpeg(t)
	t.Parallel()
	whole := readFile(t, record(t, args(pictures("10"), beep("440", "3", "5", "10"), mpeg2, "a.ts")...))
	var without []byte
	for ; len(whole) >= 188; whole = whole[188:] {
		if int(whole[1]&0x1F)<<8|int(whole[2]) != 256 {
			without = append(without, whole[:188]...)
		}
	}
	heard{path: write(t, "a.ts", string(without)), onsets: []float64{3}}.checkFrom(t, "ts")
}

// TestKeyframesOfACutPart: the times at which pictures are decoded step back by some pictures
// where a part was cut out of a film.
func TestKeyframesOfACutPart(t *testing.T) {
	needFFmpeg(t)
	needEncoder(t, "libx264")
	t.Parallel()
	whole := record(t, args("-f lavfi -i testsrc2=s=160x90:r=5:d=20", beep("440", "3", "5", "20"),
		"-c:v libx264 -bf 4 -b_strategy 0 -x264-params open-gop=1:keyint=20:min-keyint=20:scenecut=0 -c:a aac a.mkv")...)
	info, err := newMedia(t, nil).Probe(t.Context(), record(t, args("-ss 7.3 -i", whole, "-c copy a.mkv")...))
	require.NoError(t, err)
	require.NotEmpty(t, info.Keyframes)
	for i, at := range info.Keyframes {
		assert.InDelta(t, 1.184+4*float64(i), at.Seconds(), 0.01, "keyframe %d", i)
	}
}
