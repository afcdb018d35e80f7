package signal

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/internal/nightly"
)

// high and low are what a score must be.
func high(t *testing.T, s *Scorer, class sound.Class, x []float32, what string, args ...any) {
	t.Helper()
	if score := scoresOf(t, s, x)[class]; score < 0.8 {
		t.Errorf("%s scores %.2f as %v, want 0.8 or more", fmt.Sprintf(what, args...), score, class)
	}
}

func low(t *testing.T, s *Scorer, class sound.Class, x []float32, what string, args ...any) {
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
		{join(loud(4.005), quiet(1.95), loud(4)), 0},
		{join(loud(4.005), quiet(2), loud(3.995)), 0.2}, // not where blocks begin
		{join(loud(6.516), quiet(2), loud(1.484)), 0.2},
		{quiet(1.9), 0},
		{onOff(10, 0, 0.08, 0.32, func(s float64) []float32 { return note(s, 1000, 0.002, 0) }), 1}, // -57 dBFS for a fifth of the time
		{quiet(2.1), 1},
		{note(10, 1000, math.Sqrt2*math.Pow(10, -59.7/20), 0), 0},
		{note(10, 1000, math.Sqrt2*math.Pow(10, -60.3/20), 0), 1},
	} {
		require.InDelta(t, c.want, scoresOf(t, s, c.sound)[classSilence], 0.011)
	}
}

// A tone of a second is a sine wave, one of 0.93 s is not: wherever it is in the clip, in
// noise, soft, low or high, and if it is all of the clip.
func TestSineLength(t *testing.T) {
	nightly.Only(t)
	s := newScorer(t)
	for i := 0; i < 8; i += 3 {
		at := float64(i) * 1.217
		hz := 50 * math.Pow(7600.0/50, float64(i)/7)
		in := func(seconds, amplitude, snr float64) []float32 {
			return noisy(join(quiet(at), note(seconds, hz, amplitude, at), quiet(9-at)), snr, uint64(i))
		}
		for _, amplitude := range []float64{0.5, 0.0045} {
			for _, snr := range []float64{200, 20, 10} {
				high(t, s, classSine, in(1, amplitude, snr), "1 s of %.0f Hz from %.1f s on, %.0f dB above noise", hz, at, snr)
				low(t, s, classSine, in(0.93, amplitude, snr), "0.93 s of %.0f Hz from %.1f s on, %.0f dB above noise", hz, at, snr)
			}
		}
		for seconds, expect := range map[float64]func(*testing.T, *Scorer, sound.Class, []float32, string, ...any){
			0.5: low, 0.8: low, 0.9: low, 0.93: low, 0.97: high, 1: high, 1.1: high,
		} {
			tone := note(seconds, hz, 0.3, 0)
			expect(t, s, classSine, tone, "%.2f s of %.0f Hz and nothing else", seconds, hz)
			expect(t, s, classSine, join(tone, quiet(10-seconds)), "%.2f s of %.0f Hz at the start", seconds, hz)
			expect(t, s, classSine, join(quiet(10-seconds), tone), "%.2f s of %.0f Hz at the end", seconds, hz)
		}
	}
}

// A tone with overtones is none, however long: the least that is heard of a flute.
func TestSinePurity(t *testing.T) {
	s := newScorer(t)
	with := func(decibels float64) []float32 {
		return mix(note(5, 500, 0.3, 0), note(5, 1000, 0.3*math.Pow(10, decibels/20), 1))
	}
	high(t, s, classSine, with(-18), "an overtone at -18 dB")
	low(t, s, classSine, with(-12), "an overtone at -12 dB")
}

// A chirp crosses more of the spectrum, or takes longer, than the glides of a voice or
// the fall of a drum.
func TestChirpSpread(t *testing.T) {
	s := newScorer(t)
	drum := func(from, to, seconds float64) []float32 {
		x := sweep(seconds, func(t float64) float64 { return to + (from-to)*math.Exp(-5*t/seconds) }, 0.7, 0)
		for i := range x {
			x[i] *= float32(math.Exp(-4 * float64(i) / float64(len(x))))
		}
		return x
	}
	for i, length := range []float64{0.2, 0.35, 0.5} {
		for _, from := range []float64{120, 180, 240} {
			low(t, s, classChirp, join(quiet(1), drum(from, 45, length), quiet(1)), "a drum from %.0f Hz on, %.2f s", from, length)
			glide := rising(length, from, from*1.6, 0.3)
			low(t, s, classChirp, join(quiet(1), soft(glide), quiet(1)), "a glide from %.0f Hz on, %.2f s", from, length)
			low(t, s, classChirp, noisy(join(quiet(1), soft(glide), quiet(1)), 20, uint64(i)), "a glide from %.0f Hz on, %.2f s", from, length)
		}
	}
	for _, seconds := range []float64{1, 2, 5, 10} {
		for _, ends := range [][2]float64{{200, 400}, {4000, 200}, {300, 3000}, {7500, 100}, {1000, 2000}} {
			high(t, s, classChirp, rising(seconds, ends[0], ends[1], 0.3), "%.0f to %.0f Hz in %.0f s", ends[0], ends[1], seconds)
			high(t, s, classChirp, straight(seconds, ends[0], ends[1], 0.3), "straight from %.0f to %.0f Hz in %.0f s", ends[0], ends[1], seconds)
		}
	}
}

