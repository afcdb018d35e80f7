package sqlite

import (
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise/trigger"
)

// versionedEvent is an event as a version of its row has it.
type versionedEvent struct {
	event   trigger.Event
	version int
}

// recentEvents are events that this process has stored or changed a moment ago and that are
// not finished. The next change is about to come, and need not read them: it names the
// version that it starts from, and if the row has another one by now, because of another
// process, it begins again with a read. To read an event is a fifth of what an attempt
// costs the writer. Only the writer uses them.
type recentEvents struct {
	byID  map[uuid.UUID]recentEvent
	ids   [1024]uuid.UUID // in the order in which they came
	turns int             // how many came
}

type recentEvent struct {
	*versionedEvent
	turn int
}

// newVersioned returns a copy of an event as a read would give it, or nil if it is not
// worth keeping: it is finished, or large.
func newVersioned(e *trigger.Event, version int) *versionedEvent {
	size := len(e.Source) + len(e.IdempotencyKey) + len(e.LastError)
	for k, v := range e.Trace {
		size += len(k) + len(v)
	}
	if e.Status.Finished() || e.Outcome != nil || bodyApart(e) || size > 2*maxInline {
		return nil
	}
	v := &versionedEvent{e.Clone(), version}
	for _, at := range []*time.Time{
		&v.event.SubmittedAt, &v.event.StartedAt, &v.event.FinishedAt, &v.event.UnqueuedSince, &v.event.DueAt, &v.event.CheckedAt,
	} {
		if !at.IsZero() {
			*at = time.UnixMicro(at.UnixMicro()).UTC()
		}
	}
	return v
}

// take returns an event that is kept, and keeps it no longer, or nil.
func (r *recentEvents) take(id uuid.UUID) *versionedEvent {
	kept := r.byID[id]
	delete(r.byID, id)
	return kept.versionedEvent
}

// put keeps an event in the place of the one that came first.
func (r *recentEvents) put(v *versionedEvent) {
	if r.byID == nil {
		r.byID = make(map[uuid.UUID]recentEvent)
	}
	place := r.turns % len(r.ids)
	if old := r.ids[place]; r.byID[old].turn == r.turns-len(r.ids) {
		delete(r.byID, old)
	}
	r.ids[place] = v.event.ID
	r.byID[v.event.ID] = recentEvent{v, r.turns}
	r.turns++
}

// keep keeps an event, which may be nil, once the transaction is on the disk.
func (t *tx) keep(v *versionedEvent) {
	if v != nil {
		t.op.event = v
	}
}
