package audiosearchtest

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/internal/fake"
	"github.com/seed-6363c74e/mortise/storage/leases"
	"github.com/seed-6363c74e/mortise/storage/memory"
)

// Clock is what a [Fake] goes by. The fakes of all domains have the same type, so that a
// test can give one clock to several: see [Options].
type Clock = mortise.ManualClock

// Options are the settings of [New]. The zero value means the defaults.
type Options struct {
	Tapes   map[string]Tape // the videos that there are, by path; more come by Sounds.Record
	Classes []sound.Class   // that Sounds knows; nil: AudioSet's

	// Clock is what the fake goes by. Several fakes may share one: whoever moves it moves
	// the time of all. Nil means one of its own, at the beginning of 2026, UTC.
	Clock *Clock

	// DB is what the fake is on. Fakes of several domains, one of each, may share it, and then
	// they share transactions: see [Fake.InTx]. Its clock, by which jobs become due, is to be
	// the Clock: memory.Options{Now: clock.Now}. Nil means a database of the fake's own.
	DB *memory.DB

	// Worker are the settings of the fake's worker and sweeper. They count time by the
	// fake's clock, but for Drain and Watch. Backoff is 1 s by default.
	Worker audiosearch.WorkerOptions

	// Service are further settings of the service. Now is set by the fake; Observer is
	// called too; Logger discards by default. By default Scorers, Media and Files are
	// Sounds: Scorers if there are none, the other two unless both are set.
	Service audiosearch.Options
}

// Fake is an [audiosearch.Service] on memory, for the unit tests of a program that uses
// one. Nothing happens in it by itself: time passes by Advance, and work is done by
// Drain. It is safe for concurrent use.
type Fake struct {
	*audiosearch.Service
	Clock  *Clock              // what the service, its queue, its worker and its sweeper go by
	Worker *audiosearch.Worker // what Drain steps; a test may Run it too
	Sounds *Sounds             // what is heard in the videos

	db      *memory.DB
	backend audiosearch.Backend
	sweeper *audiosearch.Sweeper

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
	f := &Fake{Clock: o.Clock, db: o.DB, Sounds: &Sounds{classes: slices.Clone(o.Classes)}}
	for path, tape := range o.Tapes {
		f.Sounds.Record(path, tape)
	}
	scorers := o.Service.Scorers
	if len(scorers) == 0 {
		scorers = []sound.Scorer{f.Sounds}
	}
	if o.Service.Media == nil || o.Service.Files == nil {
		o.Service.Media, o.Service.Files = f.Sounds, f.Sounds
	}
	if o.Service.Logger == nil {
		o.Service.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Worker.Backoff == nil {
		o.Worker.Backoff = func(int) time.Duration { return time.Second }
	}
	var err error
	if f.db == nil {
		if f.db, err = memory.Open(context.Background(), &memory.Options{Now: f.Now}); err != nil {
			t.Fatalf("audiosearchtest: open memory: %v", err)
		}
	}
	faults := &Faults{Before: f.fail}
	queue := leases.New(faults.Leases(f.db.Jobs()), &leases.Options{Logger: o.Service.Logger})
	f.backend = audiosearch.Backend{Store: faults.Store(f.db.AudioSearch().Store), Queue: queue}
	o.Service.Scorers = nil
	for _, scorer := range scorers {
		o.Service.Scorers = append(o.Service.Scorers, faults.Scorer(scorer))
	}
	o.Service.Now = f.Now
	o.Service.Observer = f.observed.Observer(o.Service.Observer)
	if f.Service, err = audiosearch.New(f.backend, &o.Service); err != nil {
		t.Fatalf("audiosearchtest: make the service: %v", err)
	}
	if f.Worker, err = audiosearch.NewWorker(f.Service, &o.Worker); err != nil {
		t.Fatalf("audiosearchtest: make the worker: %v", err)
	}
	if f.sweeper, err = audiosearch.NewSweeper(f.Service, &o.Worker.Sweep); err != nil {
		t.Fatalf("audiosearchtest: make the sweeper: %v", err)
	}
	return f
}

// Now returns the time of the fake's clock. It stands still but for Advance.
func (f *Fake) Now() time.Time { return f.Clock.Now() }

// Advance moves the fake's clock, and with it all else that goes by that. What becomes
// due is done by the next Drain.
func (f *Fake) Advance(d time.Duration) { f.Clock.Advance(d) }

// Drain sweeps once and then carries out, on the caller's goroutine, every run that is
// due, until none is, the queue fails, or ctx ends. It returns how many attempts it made;
// a run that failed and may be tried again at once is taken again.
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

// Backend returns the Backend of the service, with the faults of Break.
func (f *Fake) Backend() audiosearch.Backend { return f.backend }

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
