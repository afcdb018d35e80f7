package trigger

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/failure"
	"github.com/seed-6363c74e/mortise/internal/hook"
	"github.com/seed-6363c74e/mortise/internal/name"
	"github.com/seed-6363c74e/mortise/internal/pages"
	"github.com/seed-6363c74e/mortise/internal/strictjson"
)

// Submission is a request to update documentation.
type Submission struct {
	Instructions string          // what to document; valid UTF-8, not empty
	Context      json.RawMessage // optional metadata: a JSON object without duplicate keys; nil for none
	Collection   uuid.UUID       // the doc collection to update; uuid.Nil for any that is ready
	// Source is who submits, in a word of the host's own, at most 255 bytes; "" means
	// "api".
	Source         string
	IdempotencyKey string // optional, 1 to 255 visible ASCII characters

	// NotBefore is when the first attempt may begin, at most [MaxNotBefore] ahead. A time
	// that has passed, and the zero time, mean now.
	NotBefore time.Time
}

// MaxNotBefore is how far ahead [Submission.NotBefore] may be.
const MaxNotBefore = 365 * 24 * time.Hour

// Submit accepts a request and returns the event that now stands for it.
//
// With an idempotency key, the same request within the window returns the earlier
// event, whatever has become of it and of the organization; another request with the
// key is [ErrIdempotencyKeyReused]. Requests are the same if all their fields are, byte
// for byte. The other errors are [*mortise.ValidationError], [ErrNotConfigured],
// [ErrNoEligibleCollection], [mortise.ErrDeleted], [ErrEnqueueFailed] and
// [mortise.ErrUnavailable].
func (s *Service) Submit(ctx context.Context, org string, by mortise.Actor, sub Submission) (Event, error) {
	now := s.now()
	sub.normalize()
	e, replayed, err := s.submit(ctx, org, by, sub, now)
	o := mortise.Observation{
		Kind: mortise.KindSubmitted, Organization: org, Actor: by, Object: e.ID.String(), Duration: s.opts.Now().Sub(now), Err: err,
	}
	switch {
	case err != nil:
		o.Kind, o.Object = mortise.KindRefused, ""
	case replayed:
		o.Kind = mortise.KindReplayed
	}
	s.observe(ctx, o)
	return e, err
}

func (s *Service) submit(
	ctx context.Context, org string, by mortise.Actor, sub Submission, now time.Time,
) (e Event, replayed bool, err error) {
	if err := s.validate(org, now, &sub); err != nil {
		return Event{}, false, err
	}
	e = s.newEvent(ctx, org, by, &sub, now)
	keySince := now.Add(-s.opts.IdempotencyWindow)
	if e.IdempotencyKey != "" {
		e.BodyDigest = sub.digest()
		if earlier, found, err := s.replay(ctx, &e, keySince); err != nil || found {
			return earlier, found, err
		}
	}
	if err := s.checkOrganization(ctx, org, sub.Collection); err != nil {
		return Event{}, false, err
	}
	stored, err := s.mayWait(ctx, org, 1, now)
	if err != nil {
		return Event{}, false, err
	}
	defer stored()
	return s.accept(ctx, &e, keySince)
}

// normalize fills in the defaults.
func (sub *Submission) normalize() {
	if sub.Source == "" {
		sub.Source = "api"
	}
	sub.NotBefore = pages.Ceil(sub.NotBefore)
}

// newEvent returns the event of a submission, without an ID.
func (s *Service) newEvent(ctx context.Context, org string, by mortise.Actor, sub *Submission, now time.Time) Event {
	return Event{
		Organization: org, Status: StatusReceived, Source: sub.Source, Actor: name.Clean(by),
		Instructions: sub.Instructions, Context: sub.Context, Collection: sub.Collection,
		SubmittedAt: now, DueAt: latest(now, sub.NotBefore), IdempotencyKey: sub.IdempotencyKey, Trace: hook.Inject(ctx, &s.opts.Env),
	}
}

// replay returns the event that already carries e's idempotency key, if there is one and
// it has a job. Without one it is as if the key were free.
func (s *Service) replay(ctx context.Context, e *Event, keySince time.Time) (earlier Event, found bool, err error) {
	page, err := s.store.ListEvents(ctx, e.Organization, EventQuery{IdempotencyKey: e.IdempotencyKey, From: keySince, Limit: 1})
	if err != nil {
		return Event{}, false, failure.Unavailable("look up idempotency key", err)
	}
	if len(page.Items) == 0 {
		return Event{}, false, nil
	}
	earlier = page.Items[0]
	if earlier.BodyDigest != e.BodyDigest {
		return Event{}, false, ErrIdempotencyKeyReused
	}
	switch err := s.handOver(ctx, &earlier, false); {
	case errors.Is(err, errAlreadyMarked):
		return Event{}, false, nil
	case err != nil:
		return Event{}, false, err
	}
	return earlier, true, nil
}

// accept stores e, or joins the event that has got its key first, and hands it over.
func (s *Service) accept(ctx context.Context, e *Event, keySince time.Time) (stored Event, replayed bool, err error) {
	// An earlier event with our key may be marked failed, and so lose the key, while we
	// join it. Then the next round creates ours.
	for {
		if e.ID, err = s.newID(e.SubmittedAt); err != nil {
			return Event{}, false, failure.Unavailable("read randomness", err)
		}
		stored, created, err := s.create(ctx, e, keySince)
		if err != nil {
			return Event{}, false, failure.Unavailable("store event", err)
		}
		if !created && stored.BodyDigest != e.BodyDigest {
			return Event{}, false, ErrIdempotencyKeyReused
		}
		switch err := s.handOver(ctx, &stored, created); {
		case errors.Is(err, errAlreadyMarked):
			continue
		case err != nil:
			return Event{}, false, err
		}
		return stored, !created, nil
	}
}

// validate collects everything that is wrong with a submission.
func (s *Service) validate(org string, now time.Time, sub *Submission) error {
	var p failure.Problems
	p.Name("organization", org)
	s.validateSubmission(&p, now, sub)
	return p.Err()
}

func (s *Service) validateSubmission(p *failure.Problems, now time.Time, sub *Submission) {
	switch {
	case sub.Instructions == "":
		p.Add("instructions", "must not be empty")
	case !utf8.ValidString(sub.Instructions):
		p.Add("instructions", "must be valid UTF-8")
	}
	if size := len(sub.Instructions) + len(sub.Context); size > s.opts.MaxBytes {
		p.Add("instructions", "and context are %d bytes together, over the limit of %d", size, s.opts.MaxBytes)
	} else if sub.Context != nil {
		if v, err := strictjson.Parse(sub.Context, 0); err != nil {
			p.Add("context", "must be valid JSON: %v", err)
		} else if v.Kind() != strictjson.Object {
			p.Add("context", "must be a JSON object")
		}
	}
	p.Name("source", sub.Source)
	if !validKey(sub.IdempotencyKey) {
		p.Add("idempotency_key", "must be at most %d visible ASCII characters", name.Max)
	}
	if sub.NotBefore.After(now.Add(MaxNotBefore)) {
		p.Add("not_before", "must be at most a year ahead")
	}
}

func validKey(key string) bool {
	return len(key) <= name.Max && strings.IndexFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) < 0
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
	if !sub.NotBefore.IsZero() {
		part(1, binary.BigEndian.AppendUint64(nil, uint64(sub.NotBefore.UnixMicro())))
	}
	return [32]byte(h.Sum(nil))
}
