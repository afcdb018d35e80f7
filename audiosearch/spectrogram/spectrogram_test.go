package spectrogram

import (
	"bytes"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sine is a sound of full scale.
func sine(frequency float64, samples int) []float32 {
	sound := make([]float32, samples)
	for i := range sound {
		sound[i] = float32(math.Sin(2 * math.Pi * frequency * float64(i) / Rate))
	}
	return sound
}

// TestLevels: a sine is a line of 0 dB at the height of its frequency.
func TestLevels(t *testing.T) {
	for _, frequency := range []float64{60, 440, 1000, 7500} {
		cells := levels(sine(frequency, 3*Rate))
		for x := 20; x < Width-20; x++ {
			column := cells[x*Height : (x+1)*Height]
			loudest := 0
			for y := range column {
				if column[y] > column[loudest] {
					loudest = y
				}
			}
			want := math.Log(highest/frequency) / math.Log(highest/lowest) * Height
			// Between two bins a line is lower and wider: the octaves at the bottom have few.
			require.InDelta(t, want, float64(loudest)+0.5, 1+150/frequency, "%v Hz, column %d", frequency, x)
			require.InDelta(t, -1.45, column[loudest], 1.55, "%v Hz, column %d", frequency, x)
		}
	}
}

// TestOddSounds: silence is dark, and no number that is none is a color that is none.
func TestOddSounds(t *testing.T) {
	for _, nothing := range [][]float32{nil, make([]float32, 1), make([]float32, 5*Rate)} {
		picture := Draw(nothing, 0, time.Hour)
		dark := !bytes.ContainsFunc(picture.Pix, func(shade rune) bool { return shade != 0 })
		assert.True(t, dark, "%d samples", len(nothing))
	}
	odd := sine(440, 100) // less than a frame
	odd[7], odd[8] = float32(math.NaN()), float32(math.Inf(1))
	for _, shade := range Draw(odd, time.Millisecond, 2*time.Millisecond).Pix {
		require.Less(t, int(shade), len(shades))
	}
}

// TestMarked: what is outside of the part that is meant is darker, and a line is between.
func TestMarked(t *testing.T) {
	const from, to = 100, 500 // columns of four seconds
	picture := Draw(sine(1000, 4*Rate), from*4*time.Second/Width, to*4*time.Second/Width)
	for x := range Width {
		for y := range Height {
			shade := int(picture.ColorIndexAt(x, y))
			require.Equal(t, x == from-1 || x == to, shade == 2*shadesOf, "%d,%d", x, y)
			require.Equal(t, x < from || x >= to, shade >= shadesOf, "%d,%d", x, y)
		}
	}
	r, g, b, _ := shades[shadesOf-1].RGBA()
	dr, dg, db, _ := shades[2*shadesOf-1].RGBA()
	assert.True(t, dr < r && dg < g && db < b)
}
