package vaulttest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// ModelOptions are the settings of [RunModel]. The zero value means the defaults.
type ModelOptions struct {
	Sequences int    // how many: 20, or 1000 if the environment has MORTISE_SOAK=1
	Steps     int    // of each sequence: 200
	Seed      uint64 // of the first sequence, the next one has the next: MORTISE_SEED, 1, or a random one if MORTISE_SOAK=1
}

// RunModel makes random calls to two services on the backend, as two processes have them,
// and the same ones to a plain model of a vault: values and their tokens. All the while
// the keys are rotated, with the services at different steps, and steps that are cut off.
// Whatever happens, a value keeps its token, tokens are of one value, what was deleted
// stays so, and a service that lacks a key says so and nothing wrong. A failure prints
// the seed and the steps. Options may be nil.
func RunModel(t *testing.T, h Harness, opts *ModelOptions) {
	t.Helper()
	var o ModelOptions
	if opts != nil {
		o = *opts
	}
	sequences := conformance.Sequences{Count: o.Sequences, Steps: o.Steps, Seed: o.Seed}
	sequences.Run(t, func(t *testing.T, seed uint64, steps int) { newRun(t, h, seed).steps(steps) })
}

// run is one sequence: two services, their model, and what was done to both.
type run struct {
	t         *testing.T
	seed      uint64
	rand      *rand.Rand
	backend   vault.Backend
	clock     *Clock
	processes [2]*process
	rotation  rotation
	vaults    []*modelVault
	events    []modelEvent
	done      []string // the steps, in words
}

func newRun(t *testing.T, h Harness, seed uint64) *run {
	t.Helper()
	r := &run{t: t, seed: seed, rand: rand.New(rand.NewPCG(seed, 1)), backend: h.Open(t), clock: new(Clock)}
	r.rotation = rotation{current: 1, required: map[int]bool{1: true}, retired: make(map[modelKey]bool), removed: make(map[int]bool)}
	for i := range r.processes {
		r.processes[i] = &process{run: r, name: []vault.Actor{"P", "Q"}[i]}
		r.processes[i].restart(1)
	}
	return r
}

// op is something that can happen, and how often it does.
type op struct {
	weight int
	do     func()
}

func (r *run) ops() []op {
	return []op{
		{4, r.createVault}, {8, r.changeSchema},
		{25, r.insert}, {10, r.insertAtOnce}, {12, r.importTokens}, {15, r.tokenize}, {10, r.detokenize}, {10, r.delete}, {3, r.export},
		{25, r.rotate}, {3, r.stranger},
	}
}

// steps does so many steps.
func (r *run) steps(n int) {
	ops := r.ops()
	total := 0
	for _, op := range ops {
		total += op.weight
	}
	for i := range n {
		pick := r.rand.IntN(total)
		for _, op := range ops {
			if pick -= op.weight; pick < 0 {
				op.do()
				break
			}
		}
		if i%25 == 24 || i == n-1 {
			r.compareAll()
		}
		r.clock.Advance(time.Duration(r.rand.IntN(2)*r.rand.IntN(1_000_000)) * time.Microsecond) // often two things happen at one time
	}
}

// process returns one of the services.
func (r *run) process() *process { return r.processes[r.rand.IntN(len(r.processes))] }

// say notes what is done next.
func (r *run) say(format string, args ...any) {
	r.done = append(r.done, fmt.Sprintf("%4d  ", len(r.done)+1)+fmt.Sprintf(format, args...))
}

// fail ends the test with what was done.
func (r *run) fail(format string, args ...any) {
	r.t.Helper()
	r.t.Fatalf("%s\nThe steps of %s (MORTISE_SEED=n begins with it):\n%s", fmt.Sprintf(format, args...), r.t.Name(), strings.Join(r.done, "\n"))
}

// same fails unless both are printed alike.
func (r *run) same(what string, want, got any) {
	r.t.Helper()
	if w, g := fmt.Sprintf("%q", want), fmt.Sprintf("%q", got); w != g {
		r.fail("%s:\nthe model has   %s\nthe service has %s", what, w, g)
	}
}

// sameError fails unless the service's error is the model's. It reports whether both
// succeeded.
func (r *run) sameError(want, got error) bool {
	r.t.Helper()
	switch {
	case want == nil && got == nil:
		return true
	case want == nil || got == nil || !errors.Is(got, want):
		r.fail("the model's error is %v, the service's is %v", want, got)
	}
	return false
}

// agrees is sameError for a call of a process that may lack a key: if it does, it may say
// so instead.
func (p *process) agrees(want, got error) bool {
	p.run.t.Helper()
	if p.lags() && (errors.Is(got, keyring.ErrUnknownKey) || errors.Is(got, keyring.ErrRetired)) {
		return false
	}
	return p.run.sameError(want, got)
}

// pick returns one of some things.
func pick[T any](r *run, of ...T) T { return of[r.rand.IntN(len(of))] }

// shuffled returns some things in another order.
func shuffled[T any](r *run, of []T) []T {
	c := slices.Clone(of)
	r.rand.Shuffle(len(c), func(i, j int) { c[i], c[j] = c[j], c[i] })
	return c
}
