// Package spectrogram draws what was found in a sound, for a page that has no picture of a
// video to show.
//
// Time goes from left to right, and each octave from 50 Hz at the bottom to 8 kHz is as high
// as the others. A column is a frame of 64 ms under Hann's window. What is 70 dB below the
// loudest cell is dark, and so is all that is below -60 dB of full scale.
package spectrogram

import (
	"image"
	"image/color"
	"math"
	"time"

	"github.com/seed-6363c74e/mortise/internal/fft"
)

// The size of a picture, in pixels, and the sample rate of what is drawn, in Hz.
const (
	Width, Height = 640, 128
	Rate          = 16000
)

const (
	frameSize = 1024 // samples that a column is made of
	lowest    = 50.0 // Hz
	highest   = 8000.0
	shown     = 70.0  // dB below the loudest cell that are shown
	quiet     = -60.0 // dB below full scale: what is not louder than that is dark
)

// Draw returns the picture of a sound of one channel. What is before the time from and after
// the time to is darker, with a line between: the sound may have a little of what is around
// the part that is meant. It allocates about 1 MB, and reads the samples once for each
// column that they are in.
func Draw(samples []float32, from, to time.Duration) *image.Paletted {
	length := float64(max(len(samples), 1)) / Rate // seconds
	column := func(at time.Duration) int { return int(Width * at.Seconds() / length) }
	return draw(levels(samples), column(from), column(to))
}

// levels returns how loud each cell of the picture is, in dB, column by column, each from the
// top. A sine of full scale is 0 dB.
func levels(samples []float32) []float64 {
	window := make([]float64, frameSize)
	sum := 0.0
	for i := range window {
		window[i] = 0.5 - 0.5*math.Cos(2*math.Pi*float64(i)/frameSize) // Hann's
		sum += window[i]
	}
	transform := fft.NewReal(window)
	frame, power := make([]float64, frameSize), make([]float64, transform.Bins())
	work := make([]fft.Complex[float64], frameSize/2)
	cells := make([]float64, 0, Width*Height)
	for x := range Width {
		middle := int((float64(x) + 0.5) * float64(len(samples)) / Width)
		for i := range frame {
			frame[i] = 0
			if at := middle - frameSize/2 + i; at >= 0 && at < len(samples) {
				frame[i] = float64(samples[at])
			}
		}
		transform.Power(power, frame, work, 4/(sum*sum))
		for y := range Height {
			cells = append(cells, 10*math.Log10(max(loudest(power, binOf(y+1), binOf(y)), 1e-20)))
		}
	}
	return cells
}

// binOf returns where the upper edge of a row of pixels is in a spectrum.
func binOf(y int) float64 {
	frequency := highest * math.Pow(lowest/highest, float64(y)/Height)
	return frequency * frameSize / Rate
}

// loudest returns the greatest power between two places of a spectrum. Low rows are narrower
// than a bin, and take what is between two.
func loudest(power []float64, from, to float64) float64 {
	between := func(at float64) float64 {
		i := min(int(at), len(power)-2)
		rest := at - float64(i)
		return power[i]*(1-rest) + power[i+1]*rest
	}
	most := max(between(from), between(to))
	for i := int(math.Ceil(from)); i <= int(to) && i < len(power); i++ {
		most = max(most, power[i])
	}
	return most
}

// shades are the colors of levels, from quiet to loud, and then the same as they are outside
// of what is marked.
var shades = func() (all color.Palette) {
	points := []color.RGBA{
		{11, 16, 38, 255}, {59, 42, 122, 255}, {168, 50, 125, 255}, {240, 101, 62, 255}, {253, 230, 138, 255},
	}
	for _, share := range []float64{1, 0.45} {
		for i := range shadesOf {
			at := float64(i) / (shadesOf - 1) * float64(len(points)-1)
			k := min(int(at), len(points)-2)
			mix := func(a, b uint8) uint8 {
				rest := at - float64(k)
				return uint8(share * (float64(a)*(1-rest) + float64(b)*rest))
			}
			a, b := points[k], points[k+1]
			all = append(all, color.RGBA{mix(a.R, b.R), mix(a.G, b.G), mix(a.B, b.B), 255})
		}
	}
	return append(all, color.RGBA{255, 255, 255, 255})
}()

const shadesOf = 127 // of each kind: with the line between them, a pixel is a byte

// draw makes the picture of levels, and marks the columns from one to another.
func draw(cells []float64, from, to int) *image.Paletted {
	loudest := quiet
	for _, level := range cells {
		if level > loudest && !math.IsInf(level, 0) { // and a number
			loudest = level
		}
	}
	picture := image.NewPaletted(image.Rect(0, 0, Width, Height), shades)
	for i, level := range cells {
		x, y := i/Height, i%Height
		index := uint8(0)
		if shade := (level-loudest)/shown + 1; shade > 0 { // and a number
			index = uint8(min(shade, 1)*(shadesOf-1) + 0.5)
		}
		switch {
		case x == from-1 || x == to:
			index = 2 * shadesOf
		case x < from || x >= to:
			index += shadesOf
		}
		picture.SetColorIndex(x, y, index)
	}
	return picture
}
