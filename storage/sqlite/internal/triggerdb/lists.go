package triggerdb

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/pages"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
	"github.com/seed-6363c74e/mortise/trigger"
)

// ListEvents implements [trigger.Store].
func (t *Store) ListEvents(ctx context.Context, org string, q trigger.EventQuery) (mortise.Page[trigger.Event], error) {
	statement, args, err := listStatement(org, &q)
	if err != nil {
		return mortise.Page[trigger.Event]{}, err
	}
	compare := func(a, b trigger.Event) int { return b.Position().Compare(a.Position()) }
	return t.page(ctx, org, statement, args, q.Limit, (*trigger.Event).Position, compare)
}

// page runs a statement that ends with eventsOfPage. place is where an event is in the list.
// compare does not call it: the events of a call through a variable are allocated.
func (t *Store) page(
	ctx context.Context, org, statement string, args []any, limit int,
	place func(*trigger.Event) mortise.Position, compare func(a, b trigger.Event) int,
) (mortise.Page[trigger.Event], error) {
	var events []trigger.Event
	found := 0
	err := t.db.List(ctx, org, statement, args, func(r *file.Row) error {
		if events == nil {
			found = r.Number(foundField)
			events = make([]trigger.Event, 0, found)
		}
		events = append(events, trigger.Event{})
		return scanEvent(r, &events[len(events)-1])
	})
	if err != nil {
		return mortise.Page[trigger.Event]{}, err
	}
	slices.SortFunc(events, compare)
	page := mortise.Page[trigger.Event]{Items: events[:min(limit, len(events))]}
	if n := len(page.Items); n < found {
		page.Next = place(&page.Items[n-1]).Cursor()
	}
	return page, nil
}

// allEnded and allOpen are for a status, the place behind which the page begins, a limit and
// bytes; allOpen then for a time before which the events are due.
var (
	allEnded = "WITH page AS MATERIALIZED (" +
		endedIn + "trigger_events_finished WHERE idempotency_key IS NULL" + endedBefore + " UNION ALL " +
		endedIn + "trigger_events_finished_keyed WHERE idempotency_key IS NOT NULL" + endedBefore +
		" ORDER BY at DESC, id DESC LIMIT 0 + ?4)" + newestOfPage + "?5"

	allOpen = "WITH page AS MATERIALIZED (" +
		"SELECT rowid AS found, due_at AS at, id FROM trigger_events INDEXED BY trigger_events_open WHERE " + isOpen + " AND status = ?1" +
		" AND (due_at, id) > (?2, ?3) AND due_at < ?6 AND " + eventNotDeleted +
		" ORDER BY at, id LIMIT 0 + ?4)" + oldestOfPage + "?5"
)

const (
	endedIn     = "SELECT rowid AS found, finished_at AS at, id FROM trigger_events INDEXED BY "
	endedBefore = " AND status = ?1 AND finished_at IS NOT NULL AND (finished_at, id) < (?2, ?3) AND " + eventNotDeleted
)

// AllEvents implements [trigger.Store].
func (t *Store) AllEvents(ctx context.Context, q trigger.AllQuery) (mortise.Page[trigger.Event], error) {
	at, id, behind, err := pages.ByUUID(q.After)
	if err != nil {
		return mortise.Page[trigger.Event]{}, err
	}
	statement, ended, from := allOpen, q.Status.Finished(), int64(math.MinInt64)
	compare := func(a, b trigger.Event) int { return q.Position(&a).Compare(q.Position(&b)) }
	if ended {
		statement, from = allEnded, math.MaxInt64
		compare = func(a, b trigger.Event) int { return q.Position(&b).Compare(q.Position(&a)) }
	}
	if behind {
		from = at.UnixMicro()
	}
	args := []any{slices.Index(statuses[:], q.Status), from, id[:], q.Limit + 1, bytesOrAll(q.Bytes)}
	if !ended {
		due := int64(math.MaxInt64)
		if !q.DueBefore.IsZero() {
			due = file.CeilMicros(q.DueBefore)
		}
		args = append(args, due)
	}
	return t.page(ctx, file.NoOrg, statement, args, q.Limit, q.Position, compare)
}

