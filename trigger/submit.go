package trigger

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise/internal/name"
	"github.com/seed-6363c74e/mortise/internal/strictjson"
)

// Submission is a request to update documentation.
type Submission struct {
	Instructions string          // what to document; valid UTF-8, not empty
	Context      json.RawMessage // optional metadata: a JSON object without duplicate keys; nil for none
	Collection   uuid.UUID       // the doc collection to update; uuid.Nil for any that is ready
	// Source is who submits, in a word of the host's own, at most 255 bytes; "" means "api".
	Source         string
	IdempotencyKey string // optional, 1 to 255 visible ASCII characters
}

// Submit accepts a request and returns the event that now stands for it.
//
// With an idempotency key, the same request within the window returns the earlier event,
// whatever has become of it and of the organization; another request with the key is
// [ErrIdempotencyKeyReused]. Requests are the same if all their fields are, byte for
// byte. The other errors are [*ValidationError], [ErrNotConfigured],
// [ErrNoEligibleCollection], [ErrDeleted], [ErrEnqueueFailed] and [ErrUnavailable].
func (s *Service) Submit(ctx context.Context, org string, by Actor, sub Submission) (Event, error) {
	now := s.now()
	if sub.Source == "" {
		sub.Source = "api"
	}
	e, replayed, err := s.submit(ctx, org, sub, now)
	o := Observation{
		Kind: KindSubmitted, Organization: org, Actor: by, EventID: e.ID, Duration: s.opts.Now().Sub(now), Err: err,
	}
	switch {
	case err != nil:
		o.Kind = KindRefused
	case replayed:
		o.Kind = KindReplayed
	}
	s.observe(ctx, o)
	return e, err
}

func (s *Service) submit(ctx context.Context, org string, sub Submission, now time.Time) (e Event, replayed bool, err error) {
	if err := s.validate(org, &sub); err != nil {
		return Event{}, false, err
	}
	e = Event{
		Organization: org, Status: StatusReceived, Source: sub.Source,
		Instructions: sub.Instructions, Context: sub.Context, Collection: sub.Collection,
		SubmittedAt: now, DueAt: now, IdempotencyKey: sub.IdempotencyKey, Trace: s.trace(ctx),
	}
	keySince := now.Add(-s.opts.IdempotencyWindow)
	if e.IdempotencyKey != "" {
		e.BodyDigest = sub.digest()
		earlier, found, err := s.findKey(ctx, &e, keySince)
		if err != nil {
			return Event{}, false, err
		}
		if found {
			if !earlier.UnqueuedSince.IsZero() {
				err = s.enqueue(ctx, &earlier)
			}
			if err != nil && !errors.Is(err, errGone) {
				return Event{}, false, err
			}
			if err == nil {
				earlier.UnqueuedSince = time.Time{}
				return earlier, true, nil
			}
		}
	}
	if err := s.checkOrganization(ctx, org, sub.Collection); err != nil {
		return Event{}, false, err
	}

	// An earlier event with our key may be marked failed, and so lose the key, while we
	// join it. Then the next round creates ours.
	for {
		if e.ID, err = s.newID(now); err != nil {
			return Event{}, false, unavailable("read randomness", err)
		}
		stored, created, err := s.create(ctx, &e, keySince)
		if err != nil {
			return Event{}, false, unavailable("store event", err)
		}
		if !created && stored.BodyDigest != e.BodyDigest {
			return Event{}, false, ErrIdempotencyKeyReused
		}
		if stored.UnqueuedSince.IsZero() {
			return stored, !created, nil
		}
		if created {
			err = s.enqueueNew(ctx, &stored)
		} else if err = s.enqueue(ctx, &stored); errors.Is(err, errGone) {
			continue
		}
		if err != nil {
			return Event{}, false, err
		}
		stored.UnqueuedSince = time.Time{}
		return stored, !created, nil
	}
}

