package triggerdb

import (
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
	"github.com/seed-6363c74e/mortise/trigger"
)

// versionedEvent is an event as a version of its row has it.
type versionedEvent struct {
	event   trigger.Event
	version int
}

// recentEvents are events that this process has stored, changed, or claimed the job of, a
// moment ago, and that are not finished. The next change is about to come, and need not
// read them: it names the version that it starts from, and if the row has another one by
// now, because of another process, it begins again with a read. To read an event by itself
// is a fifth of what an attempt costs the writer. Only the writer uses them.
type recentEvents struct {
	byID  map[uuid.UUID]recentEvent
	ids   [1024]uuid.UUID // in the order in which they came
	turns int             // how many came
}

type recentEvent struct {
	*versionedEvent
	turn int
}

// worthKeeping reports whether an event is to be kept: it is neither finished nor large.
func worthKeeping(e *trigger.Event) bool {
	size := len(e.Source) + len(e.Actor) + len(e.IdempotencyKey) + len(e.SupersedeKey) + len(e.LastError)
	for i := range e.Failures {
		size += len(e.Failures[i].Error)
	}
	for k, v := range e.Trace {
		size += len(k) + len(v)
	}
	return !e.Status.Finished() && e.Outcome == nil && !bodyApart(e) && size <= 2*maxInline
}

// newVersioned returns a copy of an event as a read would give it, or nil if it is not
// worth keeping.
func newVersioned(e *trigger.Event, version int) *versionedEvent {
	if !worthKeeping(e) {
		return nil
	}
	v := &versionedEvent{e.Clone(), version}
	v.event.Failures = failuresAsRead(e.Failures)
	v.round()
	return v
}

// next returns the event as a change of progressColumns has left it, as newVersioned does.
// What is long is the same, and shared with what is kept no longer.
func (v *versionedEvent) next(changed *trigger.Event) *versionedEvent {
	if !worthKeeping(changed) {
		return nil
	}
	next := &versionedEvent{*changed, v.version + 1}
	next.event.Context, next.event.Trace, next.event.Failures = v.event.Context, v.event.Trace, v.event.Failures
	if !slices.Equal(changed.Failures, v.event.Failures) {
		next.event.Failures = failuresAsRead(changed.Failures)
	}
	next.round()
	return next
}

// round makes the times what a read gives.
func (v *versionedEvent) round() {
	for _, at := range []*time.Time{
		&v.event.SubmittedAt, &v.event.StartedAt, &v.event.FinishedAt, &v.event.DueAt, &v.event.WakeAt, &v.event.SupersedeSince,
	} {
		if !at.IsZero() {
			*at = time.UnixMicro(at.UnixMicro()).UTC()
		}
	}
}

// failuresAsRead returns failures as a read gives them. If they cannot be stored, the write says
// so.
func failuresAsRead(failures []trigger.Attempt) (read []trigger.Attempt) {
	if len(failures) > 0 {
		text, _ := json.Marshal(failures)
		_ = json.Unmarshal(text, &read)
	}
	return read
}

// take returns an event that is kept, and keeps it no longer, or nil.
func (r *recentEvents) take(id uuid.UUID) *versionedEvent {
	kept := r.byID[id]
	delete(r.byID, id)
	return kept.versionedEvent
}

func (r *recentEvents) has(id uuid.UUID) bool {
	_, kept := r.byID[id]
	return kept
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

// recentOf returns the events that the writer keeps.
func recentOf(t *file.Tx) *recentEvents { return file.MemoryOf[recentEvents](t.Lasting()) }

// keep keeps an event, which may be nil, once the transaction is on the disk.
func keep(t *file.Tx, v *versionedEvent) {
	if v == nil || t.Hosted() { // a call of the host's transaction can be rolled back alone
		return
	}
	recent := recentOf(t)
	t.OnCommit(func() { recent.put(v) })
}

// maxReadAhead is how many events a claim reads at most.
const maxReadAhead = 256

// claimedEvents are the events of a JSON list of IDs, in hexadecimal, that may be worth
// keeping. Large ones are not read.
var claimedEvents = "SELECT " + eventFields("trigger_events") + ", trigger_events.version FROM json_each(?)" +
	" CROSS JOIN trigger_events ON trigger_events.id = unhex(value)" +
	" WHERE status < " + completed + " AND NOT body AND outcome_summary IS NULL"

// ReadAhead keeps the events of jobs that a claim has taken: their attempts are about to be
// noted. All of them together cost a third of what each by itself would.
func ReadAhead(t *file.Tx, leases []mortise.Lease) error {
	if t.Hosted() {
		return nil
	}
	recent := recentOf(t)
	var ids []uuid.UUID
	for i := range leases {
		j := &leases[i].Job
		if j.Kind != trigger.JobKind || len(j.ID) < idLength || len(ids) == maxReadAhead {
			continue
		}
		if id, err := uuid.Parse(j.ID[:idLength]); err == nil && !recent.has(id) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	events := make([]*versionedEvent, 0, len(ids))
	t.OnCommit(func() {
		for _, v := range events {
			recent.put(v)
		}
	})
	return t.Query(claimedEvents, []any{idList(ids)}, func(r *file.Row) error {
		v := &versionedEvent{version: r.Number(versionField)}
		err := scanEvent(r, &v.event)
		// Only a change of a damaged row is to fail.
		if damaged := r.Forgive(); err == nil && !damaged && worthKeeping(&v.event) {
			events = append(events, v)
		}
		return nil
	})
}

// idList returns a JSON list of IDs, in hexadecimal.
func idList(ids []uuid.UUID) string {
	list := []byte{'['}
	for i, id := range ids {
		if i > 0 {
			list = append(list, ',')
		}
		list = append(hex.AppendEncode(append(list, '"'), id[:]), '"')
	}
	return string(append(list, ']'))
}

// idLength is that of an event's ID as a text, with which the ID of its job begins.
const idLength = 36
