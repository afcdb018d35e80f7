package signal

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
)

// high and low are what a score must be.
func high(t *testing.T, s *Scorer, class audiosearch.Class, x []float32, what string, args ...any) {
	t.Helper()
	if score := scoresOf(t, s, x)[class]; score < 0.8 {
		t.Errorf("%s scores %.2f as %v, want 0.8 or more", fmt.Sprintf(what, args...), score, class)
	}
}

func low(t *testing.T, s *Scorer, class audiosearch.Class, x []float32, what string, args ...any) {
	t.Helper()
	if score := scoresOf(t, s, x)[class]; score >= 0.5 {
		t.Errorf("%s scores %.2f as %v, want less than 0.5", fmt.Sprintf(what, args...), score, class)
	}
}

// The score of Silence is the share of the clip that is silent for 2 s or more.
func TestSilenceShare(t *testing.T) {
	s := newScorer(t)
	loud := func(seconds float64) []float32 { return white(seconds, 0.01, 1) }
	for _, c := range []struct {
		sound []float32
		want  float64
	}{
		{join(quiet(3), loud(7)), 0.3},
		{join(loud(4), quiet(6)), 0.6},
		{join(loud(1), quiet(2.5), loud(3), quiet(2.5), loud(1)), 0.5},
		{join(loud(4), quiet(1.9), loud(4.1)), 0},
		{join(loud(4), quiet(2.1), loud(3.9)), 0.21},
		{join(loud(1), quiet(3)), 0.75},
		{quiet(1.9), 0},
		{onOff(10, 0, 0.08, 0.32, func(s float64) []float32 { return note(s, 1000, 0.002, 0) }), 1}, // -57 dBFS for a fifth of the time
		{quiet(2.1), 1},
		{note(10, 1000, math.Sqrt2*math.Pow(10, -59.7/20), 0), 0},
		{note(10, 1000, math.Sqrt2*math.Pow(10, -60.3/20), 0), 1},
	} {
		require.InDelta(t, c.want, scoresOf(t, s, c.sound)[classSilence], 0.011)
	}
}

// A tone of a second is a sine wave, one of half a second is not, wherever it is in the window.
func TestSineLength(t *testing.T) {
	s := newScorer(t)
	for i := range 8 {
		at := float64(i) * 1.217
		noise := white(10, 0.02, uint64(i))
		high(t, s, classSine, mix(noise, join(quiet(at), note(1, 900, 0.3, 0)))[:windowSize], "1 s from %.1f s on", at)
		low(t, s, classSine, mix(noise, join(quiet(at), note(0.5, 900, 0.3, 0)))[:windowSize], "0.5 s from %.1f s on", at)
	}
}

// The limits of ITU-T Q.24: frequencies, length, and keys one after another, at any moment, in noise too.
func TestDTMFLimits(t *testing.T) {
	s := newScorer(t)
	const keys = "123A456B789C*0#D"
	for i := range 4 * len(keys) {
		k := keys[i%len(keys)]
		press := func(length, lowOff, highOff float64) []float32 {
			row, column := i%16/4, i%16%4
			tone := soft(pair(length, lowGroup[row]*(1+lowOff), highGroup[column]*(1+highOff), 0.2))
			return noisy(join(quiet(0.5+float64(i)*0.0037), tone, quiet(0.5)), 20, uint64(i))
		}
		sign := float64(1 - 2*(i/16%2))
		high(t, s, classDTMF, press(0.04, 0, 0), "key %c of 40 ms", k)
		high(t, s, classDTMF, press(0.04, sign*0.015, -sign*0.015), "key %c, 1.5 %% off", k)
		low(t, s, classDTMF, press(0.1, sign*0.035, 0), "key %c, 3.5 %% off in the low tone", k)
		low(t, s, classDTMF, press(0.1, 0, sign*0.035), "key %c, 3.5 %% off in the high tone", k)
		low(t, s, classDTMF, press(0.023, 0, 0), "key %c of 23 ms", k)
	}
	low(t, s, classDTMF, mix(note(1, 697, 0.2, 0), note(1, 1209, 0.02, 0)), "20 dB of twist")
	low(t, s, classDTMF, mix(key('5', 1, 0.2, 0), note(1, 1000, 0.2, 0)), "a third tone")
	low(t, s, classDTMF, note(1, 697, 0.2, 0), "half a key")
}

func TestBusyCadence(t *testing.T) {
	s := newScorer(t)
	for _, tones := range []func(float64) []float32{tone(425), tone(400), tones(480, 620)} {
		for from := 0.0; from < 0.6; from += 0.19 {
			for _, beat := range []float64{0.12, 0.35, 0.65} {
				x := onOff(10, from, beat, beat, tones)
				high(t, s, classBusy, x, "%.2f s on and off, from %.2f s", beat, from)
				low(t, s, classDialTone, x, "%.2f s on and off, from %.2f s", beat, from)
			}
			low(t, s, classBusy, onOff(10, from, 0.08, 0.08, tones), "80 ms on and off")
			low(t, s, classBusy, onOff(10, from, 0.8, 0.8, tones), "0.8 s on and off")
			low(t, s, classBusy, onOff(10, from, 0.4, 1.2, tones), "on for 0.4 s, off for 1.2 s")
			low(t, s, classBusy, onOff(10, from, 1, 0.3, tones), "on for 1 s, off for 0.3 s")
		}
	}
}

