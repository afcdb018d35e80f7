package trigger

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/failure"
	"github.com/seed-6363c74e/mortise/internal/pages"
)

// EventQuery selects events of one organization. Zero fields but Limit select everything.
type EventQuery struct {
	Status         Status
	Source         string
	From           time.Time // submitted at or after
	To             time.Time // submitted before
	IdempotencyKey string
	After          mortise.Cursor

	// Limit is how many events a page may hold, at most mortise.MaxPageSize. To a Store it is
	// over 0. Service.ListEvents takes 0 for 50.
	Limit int

	// Bytes ends a page with the event that brings the sum of Event.Size to Bytes, if that
	// comes before Limit. Next then leads on. So an event that is longer than Bytes is a page
	// of its own. 0 and less: no bound.
	Bytes int
}

// Position returns the event's place in a list.
func (e *Event) Position() mortise.Position {
	return mortise.Position{At: e.SubmittedAt, ID: string(e.ID[:])}
}

// Size returns the length of the long fields together, in bytes: Instructions, Context,
// LastError, Outcome, and Failures as JSON.
func (e *Event) Size() int {
	n := len(e.Instructions) + len(e.Context) + len(e.LastError)
	if len(e.Failures) > 0 {
		text, _ := json.Marshal(e.Failures) // fails for times after the year 9999 only
		n += len(text)
	}
	if e.Outcome != nil {
		n += len(e.Outcome.Summary) + len(e.Outcome.Data)
	}
	return n
}

// Matches reports whether q selects e; After, Limit and Bytes do not count. Store.ListEvents must
// return these events. A backend without a query language may call it.
func (q *EventQuery) Matches(e *Event) bool {
	return (q.Status == "" || e.Status == q.Status) &&
		(q.Source == "" || e.Source == q.Source) &&
		(q.IdempotencyKey == "" || e.IdempotencyKey == q.IdempotencyKey) &&
		(q.From.IsZero() || !e.SubmittedAt.Before(q.From)) &&
		(q.To.IsZero() || e.SubmittedAt.Before(q.To))
}

// ListEvents returns a page of the organization's history, newest first. Limit 0 means
// 50. A Limit outside 0 to [mortise.MaxPageSize], an unknown Status or an After that is no
// cursor is a [*mortise.ValidationError].
func (s *Service) ListEvents(ctx context.Context, org string, q EventQuery) (mortise.Page[Event], error) {
	var p failure.Problems
	q.Limit = failure.Page(&p, q.After, q.Limit, pages.ByUUID)
	if q.Status != "" && !slices.Contains(Statuses(), q.Status) {
		p.Add("status", "is not one of %v", Statuses())
	}
	if q.Source != "" {
		p.Name("source", q.Source)
	}
	if err := p.Err(); err != nil {
		return mortise.Page[Event]{}, err
	}
	q.From, q.To = pages.Ceil(q.From), pages.Ceil(q.To)
	page, err := s.store.ListEvents(ctx, org, q)
	if err == nil {
		err = pages.Check(page, q.After, q.Limit)
	}
	return page, failure.Unavailable("list events", err)
}

// Events iterates over everything that q selects, newest first, from q.After on, by pages of
// q.Limit. It ends after the first error, which is [mortise.ErrUnavailable] if the store
// returns the cursor again that it was given.
func (s *Service) Events(ctx context.Context, org string, q EventQuery) iter.Seq2[Event, error] {
	return pages.Each(q.After, func(after mortise.Cursor) (mortise.Page[Event], error) {
		q.After = after
		return s.ListEvents(ctx, org, q)
	})
}

// AllQuery selects events of all organizations that have one status.
type AllQuery struct {
	Status    Status    // received, processing or failed
	DueBefore time.Time // of received and processing events: DueAt is before it; zero: all; ignored for failed ones
	After     mortise.Cursor
	Limit     int // as of [EventQuery]
	Bytes     int // as of [EventQuery]
}

// Position returns an event's place in the list: ended events by FinishedAt, the latest first,
// others by DueAt, the earliest first; then by ID (as bytes), in the same direction.
func (q *AllQuery) Position(e *Event) mortise.Position {
	if q.Status.Finished() {
		return mortise.Position{At: e.FinishedAt, ID: string(e.ID[:])}
	}
	return mortise.Position{At: e.DueAt, ID: string(e.ID[:])}
}

// Matches reports whether q selects e; After, Limit and Bytes do not count. An event without
// the time that gives it its place is left out.
func (q *AllQuery) Matches(e *Event) bool {
	return e.Status == q.Status && !q.Position(e).At.IsZero() &&
		(q.Status.Finished() || q.DueBefore.IsZero() || e.DueAt.Before(q.DueBefore))
}

// AllEvents returns a page of the events of all organizations that have one status: failed
// events, the latest first, or waiting or running events, the longest overdue first. It is
// for operators, and no organization is asked for. [Service.ListEvents] has the events of
// other statuses, by organization. Limit 0 means 50. A Limit outside 0 to
// [mortise.MaxPageSize], another Status or "", or an invalid After is a
// [*mortise.ValidationError].
func (s *Service) AllEvents(ctx context.Context, q AllQuery) (mortise.Page[Event], error) {
	var p failure.Problems
	q.Limit = failure.Page(&p, q.After, q.Limit, pages.ByUUID)
	if q.Status != StatusReceived && q.Status != StatusProcessing && q.Status != StatusFailed {
		p.Add("status", "is not one of received, processing and failed")
	}
	if err := p.Err(); err != nil {
		return mortise.Page[Event]{}, err
	}
	q.DueBefore = pages.Ceil(q.DueBefore)
	page, err := s.store.AllEvents(ctx, q)
	if err == nil {
		err = pages.Check(page, q.After, q.Limit)
	}
	return page, failure.Unavailable("list the events of all organizations", err)
}
