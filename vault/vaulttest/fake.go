package vaulttest

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/vault"
)

// Options are the settings of [New]. The zero value means the defaults.
type Options struct {
	// Clock is what the fake goes by. Several fakes may share one: whoever moves it moves
	// the time of all. Nil means one of its own, at the beginning of 2026, UTC.
	Clock *Clock

	// Service are further settings of the service. Now is set by the fake; Observer is
	// called too; Logger discards by default.
	Service vault.Options
}

// Fake is a [vault.Service] on memory, with random keys, for the unit tests of a program
// that uses one. Time passes by Advance. It is safe for concurrent use.
type Fake struct {
	*vault.Service
	Clock *Clock // what the service goes by

	store *memory.Vault
	keys  rotatingKeys

	mu           sync.Mutex
	broken       map[Part]int
	observations []vault.Observation
}

// New returns a Fake that stores nothing yet: make a vault with CreateVault. Options may
// be nil. It needs no cleanup.
func New(t testing.TB, opts *Options) *Fake {
	t.Helper()
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.Clock == nil {
		o.Clock = new(Clock)
	}
	db, err := memory.Open(context.Background(), nil)
	if err != nil {
		t.Fatalf("vaulttest: open memory: %v", err)
	}
	f := &Fake{Clock: o.Clock, store: db.Vault().Store.(*memory.Vault), broken: make(map[Part]int)}
	if err := f.keys.begin(); err != nil {
		t.Fatalf("vaulttest: make a key: %v", err)
	}
	faults := &Faults{Before: f.fail}
	o.Service.Now = f.Now
	o.Service.Observer = f.recorder(o.Service.Observer)
	if o.Service.Logger == nil {
		o.Service.Logger = slog.New(slog.DiscardHandler)
	}
	if f.Service, err = vault.New(vault.Backend{Store: faults.Store(f.store)}, faults.Keyring(&f.keys), &o.Service); err != nil {
		t.Fatalf("vaulttest: make the service: %v", err)
	}
	return f
}

// Now returns the time of the fake's clock. It stands still but for Advance.
func (f *Fake) Now() time.Time { return f.Clock.Now() }

// Advance moves the fake's clock, and with it all else that goes by that.
func (f *Fake) Advance(d time.Duration) { f.Clock.Advance(d) }

// Rotate makes a new version of the keys and takes all steps of a rotation to it, so that
// a test can see that tokens outlive it. If a step fails, the next Rotate goes on from
// there. A call that is under way while it drops the old keys may fail.
func (f *Fake) Rotate(ctx context.Context) error { return f.keys.rotate(ctx, f.Service) }

// AuditTrail returns the audit trail of all organizations, oldest first.
func (f *Fake) AuditTrail() []vault.AuditEvent {
	organizations := make(map[string]bool)
	for _, o := range f.Observations() {
		organizations[o.Organization] = true
	}
	var events []vault.AuditEvent
	for org := range organizations {
		// Past the faults and the limits of the service, so that a test can look at a
		// broken fake.
		page, err := f.store.ListAuditEvents(context.Background(), org, vault.AuditQuery{Limit: int(^uint(0) >> 1)})
		if err == nil {
			events = append(events, page.Items...)
		}
	}
	slices.SortFunc(events, func(a, b vault.AuditEvent) int { return a.Position().Compare(b.Position()) })
	return events
}

// Observations returns everything that the service did, of all organizations, in order.
func (f *Fake) Observations() []vault.Observation {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.observations)
}

// recorder is the service's Observer: it keeps what it hears and passes it on.
func (f *Fake) recorder(next vault.Observer) vault.Observer {
	return func(ctx context.Context, o vault.Observation) {
		f.mu.Lock()
		f.observations = append(f.observations, o)
		f.mu.Unlock()
		if next != nil {
			next(ctx, o)
		}
	}
}
