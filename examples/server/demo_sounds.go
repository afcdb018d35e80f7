package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/seed-6363c74e/mortise/audiosearch/synth"
	"github.com/seed-6363c74e/mortise/audiosearch/wav"
)

// demoRate is the sample rate of the demo's sounds, in Hz.
const demoRate = 16000

// demoSounds are the sounds that the demo makes, the same at each start, by the names of
// their files.
func demoSounds() map[string][]synth.Part {
	// The alarm is three times half a second on and off, and another second off (ISO 8201).
	alarm := synth.Gated(3, 1, synth.Gated(0.5, 0.5, synth.Tones(0.4, 3100)))
	busy := synth.Gated(0.5, 0.5, synth.Tones(0.2, 480, 620))
	quiet := func(seconds float64) synth.Part { return synth.Brown(0.01).For(seconds) }
	return map[string][]synth.Part{
		"office-phone.wav": {
			quiet(4), synth.Tones(0.2, 350, 440).For(8), synth.Keys(0.2, "05551234567890#").For(4), busy.For(8), quiet(4),
		},
		"kitchen-alarm.wav": {quiet(8), alarm.For(16), quiet(4)},
		"workshop.wav":      {quiet(2), synth.Tones(0.12, 50, 100, 150, 200, 250, 300).For(12), synth.Brown(0.05).For(4)},
		"radio.wav":         {synth.White(0.1).For(12), synth.Pink(0.1).For(12)},
		"test-signals.wav":  {synth.Tones(0.3, 1000).For(10), quiet(2), synth.Sweep(0.3, 200, 4000, 10).For(10)},
		"night.wav":         {quiet(4), synth.Tones(0).For(14), quiet(4)},
	}
}

// makeDemoSounds makes the demo's sound files, where they are missing. Another server may
// start on the same folder at the same time.
func makeDemoSounds(dir string) error {
	for name, parts := range demoSounds() {
		path := filepath.Join(dir, name)
		_, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			err = wav.WriteFile(path, demoRate, synth.Samples(demoRate, uint64(len(name)-len(".wav")), parts...))
		}
		if err != nil {
			return fmt.Errorf("make the demo's sounds: %w", err)
		}
	}
	return nil
}
