package triggerdb

import (
	"context"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/pages"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/engine"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/sqltext"
	"github.com/seed-6363c74e/mortise/trigger"
)

// For an organization, statuses, the place before which events stand, the time from which
// they do, a limit, and bytes; then for the source, or for the key and a source that may be
// NULL. A statement returns the events of a page until their sizes reach the bytes. Each row
// has the number of events within the limit, too.
//
// Each status is a stretch of an index, of which no more is read than the page needs. That
// must hold for any plan of session.keep, so only that index may have the order. For a
// source the order begins with it, and the bounds take the place of a condition on it: with
// one, the index without the source would do, and all others would be read and left out. A
// limit stands in the text, where listEventsOrder ends: PostgreSQL takes an argument of LIMIT
// for a tenth of all rows, and a plan for these would read them all.
const (
	listEvents = listEventsSized + listEventsFrom + " AND status = s.status AND " + listEventsBounds + listEventsOrder

	listEventsOfSource = listEventsSized + listEventsFrom + " AND (source, status, submitted_at, id) < ($8, s.status, $3, $4)" +
		" AND (source, status, submitted_at) >= ($8, s.status, $5)" +
		" ORDER BY source DESC, status DESC, submitted_at DESC, id DESC LIMIT "

	listEventsFrom = "SELECT e.* FROM unnest($2::smallint[]) AS s (status) CROSS JOIN LATERAL (" +
		"SELECT " + eventColumns + " FROM @.trigger_events WHERE organization = $1"
	listEventsOrder  = " ORDER BY submitted_at DESC, id DESC LIMIT "
	listEventsThen   = ") AS e WHERE " + triggerNotDeleted + listEventsPage
	listEventsBounds = "(submitted_at, id) < ($3, $4) AND submitted_at >= $5"
	listEventsPage   = listEventsOrder + "$6" + ") AS page) AS sized WHERE coalesce(before, 0) < $7::bigint ORDER BY submitted_at DESC, id DESC"

	listEventsSized = "SELECT " + eventColumns + ", n FROM (SELECT *, count(*) OVER () AS n, sum(" + eventSize + ") OVER (" +
		"ORDER BY submitted_at DESC, id DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before FROM ("

	// eventSize is trigger.Event.Size, which does not read the text.
	eventSize = "octet_length(instructions) + coalesce(octet_length(context), 0) + octet_length(last_error)" +
		" + coalesce(octet_length(outcome_summary), 0) + coalesce(octet_length(outcome_data), 0)"

	listEventsOfKey = listEventsSized + "SELECT " + eventColumns + " FROM @.trigger_events WHERE organization = $1 AND idempotency_key = $8" +
		" AND status = ANY ($2::smallint[]) AND ($9::bytea IS NULL OR source = $9) AND " + listEventsBounds +
		" AND " + triggerNotDeleted + listEventsPage
)

// listSteps are the limits that may stand in a text: the sizes of the usual pages, and one more
// for the event behind them. A connection prepares the texts that it comes to need.
var listSteps = []int{11, 21, 51, 101, 201, 501, 1001}

// ListEvents implements [trigger.Store].
func (t *Store) ListEvents(ctx context.Context, org string, q trigger.EventQuery) (mortise.Page[trigger.Event], error) {
	statement, args, keep, err := listStatement(org, &q)
	if err != nil {
		return mortise.Page[trigger.Event]{}, err
	}
	var events []trigger.Event
	found := 0
	err = t.db.Read(ctx, org, func(s *engine.Session) error {
		events, found = nil, 0
		query := s.Query
		if keep {
			query = s.Keep
		}
		return query(func(rows pgx.Rows) error {
			var r eventRow
			if err := rows.Scan(append(r.to(), &found)...); err != nil {
				return err
			}
			e, err := r.event()
			events = append(events, e)
			return err
		}, statement, args...)
	})
	if err != nil {
		return mortise.Page[trigger.Event]{}, err
	}
	page := mortise.Page[trigger.Event]{Items: events[:min(q.Limit, len(events))]}
	if n := len(page.Items); n < found {
		page.Next = page.Items[n-1].Position().Cursor()
	}
	return page, nil
}