// bytesOrAll returns the bytes that end a page.
func bytesOrAll(bytes int) int {
	if bytes <= 0 {
		return math.MaxInt
	}
	return bytes
}

// listStatement returns the query of ListEvents, which looks for one event more than the
// page holds. It finds all of them before it returns the first, in no order: the driver ends a
// query with its context only until the first row.
//
// It reads an index, and no more of it than it returns. There are two indexes: one begins
// with the organization and the status, the other with the organization, the source and
// the status. Without a status, the listings of all statuses are merged: there are few.
func listStatement(org string, q *trigger.EventQuery) (statement string, args []any, err error) {
	at, id, behind, err := pages.ByUUID(q.After)
	if err != nil {
		return "", nil, err
	}
	bind := func(value any) (parameter string) {
		args = append(args, value)
		return "?" + strconv.Itoa(len(args))
	}
	where := []string{"organization = " + bind(org)}
	and := func(condition string) { where = append(where, condition) }
	if q.Source != "" {
		and("source = " + bind(q.Source))
	}
	if q.IdempotencyKey != "" {
		and("idempotency_key = " + bind(q.IdempotencyKey))
	}
	if !q.From.IsZero() {
		and("submitted_at >= " + bind(file.CeilMicros(q.From)))
	}
	// Of the two upper bounds only the narrower one, or SQLite would begin each page at
	// the wider.
	switch {
	case !q.To.IsZero() && (!behind || file.CeilMicros(q.To) <= at.UnixMicro()):
		and("submitted_at < " + bind(file.CeilMicros(q.To)))
	case behind:
		and("(submitted_at, id) < (" + bind(at.UnixMicro()) + ", " + bind(id[:]) + ")")
	}
	const columns = "SELECT rowid AS found, submitted_at AS at, id FROM trigger_events WHERE "
	var listings []string
	switch {
	case q.Status != "": // -1, which no event has, if there is no such status
		and("status = " + strconv.Itoa(slices.Index(statuses[:], q.Status)))
		listings = []string{columns + strings.Join(where, " AND ")}
	case q.IdempotencyKey != "": // which one event has at most
		listings = []string{columns + strings.Join(where, " AND ")}
	default:
		for status := range statuses {
			listings = append(listings, columns+strings.Join(where, " AND ")+" AND status = "+strconv.Itoa(status))
		}
	}
	page := strings.Join(listings, " UNION ALL ") + " ORDER BY at DESC, id DESC LIMIT 0 + " + bind(q.Limit+1)
	return "WITH page AS MATERIALIZED (" + page + ")" + newestOfOrg + bind(bytesOrAll(q.Bytes)), args, nil
}

// These read the events of a table "page" of rowids, in its order, until their sizes reach the
// bytes that follow. Each row has the number of rowids, too. newestOfOrg is for a list of the
// organization ?1.
var (
	newestOfOrg  = eventsOfPage(" DESC", triggerNotDeleted+" AND ")
	newestOfPage = eventsOfPage(" DESC", "")
	oldestOfPage = eventsOfPage("", "")
)

func eventsOfPage(direction, condition string) string {
	return ", sized AS MATERIALIZED (SELECT found, count(*) OVER () AS n," +
		" sum(" + eventSize + ") OVER (ORDER BY p.at" + direction + ", p.id" + direction + " ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before" +
		" FROM page p CROSS JOIN trigger_events ON trigger_events.rowid = found)" +
		" SELECT " + eventFields("e") + ", n" +
		" FROM sized CROSS JOIN trigger_events e ON e.rowid = found WHERE " + condition + "ifnull(before, 0) < "
}

// foundField is the column behind eventFields there.
const foundField = 25
