package audiosearchdb

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/internal/pages"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
)

// ListRuns implements [audiosearch.Runs].
func (a *Store) ListRuns(
	ctx context.Context, org string, q audiosearch.RunQuery,
) (page mortise.Page[audiosearch.Run], err error) {
	statement, args, err := listRuns(org, &q)
	if err != nil {
		return page, err
	}
	var runs []audiosearch.Run
	err = a.db.List(ctx, org, statement, args, func(r *file.Row) error {
		runs = append(runs, audiosearch.Run{})
		return scanRun(r, &runs[len(runs)-1])
	})
	if err != nil {
		return page, err
	}
	slices.SortFunc(runs, func(a, b audiosearch.Run) int { return b.Position().Compare(a.Position()) })
	return pages.Cut(runs, q.Limit, (*audiosearch.Run).Position), nil
}

// runsOfPage reads the runs of a table "page" of IDs.
const runsOfPage = runSelect + " FROM page CROSS JOIN audiosearch_runs ON id = found"

// listRuns returns the query of ListRuns. It finds all runs before it returns the first,
// in no order: the driver ends a query with its context only until the first row.
//
// It reads an index in its order, and passes over few rows that are not asked for: where
// open ones are, all that are open, and those that are open where ended ones are. Only
// who asks for their runs over one dataset passes over theirs over others. A page begins
// at the time of its position, with those of the same microsecond.
func listRuns(org string, q *audiosearch.RunQuery) (statement string, args []any, err error) {
	created, id, behind, err := pages.ByNumber(q.After)
	if err != nil {
		return "", nil, err
	}
	bind := func(value any) (parameter string) {
		args = append(args, value)
		return "?" + strconv.Itoa(len(args))
	}
	where := []string{"organization = " + bind(org) + andThere}
	and := func(condition string) { where = append(where, condition) }
	index := "audiosearch_runs_created"
	if q.Dataset != "" {
		and("dataset = " + bind(q.Dataset))
		index = "audiosearch_runs_dataset"
	}
	if q.Actor != "" {
		and("actor = " + bind(string(q.Actor)))
		index = "audiosearch_runs_actor"
	}
	if q.Open || q.State != "" && q.State != audiosearch.StateTerminated {
		and("state <> 'TERMINATED'")
		index = "audiosearch_runs_waiting"
	}
	if q.State != "" {
		and("state = " + bind(string(q.State)))
	}
	if !q.From.IsZero() {
		and("created_at >= " + bind(file.CeilMicros(q.From)))
	}
	if behind {
		and("(created_at, id) < (" + bind(created.UnixMicro()) + ", " + bind(id) + ")")
	}
	page := "SELECT id AS found FROM audiosearch_runs INDEXED BY " + index + " WHERE " +
		strings.Join(where, " AND ") + " ORDER BY created_at DESC, id DESC LIMIT 0 + " + bind(q.Limit+1)
	return "WITH page AS MATERIALIZED (" + page + ") " + runsOfPage, args, nil
}