// findKey returns the event that already carries e's idempotency key.
func (s *Service) findKey(ctx context.Context, e *Event, keySince time.Time) (Event, bool, error) {
	page, err := s.store.ListEvents(ctx, e.Organization, EventQuery{IdempotencyKey: e.IdempotencyKey, From: keySince, Limit: 1})
	if err != nil {
		return Event{}, false, unavailable("look up idempotency key", err)
	}
	if len(page.Items) == 0 {
		return Event{}, false, nil
	}
	earlier := page.Items[0]
	if earlier.BodyDigest != e.BodyDigest {
		return Event{}, false, ErrIdempotencyKeyReused
	}
	return earlier, true, nil
}

// create stores e, and its job in the same transaction where the queue can do that.
func (s *Service) create(ctx context.Context, e *Event, keySince time.Time) (Event, bool, error) {
	if s.tx != nil {
		e.UnqueuedSince = time.Time{}
		return s.tx.CreateEventAndAdd(ctx, *e, keySince, e.Job())
	}
	e.UnqueuedSince = e.SubmittedAt
	return s.store.CreateEvent(ctx, *e, keySince)
}

// errGone: the event that was to be queued has been given up meanwhile.
var errGone = errors.New("trigger: the event was given up")

// enqueue queues the job of an event that has none, and notes that it has one. On an
// error of the queue the event stays as it is, and the sweeper will try again: so this is
// no ErrEnqueueFailed, which says that the event never runs. On errGone it has been
// marked failed by the one who created it.
func (s *Service) enqueue(ctx context.Context, e *Event) error {
	asked := s.now() // if the queue loses the job from now on, the event was queued before that
	if err := s.queue.Enqueue(ctx, e.Job()); err != nil {
		return fmt.Errorf("%w: queue event: %w", ErrUnavailable, err)
	}
	return s.markQueued(ctx, e, asked)
}

func (s *Service) markQueued(ctx context.Context, e *Event, asked time.Time) error {
	err := s.update(ctx, e.Organization, e.ID, func(stored *Event) error {
		if stored.Generation != e.Generation || stored.Status == StatusFailed {
			return errGone
		}
		stored.UnqueuedSince = time.Time{}
		s.noteChecked(stored, asked)
		e.CheckedAt = stored.CheckedAt
		return nil
	})
	if errors.Is(err, ErrNotFound) {
		s.cancelGone(ctx, e)
		return errGone
	}
	return err
}

// cancelGone takes back a job that was queued while its organization was deleted: what
// removes its jobs may have passed by. If that fails, a worker drops the job.
func (s *Service) cancelGone(ctx context.Context, e *Event) {
	if err := s.queue.Cancel(ctx, e.Job()); err != nil {
		s.opts.Logger.DebugContext(ctx, "the job of an event that is gone is left to a worker", "event", e.ID, "error", err)
	}
}

// noteChecked notes that the event's job is queued at a time. Where event and job stand
// in one database nobody asks.
func (s *Service) noteChecked(e *Event, at time.Time) {
	if s.tx == nil {
		e.CheckedAt = latest(at, e.CheckedAt)
	}
}

// enqueueNew queues the job of an event that this call created. If that fails, the event
// is marked failed, so that it never runs and its key is free; unless somebody else has
// queued it meanwhile, or the failure was no failure: then it is accepted. If the mark
// fails too, nobody knows whether the event runs, and the answer is ErrUnavailable.
func (s *Service) enqueueNew(ctx context.Context, e *Event) error {
	asked := s.now()
	qerr := s.queue.Enqueue(ctx, e.Job())
	// From here on the answer must be written down even if the caller has gone away.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), markTimeout)
	defer cancel()
	if qerr == nil {
		// Nobody but the creator gives an event up, so a mark that fails does no harm:
		// the sweeper queues the job once more.
		if err := s.markQueued(ctx, e, asked); err != nil && !errors.Is(err, errGone) {
			s.opts.Logger.WarnContext(ctx, "event queued, but not noted as queued; the sweeper will look at it", "event", e.ID, "error", err)
		}
		return nil
	}
	err := s.giveUp(ctx, e.Organization, e.ID)
	if errors.Is(err, errQueued) {
		return nil
	}
	if err != nil && !errors.Is(err, ErrNotFound) {
		s.remember(e.ID, e.Organization)
		s.opts.Logger.ErrorContext(ctx, "event not queued, and not marked failed yet; the sweeper will mark it", "event", e.ID, "error", err)
		return fmt.Errorf("%w, after it could not be queued: %w", err, qerr)
	}
	return fmt.Errorf("%w: %w", ErrEnqueueFailed, qerr)
}

