package trigger

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
)

// Store keeps events. Every method is safe for concurrent use, and atomic: another caller
// sees all of its effect or none. A call that returned without error is durable, as far
// as the backend is. The failure of one call fails no other.
//
// A call whose ctx has ended returns an error that is not a sentinel of this package. A
// caller whose ctx ends while the call waits has left when it returns: their update
// function is not called any more, and nothing that they passed is read. What they asked
// for happens as a whole or not at all.
//
// Arguments and results are the receiver's own: a Store copies what it keeps and what it
// returns. Times keep microseconds. Strings and raw JSON keep every byte, U+0000
// included, and are compared as bytes. Organizations, sources and idempotency keys have
// at most 255 bytes, all of which count. An event's ID is unique across organizations. An
// unknown event, and an event of another organization, is [ErrNotFound]. Any error but
// the sentinels of this package means "unavailable": the caller may try again.
type Store interface {
	// CreateEvent stores e, unless the organization has an event with the same ID, or one
	// with the same idempotency key submitted at or after keySince: then it returns that
	// one, and created is false. Where both are there, it returns the one with the ID. An
	// event with the same key submitted before keySince loses its key in the transaction
	// that stores e. An empty key never matches. If another organization has an event
	// with the same ID, CreateEvent changes nothing and returns an error that is no
	// sentinel. In a deleted organization it changes nothing and returns [ErrDeleted].
	CreateEvent(ctx context.Context, e Event, keySince time.Time) (stored Event, created bool, err error)

	// Event returns one event.
	Event(ctx context.Context, org string, id uuid.UUID) (Event, error)

	// UpdateEvent calls update with a copy of the event and stores what it leaves. update
	// is pure, may be called more than once, and may change every field but ID,
	// Organization and SubmittedAt, whose changes are ignored. It must not call the
	// store, which may be waiting for it. An error from update leaves the event as it was
	// and is returned so that errors.Is finds it; so does a panic, which goes on to the
	// caller. If update gives the event an idempotency key that another event of the
	// organization has, nothing changes, and the error is not a sentinel. update is not
	// called for an event that is not there. An event that is removed meanwhile is not
	// stored again.
	UpdateEvent(ctx context.Context, org string, id uuid.UUID, update func(*Event) error) error

	// ListEvents returns the events that match q, newest first: by SubmittedAt, then by
	// ID (as bytes), both descending.
	ListEvents(ctx context.Context, org string, q EventQuery) (EventPage, error)

	Unfinished
	Counter
	Deletion
}

// Unfinished is what the sweeper asks a Store. It is maintenance: no organization is
// asked for.
type Unfinished interface {
	// Unqueued returns at most limit events of all organizations that are received and
	// whose UnqueuedSince is set and before the given time, longest waiting first, those
	// of one time in any order.
	Unqueued(ctx context.Context, before time.Time, limit int) ([]Event, error)

	// Stale returns at most limit events of all organizations that are not finished,
	// whose UnqueuedSince is not set, whose CheckedAt is before checked, and whose DueAt
	// is before due; those checked longest ago first, those of one time in any order. A
	// zero CheckedAt or DueAt is before every time. A zero due selects events whatever
	// their DueAt. A [TxStore] may leave out events with a zero CheckedAt whose job is
	// not in it: no service makes such.
	Stale(ctx context.Context, checked, due time.Time, limit int) ([]Event, error)
}

// EventQuery selects events of one organization. Zero fields but Limit select everything.
type EventQuery struct {
	Status         Status
	Source         string
	From           time.Time // submitted at or after
	To             time.Time // submitted before
	IdempotencyKey string
	After          mortise.Position // only events that follow it in the listing; zero: from its start

	// Limit is how many events a page may hold, at most MaxPageSize. To a Store, 0 is 0:
	// the page is empty, and its Next is zero. Service.ListEvents takes 0 for 50.
	Limit int
}

// MaxPageSize bounds EventQuery.Limit and KeyQuery.Limit.
const MaxPageSize = 1000

// EventPage is a stretch of a listing.
type EventPage struct {
	Events []Event
	Next   mortise.Position // the next page's EventQuery.After; zero: this is the last one
}

// Position returns the event's place in a listing.
func (e *Event) Position() mortise.Position { return mortise.Position{At: e.SubmittedAt, ID: e.ID} }

// Matches reports whether e is selected by q, its Limit left aside. It defines what
// Store.ListEvents must return; backends without a query language may call it.
func (q *EventQuery) Matches(e *Event) bool {
	return (q.Status == "" || e.Status == q.Status) &&
		(q.Source == "" || e.Source == q.Source) &&
		(q.IdempotencyKey == "" || e.IdempotencyKey == q.IdempotencyKey) &&
		(q.From.IsZero() || !e.SubmittedAt.Before(q.From)) &&
		(q.To.IsZero() || e.SubmittedAt.Before(q.To)) &&
		(q.After.IsZero() || e.Position().Compare(q.After) < 0)
}

// Pruner is a Store that can forget. [Service.Prune] needs it.
type Pruner interface {
	// Prune removes finished events of all organizations whose FinishedAt is before the
	// given time, at most limit of them and whichever, and returns how many. Where jobs
	// are kept in the same database, the dead ones of a removed event go with it. It is
	// maintenance: no organization is asked for.
	Prune(ctx context.Context, before time.Time, limit int) (removed int, err error)
}
