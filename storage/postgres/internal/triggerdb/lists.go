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
	listEventsPage   = listEventsOrder + "$6" + pageThen + "$7" + pageOrder + "submitted_at DESC, id DESC"
	listEventsSized  = pageSized + "submitted_at DESC, id DESC" + pageFrom

	listEventsOfKey = listEventsSized + "SELECT " + eventColumns + " FROM @.trigger_events WHERE organization = $1 AND idempotency_key = $8" +
		" AND status = ANY ($2::smallint[]) AND ($9::text IS NULL OR source = $9) AND " + listEventsBounds +
		" AND " + triggerNotDeleted + listEventsPage
)

// These are around a statement that finds the events of a page: pageSized, the order of the
// page, pageFrom, the statement, pageThen, the parameter of the bytes, pageOrder, and the order
// once more. Each row has the number of events that the statement finds, too.
const (
	pageSized = "SELECT " + eventColumns + ", n FROM (SELECT *, count(*) OVER () AS n, sum(" + eventSize + ") OVER (ORDER BY "
	pageFrom  = " ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before FROM ("
	pageThen  = ") AS page) AS sized WHERE coalesce(before, 0) < "
	pageOrder = "::bigint ORDER BY "

	// eventSize is trigger.Event.Size, which does not read the text.
	eventSize = "octet_length(instructions) + coalesce(octet_length(context), 0) + octet_length(last_error)" +
		" + coalesce(octet_length(failures), 0)" +
		" + coalesce(octet_length(outcome_summary), 0) + coalesce(octet_length(outcome_data), 0)"
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
	return t.page(ctx, org, keep, q.Limit, (*trigger.Event).Position, statement, args)
}

// page reads a page by a statement of its events. place is where an event is in the list. keep:
// see listStatement.
func (t *Store) page(
	ctx context.Context, org string, keep bool, limit int, place func(*trigger.Event) mortise.Position, statement string, args []any,
) (mortise.Page[trigger.Event], error) {
	var events []trigger.Event
	found := 0
	err := t.db.Read(ctx, org, func(s *engine.Session) error {
		events, found = nil, 0
		query := s.Query
		if keep {
			query = s.Keep
		}
		var r eventRow // of one row after the other: each sets all of it
		to := append(r.to(), &found)
		return query(func(rows pgx.Rows) error {
			if err := rows.Scan(to...); err != nil {
				return err
			}
			if events == nil {
				events = make([]trigger.Event, 0, found)
			}
			e, err := r.event()
			events = append(events, e)
			return err
		}, statement, args...)
	})
	if err != nil {
		return mortise.Page[trigger.Event]{}, err
	}
	page := mortise.Page[trigger.Event]{Items: events[:min(limit, len(events))]}
	if n := len(page.Items); n < found {
		page.Next = place(&page.Items[n-1]).Cursor()
	}
	return page, nil
}

