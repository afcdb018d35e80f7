package sqlite

import (
	"math"

	"github.com/seed-6363c74e/mortise/authmgmt"
)

// placedRows says what a listing of package authmgmt shows: clients, tokens, or
// invitations.
type placedRows struct {
	key     string // of the rows of the page
	from    string // of them: a table and a condition, whose values are numbered
	columns string // that are read
	join    string // of the page with what has the columns
	alias   string // of created_at and id there
	last    string // what the rows of one item are ordered by, if there can be more than one
	desc    bool
}

// placedList holds the statements of a listing, so that they are written once.
type placedList struct {
	start, startTotal, after, afterTotal string
}

func (r *placedRows) list() placedList {
	return placedList{
		start: r.statement(false, false), startTotal: r.statement(false, true),
		after: r.statement(true, false), afterTotal: r.statement(true, true),
	}
}

// statement returns the query of a page, behind a position or from an offset on.
func (r *placedRows) statement(after, total bool) string {
	direction, than := "", ">"
	if r.desc {
		direction, than = " DESC", "<"
	}
	page, limit := "SELECT "+r.key+r.from, " LIMIT 0 + ? OFFSET ?"
	if after {
		page, limit = page+" AND (created_at, id) "+than+" (?, ?)", " LIMIT 0 + ?"
	}
	count := "SELECT 0"
	if total {
		count = "SELECT count(*)" + r.from
	}
	// The total comes with each row, and alone if the page is empty. A join promises no
	// order, so the page is sorted once more.
	return "WITH page AS MATERIALIZED (" + page + " ORDER BY created_at" + direction + ", id" + direction + limit + ")," +
		" total (n) AS (" + count + ")" +
		" SELECT " + r.columns + ", n FROM total LEFT JOIN page p" + r.join +
		" ORDER BY " + r.alias + ".created_at" + direction + ", " + r.alias + ".id" + direction + r.last
}

// page returns the query of the page that p selects, and of one row more. which are the
// values of the listing's condition, and id is that of the position.
func (l *placedList) page(p authmgmt.Paging, which []any, id any) (statement string, args []any) {
	limit := min(max(p.Limit, 0), math.MaxInt-1) + 1
	args = append(args, which...)
	switch {
	case p.After.IsZero():
		statement, args = l.start, append(args, limit, max(p.Offset, 0))
		if p.Total {
			statement = l.startTotal
		}
	default:
		statement, args = l.after, append(args, p.After.At.UnixMicro(), id, limit)
		if p.Total {
			statement = l.afterTotal
		}
	}
	return statement, args
}

// cutPage takes the row more off the items of a page, and returns where the next one
// begins.
func cutPage[T any](items []T, p authmgmt.Paging, at func(*T) authmgmt.Position) ([]T, authmgmt.Position) {
	limit := max(p.Limit, 0)
	switch {
	case limit == 0:
		return nil, authmgmt.Position{}
	case len(items) <= limit:
		return items, authmgmt.Position{}
	}
	return items[:limit], at(&items[limit-1])
}
