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
// A call whose ctx has ended returns an error that is not a sentinel of this package or
// of package mortise. A caller whose ctx ends while the call waits has left when it
// returns: the update function is not called any more, and no argument is read. The write
// happens as a whole or not at all.
//
// Arguments and results are the receiver's own: a Store copies what it keeps and what
// it returns. Times keep microseconds. Strings and raw JSON are UTF-8, keep every byte, and
// are compared as bytes; instructions, errors and summaries may hold U+0000. Organizations,
// sources and idempotency keys have at most 255 bytes, all of which count. An event's ID is
// unique across organizations. An unknown event, and an event of another organization, is
// [mortise.ErrNotFound]. Any error but the sentinels of this package and of package mortise
// means "unavailable": the caller may try again.
type Store interface {
	// CreateEvent stores e, unless the organization has an event with the same ID, or
	// one with the same idempotency key submitted at or after keySince: then it returns
	// that one, and created is false. Where both are there, it returns the one with the
	// ID. An event with the same key submitted before keySince loses its key, and not its
	// BodyDigest, in the transaction that stores e. An empty key never matches. If another
	// organization has an event with the same ID, CreateEvent changes nothing and returns
	// an error that is no sentinel. In a deleted organization it changes nothing and
	// returns [mortise.ErrDeleted], whatever else is wrong.
	CreateEvent(ctx context.Context, e Event, keySince time.Time) (stored Event, created bool, err error)

	// CreateEvents stores new events of one organization, at most 1,000, and adds their jobs by
	// [mortise.Leases].Add: in one transaction, all or none. jobs is empty, or has the job of
	// each event; it is empty unless the Store is a [TxStore] whose service uses it. In a
	// deleted organization nothing is stored, and the error is [mortise.ErrDeleted]. If an
	// event's ID or idempotency key is taken, nothing is stored, and the error is not a
	// sentinel.
	CreateEvents(ctx context.Context, events []Event, jobs []mortise.Job) error

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
	ListEvents(ctx context.Context, org string, q EventQuery) (mortise.Page[Event], error)

	Maintenance
	Counter
	Deletion
}

// Maintenance is the part of a [Store] for which no organization is asked: for workers,
// sweepers and operators.
type Maintenance interface {
	// Progress returns status and generation of events of any organizations, by their IDs,
	// of which there are at most 1,000. An event that is unknown is left out. A
	// [Worker] asks it about the events that it runs.
	Progress(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]Progress, error)

	// Overdue returns at most limit events of all organizations whose WakeAt is set and
	// before the given time, the earliest first, events of one time in any order.
	Overdue(ctx context.Context, before time.Time, limit int) ([]Event, error)

	// AllEvents returns the events of all organizations that match q ([AllQuery.Matches]), in
	// the order of [AllQuery.Position].
	AllEvents(ctx context.Context, q AllQuery) (mortise.Page[Event], error)
}

// Progress is the part of an event that says whether an attempt at it is still wanted.
type Progress struct {
	Status     Status
	Generation int
}

// Counter counts events. The Backlog is of received, processing and failed events; events of a
// deleted organization may count in it until they are removed.
type Counter interface{ mortise.Counter[Counts] }

// Deletion is the part of a [Store], of [APIKeys] and of [Organizations] that deletes
// what they keep of an organization. Where they are one backend, one mark counts for all
// of them.
//
// From the mark on, in the transaction that makes it, and for everybody who uses the
// backend, nothing of the organization is there: its events and keys are
// [mortise.ErrNotFound] or are not listed, Progress and Overdue leave them out, Counts are
// zero, and so is the organization itself [mortise.ErrNotFound]. Creating anything in
// it is [mortise.ErrDeleted]: CreateEvent, CreateEvents, CreateEventAndAdd, CreateKey and
// UpdateOrganization. Other organizations notice nothing.
//
// RemoveDeleted removes events, jobs, keys and collections. Where jobs are kept in the same
// database, the jobs of a removed event go with it, held or not, and count as rows. Jobs of
// other kinds stay: they are the host's.
type Deletion interface{ mortise.Deletion }

// Pruner is a Store that can forget. [Service.Prune] needs it.
type Pruner interface {
	// Prune removes events of all organizations that have ended with the given status: events
	// without an idempotency key whose FinishedAt is before the given time, and events with
	// one whose FinishedAt is before keyedBefore. Events with a WakeAt stay: their end is
	// still to be told ([Options].OnEnd). It is a bounded step, see package storage.
	// Many events may stay for their keys, and Prune is called often: it should not read all
	// of them. Where jobs are kept in the same database, the dead ones of a removed event go
	// with it, and do not count. It is maintenance: no organization is asked for.
	Prune(ctx context.Context, status Status, before, keyedBefore time.Time, limit int) (n int, more bool, err error)
}

// TxStore is the optional ability of a [Store] to add and remove jobs in its own
// transaction. The service uses it if the queue is a [mortise.Sharer] that says so.
// Otherwise it stores first and enqueues then, and the sweeper looks for what a crash
// left between.
type TxStore interface {
	// CreateEventAndAdd does [Store.CreateEvent] and, if that created the event,
	// [mortise.Leases].Add, in one transaction.
	CreateEventAndAdd(
		ctx context.Context, e Event, keySince time.Time, j mortise.Job,
	) (stored Event, created bool, err error)

	// UpdateEventAndJobs does [Store.UpdateEvent] and, if that succeeded, ends the job of a
	// lease by [mortise.Holder].Remove, and adds the jobs that update has returned by
	// [mortise.Leases].Add: in one transaction. That the lease is lost, or its token is
	// uuid.Nil, is not an error: the event is changed all the same, the jobs are added, and
	// the job stays with its holder.
	UpdateEventAndJobs(
		ctx context.Context, org string, id uuid.UUID, update func(*Event) ([]mortise.Job, error), l mortise.Lease, dead bool,
	) error
}

// APIKeys stores API keys. Copies, atomicity, times, errors, and callers who leave, are
// as for [Store].
type APIKeys interface {
	// CreateKey stores a key, or returns [mortise.ErrExists] if there is one with its
	// digest or its ID, of whatever organization: of a deleted one, too, until it is
	// removed. In a deleted organization it returns [mortise.ErrDeleted], and stores
	// nothing.
	CreateKey(ctx context.Context, k APIKey) error

	// KeyByDigest returns a key, revoked or not, or [mortise.ErrNotFound]. It takes no
	// organization: the key says which one is asking.
	KeyByDigest(ctx context.Context, digest [32]byte) (APIKey, error)

	// UpdateKey works as [Store.UpdateEvent]; changes of ID, Organization, Digest and
	// CreatedAt are ignored.
	UpdateKey(ctx context.Context, org string, id uuid.UUID, update func(*APIKey) error) error

	// ListKeys returns a page of the organization's keys, oldest first: by CreatedAt,
	// then by ID (as bytes).
	ListKeys(ctx context.Context, org string, after mortise.Cursor, limit int) (mortise.Page[APIKey], error)

	Deletion
}

// Organizations is a Directory that [Service.UpdateOrganization] can write. Copies,
// atomicity, errors, and callers who leave, are as for [Store].
type Organizations interface {
	Directory

	// UpdateOrganization calls update with a copy of the organization, or a new one that
	// has only its ID, and stores what it leaves: Collections sorted by ID (as bytes), of
	// which it leaves no two with one ID. A change of the organization's ID is ignored.
	// update is pure and may be called more than once; its error changes nothing and is
	// returned. A deleted organization is [mortise.ErrDeleted], and update is not called.
	UpdateOrganization(ctx context.Context, org string, update func(*Organization) error) error

	Deletion
}
