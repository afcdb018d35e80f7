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
	var events []trigger.Event
	found := 0
	err = t.db.List(ctx, org, statement, args, func(r *file.Row) error {
		var e trigger.Event
		err := scanEvent(r, &e)
		events, found = append(events, e), r.Number(foundField)
		return err
	})
	if err != nil {
		return mortise.Page[trigger.Event]{}, err
	}
	slices.SortFunc(events, func(a, b trigger.Event) int { return b.Position().Compare(a.Position()) })
	page := mortise.Page[trigger.Event]{Items: events[:min(q.Limit, len(events))]}
	if n := len(page.Items); n < found {
		page.Next = page.Items[n-1].Position().Cursor()
	}
	return page, nil
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
	const columns = "SELECT rowid AS found, submitted_at, id FROM trigger_events WHERE "
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
	page := strings.Join(listings, " UNION ALL ") + " ORDER BY submitted_at DESC, id DESC LIMIT 0 + " + bind(q.Limit+1)
	most := q.Bytes
	if most <= 0 {
		most = math.MaxInt
	}
	return "WITH page AS MATERIALIZED (" + page + ")" + eventsOfPage + bind(most), args, nil
}

// eventsOfPage reads the events of a table "page" of rowids, until their sizes reach the bytes
// that follow. Each row has the number of rowids, too.
var eventsOfPage = ", sized AS MATERIALIZED (SELECT found, count(*) OVER () AS n," +
	" sum(" + eventSize + ") OVER (ORDER BY p.submitted_at DESC, p.id DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before" +
	" FROM page p CROSS JOIN trigger_events ON trigger_events.rowid = found)" +
	" SELECT " + eventFields("e") + ", n" +
	" FROM sized CROSS JOIN trigger_events e ON e.rowid = found WHERE " + triggerNotDeleted + " AND ifnull(before, 0) < "

// foundField is the column behind eventFields there.
const foundField = 21
