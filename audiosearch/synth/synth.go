// Package synth makes sounds of which it is known what is in them, for tests of scorers and
// media, and for demos. They are mono.
//
//	call := synth.Samples(16000, 1,
//		synth.Brown(0.01).For(4), // a quiet room
//		synth.Tones(0.2, 350, 440).For(8),
//		synth.Keys(0.2, "5551234").For(1.4))
//	err := wav.WriteFile("call.wav", 16000, call)
//
// The level of a tone is its amplitude, and that of noise about its RMS; 1 is full scale.
// Nothing is clipped: wav.WriteFile does that. Times are in seconds, frequencies in Hz.
package synth

import (
	"math"
	"math/rand/v2"
	"strings"
)

// Signal gives the values of a sound, for one time t after another, from 0 on. Noise takes
// its randomness from random. A Signal may remember what it gave before, so each part of a
// sound needs its own.
type Signal func(t float64, random *rand.Rand) float64

// Part is a sound of a length.
type Part struct {
	seconds float64
	signal  Signal
}

// For returns so many seconds of a signal.
func (s Signal) For(seconds float64) Part { return Part{seconds, s} }

// Samples returns the samples of parts, one part after another, of which rate are a second.
// They are the same whenever rate, seed and parts are the same.
func Samples(rate int, seed uint64, parts ...Part) (all []float32) {
	random := rand.New(rand.NewPCG(1, seed))
	for _, p := range parts {
		for i := range int(p.seconds * float64(rate)) {
			all = append(all, float32(p.signal(float64(i)/float64(rate), random)))
		}
	}
	return all
}

// Tones are sine waves of the given frequencies, each of the level. Without a frequency it
// is silence.
func Tones(level float64, hz ...float64) Signal {
	return func(t float64, _ *rand.Rand) (x float64) {
		for _, f := range hz {
			x += level * math.Sin(2*math.Pi*f*t)
		}
		return x
	}
}

// Sweep is a tone that rises or falls from one frequency to another in so many seconds, by
// the same number of octaves each second, and then goes on like that.
func Sweep(level, from, to, seconds float64) Signal {
	if from == to {
		return Tones(level, from)
	}
	rate := math.Log(to/from) / seconds
	return func(t float64, _ *rand.Rand) float64 {
		return level * math.Sin(2*math.Pi*from*(math.Exp(rate*t)-1)/rate)
	}
}

// White is white noise.
func White(level float64) Signal {
	return func(_ float64, random *rand.Rand) float64 { return level * random.NormFloat64() }
}

// Pink is noise that falls by 3 dB an octave: white noise through the three-pole filter of
// Paul Kellet (musicdsp.org, "Pink noise filter").
func Pink(level float64) Signal {
	var a, b, c float64
	return func(_ float64, random *rand.Rand) float64 {
		w := level * random.NormFloat64()
		a = 0.99765*a + 0.0990460*w
		b = 0.96300*b + 0.2965164*w
		c = 0.57000*c + 1.0526913*w
		return (a + b + c + 0.1848*w) / 2
	}
}

// Brown is noise that falls by 6 dB an octave, as the sound of a quiet room does.
func Brown(level float64) Signal {
	var x float64
	return func(_ float64, random *rand.Rand) float64 {
		x += 0.02 * (10*level*random.NormFloat64() - x)
		return x
	}
}

// Gated is a signal that is on and off in turn: on for so many seconds, then off for so many.
func Gated(on, off float64, signal Signal) Signal {
	return func(t float64, random *rand.Rand) float64 {
		if math.Mod(t, on+off) >= on {
			return 0
		}
		return signal(t, random)
	}
}

// keypad has the keys of a telephone in the order of their rows (ITU-T Q.23).
const keypad = "123A456B789C*0#D"

// Keys are the tones of telephone keys, each for 0.1 s, with 0.1 s of silence behind it.
// After the last key they begin again. A key is one of 0 to 9, A to D, * and #. Keys panics
// at another one, and if there is none.
func Keys(level float64, keys string) Signal {
	rows, columns := [...]float64{697, 770, 852, 941}, [...]float64{1209, 1336, 1477, 1633}
	if keys == "" || strings.Trim(keys, keypad) != "" {
		panic("synth: Keys needs keys of a telephone")
	}
	var each []Signal
	for i := range keys {
		at := strings.IndexByte(keypad, keys[i])
		each = append(each, Gated(0.1, 0.1, Tones(level, rows[at/4], columns[at%4])))
	}
	return func(t float64, random *rand.Rand) float64 { return each[int(t/0.2)%len(each)](t, random) }
}