// The limits of ITU-T Q.24: frequencies, length, and keys one after another, at any
// moment, in noise too.
func TestDTMFLimits(t *testing.T) {
	s := newScorer(t)
	const keys = "123A456B789C*0#D"
	for i := range 2 * len(keys) {
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
	low(t, s, classDTMF, mix(note(1, 697, 0.2, 0), note(1, 1209, 0.056, 0)), "11 dB of twist")
	low(t, s, classDTMF, mix(key('5', 1, 0.2, 0), note(1, 350, 0.12, 0)), "a third tone 7 dB below the two")
	high(t, s, classDTMF, mix(key('5', 1, 0.2, 0), note(1, 350, 0.04, 0)), "a third tone 17 dB below the two")
	low(t, s, classDTMF, mix(key('5', 1, 0.2, 0), note(1, 1000, 0.2, 0)), "a third tone")
	low(t, s, classDTMF, note(1, 697, 0.2, 0), "half a key")
}

func TestBusyCadence(t *testing.T) {
	nightly.Only(t)
	s := newScorer(t)
	for _, tones := range []func(float64) []float32{tone(425), tone(400), tones(480, 620)} {
		for from := 0.0; from < 0.6; from += 3 * 0.19 {
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
	for from := 0.0; from < 4; from += 4 * 0.37 {
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
		for from := 0.0; from < 1; from += 2 * 0.27 {
			expect(t, s, classPulse, repeated(10, from, join(bang(0.05, 0.3, 3), quiet(1/c.hz-0.05))), "%.2f Hz", c.hz)
		}
	}
}

// The beat of music is no pulse if something else sounds between the beats, or if they
// differ.
func TestPulseStandsAlone(t *testing.T) {
	s := newScorer(t)
	tick := func(i int) []float32 { return join(bang(0.08, 0.5, uint64(i)), quiet(0.92)) }
	var even, lengths, levels []float32
	for i := range 10 {
		even = join(even, tick(i))
		lengths = join(lengths, soft(note([...]float64{0.05, 0.25}[i%2], 900, 0.5, 0)), quiet([...]float64{0.95, 0.75}[i%2]))
		levels = join(levels, soft(note(0.1, 900, [...]float64{0.5, 0.12}[i%2], 0)), quiet(0.9))
	}
	high(t, s, classPulse, even, "ticks")
	high(t, s, classPulse, noisy(even, 20, 1), "ticks in noise")
	high(t, s, classPulse, mix(even, note(10, 330, 0.01, 0)), "ticks over a soft tone")
	low(t, s, classPulse, mix(even, repeated(10, 0, join(quiet(0.4), soft(note(0.2, 330, 0.2, 0)), quiet(0.4)))), "a note between the ticks")
	low(t, s, classPulse, mix(even, spoken(10, 120, 0.2, 1)), "ticks under speech")
	beat := mix(even, note(10, 200, 0.071, 0)) // 18 dB below
	high(t, s, classPulse, beat, "ticks over a tone")
	low(t, s, classPulse, mix(beat, repeated(10, 0, join(quiet(0.4), soft(note(0.2, 330, 0.15, 0)), quiet(0.4)))), "a soft note between")
	low(t, s, classPulse, lengths, "long and short in turn")
	low(t, s, classPulse, levels, "loud and soft in turn")
	bell := played(1, 800, 0.5)
	for i := range bell {
		bell[i] *= float32(math.Exp(-12 * float64(i) / sampleRate))
	}
	high(t, s, classPulse, mix(repeated(10, 0.3, bell), white(10, 0.045, 1)), "bells that ring")
	for _, from := range []float64{0.02, 0.05, 0.075} {
		cut := onOff(3.6, from, 0.2, 0.8, tone(1000))
		high(t, s, classPulse, cut, "four beeps, the first one cut at %.2f s", from)
		slices.Reverse(cut)
		high(t, s, classPulse, cut, "four beeps, the last one cut at %.2f s", from)
	}
	low(t, s, classPulse, repeated(10, 0, join(bang(0.05, 0.3, 3), quiet(0.56))), "a beat of 98 a minute")
}

func TestHumMains(t *testing.T) {
	nightly.Only(t)
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
	for from := 3.0; from < 4; from += 3 * 0.17 {
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
	nightly.Only(t)
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
	for from := 0; from < 6; from += 3 {
		high(t, s, classWhiteNoise, join(quiet(float64(from)), white(4.2, 0.1, 1), quiet(5.8-float64(from))), "4 s from %d s on", from)
		high(t, s, classPinkNoise, join(quiet(float64(from)), sloped(4.2, 0.1, -3.01, 1), quiet(5.8-float64(from))), "4 s from %d s on", from)
	}
	for i := 0; i < 9; i += 4 {
		at := 0.83 * float64(i)
		high(t, s, classWhiteNoise, join(quiet(at), white(3, 0.02, 1), quiet(7-at)), "3 s from %.2f s on", at)
		high(t, s, classPinkNoise, join(quiet(at), sloped(3, 0.02, -3.01, 1), quiet(7-at)), "3 s from %.2f s on", at)
	}
	low(t, s, classWhiteNoise, join(quiet(4), white(1.2, 0.1, 1), quiet(4.8)), "one second")
	require.Greater(t, scoresOf(t, s, white(10, 0.1, 1))[classWhiteNoise], scoresOf(t, s, join(white(5, 0.1, 1), quiet(5)))[classWhiteNoise], "more of it ranks higher")
}
