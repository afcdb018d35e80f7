package signal

import (
	"math"
	"slices"
	"sync"

	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// example is a synthesized sound and all the classes that it is of.
type example struct {
	name  string
	sound []float32
	is    []sound.Class // it must score 0.8 or more
	maybe []sound.Class // it may score anything
	tonal bool          // or pulsed: must be heard at 20 dB above noise too
}

// is makes a list of classes readable.
func is(classes ...sound.Class) []sound.Class { return classes }

// tone and tones make the parts of cadences.
func tone(hz float64) func(seconds float64) []float32 {
	return func(seconds float64) []float32 { return note(seconds, hz, 0.2, 0) }
}

func tones(first, second float64) func(seconds float64) []float32 {
	return func(seconds float64) []float32 { return pair(seconds, first, second, 0.2) }
}

// examples returns all of them. Nobody changes their sounds.
var examples = sync.OnceValue(func() []example {
	return slices.Concat(examplesOfTones(), examplesOfTelephones(), examplesOfBeats(), examplesOfNoise(), examplesOfNothing())
})

func examplesOfTones() []example {
	sine, chirp := is(classSine), is(classChirp)
	return []example{
		{"sine 60 Hz", note(10, 60, 0.3, 0), sine, nil, true},
		{"sine 440 Hz, no dial tone", note(10, 440, 0.3, 1), sine, nil, true},
		{"sine 415 Hz, no dial tone", note(10, 415.3, 0.3, 1), sine, nil, true},
		{"sine 1 kHz", note(10, 1000, 0.5, 2), sine, nil, true},
		{"sine 1 kHz, full scale", note(10, 1000, 1, 2), sine, nil, true},
		{"sine 1007 Hz, -40 dBFS", note(10, 1007.8, 0.014, 3), sine, nil, true},
		{"sine 3.1 kHz", note(10, 3100, 0.2, 4), sine, nil, true},
		{"sine 7 kHz", note(10, 7000, 0.2, 5), sine, nil, true},
		{"sine, 3 s of it", note(3, 700, 0.2, 5), sine, nil, true},
		{"sine of 1 s in silence", join(quiet(4), note(1, 800, 0.3, 0), quiet(5)), is(classSine, classSilence), nil, false},
		{"sine of 1 s in noise", mix(white(10, 0.02, 4), join(quiet(3.3), note(1, 800, 0.3, 0))), sine, is(classWhiteNoise), false},
		{"sine that is a little too loud", clipped(note(10, 500, 0.5, 0), 0.45), sine, nil, true},

		{"chirp, 2 octaves in 10 s", rising(10, 400, 1600, 0.3), chirp, nil, true},
		{"chirp, down 5 octaves in 10 s", rising(10, 6400, 200, 0.3), chirp, nil, true},
		{"chirp, 20 Hz to 8 kHz in 10 s", rising(10, 20, 7900, 0.3), chirp, nil, true},
		{"chirp, straight in 5 s", straight(5, 200, 4000, 0.3), chirp, nil, true},
		{"chirp, straight in 1 s", straight(1, 6000, 300, 0.3), chirp, nil, true},
		{"chirp of half a second", join(quiet(1), straight(0.5, 500, 6000, 0.3), quiet(1)), chirp, nil, true},
		{"chirp, slow", straight(10, 500, 800, 0.3), chirp, nil, true},
		{"chirp, over and over", repeated(10, 0.3, straight(1, 1000, 2000, 0.3)), chirp, nil, true},
		{"chirp, -40 dBFS", rising(5, 300, 3000, 0.014), chirp, nil, true},
		{"chirp between tones held", join(note(2, 500, 0.3, 0), rising(2, 500, 2000, 0.3), note(2, 2000, 0.3, 0)),
			is(classChirp, classSine), nil, true},
	}
}

func examplesOfTelephones() []example {
	dial, both, busy, dtmf := is(classDialTone), is(classDialTone, classSine), is(classBusy), is(classDTMF)
	return []example{
		{"dial tone", pair(10, 350, 440, 0.2), dial, nil, true},
		{"dial tone, -30 dBFS", pair(10, 350, 440, 0.022), dial, nil, true},
		{"dial tone, -50 dBFS", pair(10, 350, 440, 0.0022), dial, nil, false},
		{"dial tone, 4 dB of difference", mix(note(10, 350, 0.1, 0), note(10, 440, 0.16, 1)), dial, nil, true},
		{"dial tone, 1 % off", pair(10, 350*1.01, 440*0.99, 0.2), dial, nil, true},
		{"dial tone of 3 s", pair(3, 350, 440, 0.2), dial, nil, true},
		{"dial tone for 2 s of 10", join(quiet(7), pair(2, 350, 440, 0.2), quiet(1)), dial, is(classSilence), false},
		{"dial tone of 425 Hz", note(10, 425, 0.2, 0), both, nil, true},
		{"dial tone of 425 Hz, 3 s", note(3, 425, 0.02, 0), both, nil, true},

		{"busy, North America", onOff(10, 0, 0.5, 0.5, tones(480, 620)), busy, nil, true},
		{"busy, North America, later", onOff(10, 0.77, 0.5, 0.5, tones(480, 620)), busy, nil, true},
		{"reorder, North America", onOff(10, 0.1, 0.25, 0.25, tones(480, 620)), busy, nil, true},
		{"busy, 425 Hz", onOff(10, 0.4, 0.5, 0.5, tone(425)), busy, nil, true},
		{"congestion, 425 Hz", onOff(10, 0.2, 0.25, 0.25, tone(425)), busy, nil, true},
		{"busy, United Kingdom", onOff(10, 0, 0.375, 0.375, tone(400)), busy, nil, true},
		{"busy, the fastest", onOff(10, 0.07, 0.12, 0.12, tone(425)), busy, nil, true},
		{"busy, the slowest", onOff(10, 0.3, 0.65, 0.65, tone(425)), busy, nil, true},
		{"busy, uneven", onOff(10, 0.3, 0.4, 0.2, tone(400)), busy, nil, true},
		{"busy for 3 s", onOff(3, 0, 0.5, 0.5, tone(425)), busy, nil, true},
		{"busy for 2.5 s, from the middle of a beep", onOff(2.5, 0.3, 0.5, 0.5, tone(425)), busy, nil, true},
		{"busy from 7 s on", join(quiet(7), onOff(3, 0, 0.25, 0.25, tones(480, 620))), busy, is(classSilence), false},

		{"DTMF, a number", join(quiet(1), dialed("0123456789*#", 0.1, 0.1, 0.2), quiet(1)), dtmf, nil, true},
		{"DTMF, letters", dialed("ABCD", 0.07, 0.07, 0.1), dtmf, nil, true},
		{"DTMF, as fast as can be", join(quiet(1), dialed("8675309", 0.04, 0.04, 0.2), quiet(1)), dtmf, nil, true},
		{"DTMF, one key of 40 ms", join(quiet(1.013), key('5', 0.04, 0.2, 0), quiet(0.8)), dtmf, nil, true},
		{"DTMF, one key held", key('9', 10, 0.2, 0), dtmf, nil, true},
		{"DTMF, -40 dBFS", join(quiet(1), dialed("314159", 0.08, 0.08, 0.01), quiet(0.5)), dtmf, nil, true},
		{"DTMF, 1.5 % high", join(quiet(1), key('1', 0.06, 0.2, 0.015), quiet(0.1), key('D', 0.06, 0.2, 0.015), quiet(0.5)), dtmf, nil, true},
		{"DTMF, 1.5 % low", join(quiet(1), key('1', 0.06, 0.2, -0.015), quiet(0.1), key('D', 0.06, 0.2, -0.015), quiet(0.5)), dtmf, nil, true},
		{"DTMF, high tone 4 dB louder", mix(note(0.5, 770, 0.1, 0), note(0.5, 1477, 0.158, 0)), dtmf, nil, true},
		{"DTMF, high tone 8 dB softer", mix(note(0.5, 770, 0.2, 0), note(0.5, 1477, 0.08, 0)), dtmf, nil, true},
	}
}

func examplesOfBeats() []example {
	alarms, pulse, hum := is(classSmoke), is(classPulse), is(classHum)
	tick := func(period float64) []float32 { return repeated(10, 0.3, join(bang(0.05, 0.4, 7), quiet(period-0.05))) }
	return []example{
		{"smoke alarm", alarm(10, 0, 3100, 0.3), alarms, nil, true},
		{"smoke alarm, from the second beep on", alarm(10, 0.8, 3150.3, 0.3), alarms, nil, true},
		{"smoke alarm, from the pause on", alarm(10, 2.6, 2900, 0.3), alarms, nil, true},
		{"smoke alarm, -40 dBFS", alarm(10, 3.3, 3400, 0.014), alarms, nil, true},
		{"smoke alarm for sleepers", clipped(alarm(10, 1.3, 520, 3), 0.3), alarms, nil, true},
		{"smoke alarm of 5 s", alarm(5, 0, 3100, 0.3), alarms, nil, true},

		{"pulse of noise", tick(1), pulse, nil, true},
		{"pulse, 0.7 Hz", tick(1.4), pulse, nil, true},
		{"pulse, 1.5 Hz", tick(0.66), pulse, nil, true},
		{"pulse of a tone", onOff(10, 0.2, 0.1, 0.9, tone(1000)), pulse, nil, true},
		{"pulse of a longer tone", onOff(10, 0.2, 0.2, 0.8, tone(440)), pulse, nil, true},
		{"pulse, -40 dBFS", onOff(10, 0.2, 0.1, 0.9, func(s float64) []float32 { return note(s, 1000, 0.014, 0) }), pulse, nil, true},
		{"pulse, clicks of one sample", repeated(10, 0.2, join([]float32{0.9}, quiet(1))), pulse, nil, false},
		{"pulse for 4 s", repeated(4, 0.2, join(bang(0.05, 0.4, 7), quiet(0.95))), pulse, nil, true},

		{"hum, 50 Hz", humming(10, 50, 0.2, 1, 0.5, 0.33, 0.25, 0.2, 0.17, 0.14), hum, nil, true},
		{"hum, 60 Hz", humming(10, 60, 0.2, 1, 0.5, 0.33, 0.25, 0.2, 0.17, 0.14), hum, nil, true},
		{"hum of a transformer, 50 Hz", humming(10, 50, 0.2, 0.1, 1, 0, 0.5, 0, 0.3, 0, 0.2), hum, nil, true},
		{"hum of a rectifier, 60 Hz", humming(10, 60, 0.2, 0, 1, 0, 0.5, 0, 0.3), hum, nil, true},
		{"hum, odd lines", humming(10, 50, 0.2, 1, 0, 0.4, 0, 0.25, 0, 0.1), hum, nil, true},
		{"hum, -40 dBFS", humming(10, 60, 0.01, 1, 0.7, 0.5, 0.4), hum, nil, true},
		{"hum, 50.2 Hz", humming(10, 50.2, 0.2, 1, 0.5, 0.33, 0.25, 0.2, 0.17, 0.14), hum, nil, true},
		{"hum of 3 s", humming(3, 50, 0.2, 1, 0.5, 0.33, 0.25), hum, nil, true},
	}
}

func examplesOfNoise() []example {
	silence, white0, pink := is(classSilence), is(classWhiteNoise), is(classPinkNoise)
	return []example{
		{"silence", quiet(10), silence, nil, false},
		{"silence of 2 s", quiet(2), silence, nil, false},
		{"silence of a recorder", white(10, 0.0003, 1), silence, nil, false},
		{"silence with a constant", mix(quiet(10), constant(10, 0.01)), silence, nil, false},

		{"white noise", white(10, 0.1, 1), white0, nil, false},
		{"white noise, loud", white(10, 0.25, 2), white0, nil, false},
		{"white noise, -45 dBFS", white(10, 0.0056, 3), white0, nil, false},
		{"white noise of 3 s", white(3, 0.05, 4), white0, nil, false},
		{"white noise, a little dark", sloped(10, 0.1, -0.7, 5), white0, nil, false},
		{"white noise, a little bright", sloped(10, 0.1, 0.7, 6), white0, nil, false},
		{"pink noise", sloped(10, 0.1, -3.01, 1), pink, nil, false},
		{"pink noise, loud", sloped(10, 0.25, -3.01, 2), pink, nil, false},
		{"pink noise, -45 dBFS", sloped(10, 0.0056, -3.01, 3), pink, nil, false},
		{"pink noise of 3 s", sloped(3, 0.05, -3.01, 4), pink, nil, false},
		{"pink noise, a little dark", sloped(10, 0.1, -3.7, 5), pink, nil, false},
		{"pink noise, a little bright", sloped(10, 0.1, -2.3, 6), pink, nil, false},
	}
}

func constant(seconds, value float64) []float32 {
	x := quiet(seconds)
	for i := range x {
		x[i] = float32(value)
	}
	return x
}

// examplesOfNothing are of no class, but nearly of one.
func examplesOfNothing() []example {
	instrument := func(seconds, hz float64) []float32 { return played(seconds, hz, 0.2) }
	pure := func(seconds, hz float64) []float32 { return note(seconds, hz, 0.2, 0) }
	return []example{
		{name: "speech, low voice", sound: spoken(10, 110, 0.2, 1)},
		{name: "speech, high voice", sound: spoken(10, 210, 0.2, 2)},
		{name: "speech, child", sound: spoken(10, 330, 0.2, 3)},
		{name: "chord of sines", sound: mix(note(10, 349.23, 0.2, 0), note(10, 440, 0.2, 1), note(10, 523.25, 0.2, 2))},
		{name: "chord of an instrument", sound: mix(played(4, 349.23, 0.2), played(4, 440, 0.2))},
		{name: "scale of an instrument", sound: scale(15, 0.3, 262, instrument)},
		{name: "scale of sines", sound: scale(15, 0.25, 262, pure)},
		{name: "fast scale of sines", sound: scale(22, 0.12, 220, pure)},
		{name: "slow scale of sines", sound: scale(12, 0.5, 300, pure)},
		{name: "siren", sound: sweep(10, func(t float64) float64 { return 900 + 400*math.Sin(2*math.Pi*t/3) }, 0.3, 0)},
		{name: "tone that drifts by a semitone", sound: straight(10, 1000, 1060, 0.3), maybe: is(classSine)},
		{name: "two tones with a slur", sound: join(note(1, 500, 0.3, 0), rising(0.08, 500, 900, 0.3), note(1, 900, 0.3, 0)),
			maybe: is(classSine)},
		{name: "vibrato", sound: sweep(10, func(t float64) float64 { return 600 + 20*math.Sin(2*math.Pi*t*5) }, 0.3, 0)},
		{name: "sine of half a second in noise", sound: mix(white(10, 0.02, 4), join(quiet(3.3), note(0.5, 800, 0.3, 0))),
			maybe: is(classWhiteNoise)},
		{name: "sine that swells", sound: waves(note(10, 1000, 0.5, 0), 1)},
		{name: "dial tone that swells", sound: waves(pair(10, 350, 440, 0.3), 1)},
		{name: "square wave", sound: clipped(note(10, 300, 30, 0), 0.2)},
		{name: "two sines", sound: pair(10, 500, 1300, 0.2)},
		{name: "dial tone of half a second", sound: join(quiet(1), pair(0.5, 350, 440, 0.2), quiet(1))},
		{name: "dial tone, 440 Hz 16 dB softer", sound: mix(note(10, 350, 0.3, 0), note(10, 440, 0.047, 1)), maybe: is(classSine)},
		{name: "dial tone, 4 % off", sound: pair(10, 350*1.04, 440*1.04, 0.2)},
		{name: "ringing, North America", sound: onOff(6, 0, 2, 4, tones(440, 480)), maybe: is(classSilence)},
		{name: "ringing, Europe", sound: onOff(10, 0, 1, 4, tone(425)), is: is(classSine, classSilence), maybe: is(classDialTone)},
		{name: "beeps of 425 Hz, too slow", sound: onOff(10, 0, 1.2, 1.2, tone(425)), is: is(classSine), maybe: is(classDialTone)},
		{name: "beeps of 600 Hz", sound: onOff(10, 0, 0.5, 0.5, tone(600))},
		{name: "beeps of 3.1 kHz", sound: onOff(10, 0.2, 0.5, 0.5, tone(3100))},
		{name: "beeps of 425 Hz at odd times", sound: odd(425)},
		{name: "busy only twice", sound: join(quiet(1), note(0.5, 425, 0.2, 0), quiet(0.5), note(0.5, 425, 0.2, 0), quiet(1))},
		{name: "DTMF, 3.5 % high", sound: join(quiet(1), key('1', 0.1, 0.2, 0.036), quiet(0.1), key('D', 0.1, 0.2, 0.036), quiet(0.5))},
		{name: "DTMF, 3.5 % low", sound: join(quiet(1), key('1', 0.1, 0.2, -0.036), quiet(0.1), key('D', 0.1, 0.2, -0.036), quiet(0.5))},
		{name: "DTMF of 20 ms", sound: join(quiet(1), key('5', 0.02, 0.2, 0), quiet(0.5))},
		{name: "four beeps of an alarm for gas", sound: repeated(10, 0, join(dots(4, 0.1, 0.1, 3100), quiet(4.3))), is: is(classSilence)},
		{name: "three beeps and no more", sound: join(quiet(1), dots(3, 0.5, 0.5, 3100), quiet(6)), maybe: is(classSilence)},
		{name: "alarm of two tones", sound: mix(alarm(10, 0, 1000, 0.2), alarm(10, 0, 1300, 0.2))},
		{name: "metronome, 4 Hz", sound: repeated(10, 0, join(bang(0.03, 0.4, 5), quiet(0.22)))},
		{name: "blows at odd times", sound: join(bang(0.1, 0.4, 1), quiet(0.4), bang(0.1, 0.4, 2), quiet(1.7), bang(0.1, 0.4, 3), quiet(0.9),
			bang(0.1, 0.4, 4), quiet(0.3))},
		{name: "brown noise", sound: sloped(10, 0.1, -6.02, 1)},
		{name: "blue noise", sound: sloped(10, 0.1, 3.01, 1)},
		{name: "noise that comes and goes", sound: waves(white(10, 0.1, 1), 0.25)},
		{name: "noise that flutters", sound: waves(white(10, 0.1, 1), 6)},
		{name: "hum of a motor, 44 Hz", sound: humming(10, 44, 0.2, 1, 0.5, 0.33, 0.25, 0.2, 0.17, 0.14)},
		{name: "hum of a motor, 55 Hz", sound: humming(10, 55, 0.2, 1, 0.5, 0.33, 0.25, 0.2, 0.17, 0.14)},
	}
}

// dots are beeps one after another.
func dots(n int, on, off, hz float64) (out []float32) {
	for range n {
		out = join(out, soft(note(on, hz, 0.3, 0)), quiet(off))
	}
	return out
}

// odd are beeps of all lengths.
func odd(hz float64) (out []float32) {
	for i := range 10 {
		out = join(out, soft(note(0.14+0.05*float64(i*7%10), hz, 0.2, 0)), quiet(0.14+0.05*float64(i*3%10)))
	}
	return out
}

// waves changes the level of a sound by 20 dB at a rate.
func waves(x []float32, hz float64) []float32 {
	for i := range x {
		x[i] *= float32(math.Pow(10, (math.Sin(2*math.Pi*hz*float64(i)/sampleRate)-1)/2))
	}
	return x
}
