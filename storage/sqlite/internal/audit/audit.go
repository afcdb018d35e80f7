// Package audit has the queries of audit trails, for the rooms that keep one.
package audit

import (
	"strings"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/pages"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
)

// Table is the audit trail of a domain. It has the columns seq, organization, kind,
// actor, at and id, and one for what an event is about, by which there is an index.
type Table struct {
	Table   string
	Columns string // that a listing reads
	About   string
	Index   string // by organization and about

	// Deleted has the organizations that were deleted, each with the seq of the event that
	// says so; "": none ever is.
	Deleted string
}

// Selection is what the domains can ask their trails for. Zero fields but Limit
// select everything.
type Selection struct {
	Kind, Actor, About string
	From, To           time.Time
	After              mortise.Cursor
	Limit              int
}

// Listing returns a query of events. Of an organization that was deleted, it finds just
// the event that says so, whatever is selected: pages.Older looks at it again. Like the
// query of triggerdb's ListEvents, it looks for one event more than the page holds, and
// finds all of them before it returns the first.
func (t *Table) Listing(org string, q *Selection) (statement string, args []any, err error) {
	at, id, behind, err := pages.ByUUID(q.After)
	if err != nil {
		return "", nil, err
	}
	from, where := t.Table, []string{"organization = ?1"}
	if t.Deleted != "" {
		where = append(where, "NOT EXISTS (SELECT 1 FROM "+t.Deleted+" WHERE organization = ?1)")
	}
	args = []any{org}
	and := func(condition string, values ...any) {
		where, args = append(where, condition), append(args, values...)
	}
	if q.Kind != "" {
		and("kind = ?", q.Kind)
	}
	if q.Actor != "" {
		and("actor = ?", q.Actor)
	}
	if q.About != "" {
		from += " INDEXED BY " + t.Index // or SQLite would take two bounds for narrower
		and(t.About+" = ?", q.About)
	}
	if !q.From.IsZero() {
		and("at >= ?", file.CeilMicros(q.From))
	}
	// Of the two upper bounds only the narrower one, or SQLite would begin each page at
	// the wider.
	switch {
	case !q.To.IsZero() && (!behind || file.CeilMicros(q.To) <= at.UnixMicro()):
		and("at < ?", file.CeilMicros(q.To))
	case behind:
		and("(at, id) < (?, ?)", at.UnixMicro(), id[:])
	}
	page := "SELECT seq AS found FROM " + from + " WHERE " + strings.Join(where, " AND ") + " ORDER BY at DESC, id DESC LIMIT 0 + ?"
	statement = "WITH page AS MATERIALIZED (" + page + ") SELECT " + t.Columns + " FROM page CROSS JOIN " + t.Table + " ON seq = found"
	if t.Deleted != "" {
		statement += " UNION ALL SELECT " + t.Columns + " FROM " + t.Table + " WHERE seq = (SELECT event FROM " + t.Deleted +
			" WHERE organization = ?1) AND organization = ?1"
	}
	return statement, append(args, q.Limit+1), nil
}
