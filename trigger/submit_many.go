package trigger

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/failure"
)

const (
	// MaxSubmissions is how many requests [Service.SubmitMany] takes.
	MaxSubmissions = 1000

	// manyBytes is how many times [Options].MaxBytes they may be long together.
	manyBytes = 16
)

// SubmitMany accepts several requests of an organization, all of them or none, and returns
// their events in the same order. There are at most [MaxSubmissions], together at most 16
// times [Options].MaxBytes long. They take no idempotency key. If the queue is apart from the
// store and refuses jobs, the requests are accepted all the same: a [Sweeper] queues them.
//
// The errors are the errors of [Service.Submit] but [ErrIdempotencyKeyReused] and
// [ErrEnqueueFailed]. After [mortise.ErrUnavailable] the events may be stored: look for them
// by [Service.ListEvents] before you submit again.
func (s *Service) SubmitMany(ctx context.Context, org string, by mortise.Actor, subs []Submission) ([]Event, error) {
	now := s.now()
	events, err := s.submitMany(ctx, org, by, subs, now)
	if err != nil {
		s.observe(ctx, mortise.Observation{Kind: mortise.KindRefused, Organization: org, Actor: by, Items: len(subs), Duration: s.opts.Now().Sub(now), Err: err})
		return nil, err
	}
	for i := range events {
		s.observe(ctx, mortise.Observation{Kind: mortise.KindSubmitted, Organization: org, Actor: by, Object: events[i].ID.String(), Duration: s.opts.Now().Sub(now)})
	}
	return events, nil
}

func (s *Service) submitMany(ctx context.Context, org string, by mortise.Actor, subs []Submission, now time.Time) ([]Event, error) {
	subs = slices.Clone(subs)
	for i := range subs {
		subs[i].normalize()
	}
	if err := s.validateMany(org, now, subs); err != nil {
		return nil, err
	}
	events, jobs, err := s.newEvents(ctx, org, by, subs, now)
	if err != nil || len(events) == 0 {
		return nil, err
	}
	checked := make(map[uuid.UUID]bool)
	for i := range events {
		if c := events[i].Collection; !checked[c] {
			if err := s.checkOrganization(ctx, org, c); err != nil {
				return nil, err
			}
			checked[c] = true
		}
	}
	stored, err := s.mayWait(ctx, org, len(events), now)
	if err != nil {
		return nil, err
	}
	defer stored()
	if err := s.store.CreateEvents(ctx, events, jobs); err != nil {
		return nil, failure.Unavailable("store events", err)
	}
	s.queueMany(ctx, events)
	return events, nil
}

// queueMany queues the jobs of stored events that have none yet.
func (s *Service) queueMany(ctx context.Context, events []Event) {
	queue := func(ctx context.Context, events []Event) {
		var g errgroup.Group
		g.SetLimit(bulkAtOnce)
		for i := range events {
			if e := &events[i]; e.unqueued() {
				g.Go(func() error {
					s.queueCommitted(ctx, e)
					return nil
				})
			}
		}
		_ = g.Wait()
	}
	stored := slices.Clone(events)
	if s.tx == nil && !s.inHostTx(ctx, func(ctx context.Context) { queue(ctx, stored) }) {
		queue(ctx, events)
	}
}

// newEvents makes the events of submissions, and their jobs where the store adds these.
func (s *Service) newEvents(
	ctx context.Context, org string, by mortise.Actor, subs []Submission, now time.Time,
) (events []Event, jobs []mortise.Job, err error) {
	for i := range subs {
		e := s.newEvent(ctx, org, by, &subs[i], now)
		if e.ID, err = s.newID(now); err != nil {
			return nil, nil, failure.Unavailable("read randomness", err)
		}
		if s.tx != nil {
			jobs = append(jobs, e.jobAt(now))
		} else {
			e.WakeAt, _ = firstWake(&e, now)
		}
		events = append(events, e)
	}
	return events, jobs, nil
}

// validateMany collects everything that is wrong with submissions.
func (s *Service) validateMany(org string, now time.Time, subs []Submission) error {
	var p failure.Problems
	p.Name("organization", org)
	if len(subs) > MaxSubmissions {
		p.Add("submissions", "are %d, over the limit of %d", len(subs), MaxSubmissions)
		return p.Err()
	}
	size := 0
	for i := range subs {
		size += len(subs[i].Instructions) + len(subs[i].Context)
	}
	if (size+manyBytes-1)/manyBytes > s.opts.MaxBytes {
		p.Add("submissions", "are %d bytes together, over %d times the limit of %d", size, manyBytes, s.opts.MaxBytes)
		return p.Err()
	}
	for i := range subs {
		var one failure.Problems
		s.validateSubmission(&one, now, &subs[i])
		if subs[i].IdempotencyKey != "" {
			one.Add("idempotency_key", "must be empty: submissions are stored together, or not at all")
		}
		for _, problem := range one.Found {
			p.AddAt(append(mortise.Path{{Field: "submissions"}, {Index: i}}, problem.Path...), "%s", problem.Message)
		}
		if len(p.Found) >= 100 {
			break
		}
	}
	return p.Err()
}