// listStatement returns the query of ListEvents, which looks for one event more than the
// page holds. keep: the limit stands in its text, so its plan can be kept.
func listStatement(org string, q *trigger.EventQuery) (statement string, args []any, keep bool, err error) {
	numbers := []int16{0, 1, 2, 3}
	if q.Status != "" {
		numbers = []int16{int16(slices.Index(statuses[:], q.Status))} // -1, which no event has
	}
	before, id, behind, err := pages.ByUUID(q.After)
	switch {
	case err != nil:
		return "", nil, false, err
	case !behind:
		before = sqltext.EndOfTime
	}
	if to := sqltext.Ceil(q.To); !q.To.IsZero() && !to.After(before) {
		before, id = to, uuid.Nil
	}
	from := sqltext.FirstTime
	if !q.From.IsZero() {
		from = sqltext.Ceil(q.From)
	}
	limit, most := q.Limit+1, "$6"
	size := q.Bytes
	if size <= 0 {
		size = math.MaxInt
	}
	args = []any{sqltext.Bytes(org), numbers, sqltext.Upper(before), id, sqltext.Bound(from), limit, size}
	if q.IdempotencyKey != "" {
		return listEventsOfKey, append(args, sqltext.Bytes(q.IdempotencyKey), sqltext.BytesIf(q.Source, q.Source != "")), false, nil
	}
	if i, _ := slices.BinarySearch(listSteps, limit); i < len(listSteps) {
		most, keep = strconv.Itoa(listSteps[i]), true
	}
	if q.Source != "" {
		return listEventsOfSource + most + listEventsThen, append(args, sqltext.Bytes(q.Source)), keep, nil
	}
	return listEvents + most + listEventsThen, args, keep, nil
}

// events lists events.
func (t *Store) events(ctx context.Context, org, statement string, args ...any) ([]trigger.Event, error) {
	return engine.ListOf(ctx, t.db, org, func(rows pgx.Rows) (e trigger.Event, err error) {
		var r eventRow
		if err := rows.Scan(r.to()...); err != nil {
			return e, err
		}
		return r.event()
	}, statement, args...)
}

// unqueuedEvents is for a time and a limit.
const unqueuedEvents = "SELECT " + eventColumns + " FROM @.trigger_events" +
	" WHERE unqueued_since < $1 AND status = " + received + " AND " + eventNotDeleted +
	" ORDER BY unqueued_since LIMIT $2"

// Unqueued implements [trigger.Unfinished].
func (t *Store) Unqueued(ctx context.Context, before time.Time, limit int) ([]trigger.Event, error) {
	return t.events(ctx, engine.NoOrg, unqueuedEvents, sqltext.Upper(before), max(limit, 0))
}

// staleEvents is for two times and a limit. Of an event that was stored together with its
// job checked_at is NULL, and it is not in trigger_events_checked: nobody asks for those.
// But for their sake, a look at what is due must not read rows.
const (
	staleEvents = "SELECT " + eventColumns + " FROM (" +
		"(SELECT " + eventColumns + staleEvent + " AND status IN (" + received + ", " + processing + ") AND checked_at IS NULL AND due_at IS NULL LIMIT $3)" +
		" UNION ALL" +
		" (SELECT " + eventColumns + staleEvent + " AND status IN (" + received + ", " + processing + ") AND checked_at IS NULL AND due_at < $2 LIMIT $3)" +
		" UNION ALL" +
		" (SELECT " + eventColumns + staleEvent + " AND status < " + completed + " AND checked_at < $1 AND (due_at IS NULL OR due_at < $2)" +
		" ORDER BY checked_at LIMIT $3)" +
		") AS e ORDER BY checked_at NULLS FIRST LIMIT $3"
	staleEvent = " FROM @.trigger_events WHERE unqueued_since IS NULL AND " + eventNotDeleted
)

// Stale implements [trigger.Unfinished].
func (t *Store) Stale(ctx context.Context, checked, due time.Time, limit int) ([]trigger.Event, error) {
	if err := ctx.Err(); err != nil || checked.IsZero() {
		return nil, err
	}
	if due.IsZero() {
		due = sqltext.EndOfTime
	}
	return t.events(ctx, engine.NoOrg, staleEvents, sqltext.Upper(checked), sqltext.Upper(due), max(limit, 0))
}
