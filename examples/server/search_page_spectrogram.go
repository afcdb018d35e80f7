package main

import (
	"bytes"
	"context"
	"image"
	"image/color"
	"image/png"
	"math"
	"math/bits"
	"math/cmplx"
	"time"
)

// What the picture of a sound is like.
const (
	spectrumRate  = 16000 // Hz
	spectrumFrame = 1024  // samples that a column is made of: 64 ms
	spectrumWidth = 640   // pixels, all of which have a column of their own
	// Pixels: from spectrumLow at the bottom to spectrumHigh, each octave as high.
	spectrumHeight = 128
	spectrumLow    = 50.0 // Hz
	spectrumHigh   = 8000.0
	spectrumRange  = 70.0  // dB below the loudest cell that are shown
	spectrumQuiet  = -60.0 // dB below full scale: what is not louder than that is dark
	spectrumMost   = 60 * time.Second
)

// drawSpectrogram returns the picture of a segment as PNG, with a little of what is before and
// after it. That is darker, and a line is between.
func (p *searchPage) drawSpectrogram(ctx context.Context, file string, at, to time.Duration) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, soundLimit)
	defer cancel()
	to = min(to, at+spectrumMost)
	around := min(max((to-at)/4, time.Second/2), 5*time.Second)
	first, last := max(at-around, 0), to+around
	samples, err := p.samples(ctx, file, spectrumRate, first, last)
	if err != nil {
		return nil, err
	}
	length := time.Duration(len(samples)) * time.Second / spectrumRate
	column := func(t time.Duration) int { return int(float64(spectrumWidth) * t.Seconds() / length.Seconds()) }
	var b bytes.Buffer
	err = png.Encode(&b, draw(levels(samples), column(at-first), column(to-first)))
	return b.Bytes(), err
}

// levels returns how loud each cell of the picture is, in dB, column by column, each from the
// top. A sine of full scale is 0 dB.
func levels(samples []float32) []float64 {
	window := make([]float64, spectrumFrame)
	sum := 0.0
	for i := range window {
		window[i] = 0.5 - 0.5*math.Cos(2*math.Pi*float64(i)/spectrumFrame) // Hann's
		sum += window[i]
	}
	frame, power := make([]complex128, spectrumFrame), make([]float64, spectrumFrame/2+1)
	cells := make([]float64, 0, spectrumWidth*spectrumHeight)
	for x := range spectrumWidth {
		middle := int((float64(x) + 0.5) * float64(len(samples)) / spectrumWidth)
		for i := range frame {
			if at := middle - spectrumFrame/2 + i; at >= 0 && at < len(samples) {
				frame[i] = complex(window[i]*float64(samples[at]), 0)
			} else {
				frame[i] = 0
			}
		}
		transform(frame)
		for i := range power {
			re, im := real(frame[i]), imag(frame[i])
			power[i] = 4 / (sum * sum) * (re*re + im*im)
		}
		for y := range spectrumHeight {
			cells = append(cells, 10*math.Log10(max(loudest(power, binOf(y+1), binOf(y)), 1e-20)))
		}
	}
	return cells
}

// transform replaces points, a power of two of them, by their discrete Fourier transform
// (Press et al., Numerical Recipes, 12.2).
func transform(points []complex128) {
	unused := bits.LeadingZeros64(uint64(len(points))) + 1
	for i := range points {
		if j := int(bits.Reverse64(uint64(i)) >> unused); i < j {
			points[i], points[j] = points[j], points[i]
		}
	}
	for half := 1; half < len(points); half *= 2 {
		turn := cmplx.Rect(1, -math.Pi/float64(half))
		for from := 0; from < len(points); from += 2 * half {
			twiddle := complex(1, 0)
			for i := from; i < from+half; i++ {
				a, b := points[i], twiddle*points[i+half]
				points[i], points[i+half] = a+b, a-b
				twiddle *= turn
			}
		}
	}
}

// binOf returns where the upper edge of a row of pixels is in a spectrum.
func binOf(y int) float64 {
	frequency := spectrumHigh * math.Pow(spectrumLow/spectrumHigh, float64(y)/spectrumHeight)
	return frequency * spectrumFrame / spectrumRate
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
	points := []color.RGBA{{11, 16, 38, 255}, {59, 42, 122, 255}, {168, 50, 125, 255}, {240, 101, 62, 255}, {253, 230, 138, 255}}
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
	loudest := spectrumQuiet
	for _, level := range cells {
		if level > loudest && !math.IsInf(level, 0) { // and a number
			loudest = level
		}
	}
	picture := image.NewPaletted(image.Rect(0, 0, spectrumWidth, spectrumHeight), shades)
	for i, level := range cells {
		x, y := i/spectrumHeight, i%spectrumHeight
		index := uint8(0)
		if shade := (level-loudest)/spectrumRange + 1; shade > 0 { // and a number
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
