package triggertest

import (
	"context"
	"log/slog"
	"math"
	"testing"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/fake"
	"github.com/seed-6363c74e/mortise/storage/leases"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/trigger"
)

// Clock is what a [Fake] goes by. The fakes of all domains have the same type, so that a
// test can give one clock to several: see [Options].
type Clock = mortise.ManualClock

// Options are the settings of [New]. The zero value means the defaults.
type Options struct {
	Processor trigger.Processor // what Drain runs; the default succeeds with an empty Outcome

	// SeparateQueue keeps jobs apart from events, as a broker does: an event is stored
	// first and queued then, and the queue alone can fail. By default both are written in
	// one transaction, as memory and sqlite do.
	SeparateQueue bool

	// Directory makes the service ask whether an organization is set up: make it so with
	// Service.UpdateOrganization. By default every organization is.
	Directory bool

	// Clock is what the fake goes by. Several fakes may share one: whoever moves it moves
	// the time of all. Nil means one of its own, at the beginning of 2026, UTC.
	Clock *Clock

	// DB is what the fake is on. Fakes of several domains, one of each, may share it, and then
	// they share transactions: see [Fake.InTx]. Its clock, by which jobs become due, is to be
	// the Clock: memory.Options{Now: clock.Now}. Nil means a database of the fake's own.
	DB *memory.DB

	// Worker are the settings of the fake's worker and sweeper. They count time by the
	// fake's clock, but for Timeout, Drain and Grace.
	Worker trigger.WorkerOptions

	// Service are further settings of the service. Now is set by the fake; Observer is
	// called too; Logger discards by default.
	Service trigger.Options
}

// Fake is a [trigger.Service] on memory, for the unit tests of a program that uses one.
// Nothing happens in it by itself: time passes by Advance, and work is done by Drain. It
// is safe for concurrent use.
type Fake struct {
	*trigger.Service
	Clock  *Clock          // what the service, its queue, its worker and its sweeper go by
	Worker *trigger.Worker // what Drain steps; a test may Run it too

	db      *memory.DB
	backend trigger.Backend
	sweeper *trigger.Sweeper
	history *memory.Trigger

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
	if o.Processor == nil {
		o.Processor = func(context.Context, trigger.Event) (trigger.Outcome, error) { return trigger.Outcome{}, nil }
	}
	if o.Service.Logger == nil {
		o.Service.Logger = slog.New(slog.DiscardHandler)
	}
	f := &Fake{Clock: o.Clock, db: o.DB}
	var err error
	if f.db == nil {
		if f.db, err = memory.Open(context.Background(), &memory.Options{Now: f.Now}); err != nil {
			t.Fatalf("triggertest: open memory: %v", err)
		}
	}
	f.history = f.db.Trigger().Store.(*memory.Trigger)
	faults := &Faults{Before: f.fail}

	jobs := faults.Leases(f.db.Jobs())
	if o.SeparateQueue {
		jobs = struct{ mortise.Leases }{jobs} // which does not share
	}
	queue := leases.New(jobs, &leases.Options{Logger: o.Service.Logger})
	f.backend = trigger.Backend{Store: faults.Store(f.history), Queue: queue, Keys: faults.Keys(f.history)}
	if o.Directory {
		f.backend.Directory = faults.Directory(f.history)
	}
	o.Service.Now = f.Now
	o.Service.Observer = f.observed.Observer(o.Service.Observer)

	if f.Service, err = trigger.New(f.backend, &o.Service); err != nil {
		t.Fatalf("triggertest: make the service: %v", err)
	}
	if f.Worker, err = trigger.NewWorker(f.Service, o.Processor, &o.Worker); err != nil {
		t.Fatalf("triggertest: make the worker: %v", err)
	}
	if f.sweeper, err = trigger.NewSweeper(f.Service, &o.Worker.Sweep); err != nil {
		t.Fatalf("triggertest: make the sweeper: %v", err)
	}
	return f
}

// Now returns the time of the fake's clock. It stands still but for Advance.
func (f *Fake) Now() time.Time { return f.Clock.Now() }

// Advance moves the fake's clock, and with it all else that goes by that. What becomes
// due is done by the next Drain.
func (f *Fake) Advance(d time.Duration) { f.Clock.Advance(d) }

// Drain sweeps once and then processes, on the caller's goroutine, every event that is
// due, until none is, the queue fails, or ctx ends. It returns how many attempts it made;
// an event that failed and may be tried again at once is taken again.
func (f *Fake) Drain(ctx context.Context) int {
	_, _ = f.sweeper.RunOnce(ctx) // a part that the test broke; the next Drain tries again
	taken := 0
	for ctx.Err() == nil {
		found, err := f.Worker.RunOnce(ctx)
		if found {
			taken++
		}
		if !found || err != nil {
			break
		}
	}
	return taken
}

// History returns the history of all organizations, oldest first.
func (f *Fake) History() []trigger.Event {
	// Past the faults and the limits of the service, so that a test can look at a broken
	// fake.
	return fake.Trail(&f.observed, func(o mortise.Observation) string { return o.Organization },
		func(org string) ([]trigger.Event, error) {
			page, err := f.history.ListEvents(context.Background(), org, trigger.EventQuery{Limit: math.MaxInt})
			return page.Items, err
		}, func(a, b trigger.Event) int { return a.Position().Compare(b.Position()) })
}

// Backend returns the Backend of the service, with the faults of Break.
func (f *Fake) Backend() trigger.Backend { return f.backend }

// InTx calls do with a context under which the calls of the service are part of a transaction,
// which is committed if do returns nil and rolled back otherwise, as in a host's own one on
// SQLite or PostgreSQL. Fakes over one Options.DB share it; others do not. Changes of do
// outside of the services are not undone. See [memory.DB.InTx].
func (f *Fake) InTx(ctx context.Context, do func(ctx context.Context) error) error {
	return f.db.InTx(ctx, do)
}

// Observations returns everything that the service, its worker and its sweeper did, of
// all organizations, in order.
func (f *Fake) Observations() []mortise.Observation { return f.observed.All() }
