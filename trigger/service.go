package trigger

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"iter"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/uuid7"
)

// Options are the optional parts and settings of a Service. The zero value means the defaults.
//
// A panic of what a host plugs in, here and in [WorkerOptions], is recovered where it
// happens and logged with its stack at ERROR. That of a Directory is answered like a
// directory that is away ([ErrUnavailable]), that of a [Processor] is a failed attempt;
// without the answer of a Backoff the default one holds, without that of PublicError the
// history says only that the attempt failed; that of an Observer or a Tracer changes
// nothing. Stores and queues must not panic.
type Options struct {
	Directory Directory // nil: every organization is set up and has a ready collection
	Keys      Keys      // nil: the service holds no API keys

	IdempotencyWindow time.Duration // how long an idempotency key is remembered: 24 h
	MaxBytes          int           // most bytes of instructions and context together: 1 MiB
	KeyPrefix         string        // of issued API keys: "sk-"

	// PublicError says what the history shows of the failure of an attempt, as LastError
	// of the event and last_error over HTTP. Its text is cut to 2 KiB; "" shows nothing.
	// It is asked when the failure is written, of what the Processor returned, of a panic
	// and of a timeout alike. The summary of an Outcome is shown as it is. Nil shows the
	// error's text.
	PublicError func(error) string

	Now      func() time.Time // time.Now
	Rand     io.Reader        // crypto/rand.Reader; must be safe for concurrent use
	Observer Observer         // none
	Tracer   Tracer           // none
	Logger   *slog.Logger     // slog.Default()
}

// Service accepts requests and answers for their history. It is safe for concurrent use and starts no goroutine.
type Service struct {
	store     Store
	queue     Queue
	tx        TxStore // store, if the queue's jobs can be part of its transactions; else nil
	directory Directory
	keys      Keys
	opts      Options
	ids       uuid7.Source

	mu        sync.Mutex
	abandoned map[uuid.UUID]string // events that could be neither queued nor marked failed yet, with their organization
	lastUse   map[uuid.UUID]keyUse // when each API key was used, as far as it matters here
}

// New returns a Service over a store and a queue. It fails only if one of them is nil.
func New(store Store, queue Queue, opts *Options) (*Service, error) {
	if store == nil || queue == nil {
		return nil, errors.New("trigger: New needs a store and a queue")
	}
	s := &Service{store: store, queue: queue, abandoned: make(map[uuid.UUID]string), lastUse: make(map[uuid.UUID]keyUse)}
	if opts != nil {
		s.opts = *opts
	}
	s.directory, s.keys = s.opts.Directory, s.opts.Keys
	if s.opts.IdempotencyWindow <= 0 {
		s.opts.IdempotencyWindow = 24 * time.Hour
	}
	if s.opts.MaxBytes <= 0 {
		s.opts.MaxBytes = 1 << 20
	}
	if s.opts.KeyPrefix == "" {
		s.opts.KeyPrefix = "sk-"
	}
	if s.opts.Now == nil {
		s.opts.Now = time.Now
	}
	if s.opts.Rand == nil {
		s.opts.Rand = rand.Reader
	}
	if s.opts.Logger == nil {
		s.opts.Logger = slog.Default()
	}
	if sharer, ok := queue.(mortise.Sharer); ok {
		if tx, ok := store.(TxStore); ok && sharer.Shares(store) {
			s.tx = tx
		} else {
			s.opts.Logger.Info("trigger: the queue does not share the store's transaction; an event is stored first and queued then")
		}
	}
	return s, nil
}

// now returns the time with the precision that stores keep.
func (s *Service) now() time.Time { return s.opts.Now().UTC().Truncate(time.Microsecond) }

// newID returns a new ID, of an event or a key.
func (s *Service) newID(now time.Time) (uuid.UUID, error) { return s.ids.New(s.opts.Rand, now) }

// Get returns one event of the organization's history, or [ErrNotFound].
func (s *Service) Get(ctx context.Context, org string, id uuid.UUID) (Event, error) {
	e, err := s.store.Get(ctx, org, id)
	return e, unavailable("read event", err)
}

