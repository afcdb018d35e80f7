package wav

import (
	"context"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// An hour must not need more memory than a minute. Both files are holes.
func TestMemoryIsFlat(t *testing.T) {
	allocated := func(length time.Duration) uint64 {
		path := save(t, simple(format(formatPCM, 2, 8000, 2, 16), nil))
		frames := int64(length.Seconds() * 8000)
		file := riff("RIFF", unknownSize).padded("fmt ", format(formatPCM, 2, 8000, 2, 16)).chunk("data", uint32(4*frames), nil).b
		require.NoError(t, os.WriteFile(path, file, 0o600))
		require.NoError(t, os.Truncate(path, int64(len(file))+4*frames))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		var samples int64
		for block, err := range (Media{}).PCM(t.Context(), path, 4000) {
			require.NoError(t, err)
			samples += int64(len(block))
		}
		runtime.ReadMemStats(&after)
		require.Equal(t, frames/2, samples)
		return after.TotalAlloc - before.TotalAlloc
	}
	minute, hour := allocated(time.Minute), allocated(time.Hour)
	assert.Less(t, hour, minute+1<<20, "bytes allocated for an hour, against those for a minute")
	assert.Less(t, hour, uint64(8<<20))
}

func TestLongerThan4GiB(t *testing.T) {
	const frames = int64(5 << 30 / 4)
	sizes := []byte{27: 0}
	for i := range 8 {
		sizes[8+i] = byte((4 * frames) >> (8 * i))
	}
	pcm := format(formatPCM, 2, 48000, 2, 16)
	lower := uint32(4 * frames & (1<<32 - 1)) // 32 bits of the length
	for name, file := range map[string][]byte{
		"RF64":                      riff("RF64", unknownSize).padded("ds64", sizes).padded("fmt ", pcm).chunk("data", unknownSize, nil).b,
		"RIFF with the lower bits":  riff("RIFF", lower+36).padded("fmt ", pcm).chunk("data", lower, nil).b,
		"RIFF of no size, they too": riff("RIFF", 0).padded("fmt ", pcm).chunk("data", lower, nil).b,
		"RIFF of no size":           riff("RIFF", 0).padded("fmt ", pcm).chunk("data", 0, nil).b,
		"RIFF of a pipe":            riff("RIFF", 0).padded("fmt ", pcm).chunk("data", 0x7FFFF000, nil).b,
		"RIFF of another pipe":      riff("RIFF", 0).padded("fmt ", pcm).chunk("data", 0x80000000, nil).b,
		"RIFF of the greatest size": riff("RIFF", unknownSize).padded("fmt ", pcm).chunk("data", unknownSize, nil).b,
	} {
		track, err := parse(followedByZeros(file), int64(len(file))+4*frames)
		require.NoError(t, err, name)
		assert.Equal(t, frames, track.frames, name)
		assert.Zero(t, track.missing, name)
	}
}

// followedByZeros is a file of any size whose other bytes are 0.
type followedByZeros []byte

func (f followedByZeros) ReadAt(b []byte, at int64) (int, error) {
	clear(b)
	if at < int64(len(f)) {
		copy(b, f[at:])
	}
	return len(b), nil
}

func TestCancel(t *testing.T) {
	path := save(t, simple(format(formatPCM, 1, 16000, 2, 16), make([]byte, 1<<20)))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	blocks := 0
	for block, err := range (Media{}).PCM(ctx, path, 16000) {
		if blocks++; blocks == 2 {
			assert.Nil(t, block)
			assert.ErrorIs(t, err, context.Canceled)
			continue
		}
		require.NoError(t, err)
		cancel()
	}
	assert.Equal(t, 2, blocks)
	_, err := Media{}.Probe(ctx, path)
	assert.ErrorIs(t, err, context.Canceled)
}

// A caller who stops in the middle leaves nothing open.
func TestStop(t *testing.T) {
	path := save(t, simple(format(formatPCM, 1, 44100, 2, 16), make([]byte, 1<<20)))
	open := func() int {
		names, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip("this system does not list open files:", err)
		}
		return len(names)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which closes what is forgotten
	before := open()
	for range 50 {
		for range (Media{}).PCM(t.Context(), path, 16000) {
			break
		}
		_, err := Media{}.Probe(t.Context(), path)
		require.NoError(t, err)
	}
	assert.Less(t, open(), before+25)
}

func TestNoFile(t *testing.T) {
	folder := t.TempDir()
	for _, path := range []string{filepath.Join(folder, "missing"), folder} {
		_, err := Media{}.Probe(t.Context(), path)
		assert.Error(t, err)
		assert.NotErrorIs(t, err, sound.ErrBadMedia, "it is not the content that is wrong")
		assert.NotContains(t, err.Error(), folder)
		_, pcmErr := collect(t, t.Context(), path, 16000)
		assert.Equal(t, err, pcmErr)
	}
	_, err := Media{}.Probe(t.Context(), filepath.Join(folder, "missing"))
	assert.ErrorIs(t, err, fs.ErrNotExist)

	target := save(t, simple(format(formatPCM, 1, 8000, 2, 16), make([]byte, 16)))
	link := filepath.Join(folder, "link")
	if err := os.Symlink(target, link); err != nil {
		t.Skip("this system has no symbolic links:", err)
	}
	info, err := Media{}.Probe(t.Context(), link) // the folder's guard is sound.Files
	require.NoError(t, err)
	assert.Equal(t, time.Millisecond, info.Duration)
}

func TestDurationOfManyFrames(t *testing.T) {
	s := track{rate: 100, frames: math.MaxInt64}
	assert.Equal(t, time.Duration(math.MaxInt64), s.duration())
	s = track{rate: 44100, frames: 44100*3600 + 441}
	assert.Equal(t, time.Hour+10*time.Millisecond, s.duration())
	assert.Equal(t, "10ms", fmt.Sprint((&track{rate: 44100, frames: 441}).duration()))
}
