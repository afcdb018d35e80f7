package authmgmttest

import (
	"context"
	"log/slog"
	"math"
	"testing"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/internal/fake"
	"github.com/seed-6363c74e/mortise/storage/memory"
)

// Clock is what a [Fake] goes by. The fakes of all domains have the same type, so that a
// test can give one clock to several: see [Options].
type Clock = mortise.ManualClock

// Options are the settings of [New]. The zero value means the defaults.
type Options struct {
	// Directory makes the service ask whether an organization has role-based access
	// control: enable it with Service.SetRBAC. By default every organization has it.
	Directory bool

	// Clock is what the fake goes by. Several fakes may share one: whoever moves it moves
	// the time of all. Nil means one of its own, at the beginning of 2026, UTC.
	Clock *Clock

	// DB is what the fake is on. Fakes of several domains, one of each, may share it, and then
	// they share transactions: see [Fake.InTx]. Nil means one of its own.
	DB *memory.DB

	// Service are further settings of the service. Now is set by the fake; Observer is
	// called too; Logger discards by default. By default AcceptURL is
	// https://app.example.com/join/, and InvitationKey is one that all fakes have.
	Service authmgmt.Options
}

// Fake is an [authmgmt.Service] on memory, for the unit tests of a program that uses one.
// Nothing happens in it by itself: time passes by Advance, and work is done by Drain. It
// is safe for concurrent use.
type Fake struct {
	*authmgmt.Service
	Clock *Clock // what the service goes by

	db      *memory.DB
	backend authmgmt.Backend
	tables  *memory.AuthMgmt

	broken   fake.Parts[Part]
	observed fake.Record[mortise.Observation]
}

// New returns a Fake that stores nothing yet. Options may be nil. It needs no cleanup.
func New(t testing.TB, opts *Options) *Fake {
	t.Helper()
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.Clock == nil {
		o.Clock = new(Clock)
	}
	if o.Service.AcceptURL == "" {
		o.Service.AcceptURL = "https://app.example.com/join/"
	}
	if o.Service.Logger == nil {
		o.Service.Logger = slog.New(slog.DiscardHandler)
	}
	var err error
	if o.Service.InvitationKey.IsZero() {
		if o.Service.InvitationKey, err = testKey(); err != nil {
			t.Fatalf("authmgmttest: make a key: %v", err)
		}
	}
	if o.DB == nil {
		if o.DB, err = memory.Open(context.Background(), nil); err != nil {
			t.Fatalf("authmgmttest: open memory: %v", err)
		}
	}
	f := &Fake{Clock: o.Clock, db: o.DB, tables: o.DB.AuthMgmt().Store.(*memory.AuthMgmt)}
	faults := &Faults{Before: f.fail}
	f.backend = authmgmt.Backend{Store: faults.Store(f.tables)}
	if o.Directory {
		f.backend.Directory = faults.Directory(f.tables)
	}
	o.Service.Now = f.Now
	o.Service.Observer = f.observed.Observer(o.Service.Observer)
	if f.Service, err = authmgmt.New(f.backend, &o.Service); err != nil {
		t.Fatalf("authmgmttest: make the service: %v", err)
	}
	return f
}

// testKey is for tests, and for nothing else.
func testKey() (authmgmt.InvitationKey, error) {
	return authmgmt.NewInvitationKey([]byte("a key for tests, nothing besides"))
}

// Now returns the time of the fake's clock. It stands still but for Advance.
func (f *Fake) Now() time.Time { return f.Clock.Now() }

// Advance moves the fake's clock, and with it all else that goes by that. What becomes
// due is done by the next Drain.
func (f *Fake) Advance(d time.Duration) { f.Clock.Advance(d) }

// Drain makes turns of Service.Run, on the caller's goroutine, until no grant is due, a
// turn fails, or ctx ends. It returns how many invitations it granted. A grant that
// failed is due again later: Advance, and Drain again.
func (f *Fake) Drain(ctx context.Context) int {
	total := 0
	for ctx.Err() == nil {
		granted, err := f.RunOnce(ctx)
		total += granted
		if err != nil {
			break
		}
		if due, err := f.tables.DueGrants(ctx, f.Now(), 1); err != nil || len(due) == 0 {
			break
		}
	}
	return total
}

// AuditTrail returns the audit trail of all organizations, oldest first.
func (f *Fake) AuditTrail() []authmgmt.AuditEvent {
	// Past the faults and the limits of the service, so that a test can look at a broken
	// fake.
	return fake.Trail(&f.observed, func(o mortise.Observation) string { return o.Organization },
		func(org string) ([]authmgmt.AuditEvent, error) {
			page, err := f.tables.ListAuditEvents(context.Background(), org, authmgmt.AuditQuery{Limit: math.MaxInt})
			return page.Items, err
		}, func(a, b authmgmt.AuditEvent) int { return a.Position().Compare(b.Position()) })
}

// Backend returns the Backend of the service, with the faults of Break.
func (f *Fake) Backend() authmgmt.Backend { return f.backend }

// InTx calls do with a context under which the calls of the service are part of a transaction,
// which is committed if do returns nil and rolled back otherwise, as in a host's own one on
// SQLite or PostgreSQL. Fakes over one Options.DB share it; others do not. Changes of do
// outside of the services are not undone. See [memory.DB.InTx].
func (f *Fake) InTx(ctx context.Context, do func(ctx context.Context) error) error {
	return f.db.InTx(ctx, do)
}

// Observations returns everything that the service did, of all organizations, in order.
func (f *Fake) Observations() []mortise.Observation { return f.observed.All() }
