package vaulttest

import (
	"errors"
	"testing"

	"github.com/seed-6363c74e/mortise"
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
	model := conformance.Model{Sequences: 20, Soak: 1000, Steps: 200}
	model.Run(t, (*conformance.ModelOptions)(opts), func(s *conformance.Sequence) {
		r := newRun(s, h)
		r.Play(conformance.Steps{
			{4, r.createVault}, {8, r.changeSchema},
			{25, r.insert}, {10, r.insertAtOnce}, {12, r.importTokens}, {15, r.tokenize}, {10, r.detokenize}, {10, r.delete}, {3, r.export},
			{25, r.rotate}, {3, r.stranger},
		}, 25, r.compareAll)
	})
}

// run is one sequence: two services, their model, and what was done to both.
type run struct {
	*conformance.Sequence
	backend   vault.Backend
	processes [2]*process
	rotation  rotation
	vaults    []*modelVault
	events    []modelEvent
}

func newRun(s *conformance.Sequence, h Harness) *run {
	s.Helper()
	r := &run{Sequence: s, backend: h.Open(s.T)}
	r.rotation = rotation{current: 1, required: map[int]bool{1: true}, retired: make(map[modelKey]bool), removed: make(map[int]bool)}
	for i := range r.processes {
		r.processes[i] = &process{run: r, name: []mortise.Actor{"P", "Q"}[i]}
		r.processes[i].restart(1)
	}
	return r
}

// process returns one of the services.
func (r *run) process() *process { return r.processes[r.IntN(len(r.processes))] }

// agrees is SameError for a call of a process that may lack a key: if it does, it may say
// so instead.
func (p *process) agrees(want, got error) bool {
	p.run.Helper()
	if p.lags() && (errors.Is(got, keyring.ErrUnknownKey) || errors.Is(got, keyring.ErrRetired)) {
		return false
	}
	return p.run.SameError(want, got)
}

// pick returns one of some things.
func pick[T any](r *run, of ...T) T { return of[r.IntN(len(of))] }
