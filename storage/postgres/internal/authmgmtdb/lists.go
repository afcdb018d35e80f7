package authmgmtdb

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/engine"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/sqltext"
)

// placedRows is the statement of a list of package authmgmt: clients, tokens, or invitations.
type placedRows struct {
	key     string // of the rows of the page
	from    string // of them: a table and a condition, whose arguments come first
	columns string // that are read
	join    string // of the page with what has the columns
	alias   string // of created_at and id there
	last    string // what the rows of one item are ordered by, if there can be more than one
	desc    bool
}

// page returns the query of a page, and of one item more. which are the arguments of the
// list's condition; at and id are where the page begins.
func (r *placedRows) page(which []any, at time.Time, id any, behind bool, limit int) (statement string, args []any) {
	direction, than := "", ">"
	if r.desc {
		direction, than = " DESC", "<"
	}
	page := "SELECT " + r.key + r.from
	args = append(args, which...)
	if behind {
		page += fmt.Sprintf(" AND (created_at, id) %s ($%d, $%d)", than, len(args)+1, len(args)+2)
		args = append(args, sqltext.Upper(at), id)
	}
	args = append(args, limit+1)
	return "WITH page AS MATERIALIZED (" + page + " ORDER BY created_at" + direction + ", id" + direction + fmt.Sprintf(" LIMIT $%d)", len(args)) +
		" SELECT " + r.columns + " FROM page p" + r.join +
		" ORDER BY " + r.alias + ".created_at" + direction + ", " + r.alias + ".id" + direction + r.last, args
}

// countListed counts the rows of a list, up to a number.
func (a *Store) countListed(ctx context.Context, org string, r *placedRows, which []any, most int) (mortise.Count, error) {
	var n int
	err := a.db.Read(ctx, org, func(s *engine.Session) error {
		limit := fmt.Sprintf(" LIMIT $%d", len(which)+1)
		return s.Row("SELECT count(*) FROM (SELECT"+r.from+limit+") AS listed", append(which[:len(which):len(which)], most+1), &n)
	})
	if err != nil {
		return mortise.Count{}, err
	}
	return mortise.CountUpTo(n, most), nil
}