// List returns a page of the organization's history, newest first. Limit 0 means 50. A Limit outside 0 to [MaxPageSize] or an
// unknown Status is a [*ValidationError].
func (s *Service) List(ctx context.Context, org string, q Query) (Page, error) {
	var p problems
	if q.Limit < 0 || q.Limit > MaxPageSize {
		p.add("limit", "must be between 1 and %d", MaxPageSize)
	}
	if q.Status != "" && !knownStatus(q.Status) {
		p.add("status", "is not one of %v", Statuses())
	}
	if q.Source != "" {
		checkName(&p, "source", q.Source)
	}
	if err := p.err(); err != nil {
		return Page{}, err
	}
	if q.Limit == 0 {
		q.Limit = 50
	}
	q.From, q.To = ceilMicro(q.From), ceilMicro(q.To)
	page, err := s.store.List(ctx, org, q)
	return page, unavailable("list events", err)
}

// ceilMicro rounds a bound up to the precision of stored times, which selects the same events.
func ceilMicro(t time.Time) time.Time {
	if cut := t.Truncate(time.Microsecond); cut.Before(t) {
		t = cut.Add(time.Microsecond)
	}
	return t.UTC()
}

func knownStatus(status Status) bool {
	for _, known := range Statuses() {
		if status == known {
			return true
		}
	}
	return false
}

// All iterates over everything that q selects, newest first, page by page. It ends after
// the first error, which may be that of a store whose pages do not go on.
func (s *Service) All(ctx context.Context, org string, q Query) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for {
			page, err := s.List(ctx, org, q)
			if err != nil {
				yield(Event{}, err)
				return
			}
			for _, e := range page.Events {
				if !yield(e, nil) {
					return
				}
			}
			if page.Next.IsZero() {
				return
			}
			if !q.Before.IsZero() && page.Next.Compare(q.Before) >= 0 {
				yield(Event{}, errStands)
				return
			}
			q.Before = page.Next
		}
	}
}

// Retry sends a failed event back to the queue, as a new generation with all its attempts before it. It returns the event as it
// is then. An event in another state is [ErrNotFailed]. If the queue fails, the sweeper queues the event later.
func (s *Service) Retry(ctx context.Context, org string, by Actor, id uuid.UUID) (Event, error) {
	now := s.now()
	var e Event
	err := s.update(ctx, org, id, func(stored *Event) error {
		if stored.Status != StatusFailed {
			return ErrNotFailed
		}
		stored.Status = StatusReceived
		stored.Generation++
		stored.Attempts = 0
		stored.StartedAt, stored.FinishedAt = time.Time{}, time.Time{}
		stored.UnqueuedSince, stored.DueAt = now, now
		e = stored.Clone()
		return nil
	})
	if err != nil {
		return Event{}, err
	}
	s.forgive(id)
	if err := s.enqueue(ctx, &e); err != nil && !errors.Is(err, errGone) {
		s.opts.Logger.WarnContext(ctx, "retry stored but not queued yet; the sweeper will queue it", "event", id, "error", err)
	} else {
		e.UnqueuedSince = time.Time{}
	}
	s.observe(ctx, Observation{Kind: KindRetried, Organization: org, Actor: by, EventID: id})
	return e, nil
}

// Prune forgets finished events of all organizations that ended before the given time, and returns how many. Nothing is ever
// forgotten without it. If the store is no [Pruner], the error is errors.ErrUnsupported.
func (s *Service) Prune(ctx context.Context, before time.Time) (int, error) {
	pruner, ok := s.store.(Pruner)
	if !ok {
		return 0, errors.ErrUnsupported
	}
	const batch = 1000
	before = ceilMicro(before)
	total := 0
	for {
		n, err := pruner.Prune(ctx, before, batch)
		total += n
		if err != nil || n < batch {
			return total, unavailable("prune events", err)
		}
	}
}

// Ping returns nil if the store answers.
func (s *Service) Ping(ctx context.Context) error {
	_, err := s.store.Get(ctx, "", uuid.Nil)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return unavailable("ping", err)
}

// update is Store.Update, with the errors of the update function told from those of the store.
func (s *Service) update(ctx context.Context, org string, id uuid.UUID, update func(*Event) error) error {
	return tellApart(update, func(update func(*Event) error) error { return s.store.Update(ctx, org, id, update) })
}

// updateAndRemove is the same for TxStore.UpdateAndRemove.
func (s *Service) updateAndRemove(
	ctx context.Context, org string, id uuid.UUID, update func(*Event) error, l mortise.Lease, dead bool,
) error {
	return tellApart(update, func(update func(*Event) error) error { return s.tx.UpdateAndRemove(ctx, org, id, update, l, dead) })
}

func tellApart(update func(*Event) error, store func(func(*Event) error) error) error {
	var refused error
	err := store(func(e *Event) error {
		refused = update(e)
		return refused
	})
	if err != nil && refused != nil && errors.Is(err, refused) {
		return refused
	}
	return unavailable("update event", err)
}
