package signal

import (
	"math"
	"math/rand/v2"
)

// The sounds of the tests, at 16 kHz. All levels are amplitudes.

// note is a tone of one frequency.
func note(seconds, hz, amplitude, phase float64) []float32 {
	return sweep(seconds, func(float64) float64 { return hz }, amplitude, phase)
}

// sweep is a tone whose frequency is a function of time.
func sweep(seconds float64, hz func(t float64) float64, amplitude, phase float64) []float32 {
	out := make([]float32, int(math.Round(seconds*sampleRate)))
	for i := range out {
		out[i] = float32(amplitude * math.Sin(phase))
		phase += 2 * math.Pi * hz(float64(i)/sampleRate) / sampleRate
	}
	return out
}

// rising goes from one frequency to another in equal octaves, straight in equal Hz.
func rising(seconds, from, to, amplitude float64) []float32 {
	return sweep(seconds, func(t float64) float64 { return from * math.Pow(to/from, t/seconds) }, amplitude, 0.4)
}

func straight(seconds, from, to, amplitude float64) []float32 {
	return sweep(seconds, func(t float64) float64 { return from + (to-from)*t/seconds }, amplitude, 0.9)
}

// pair is two tones of the same amplitude.
func pair(seconds, first, second, amplitude float64) []float32 {
	return mix(note(seconds, first, amplitude, 0.3), note(seconds, second, amplitude, 1.7))
}

func quiet(seconds float64) []float32 { return make([]float32, int(math.Round(seconds*sampleRate))) }

// join is one sound after another.
func join(parts ...[]float32) (out []float32) {
	for _, part := range parts {
		out = append(out, part...)
	}
	return out
}

// mix is sounds at the same time.
func mix(parts ...[]float32) []float32 {
	longest := 0
	for _, part := range parts {
		longest = max(longest, len(part))
	}
	out := make([]float32, longest)
	for _, part := range parts {
		for i, x := range part {
			out[i] += x
		}
	}
	return out
}

// repeated fills so many seconds with a pattern, from a moment of it on.
func repeated(seconds, from float64, pattern []float32) []float32 {
	out := quiet(seconds)
	shift := int(from * sampleRate)
	for i := range out {
		out[i] = pattern[(i+shift)%len(pattern)]
	}
	return out
}

// onOff is a tone that is on and off in turn.
func onOff(seconds, from, on, off float64, tone func(seconds float64) []float32) []float32 {
	return repeated(seconds, from, join(soft(tone(on)), quiet(off)))
}

// soft fades a sound in and out over 2 ms, as telephones do.
func soft(x []float32) []float32 {
	const fade = 32
	for i := 0; i < fade && i < len(x)/2; i++ {
		gain := float32(i) / fade
		x[i] *= gain
		x[len(x)-1-i] *= gain
	}
	return x
}

// white is Gaussian noise of an RMS.
func white(seconds, rms float64, seed uint64) []float32 {
	r := rand.New(rand.NewPCG(seed, 1))
	out := quiet(seconds)
	for i := range out {
		out[i] = float32(r.NormFloat64() * rms)
	}
	return out
}

// sloped is Gaussian noise whose density changes by so many dB per octave from 20 Hz on.
// It is made in the frequency domain, 4 s of it, over and over.
func sloped(seconds, rms, slope float64, seed uint64) []float32 {
	const n = 1 << 16
	r := rand.New(rand.NewPCG(seed, 2))
	re, im := make([]float64, n), make([]float64, n)
	for k := 1; k < n/2; k++ {
		gain := math.Pow(max(float64(k)*sampleRate/n, 20), slope/(20*math.Log10(2)))
		re[k], im[k] = r.NormFloat64()*gain, r.NormFloat64()*gain
		re[n-k], im[n-k] = re[k], -im[k]
	}
	slowFFT(re, im)
	return repeated(seconds, 0, scaled(re, rms))
}

// scaled brings values to an RMS.
func scaled(values []float64, rms float64) []float32 {
	var square float64
	for _, v := range values {
		square += v * v
	}
	gain := rms / math.Sqrt(square/float64(len(values)))
	out := make([]float32, len(values))
	for i, v := range values {
		out[i] = float32(v * gain)
	}
	return out
}

// slowFFT is the plainest transform, in float64: also what the one under test is compared
// with.
func slowFFT(re, im []float64) {
	n := len(re)
	if n == 1 {
		return
	}
	er, ei, or, oi := make([]float64, n/2), make([]float64, n/2), make([]float64, n/2), make([]float64, n/2)
	for i := range n / 2 {
		er[i], ei[i], or[i], oi[i] = re[2*i], im[2*i], re[2*i+1], im[2*i+1]
	}
	slowFFT(er, ei)
	slowFFT(or, oi)
	for k := range n / 2 {
		s, c := math.Sincos(-2 * math.Pi * float64(k) / float64(n))
		r, i := or[k]*c-oi[k]*s, or[k]*s+oi[k]*c
		re[k], im[k] = er[k]+r, ei[k]+i
		re[k+n/2], im[k+n/2] = er[k]-r, ei[k]-i
	}
}

