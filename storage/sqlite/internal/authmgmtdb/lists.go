package authmgmtdb

import (
	"context"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
)

// placedRows is the statement of a list of package authmgmt: clients, tokens, or invitations.
type placedRows struct {
	key     string // of the rows of the page
	from    string // of them: a table and a condition, whose values are numbered
	columns string // that are read
	join    string // of the page with what has the columns
	alias   string // of created_at and id there
	last    string // what the rows of one item are ordered by, if there can be more than one
	desc    bool
}

// placedList holds the statements of a list, so that they are written once.
type placedList struct{ start, behind, count string }

func (r *placedRows) list() placedList {
	return placedList{
		start: r.statement(""), behind: r.statement(" AND (created_at, id) " + r.than() + " (?, ?)"),
		count: "SELECT count(*) FROM (SELECT 1" + r.from + " LIMIT 0 + ?)",
	}
}

func (r *placedRows) than() string {
	if r.desc {
		return "<"
	}
	return ">"
}

// statement returns the query of a page. A join promises no order, so the page is sorted
// once more.
func (r *placedRows) statement(behind string) string {
	direction := ""
	if r.desc {
		direction = " DESC"
	}
	return "WITH page AS MATERIALIZED (SELECT " + r.key + r.from + behind +
		" ORDER BY created_at" + direction + ", id" + direction + " LIMIT 0 + ?)" +
		" SELECT " + r.columns + " FROM page p" + r.join +
		" ORDER BY " + r.alias + ".created_at" + direction + ", " + r.alias + ".id" + direction + r.last
}

// page returns the query of a page, and of one item more. which are the values of the
// list's condition; at and id are where the page begins.
func (l *placedList) page(which []any, at time.Time, id any, behind bool, limit int) (statement string, args []any) {
	if !behind {
		return l.start, append(which, limit+1)
	}
	return l.behind, append(which, at.UnixMicro(), id, limit+1)
}

// countListed counts the rows of a list, up to a number.
func (a *Store) countListed(ctx context.Context, org string, l *placedList, which []any, most int) (n mortise.Count, err error) {
	err = a.db.List(ctx, org, l.count, append(which, most+1), func(r *file.Row) error {
		n = mortise.CountUpTo(r.Number(0), most)
		return nil
	})
	if err != nil {
		return mortise.Count{}, err
	}
	return n, nil
}
