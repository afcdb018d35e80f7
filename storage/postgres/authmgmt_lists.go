package postgres

import (
	"fmt"
	"math"

	"github.com/seed-6363c74e/mortise/authmgmt"
)

// placedRows says what a listing of package authmgmt shows: clients, tokens, or
// invitations.
type placedRows struct {
	key     string // of the rows of the page
	from    string // of them: a table and a condition, whose arguments come first
	columns string // that are read
	join    string // of the page with what has the columns
	alias   string // of created_at and id there
	last    string // what the rows of one item are ordered by, if there can be more than one
	desc    bool
}

// page returns the query of the page that p selects, and of one row more. which are the
// arguments of the listing's condition, and id is that of the position. Each row has the
// total behind its columns. If the page is empty there is one row, whose columns are NULL.
func (r *placedRows) page(p authmgmt.Paging, which []any, id any) (statement string, args []any) {
	direction, than := "", ">"
	if r.desc {
		direction, than = " DESC", "<"
	}
	n := len(which)
	page, limit := "SELECT "+r.key+r.from, fmt.Sprintf(" LIMIT $%d OFFSET $%d", n+1, n+2)
	args = append(args, which...)
	most := min(max(p.Limit, 0), math.MaxInt-1) + 1
	if p.After.IsZero() {
		args = append(args, most, max(p.Offset, 0))
	} else {
		page += fmt.Sprintf(" AND (created_at, id) %s ($%d, $%d)", than, n+1, n+2)
		limit = fmt.Sprintf(" LIMIT $%d", n+3)
		args = append(args, bound(p.After.At), id, most)
	}
	count := "SELECT 0::bigint"
	if p.Total {
		count = "SELECT count(*)" + r.from
	}
	return "WITH page AS MATERIALIZED (" + page + " ORDER BY created_at" + direction + ", id" + direction + limit + ")," +
		" total (n) AS (" + count + ")" +
		" SELECT " + r.columns + ", n FROM total LEFT JOIN page p ON true" + r.join +
		" ORDER BY " + r.alias + ".created_at" + direction + ", " + r.alias + ".id" + direction + r.last, args
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
