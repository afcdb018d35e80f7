package conformance

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seed-6363c74e/mortise"
)

// ModelOptions are what those who run a [Model] may change. Each domain declares the same
// type again, for users. What is zero or less means the default.
type ModelOptions struct {
	Sequences int    // how many
	Steps     int    // of each sequence
	Seed      uint64 // of the first one, the next one has the next: MORTISE_SEED, 1, or a random one if MORTISE_SOAK=1
}

// Model is a property test: random sequences of calls to a backend, each of which is also
// made to a plain model of it. The fields are the defaults.
type Model struct {
	Sequences int // how many
	Soak      int // how many if the environment has MORTISE_SOAK=1
	Steps     int // of each sequence
}

// Run plays sequences until one fails, each as a subtest that is named by its seed. One that
// fails, for whatever reason, logs its steps. Options may be nil.
func (m Model) Run(t *testing.T, opts *ModelOptions, play func(s *Sequence)) {
	t.Helper()
	var o ModelOptions
	if opts != nil {
		o = *opts
	}
	soak := os.Getenv("MORTISE_SOAK") == "1"
	if soak {
		m.Sequences = m.Soak
	}
	if o.Sequences > 0 {
		m.Sequences = o.Sequences
	}
	if o.Steps > 0 {
		m.Steps = o.Steps
	}
	if o.Seed == 0 {
		o.Seed = firstSeed(t, soak)
	}
	for n := range m.Sequences {
		seed := o.Seed + uint64(n)
		ok := t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			s := &Sequence{T: t, Rand: rand.New(rand.NewPCG(seed, 1)), Seed: seed, Clock: new(mortise.ManualClock), length: m.Steps}
			defer s.logSteps()
			play(s)
			s.ended = true
		})
		if !ok {
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

// Sequence is one sequence of a [Model]: its test, its randomness, which depends on nothing
// but the seed, and its time.
type Sequence struct {
	*testing.T
	*rand.Rand
	Seed  uint64
	Clock *mortise.ManualClock

	length int
	said   []string
	ended  bool
}

// Steps are what can happen in a sequence, and how often each does.
type Steps []struct {
	Weight int
	Do     func()
}

// Play makes the steps of a sequence. After every so many, and at the end, it compares.
// Time passes between them, but often two things happen at one time.
func (s *Sequence) Play(steps Steps, every int, compare func()) {
	total := 0
	for _, step := range steps {
		total += step.Weight
	}
	for n := 1; n <= s.length; n++ {
		pick := s.IntN(total)
		for _, step := range steps {
			if pick -= step.Weight; pick < 0 {
				step.Do()
				break
			}
		}
		if n%every == 0 || n == s.length {
			compare()
		}
		if s.IntN(2) > 0 {
			s.Clock.Advance(time.Duration(1+s.IntN(1_000_000)) * time.Microsecond)
		}
	}
}

// Say notes what is done next.
func (s *Sequence) Say(format string, args ...any) {
	s.said = append(s.said, fmt.Sprintf("%4d  %s  ", len(s.said)+1, s.Clock.Now().Format("02 15:04:05.000000"))+fmt.Sprintf(format, args...))
}

// logSteps says how to come to a failure again.
func (s *Sequence) logSteps() {
	if s.Failed() || !s.ended && !s.Skipped() { // a panic has not failed yet
		s.Logf("The steps of %s (MORTISE_SEED=%d begins with it):\n%s", s.Name(), s.Seed, strings.Join(s.said, "\n"))
	}
}

// Same fails the sequence unless both are printed alike: a text as it is, a list of texts as
// lines, whether it is nil or only empty, and everything else as Go code.
func (s *Sequence) Same(what string, want, got any) {
	s.Helper()
	if w, g := printed(want), printed(got); w != g {
		s.Fatalf("%s:\nthe model has   %s\nthe backend has %s", what, w, g)
	}
}

func printed(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []string:
		return fmt.Sprintf("%d:\n%s", len(v), strings.Join(v, "\n"))
	}
	return fmt.Sprintf("%#v", v)
}

// SameError fails the sequence unless the backend's error is the model's, which may be nil.
// It reports whether there is none.
func (s *Sequence) SameError(want, got error) bool {
	s.Helper()
	if !errors.Is(got, want) {
		s.Fatalf("the model's error is %v, the backend's is %v", want, got)
	}
	return got == nil
}

// Shuffled returns some things in another order.
func Shuffled[T any](by interface{ Shuffle(int, func(i, j int)) }, of []T) []T {
	c := slices.Clone(of)
	by.Shuffle(len(c), func(i, j int) { c[i], c[j] = c[j], c[i] })
	return c
}
