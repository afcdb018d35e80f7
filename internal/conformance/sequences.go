package conformance

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// Sequences are the random sequences of a property test. Zero fields mean the defaults.
type Sequences struct {
	Count int    // how many: 20, or 1000 if the environment has MORTISE_SOAK=1
	Steps int    // of each: 200
	Seed  uint64 // of the first one, the next one has the next: MORTISE_SEED, 1, or a random one if MORTISE_SOAK=1
}

// Run tries each sequence as a subtest that is named by its seed, until one fails.
func (s Sequences) Run(t *testing.T, try func(t *testing.T, seed uint64, steps int)) {
	t.Helper()
	soak := os.Getenv("MORTISE_SOAK") == "1"
	if s.Count <= 0 {
		s.Count = 20
		if soak {
			s.Count = 1000
		}
	}
	if s.Steps <= 0 {
		s.Steps = 200
	}
	if s.Seed == 0 {
		s.Seed = firstSeed(t, soak)
	}
	for n := range s.Count {
		seed := s.Seed + uint64(n)
		if !t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { try(t, seed, s.Steps) }) {
			return
		}
	}
}

func firstSeed(t *testing.T, soak bool) uint64 {
	t.Helper()
	if text := os.Getenv("MORTISE_SEED"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("MORTISE_SEED: %v", err)
		}
		return seed
	}
	if soak {
		return rand.Uint64() >> 1
	}
	return 1
}
