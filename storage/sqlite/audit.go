package sqlite

import (
	"context"
	"strings"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/pages"
)

// auditTable is the audit trail of a domain. It has the columns seq, organization, kind,
// actor, at and id, and one for what an event is about, by which there is an index.
type auditTable struct {
	table   string
	columns string // that a listing reads
	about   string
	index   string // by organization and about

	// deleted has the organizations that were deleted, each with the seq of the event that
	// says so; "": none ever is.
	deleted string
}

// auditSelection is what the domains can ask their trails for. Zero fields but limit
// select everything.
type auditSelection struct {
	kind, actor, about string
	from, to           time.Time
	after              mortise.Cursor
	limit              int
}

// listing returns a query of events. Of an organization that was deleted, it finds just
// the event that says so, whatever is selected: pages.Older looks at it again. Like
// listStatement's, it looks for one event more than the page holds, and finds all of them
// before it returns the first.
func (t *auditTable) listing(org string, q *auditSelection) (statement string, args []any, err error) {
	at, id, behind, err := pages.ByUUID(q.after)
	if err != nil {
		return "", nil, err
	}
	from, where := t.table, []string{"organization = ?1"}
	if t.deleted != "" {
		where = append(where, "NOT EXISTS (SELECT 1 FROM "+t.deleted+" WHERE organization = ?1)")
	}
	args = []any{org}
	and := func(condition string, values ...any) {
		where, args = append(where, condition), append(args, values...)
	}
	if q.kind != "" {
		and("kind = ?", q.kind)
	}
	if q.actor != "" {
		and("actor = ?", q.actor)
	}
	if q.about != "" {
		from += " INDEXED BY " + t.index // or SQLite would take two bounds for narrower
		and(t.about+" = ?", q.about)
	}
	if !q.from.IsZero() {
		and("at >= ?", ceilMicros(q.from))
	}
	// Of the two upper bounds only the narrower one, or SQLite would begin each page at
	// the wider.
	switch {
	case !q.to.IsZero() && (!behind || ceilMicros(q.to) <= at.UnixMicro()):
		and("at < ?", ceilMicros(q.to))
	case behind:
		and("(at, id) < (?, ?)", at.UnixMicro(), id[:])
	}
	page := "SELECT seq AS found FROM " + from + " WHERE " + strings.Join(where, " AND ") + " ORDER BY at DESC, id DESC LIMIT 0 + ?"
	statement = "WITH page AS MATERIALIZED (" + page + ") SELECT " + t.columns + " FROM page CROSS JOIN " + t.table + " ON seq = found"
	if t.deleted != "" {
		statement += " UNION ALL SELECT " + t.columns + " FROM " + t.table + " WHERE seq = (SELECT event FROM " + t.deleted +
			" WHERE organization = ?1) AND organization = ?1"
	}
	return statement, append(args, q.limit+1), nil
}

// prune removes some rows that ended before a time: other writes wait for so long.
func (db *file) prune(ctx context.Context, statement string, before time.Time, limit int) (n int, more bool, err error) {
	limit = min(limit, pruneStep)
	var removed int64
	err = db.writer.write(ctx, func(tx *tx) (err error) {
		removed, err = tx.exec(statement, ceilMicros(before), limit)
		return err
	})
	if err != nil { // the writer may still be at it
		return 0, false, err
	}
	return int(removed), int(removed) == limit, nil
}
