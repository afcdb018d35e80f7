package main

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed-6363c74e/mortise/audiosearch/wav"
)

// demoRate is the sample rate of the demo's sounds, in Hz.
const demoRate = 16000

// demoSound is a sound that the demo makes, the same at each start.
type demoSound struct {
	file  string
	parts []demoPart // one after the other
}

type demoPart struct {
	seconds float64
	signal  signalAt
}

// signalAt gives a signal for each time from 0 on, in seconds, one after the other.
type signalAt = func(t float64, r *rand.Rand) float64

func demoSounds() []demoSound {
	// The alarm is three times half a second on and off, and another second off (ISO 8201).
	quiet := func(seconds float64) demoPart { return demoPart{seconds, rumble(0.01)} }
	return []demoSound{
		{"office-phone.wav", []demoPart{
			quiet(4), {8, tones(0.2, 350, 440)}, {4, dialled("05551234567890#")}, {8, gated(0.5, 0.5, tones(0.2, 480, 620))}, quiet(4),
		}},
		{"kitchen-alarm.wav", []demoPart{quiet(8), {16, gated(3, 1, gated(0.5, 0.5, tones(0.4, 3100)))}, quiet(4)}},
		{"workshop.wav", []demoPart{quiet(2), {12, tones(0.12, 50, 100, 150, 200, 250, 300)}, {4, rumble(0.05)}}},
		{"radio.wav", []demoPart{{12, noise(0.1)}, {12, pinkNoise(0.1)}}},
		{"test-signals.wav", []demoPart{{10, tones(0.3, 1000)}, quiet(2), {10, sweep(0.3, 200, 4000, 10)}}},
		{"night.wav", []demoPart{quiet(4), {14, tones(0)}, quiet(4)}},
	}
}

// makeDemoSounds makes the demo's sound files, where they are missing. A file is there with
// all that belongs into it, or not at all.
func makeDemoSounds(dir string) error {
	for _, s := range demoSounds() {
		path := filepath.Join(dir, s.file)
		_, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			err = s.write(path)
		}
		if err != nil {
			return fmt.Errorf("make the demo's sounds: %w", err)
		}
	}
	return nil
}

func (s *demoSound) write(path string) error {
	// Another server may start on the same folder at the same time.
	part, err := os.CreateTemp(filepath.Dir(path), s.file+".*.part")
	if err != nil {
		return err
	}
	if err = errors.Join(wav.Encode(part, demoRate, s.samples()), part.Close()); err == nil {
		err = os.Rename(part.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(part.Name()))
	}
	return nil
}

// samples returns the sound.
func (s *demoSound) samples() (all []float32) {
	r := rand.New(rand.NewPCG(1, uint64(len(s.file)-len(".wav"))))
	for _, p := range s.parts {
		for i := range int(p.seconds * demoRate) {
			all = append(all, float32(p.signal(float64(i)/demoRate, r)))
		}
	}
	return all
}

// tones are sines of the given frequencies in Hz, each as loud as the others.
func tones(level float64, hz ...float64) signalAt {
	return func(t float64, _ *rand.Rand) (x float64) {
		for _, f := range hz {
			x += level * math.Sin(2*math.Pi*f*t)
		}
		return x
	}
}

// noise is white.
func noise(level float64) signalAt {
	return func(_ float64, r *rand.Rand) float64 { return level * r.NormFloat64() }
}

// rumble falls by 6 dB an octave, as the sound of a quiet room does. So it is neither
// white nor pink.
func rumble(level float64) signalAt {
	var x float64
	return func(_ float64, r *rand.Rand) float64 {
		x += 0.02 * (10*level*r.NormFloat64() - x)
		return x
	}
}

// pinkNoise falls by 3 dB an octave: white noise through the three-pole filter of Paul
// Kellet (musicdsp.org, "Pink noise filter").
func pinkNoise(level float64) signalAt {
	var a, b, c float64
	return func(_ float64, r *rand.Rand) float64 {
		w := level * r.NormFloat64()
		a = 0.99765*a + 0.0990460*w
		b = 0.96300*b + 0.2965164*w
		c = 0.57000*c + 1.0526913*w
		return (a + b + c + 0.1848*w) / 2
	}
}

// sweep is a tone that rises from one frequency to another, the same number of octaves
// each second.
func sweep(level, from, to, seconds float64) signalAt {
	rate := math.Log(to/from) / seconds
	return func(t float64, _ *rand.Rand) float64 {
		return level * math.Sin(2*math.Pi*from*(math.Exp(rate*t)-1)/rate)
	}
}

// gated is a sound that goes on and off, in seconds.
func gated(on, off float64, signal signalAt) signalAt {
	return func(t float64, r *rand.Rand) float64 {
		if math.Mod(t, on+off) >= on {
			return 0
		}
		return signal(t, r)
	}
}

// dialled are the tones of telephone keys (ITU-T Q.23), 0.1 s each and 0.1 s apart, from
// the start on again when all are through.
func dialled(keys string) signalAt {
	const pad = "123A456B789C*0#D"
	rows, columns := []float64{697, 770, 852, 941}, []float64{1209, 1336, 1477, 1633}
	var each []signalAt
	for i := range keys {
		at := strings.IndexByte(pad, keys[i])
		each = append(each, gated(0.1, 0.1, tones(0.2, rows[at/4], columns[at%4])))
	}
	return func(t float64, r *rand.Rand) float64 { return each[int(t/0.2)%len(each)](t, r) }
}
