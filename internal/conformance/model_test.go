package conformance

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// played is what a model did: the seeds, and for each what was called.
type played struct {
	seeds []uint64
	calls []string
}

func play(t *testing.T, opts *ModelOptions) (p played) {
	t.Helper()
	t.Run("model", func(t *testing.T) {
		Model{Sequences: 2, Soak: 3, Steps: 10}.Run(t, opts, func(s *Sequence) {
			calls := ""
			call := func(c string) func() { return func() { calls += c } }
			s.Play(Steps{{1, call("a")}, {0, call("b")}, {20, call("c")}}, 4, call("."))
			p.seeds, p.calls = append(p.seeds, s.Seed), append(p.calls, calls+s.Clock.Now().String())
		})
	})
	return p
}

// TestModel: a seed always gives the same sequence, and options and the environment say how
// many there are.
func TestModel(t *testing.T) {
	t.Setenv("MORTISE_SEED", "")
	t.Setenv("MORTISE_SOAK", "")
	p := play(t, nil)
	require.Equal(t, []uint64{1, 2}, p.seeds)
	require.Regexp(t, `^[ac]{4}\.[ac]{4}\.[ac]{2}\.2026-`, p.calls[0], "it compares after every fourth step and at the end")
	require.NotEqual(t, p.calls[0], p.calls[1])
	require.Equal(t, p, play(t, &ModelOptions{Seed: 1}))
	require.Equal(t, p.calls[1:], play(t, &ModelOptions{Sequences: 1, Seed: 2}).calls)

	few := play(t, &ModelOptions{Steps: 300, Sequences: 1}).calls[0]
	require.Greater(t, strings.Count(few, "c"), 10*strings.Count(few, "a"), "things happen by their weight")
	require.Positive(t, strings.Count(few, "a"))

	t.Setenv("MORTISE_SEED", "41")
	require.Equal(t, []uint64{41, 42}, play(t, nil).seeds)
	require.Equal(t, []uint64{7, 8}, play(t, &ModelOptions{Seed: 7}).seeds)
	t.Setenv("MORTISE_SOAK", "1")
	require.Equal(t, []uint64{41, 42, 43}, play(t, nil).seeds)
	t.Setenv("MORTISE_SEED", "")
	require.NotEqual(t, play(t, nil).seeds, play(t, nil).seeds, "a soak begins anywhere")
}

// failing are what ends a sequence, by how a process fails.
var failing = map[string]func(s *Sequence){
	"an error":  func(s *Sequence) { s.SameError(fs.ErrExist, errors.New("it is full")) },
	"no error":  func(s *Sequence) { s.SameError(fs.ErrExist, nil) },
	"any error": func(s *Sequence) { s.SameError(nil, fs.ErrExist) },
	"texts":     func(s *Sequence) { s.Same("the name", "a", "b") },
	"lists":     func(s *Sequence) { s.Same("the names", []string{"a"}, []string{"a", "b"}) },
	"values":    func(s *Sequence) { s.Same("the map", map[int]any{1: nil}, map[int]any{1: 0}) },
	"require":   func(s *Sequence) { require.Equal(s.T, 1, 2) },
	"a panic":   func(*Sequence) { panic("it is empty") },
}

// envFailing names one of failing in a process that must fail.
const envFailing = "CONFORMANCE_MODEL"

// TestModelFails: a sequence that fails says what it is about, and then the steps and how to
// come there again. No other one is played after it.
func TestModelFails(t *testing.T) {
	if fail := failing[os.Getenv(envFailing)]; fail != nil {
		Model{Sequences: 5, Soak: 5, Steps: 3}.Run(t, nil, func(s *Sequence) {
			fine(s)
			s.Play(Steps{{1, func() { s.Say("something %s", "happens") }}}, 2, func() {
				if s.Seed == 3 {
					fail(s)
				}
			})
		})
		return
	}
	for name, says := range map[string]string{
		"an error":  "the model's error is file already exists, the backend's is it is full",
		"no error":  "the model's error is file already exists, the backend's is <nil>",
		"any error": "the model's error is <nil>, the backend's is file already exists",
		"texts":     "the backend has b", "lists": "the backend has 2:",
		"values": "interface {}(nil)", "require": "Error Trace", "a panic": "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestModelFails$")
			cmd.Env = append(os.Environ(), envFailing+"="+name, "MORTISE_SEED=2")
			out, err := cmd.CombinedOutput()
			require.Error(t, err)
			output := string(out)
			inOrder(t, output, "--- FAIL: TestModelFails/seed_3 ", says, "The steps of TestModelFails/seed_3 (MORTISE_SEED=3 begins with it)",
				"   1  01 00:00:00.000000  something happens", "   2  01 00:00:0")
			require.NotContains(t, output, "   3  ")
			require.NotContains(t, output, "seed_2")
			require.NotContains(t, output, "seed_4")
		})
	}
}

func fine(s *Sequence) {
	s.Same("empty lists", []string(nil), []string{})
	s.Same("lists", []int{1}, []int{1})
	if !s.SameError(nil, nil) || s.SameError(fs.ErrExist, fmt.Errorf("it %w", fs.ErrExist)) {
		s.Fatal("SameError says the opposite")
	}
}
