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

	// DB is what the fake is on. Fakes of several domains, one of each, may share it, and then
	// they share transactions: see [Fake.InTx]. Nil means one of its own.
	DB *memory.DB

	// Service are further settings of the service. Now is set by the fake; Observer is
	// called too; Logger discards by default.
	Service vault.Options
}

// Fake is a [vault.Service] on memory, with random keys, for the unit tests of a program
// that uses one. Time passes by Advance. It is safe for concurrent use.
type Fake struct {
	*vault.Service
	Clock *Clock // what the service goes by

	db      *memory.DB
	backend vault.Backend
	store   *memory.Vault
	keys    rotatingKeys

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
	var err error
	if o.DB == nil {
		if o.DB, err = memory.Open(context.Background(), nil); err != nil {
			t.Fatalf("vaulttest: open memory: %v", err)
		}
	}
	f := &Fake{Clock: o.Clock, db: o.DB, store: o.DB.Vault().Store.(*memory.Vault)}
	if err := f.keys.begin(); err != nil {
		t.Fatalf("vaulttest: make a key: %v", err)
	}
	faults := &Faults{Before: f.fail}
	o.Service.Now = f.Now
	o.Service.Observer = f.observed.Observer(o.Service.Observer)
	if o.Service.Logger == nil {
		o.Service.Logger = slog.New(slog.DiscardHandler)
	}
	f.backend = vault.Backend{Store: faults.Store(f.store)}
	if f.Service, err = vault.New(f.backend, faults.Keyring(&f.keys), &o.Service); err != nil {
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

// Backend returns the Backend of the service, with the faults of Break.
func (f *Fake) Backend() vault.Backend { return f.backend }

// InTx calls do with a context under which the calls of the service are part of a transaction,
// which is committed if do returns nil and rolled back otherwise, as in a host's own one on
// SQLite or PostgreSQL. Fakes over one Options.DB share it; others do not. Changes of do
// outside of the services are not undone. See [memory.DB.InTx].
func (f *Fake) InTx(ctx context.Context, do func(ctx context.Context) error) error {
	return f.db.InTx(ctx, do)
}

// Observations returns everything that the service did, of all organizations, in order.
func (f *Fake) Observations() []mortise.Observation { return f.observed.All() }