// listStatement returns the query of ListEvents, which looks for one event more than the
// page holds. keep: the limit stands in its text, so its plan can be kept.
func listStatement(org string, q *trigger.EventQuery) (statement string, args []any, keep bool, err error) {
	numbers := []int16{0, 1, 2, 3, 4, 5}
	if q.Status != "" {
		numbers = []int16{numberOf(q.Status)} // -1, which no event has
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
	args = []any{org, numbers, sqltext.Upper(before), id, sqltext.Bound(from), limit, bytesOrAll(q.Bytes)}
	if q.IdempotencyKey != "" {
		return listEventsOfKey, append(args, q.IdempotencyKey, sqltext.TextIf(q.Source, q.Source != "")), false, nil
	}
	if i, _ := slices.BinarySearch(listSteps, limit); i < len(listSteps) {
		most, keep = strconv.Itoa(listSteps[i]), true
	}
	if q.Source != "" {
		return listEventsOfSource + most + listEventsThen, append(args, q.Source), keep, nil
	}
	return listEvents + most + listEventsThen, args, keep, nil
}

// bytesOrAll returns the bytes that end a page.
func bytesOrAll(bytes int) int {
	if bytes <= 0 {
		return math.MaxInt
	}
	return bytes
}

// allEnded and allOpen are for a status, the place behind which the page begins, a limit and
// bytes; allOpen then for a time before which the events are due. Their indexes have no ID: of
// events with one time they read all, and sort these. The planner believes that
// eventNotDeleted leaves nearly nothing, and would read and sort all events of the status:
// Session.Keep forbids that.
const (
	allEnded = pageSized + newestEnd + pageFrom + "SELECT * FROM (" +
		"(" + endedEvents + " AND idempotency_key IS NULL ORDER BY finished_at DESC" + withTies + ") UNION ALL" +
		" (" + endedEvents + " AND idempotency_key IS NOT NULL ORDER BY finished_at DESC" + withTies + ")" +
		") AS e ORDER BY " + newestEnd + " LIMIT $4" + pageThen + "$5" + pageOrder + newestEnd
	endedEvents = "SELECT " + eventColumns + " FROM @.trigger_events WHERE status = $1 AND finished_at <= $2 AND (finished_at, id) < ($2, $3) AND " + eventNotDeleted
	newestEnd   = "finished_at DESC, id DESC"

	allOpen = pageSized + firstDue + pageFrom + "SELECT * FROM (SELECT " + eventColumns + " FROM @.trigger_events" +
		" WHERE status <> 2 AND status < 4 AND status = $1 AND due_at >= $2 AND (due_at, id) > ($2, $3) AND due_at < $6 AND " + eventNotDeleted +
		" ORDER BY due_at" + withTies + ") AS e ORDER BY " + firstDue + " LIMIT $4" + pageThen + "$5" + pageOrder + firstDue
	firstDue = "due_at, id"

	withTies = " FETCH FIRST $4 ROWS WITH TIES"
)

// AllEvents implements [trigger.Store].
func (t *Store) AllEvents(ctx context.Context, q trigger.AllQuery) (mortise.Page[trigger.Event], error) {
	from, id, behind, err := pages.ByUUID(q.After)
	if err != nil {
		return mortise.Page[trigger.Event]{}, err
	}
	args := []any{numberOf(q.Status), nil, id, q.Limit + 1, bytesOrAll(q.Bytes)}
	if q.Status.Finished() {
		if !behind {
			from = sqltext.EndOfTime
		}
		args[1] = sqltext.Upper(from)
		return t.page(ctx, engine.NoOrg, true, q.Limit, q.Position, allEnded, args)
	}
	if args[1] = sqltext.Bound(from); !behind {
		args[1] = sqltext.FirstTime.Add(-time.Microsecond)
	}
	due := sqltext.EndOfTime
	if !q.DueBefore.IsZero() {
		due = q.DueBefore
	}
	return t.page(ctx, engine.NoOrg, true, q.Limit, q.Position, allOpen, append(args, sqltext.Upper(due)))
}

// overdueEvents is for a time and a limit. Its plan is kept like the plan of allEnded.
const overdueEvents = "SELECT " + eventColumns + " FROM @.trigger_events WHERE wake_at < $1 AND " + eventNotDeleted +
	" ORDER BY wake_at LIMIT $2"

// Overdue implements [trigger.Store].
func (t *Store) Overdue(ctx context.Context, before time.Time, limit int) ([]trigger.Event, error) {
	return engine.ReadOf(ctx, t.db, engine.NoOrg, func(s *engine.Session) (events []trigger.Event, err error) {
		var r eventRow
		to := r.to()
		err = s.Keep(func(rows pgx.Rows) error {
			if err := rows.Scan(to...); err != nil {
				return err
			}
			e, err := r.event()
			events = append(events, e)
			return err
		}, overdueEvents, sqltext.Upper(before), max(limit, 0))
		return events, err
	})
}
