package trigger

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/failure"
	"github.com/seed-6363c74e/mortise/internal/pages"
	"github.com/seed-6363c74e/mortise/internal/seldom"
	"github.com/seed-6363c74e/mortise/internal/steps"
	"github.com/seed-6363c74e/mortise/internal/uuid7"
)

// Service accepts requests and answers for their history. It is safe for concurrent use
// and starts no goroutine.
type Service struct {
	store     Store
	queue     Queue
	tx        TxStore // store, if the queue's jobs can be part of its transactions; else nil
	directory Directory
	keys      APIKeys
	opts      Options
	ids       uuid7.Source

	running running // the attempts of this process
	waiting waiting // events that organizations may submit

	failed, panicked seldom.Lines // of the log, about attempts, by organization

	mu      sync.Mutex
	lastUse map[uuid.UUID]keyUse // when each API key was used, as far as it matters here
}

// New returns a Service over a backend. It fails if the backend lacks a Store or a Queue,
// or if a setting is below 0. Options may be nil.
func New(b Backend, opts *Options) (*Service, error) {
	if err := errors.Join(b.validate(), opts.validate()); err != nil {
		return nil, err
	}
	s := &Service{store: b.Store, queue: b.Queue, directory: b.Directory, keys: b.Keys, opts: opts.withDefaults(),
		lastUse: make(map[uuid.UUID]keyUse), running: running{attempts: make(map[*attempt]bool)}}
	if sharer, ok := b.Queue.(mortise.Sharer); ok {
		if tx, ok := b.Store.(TxStore); ok && sharer.Shares(b.Store) {
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

// Event returns one event of the organization's history, or [mortise.ErrNotFound].
func (s *Service) Event(ctx context.Context, org string, id uuid.UUID) (Event, error) {
	e, err := s.store.Event(ctx, org, id)
	return e, failure.Unavailable("read event", err)
}

// Prune forgets events of all organizations that ended with a status before the given time,
// and returns how many. Nothing is ever forgotten without it. An event with an idempotency
// key stays for [Options].IdempotencyWindow after its end at least, so that its request does
// not run twice. If the store is not a [Pruner], the error is errors.ErrUnsupported.
func (s *Service) Prune(ctx context.Context, status Status, before time.Time) (int, error) {
	pruner, ok := s.store.(Pruner)
	if !ok {
		return 0, errors.ErrUnsupported
	}
	if !status.Finished() || !slices.Contains(Statuses(), status) {
		var p failure.Problems
		p.Add("status", "is not one in which events end")
		return 0, p.Err()
	}
	const limit = 1000
	before = pages.Ceil(before)
	// A key is as old as the submission of its event, and no event ends before that.
	keyedBefore := s.now().Add(-s.opts.IdempotencyWindow)
	if before.Before(keyedBefore) {
		keyedBefore = before
	}
	n, err := steps.Run(ctx, "Prune", limit, func(ctx context.Context, limit int) (int, bool, error) {
		return pruner.Prune(ctx, status, before, keyedBefore, limit)
	})
	return n, failure.Unavailable("prune events", err)
}

// Ping returns nil if the store answers.
func (s *Service) Ping(ctx context.Context) error {
	_, err := s.store.Event(ctx, "", uuid.Nil)
	if errors.Is(err, mortise.ErrNotFound) {
		return nil
	}
	return failure.Unavailable("ping", err)
}

// update is Store.UpdateEvent, with the errors of the update function told from those of
// the store.
func (s *Service) update(ctx context.Context, org string, id uuid.UUID, update func(*Event) error) error {
	return failure.Apart("update event", update, func(update func(*Event) error) error { return s.store.UpdateEvent(ctx, org, id, update) })
}

// updateAndJobs is the same for an update that returns jobs to be added, with the end of a
// lease. Where the jobs are elsewhere it is update, without them.
func (s *Service) updateAndJobs(
	ctx context.Context, org string, id uuid.UUID, update func(*Event) ([]mortise.Job, error), l mortise.Lease, dead bool,
) error {
	var jobs []mortise.Job
	change := func(e *Event) (err error) {
		jobs, err = update(e)
		return err
	}
	if s.tx == nil {
		return s.update(ctx, org, id, change)
	}
	return failure.Apart("update event", change, func(change func(*Event) error) error {
		return s.tx.UpdateEventAndJobs(ctx, org, id, func(e *Event) ([]mortise.Job, error) {
			err := change(e)
			return jobs, err
		}, l, dead)
	})
}
