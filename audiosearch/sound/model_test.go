package sound_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// TestModelCheck: every bound is there, and none is off by one.
func TestModelCheck(t *testing.T) {
	good := func() sound.Model {
		m, _ := twoClasses{}.Model(t.Context())
		return m
	}
	many := make([]sound.Class, sound.MaxClasses+1)
	for i := range many {
		many[i] = sound.Class(fmt.Sprint(i))
	}
	for name, change := range map[string]func(m *sound.Model){
		"as it is":      func(*sound.Model) {},
		"most samples":  func(m *sound.Model) { m.SampleRate = 384_000 },
		"least samples": func(m *sound.Model) { m.SampleRate = 1 },
		"long window":   func(m *sound.Model) { m.Window = 10 * time.Minute },
		"short hop":     func(m *sound.Model) { m.Hop = time.Millisecond },
		"hop is window": func(m *sound.Model) { m.Hop = m.Window },
		"large batch":   func(m *sound.Model) { m.Batch = 1024 },
		"no batch":      func(m *sound.Model) { m.Batch = 0 },
		"many classes":  func(m *sound.Model) { m.Classes = many[1:] },
		"as much as may": func(m *sound.Model) {
			m.Window, m.Hop, m.SampleRate, m.Batch = 64<<20/1024*time.Second/1000, 65536*time.Millisecond, 1000, 1024
		},
	} {
		m := good()
		change(&m)
		require.NoError(t, m.Check(), name)
	}
	for want, change := range map[string]func(m *sound.Model){
		"its ID must not be empty":                         func(m *sound.Model) { m.ID = "" },
		"its Family must be valid UTF-8":                   func(m *sound.Model) { m.Family = "\xff" },
		"sample rate 0; it must be 1 to 384000":            func(m *sound.Model) { m.SampleRate = 0 },
		"sample rate 384001;":                              func(m *sound.Model) { m.SampleRate = 384_001 },
		"window 0s;":                                       func(m *sound.Model) { m.Window = 0 },
		"window 10m0.000000001s;":                          func(m *sound.Model) { m.Window = 10*time.Minute + 1 },
		"hop 999.999µs;":                                   func(m *sound.Model) { m.Hop = time.Millisecond - 1 },
		"hop 2.000000001s;":                                func(m *sound.Model) { m.Hop = m.Window + 1 },
		"a hop of 400ms has no sample":                     func(m *sound.Model) { m.SampleRate, m.Hop = 1, 400*time.Millisecond },
		"batches of 1025;":                                 func(m *sound.Model) { m.Batch = 1025 },
		"1024 windows of 1m5.537s at 1000 Hz are too much": func(m *sound.Model) { m.Window, m.Hop, m.Batch = 65537*time.Millisecond, 65536*time.Millisecond, 1024 },
		"it predicts no class":                             func(m *sound.Model) { m.Classes = nil },
		"10001 classes; they must be at most 10000":        func(m *sound.Model) { m.Classes = many },
		"the name of a class must not be empty":            func(m *sound.Model) { m.Classes[1] = "" },
		`it has the class "Shout" twice`:                   func(m *sound.Model) { m.Classes[1] = m.Classes[0] },
	} {
		m := good()
		change(&m)
		require.ErrorContains(t, m.Check(), "the scorer's model is not usable: "+want)
	}
}

func TestModelSamples(t *testing.T) {
	m := sound.Model{SampleRate: 44_100}
	for d, want := range map[time.Duration]int{
		0: 0, time.Second: 44_100, 10 * time.Minute: 26_460_000, 11_337 * time.Nanosecond: 0, 11_338 * time.Nanosecond: 1,
	} {
		assert.Equal(t, want, m.Samples(d), d)
	}
	require.Positive(t, (&sound.Model{SampleRate: 384_000}).Samples(10*time.Minute), "no overflow")
}