// markTimeout bounds the writing of what became of an enqueue.
const markTimeout = 5 * time.Second

// errQueued: the event has a job after all.
var errQueued = errors.New("trigger: the event is queued")

// notQueued is the LastError of an event whose enqueue failed.
const notQueued = "could not be queued; submit it again"

// giveUp marks an event failed that could not be queued.
func (s *Service) giveUp(ctx context.Context, org string, id uuid.UUID) error {
	now := s.now()
	return s.update(ctx, org, id, func(stored *Event) error {
		if stored.UnqueuedSince.IsZero() || stored.Status != StatusReceived || stored.Generation != 0 {
			return errQueued
		}
		stored.Status = StatusFailed
		stored.FinishedAt = now
		stored.LastError = notQueued
		stored.UnqueuedSince = time.Time{}
		stored.IdempotencyKey = ""
		return nil
	})
}

// remember, isAbandoned and forgive keep the events that giveUp could not mark, so that
// this process does not run one of them: who was told to try again may have done so
// without an idempotency key.
func (s *Service) remember(id uuid.UUID, org string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.abandoned[id] = org
}

func (s *Service) isAbandoned(id uuid.UUID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.abandoned[id]
	return ok
}

func (s *Service) forgive(id uuid.UUID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.abandoned, id)
}

// validate collects everything that is wrong with a submission.
func (s *Service) validate(org string, sub *Submission) error {
	var p problems
	checkName(&p, "organization", org)
	switch {
	case sub.Instructions == "":
		p.add("instructions", "must not be empty")
	case !utf8.ValidString(sub.Instructions):
		p.add("instructions", "must be valid UTF-8")
	}
	if size := len(sub.Instructions) + len(sub.Context); size > s.opts.MaxBytes {
		p.add("instructions", "and context are %d bytes together, over the limit of %d", size, s.opts.MaxBytes)
	} else if sub.Context != nil {
		if v, err := strictjson.Parse(sub.Context, 0); err != nil {
			p.add("context", "must be valid JSON: %v", err)
		} else if v.Kind() != strictjson.Object {
			p.add("context", "must be a JSON object")
		}
	}
	checkName(&p, "source", sub.Source)
	if !validKey(sub.IdempotencyKey) {
		p.add("idempotency_key", "must be at most %d visible ASCII characters", name.Max)
	}
	return p.err()
}

// checkName refuses what no backend should have to store as a name: nothing, too much,
// bad UTF-8, U+0000.
func checkName(p *problems, field, text string) {
	if problem := name.Problem(text); problem != "" {
		p.add(field, "%s", problem)
	}
}

func validKey(key string) bool {
	for i := range len(key) {
		if key[i] <= ' ' || key[i] > '~' {
			return false
		}
	}
	return len(key) <= name.Max
}

// digest tells one submission from another under the same idempotency key. The parts are
// length-prefixed, and a missing context differs from every context.
func (sub *Submission) digest() [32]byte {
	h := sha256.New()
	part := func(present byte, b []byte) {
		h.Write(binary.BigEndian.AppendUint64([]byte{present}, uint64(len(b))))
		h.Write(b)
	}
	part(1, []byte(sub.Instructions))
	if sub.Context == nil {
		part(0, nil)
	} else {
		part(1, sub.Context)
	}
	part(1, sub.Collection[:])
	part(1, []byte(sub.Source))
	return [32]byte(h.Sum(nil))
}
