package vaulttest

import (
	"context"
	"log/slog"
	"math"
	"testing"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/fake"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/vault"
)

// Clock is what a [Fake] goes by. The fakes of all domains have the same type, so that a
// test can give one clock to several: see [Options].
type Clock = mortise.ManualClock

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

	broken   fake.Parts[Part]
	observed fake.Record[mortise.Observation]
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
	f := &Fake{Clock: o.Clock, store: db.Vault().Store.(*memory.Vault)}
	if err := f.keys.begin(); err != nil {
		t.Fatalf("vaulttest: make a key: %v", err)
	}
	faults := &Faults{Before: f.fail}
	o.Service.Now = f.Now
	o.Service.Observer = f.observed.Observer(o.Service.Observer)
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
	// Past the faults and the limits of the service, so that a test can look at a broken
	// fake.
	return fake.Trail(&f.observed, func(o mortise.Observation) string { return o.Organization },
		func(org string) ([]vault.AuditEvent, error) {
			page, err := f.store.ListAuditEvents(context.Background(), org, vault.AuditQuery{Limit: math.MaxInt})
			return page.Items, err
		}, func(a, b vault.AuditEvent) int { return a.Position().Compare(b.Position()) })
}

// Observations returns everything that the service did, of all organizations, in order.
func (f *Fake) Observations() []mortise.Observation { return f.observed.All() }
