package vaulttest

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
	"github.com/seed-6363c74e/mortise/vault/localkeys"
)

// process is a service with its keys, as one process of a host has it.
type process struct {
	*vault.Service
	run    *run
	name   mortise.Actor
	loaded []int // generations; the first one is primary, and seals

	mu    sync.Mutex
	fault func(op string) error // what makes the store fail, after it has done what was asked
	heard map[string]int        // how often the store did what was asked
}

// modelKey is a version of a key.
type modelKey struct {
	purpose keyring.Purpose
	version int
}

// rotation is what the model knows of the keys.
type rotation struct {
	current  int // the generation that there was before
	next     int // the one to come; 0 while there is none
	filled   bool
	wrapped  bool // nothing is sealed by current, and nobody seals with it
	required map[int]bool
	retired  map[modelKey]bool
	removed  map[int]bool // nothing is left of their fingerprints
}

// modelKeyring returns the keys of generations of an installation.
func modelKeyring(installation uint64, generations ...int) (keyring.Keyring, error) {
	var keys []localkeys.Key
	for _, version := range generations {
		var bytes [localkeys.RootSize]byte
		copy(bytes[:], fmt.Sprint("key ", installation, " ", version))
		root, err := localkeys.NewRoot(bytes[:])
		if err != nil {
			return nil, err
		}
		keys = append(keys, localkeys.Key{Version: version, Root: root})
	}
	return localkeys.New(keys[0], keys[1:]...)
}

// restart ends a process and begins it again with other keys.
func (p *process) restart(loaded ...int) {
	r := p.run
	p.loaded = loaded
	r.Say("%s begins with keys %v", p.name, loaded)
	p.Service = r.service(p, r.Seed, loaded...)
	r.SameError(nil, p.Ping(r.Context()))
}

// service returns a service on the backend that tells p what its store did.
func (r *run) service(p *process, installation uint64, loaded ...int) *vault.Service {
	keyring, err := modelKeyring(installation, loaded...)
	if err != nil {
		r.Fatal(err)
	}
	faults := &Faults{After: p.after}
	s, err := vault.New(vault.Backend{Store: faults.Store(r.backend.Store)}, keyring, &vault.Options{Env: mortise.Env{Now: r.Clock.Now}, Tokenizer: newSmallTokens(r)})
	if err != nil {
		r.Fatal(err)
	}
	return s
}

// after is the hook behind a process's store.
func (p *process) after(op string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.heard == nil {
		p.heard = make(map[string]int)
	}
	p.heard[op]++
	if p.fault != nil {
		return p.fault(op)
	}
	return nil
}

// with makes a call while the store fails after some op, and returns its error and
// whether the store did another op in it.
func (p *process) with(fault func(op string) error, op string, call func() error) (did bool, err error) {
	p.mu.Lock()
	before := p.heard[op]
	p.fault = fault
	p.mu.Unlock()
	err = call()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault = nil
	return p.heard[op] > before, err
}

// lags says whether a process lacks a key that the others rely on, or seals with one that
// is retired.
func (p *process) lags() bool {
	for version, required := range p.run.rotation.required {
		if required && !slices.Contains(p.loaded, version) {
			return true
		}
	}
	return p.run.rotation.retired[modelKey{keyring.SealKey, p.loaded[0]}]
}

// rotate takes the next step of a rotation, or another one, for which it may be too early
// or too late.
func (r *run) rotate() {
	k := &r.rotation
	if k.next == 0 {
		k.next, k.filled, k.wrapped = k.current+1, false, false
		r.Say("generation %d of the keys is made", k.next)
	}
	p := r.process()
	switch r.IntN(8) {
	case 0:
		r.restartSome(p)
	case 1:
		r.backfill(p)
	case 2:
		r.rewrap(p)
	case 3:
		r.retire(p, pick(r, keyring.FingerprintKey, keyring.SealKey))
	default:
		r.goOn(p)
	}
}

// goOn takes the step that is due for a process.
func (r *run) goOn(p *process) {
	k := &r.rotation
	retired := func(purpose keyring.Purpose) bool { return k.retired[modelKey{purpose, k.current}] }
	switch {
	case !slices.Contains(p.loaded, k.next) && !k.filled:
		p.restart(k.current, k.next)
	case !k.filled:
		r.backfill(p)
	case p.loaded[0] != k.next:
		p.restart(k.next, k.current)
	case !k.wrapped:
		r.rewrap(p)
	case !retired(keyring.FingerprintKey):
		r.retire(p, keyring.FingerprintKey)
	case !retired(keyring.SealKey):
		r.retire(p, keyring.SealKey)
	default:
		for _, p := range r.processes {
			p.restart(k.next)
		}
		k.current, k.next = k.next, 0
	}
}

