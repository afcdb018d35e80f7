package astfeatures_test

import (
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/astfeatures"
)

func TestWindow(t *testing.T) {
	assert.EqualValues(t, astfeatures.WindowSamples, astfeatures.Window*astfeatures.SampleRate/time.Second)
}

// rowsOf counts the rows that are not padding. Column 3 tells: it is silent in all others.
func rowsOf(t testing.TB, features []float32) (rows int) {
	for at := 0; at < len(features); at += astfeatures.Bins {
		row := features[at:][:astfeatures.Bins]
		if row[3] != padding {
			if at != rows*astfeatures.Bins || row[3] != silent {
				t.Fatalf("row %d has %v in column 3, and %d rows were no padding", at/astfeatures.Bins, row[3], rows)
			}
			rows++
			continue
		}
		for _, x := range row {
			if x != padding {
				t.Fatalf("row %d is padding, but has %v", at/astfeatures.Bins, x)
			}
		}
	}
	return rows
}

// TestRows: as many rows as whole frames, 1024 at most.
func TestRows(t *testing.T) {
	samples := slices.Concat(signal(t, "dialtone_12s"), signal(t, "dialtone_12s"))
	for length, want := range map[int]int{
		0: 0, 1: 0, 399: 0, 400: 1, 559: 1, 560: 2, 16000: 98, astfeatures.WindowSamples: 1022,
		163919: 1022, 163920: 1023, 164079: 1023, 164080: 1024, 164240: 1024, 192000: 1024, len(samples): 1024,
	} {
		assert.Equal(t, want, rowsOf(t, extracted(samples[:length])), "%d samples", length)
	}
	require.Equal(t, extracted(samples[:164080]), extracted(samples), "what is beyond the last row counts for nothing")
	require.Zero(t, rowsOf(t, extracted(nil)))
}

// TestNotNumbers: a sample that is no finite number counts as 0, and huge ones stay finite.
func TestNotNumbers(t *testing.T) {
	const largest = math.MaxFloat32
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	clean := signal(t, "noise_1s")
	dirty := slices.Clone(clean)
	for i, at := range []int{0, 1, 399, 400, 401, 5000, 5001, 5002, len(clean) - 1} {
		clean[at] = 0
		dirty[at] = []float32{nan, inf, -inf}[i%3]
	}
	require.Equal(t, extracted(clean), extracted(dirty))

	for i := range clean {
		clean[i] = []float32{-largest, largest, nan}[i%3]
	}
	for _, x := range extracted(clean) {
		require.False(t, math.IsNaN(float64(x)) || math.IsInf(float64(x), 0))
	}
}

func TestWrongLength(t *testing.T) {
	for _, length := range []int{0, 1, astfeatures.Bins, astfeatures.Frames*astfeatures.Bins - 1, astfeatures.Frames*astfeatures.Bins + 1} {
		assert.PanicsWithValue(t,
			"astfeatures: Extract was given room for "+strconv.Itoa(length)+
				" features; make dst 131072 long (Frames*Bins)",
			func() { astfeatures.Extract(make([]float32, length), make([]float32, 400)) })
	}
}

// TestConcurrent: clips of many goroutines do not mix.
func TestConcurrent(t *testing.T) {
	names := []string{"chirp_1s", "noise_1s", "speech", "short_560", "short_399"}
	var wants, signals [][]float32
	for _, name := range names {
		signals = append(signals, signal(t, name))
		wants = append(wants, extracted(signals[len(signals)-1]))
	}
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			k := i % len(names)
			before := slices.Clone(signals[k])
			assert.True(t, slices.Equal(wants[k], extracted(signals[k])), names[k])
			assert.True(t, slices.Equal(before, signals[k]), "the samples stay as they are")
		})
	}
	all.Wait()
}

func FuzzExtract(f *testing.F) {
	f.Add([]byte{})
	f.Add(make([]byte, 4*400))
	f.Add(slices.Repeat([]byte{0, 0, 0x80, 0x7F, 0, 0, 0xC0, 0x7F, 0xFF, 0xFF, 0x7F, 0x7F, 1, 0, 0, 0}, 200))
	f.Fuzz(func(t *testing.T, data []byte) {
		samples := make([]float32, len(data)/4)
		for i := range samples {
			samples[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
		}
		features := extracted(samples)
		for i, x := range features {
			// The loudest possible sample, squared and summed over a frame, is below e^195.
			if !(x >= silent-1e-6 && x <= 23) {
				t.Fatalf("cell %d is %v", i, x)
			}
		}
		want := 0
		if len(samples) >= 400 {
			want = min(1+(len(samples)-400)/160, astfeatures.Frames)
		}
		if got := rowsOf(t, features); got != want {
			t.Fatalf("%d rows of %d samples, want %d", got, len(samples), want)
		}
	})
}