// power is the mean square of a sound.
func power(x []float32) (mean float64) {
	for _, v := range x {
		mean += float64(v) * float64(v) / float64(len(x))
	}
	return mean
}

// noisy adds white noise that is so many dB below the sound where the sound is on.
func noisy(x []float32, snr float64, seed uint64) []float32 {
	var on, n float64
	for _, v := range x {
		if v != 0 {
			on, n = on+float64(v)*float64(v), n+1
		}
	}
	return mix(x, white(float64(len(x))/sampleRate, math.Sqrt(on/n)*math.Pow(10, -snr/20), seed))
}

// humming is what the mains induce: lines at multiples of their frequency.
func humming(seconds, mains, amplitude float64, lines ...float64) (out []float32) {
	for i, level := range lines {
		if level > 0 {
			out = mix(out, note(seconds, mains*float64(i+1), amplitude*level, float64(i)*1.3))
		}
	}
	return out
}

// key is a DTMF tone; off is how far both frequencies are off, relative to what they
// should be.
func key(k byte, seconds, amplitude, off float64) []float32 {
	const keys = "123A456B789C*0#D"
	for i := range len(keys) {
		if keys[i] == k {
			return soft(pair(seconds, lowGroup[i/4]*(1+off), highGroup[i%4]*(1+off), amplitude))
		}
	}
	panic("no such key")
}

// dialed is keys one after another.
func dialed(keys string, on, off, amplitude float64) (out []float32) {
	for i := range len(keys) {
		out = join(out, key(keys[i], on, amplitude, 0), quiet(off))
	}
	return out
}

// alarm repeats the pattern of ISO 8201.
func alarm(seconds, from, hz, amplitude float64) []float32 {
	beep := func() []float32 { return soft(note(0.5, hz, amplitude, 0)) }
	return repeated(seconds, from, join(beep(), quiet(0.5), beep(), quiet(0.5), beep(), quiet(1.5)))
}

// bang is a short burst of noise that dies away.
func bang(seconds, amplitude float64, seed uint64) []float32 {
	x := white(seconds, amplitude, seed)
	for i := range x {
		x[i] *= float32(math.Exp(-5 * float64(i) / float64(len(x))))
	}
	return x
}

// spoken is like a voice: harmonics of a pitch that glides, through formants that move,
// four syllables a second, with hisses between.
func spoken(seconds, pitch, amplitude float64, seed uint64) []float32 {
	r := rand.New(rand.NewPCG(seed, 3))
	out := quiet(seconds)
	phase, hz, glide := 0.0, pitch, 0.0
	var gains [30]float64 // of the harmonics
	for i := range out {
		at := i % (sampleRate / 4)
		if at == 0 {
			hz, glide = pitch*(0.85+0.4*r.Float64()), pitch*(r.Float64()-0.5)*2
			formants := [...]float64{250 + 600*r.Float64(), 900 + 1300*r.Float64(), 2200 + 800*r.Float64()}
			for n := range gains {
				f := float64(n+1) * hz
				gains[n] = 0
				for k, formant := range formants {
					gains[n] += math.Exp(-math.Pow((f-formant)/(60+40*float64(k)), 2)/2) / float64(k+1)
				}
			}
		}
		t := float64(at) / sampleRate
		phase += 2 * math.Pi * (hz + glide*t) / sampleRate
		loud := math.Sin(math.Pi * math.Min(1, t/0.18))
		var sum float64
		for n, gain := range gains {
			sum += (gain + 0.02) * math.Sin(float64(n+1)*phase)
		}
		if t > 0.18 {
			sum = r.NormFloat64() * 0.3 * math.Sin(math.Pi*(t-0.18)/0.07)
			loud = 1
		}
		out[i] = float32(amplitude * loud * sum)
	}
	return out
}

// played is a note of an instrument: eight harmonics that die away.
func played(seconds, hz, amplitude float64) (out []float32) {
	for n := 1; n <= 8 && hz*float64(n) < 7500; n++ {
		out = mix(out, note(seconds, hz*float64(n), amplitude/float64(n), float64(n)))
	}
	for i := range out {
		out[i] *= float32(math.Min(1, float64(i)/160) * math.Exp(-1.5*float64(i)/sampleRate))
	}
	return out
}

// scale is notes of a major scale, up from a frequency, of so many seconds each.
func scale(notes int, each, from float64, tone func(seconds, hz float64) []float32) (out []float32) {
	for i := range notes {
		step := [...]int{0, 2, 4, 5, 7, 9, 11}[i%7] + 12*(i/7)
		out = join(out, soft(tone(each, from*math.Exp2(float64(step)/12))))
	}
	return out
}

// clipped cuts off what is beyond a limit.
func clipped(x []float32, limit float32) []float32 {
	for i := range x {
		x[i] = max(-limit, min(limit, x[i]))
	}
	return x
}