// restartSome restarts a process with keys that it may begin with now: what is required,
// and no primary one that is retired or too young.
func (r *run) restartSome(p *process) {
	k := &r.rotation
	old := k.retired[modelKey{keyring.FingerprintKey, k.current}] || k.retired[modelKey{keyring.SealKey, k.current}]
	switch {
	case k.filled && (old || r.IntN(3) > 0):
		p.restart(k.next, k.current)
	case !k.required[k.next] && r.IntN(3) == 0:
		p.restart(k.current)
	case !old:
		p.restart(k.current, k.next)
		k.wrapped = false // it seals with the old ones again
	}
}

// faultOf returns what cuts a rotation off, as often as not nothing.
func (r *run) faultOf(ops ...string) func(op string) error {
	if r.IntN(2) == 0 {
		return nil
	}
	return On(Nth(1), pick(r, ops...))
}

// finished says whether a step was done, and fails if it should have been.
func (r *run) finished(p *process, fault func(string) error, err error) bool {
	r.Helper()
	switch {
	case err == nil:
		return true
	case fault != nil && errors.Is(err, ErrInjected):
	case p.lags() && (errors.Is(err, keyring.ErrUnknownKey) || errors.Is(err, keyring.ErrRetired)):
	default:
		r.Fatalf("a step of a rotation failed: %v", err)
	}
	return false
}

func (r *run) backfill(p *process) {
	k := &r.rotation
	if !slices.Contains(p.loaded, k.next) {
		r.Say("%s wants to add fingerprints of %d, which it has not loaded", p.name, k.next)
		r.SameError(keyring.ErrUnknownKey, p.Backfill(r.Context(), k.next, nil))
		return
	}
	fault := r.faultOf("Keys.RequireKey", "Keys.KeyUsage", "KeyRotation.RowsWithoutFingerprint", "KeyRotation.AddFingerprints")
	r.Say("%s adds fingerprints of %d (cut off: %v)", p.name, k.next, fault != nil)
	did, err := p.with(fault, "Keys.RequireKey", func() error { return p.Backfill(r.Context(), k.next, nil) })
	k.required[k.next] = k.required[k.next] || did
	if r.finished(p, fault, err) {
		k.filled = true
	}
}

func (r *run) rewrap(p *process) {
	k := &r.rotation
	fault := r.faultOf("Keys.KeyUsage", "KeyRotation.RowsNotSealedUnder", "KeyRotation.Reseal")
	r.Say("%s seals everything with %d (cut off: %v)", p.name, p.loaded[0], fault != nil)
	_, err := p.with(fault, "", func() error { return p.Rewrap(r.Context(), nil) })
	if r.finished(p, fault, err) {
		k.wrapped = !slices.ContainsFunc(r.processes[:], func(p *process) bool { return p.loaded[0] != k.next })
	}
}

func (r *run) retire(p *process, purpose keyring.Purpose) {
	k := &r.rotation
	key := modelKey{purpose, k.current}
	fault := r.faultOf("Keys.RetireKey", "Keys.KeyUsage", "KeyRotation.RemoveFingerprints")
	r.Say("%s retires the %s key %d (cut off: %v)", p.name, purpose, k.current, fault != nil)
	did, err := p.with(fault, "Keys.RetireKey", func() error { return p.Retire(r.Context(), purpose, k.current, nil) })
	if did {
		k.retired[key] = true
		if purpose == keyring.FingerprintKey {
			k.required[k.current] = false
		}
	}
	ready := k.filled && (purpose == keyring.FingerprintKey || k.wrapped)
	if errors.Is(err, keyring.ErrInUse) && (p.loaded[0] == k.current || !ready) {
		return // too early
	}
	if r.finished(p, fault, err) && purpose == keyring.FingerprintKey {
		k.removed[k.current] = true
	}
}

// stranger tries to begin with keys that are not the store's, or are too old or too
// young.
func (r *run) stranger() {
	k := &r.rotation
	p := &process{run: r, name: "a stranger"}
	check := func(what string, want error, installation uint64, loaded ...int) {
		r.Say("somebody begins with %s", what)
		s := r.service(p, installation, loaded...)
		r.SameError(want, s.CheckKeys(r.Context()))
		_, err := s.Insert(r.Context(), orgA, "stranger", "v1",
			[]vault.Item{{Place: vault.InColumn("persons", "name"), Value: vault.NewValue("ann")}})
		r.SameError(want, err)
	}
	check("other keys", keyring.ErrWrongKey, r.Seed+1, r.processes[0].loaded...)
	if k.current > 1 {
		check("keys of the past", keyring.ErrRetired, r.Seed, k.current-1)
	}
}