func TestSmokeAlarmPattern(t *testing.T) {
	s := newScorer(t)
	for from := 0.0; from < 4; from += 0.37 {
		high(t, s, classSmoke, noisy(alarm(10, from, 3100, 0.2), 20, 1), "from %.2f s of the pattern on", from)
		low(t, s, classPulse, alarm(10, from, 3100, 0.2), "from %.2f s of the pattern on", from)
		low(t, s, classSmoke, repeated(10, from, join(dots(4, 0.5, 0.5, 3100), quiet(1))), "four beeps")
		low(t, s, classSmoke, repeated(10, from, join(dots(3, 0.2, 0.2, 3100), quiet(1.3))), "short beeps")
		low(t, s, classSmoke, repeated(10, from, join(dots(3, 0.5, 0.5, 3100), quiet(3))), "a long pause")
	}
}

func TestPulseRate(t *testing.T) {
	s := newScorer(t)
	for _, c := range []struct {
		hz   float64
		high bool
	}{{0.3, false}, {0.4, false}, {0.65, true}, {0.8, true}, {1, true}, {1.25, true}, {1.5, true}, {2.2, false}, {4, false}} {
		expect := low
		if c.high {
			expect = high
		}
		for from := 0.0; from < 1; from += 0.27 {
			expect(t, s, classPulse, repeated(10, from, join(bang(0.05, 0.3, 3), quiet(1/c.hz-0.05))), "%.2f Hz", c.hz)
		}
	}
}

func TestHumMains(t *testing.T) {
	s := newScorer(t)
	for _, c := range []struct {
		hz   float64
		high bool
	}{
		{44, false}, {48.5, false}, {49.8, true}, {50.2, true}, {51.5, false},
		{55, false}, {58.5, false}, {59.8, true}, {60.2, true}, {61.5, false}, {66, false},
	} {
		expect := low
		if c.high {
			expect = high
		}
		expect(t, s, classHum, noisy(humming(10, c.hz, 0.2, 1, 0.5, 0.3, 0.3, 0.2, 0.2, 0.1), 20, 1), "%.1f Hz", c.hz)
	}
	high(t, s, classHum, mix(humming(10, 50, 0.05, 1, 0.5, 0.5, 0.3), sloped(10, 0.02, -3.01, 5)), "hum in pink noise")
	for from := 3.0; from < 4; from += 0.17 {
		hum := func(seconds float64) []float32 {
			return mix(white(10, 0.005, 3), join(quiet(from), humming(seconds, 60, 0.1, 1, 0.5, 0.5, 0.3)))
		}
		high(t, s, classHum, hum(2.2), "hum for 2.2 s from %.2f s on", from)
		low(t, s, classHum, hum(0.8), "hum for 0.8 s from %.2f s on", from)
	}
	low(t, s, classHum, note(10, 50, 0.3, 0), "a single line")
}

// The slope tells white from pink, and both from what lies between and beyond.
func TestNoiseSlopes(t *testing.T) {
	s := newScorer(t)
	for i, slope := range []float64{-0.9, -0.5, 0, 0.5, 0.9} {
		high(t, s, classWhiteNoise, sloped(10, 0.1, slope, uint64(i)), "%.1f dB per octave", slope)
		high(t, s, classPinkNoise, sloped(10, 0.1, slope-3.01, uint64(i)), "%.1f dB per octave", slope-3.01)
	}
	for i, slope := range []float64{-6, -4.6, -1.5, 1.6, 3} {
		low(t, s, classWhiteNoise, sloped(10, 0.1, slope, uint64(i)), "%.1f dB per octave", slope)
		low(t, s, classPinkNoise, sloped(10, 0.1, slope, uint64(i)), "%.1f dB per octave", slope)
	}
	low(t, s, classWhiteNoise, mix(white(10, 0.03, 1), note(10, 60, 0.3, 0)), "a low tone 20 dB above the noise")
	for from := range 6 {
		high(t, s, classWhiteNoise, join(quiet(float64(from)), white(4.2, 0.1, 1), quiet(5.8-float64(from))), "4 s from %d s on", from)
		high(t, s, classPinkNoise, join(quiet(float64(from)), sloped(4.2, 0.1, -3.01, 1), quiet(5.8-float64(from))), "4 s from %d s on", from)
	}
	low(t, s, classWhiteNoise, join(quiet(4), white(1.2, 0.1, 1), quiet(4.8)), "one second")
	require.Greater(t, scoresOf(t, s, white(10, 0.1, 1))[classWhiteNoise], scoresOf(t, s, join(white(5, 0.1, 1), quiet(5)))[classWhiteNoise], "more of it ranks higher")
}
