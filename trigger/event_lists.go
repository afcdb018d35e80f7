package trigger

import (
	"context"
	"iter"
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
// LastError and Outcome.
func (e *Event) Size() int {
	n := len(e.Instructions) + len(e.Context) + len(e.LastError)
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
	if q.Status != "" && !knownStatus(q.Status) {
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

func knownStatus(status Status) bool {
	for _, known := range Statuses() {
		if status == known {
			return true
		}
	}
	return false
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
