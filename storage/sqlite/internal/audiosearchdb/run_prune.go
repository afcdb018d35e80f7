package audiosearchdb

import (
	"context"
	"encoding/json"
	"time"

	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
)

const (
	// The results of the runs of a list go later, see dropResults.
	removeRuns = "DELETE FROM audiosearch_runs WHERE id IN (SELECT value FROM json_each(?))"
	leaveSets  = "UPDATE audiosearch_result_sets SET run = NULL WHERE run IN (SELECT value FROM json_each(?))"

	finishedRuns = "SELECT id FROM audiosearch_runs WHERE finished_at < ? AND wake_at IS NULL ORDER BY finished_at LIMIT 0 + ?"
	endedRuns    = "FROM audiosearch_runs WHERE state = 'TERMINATED' AND organization "
	nextOfEnded  = "SELECT organization " + endedRuns + ">= ? ORDER BY organization LIMIT 1"
	firstTooMany = "SELECT finished_at, id " + endedRuns + "= ? ORDER BY finished_at DESC, id DESC LIMIT 1 OFFSET ?"
	tooMany      = "SELECT id " + endedRuns + "= ?1 AND (finished_at < ?2 OR finished_at IS ?2 AND id <= ?3" +
		" OR ?2 IS NOT NULL AND finished_at IS NULL) AND wake_at IS NULL ORDER BY finished_at, id LIMIT 0 + ?4"
)

// PruneRuns implements [audiosearch.Pruner].
func (a *Store) PruneRuns(ctx context.Context, before time.Time, limit int) (n int, more bool, err error) {
	return a.removeRuns(ctx, finishedRuns, limit, file.CeilMicros(before))
}

// TrimRuns implements [audiosearch.Pruner].
func (a *Store) TrimRuns(ctx context.Context, keep, limit int) (n int, more bool, err error) {
	for from := ""; n < limit; {
		org, found := "", false
		err := a.db.List(ctx, file.NoOrg, nextOfEnded, []any{from}, func(r *file.Row) error {
			org, found = r.Text(0), true
			return nil
		})
		if err != nil || !found {
			return n, false, err
		}
		var bound []any
		err = a.db.List(ctx, file.NoOrg, firstTooMany, []any{org, max(keep, 0)}, func(r *file.Row) error {
			bound = []any{file.Cell[any](r, 0), file.Cell[int64](r, 1)}
			return nil
		})
		if err != nil {
			return n, false, err
		}
		for more = bound != nil; more && n < limit; {
			// If runs end meanwhile, those up to the bound are too many all the same.
			var removed int
			removed, more, err = a.removeRuns(ctx, tooMany, limit-n, append([]any{org}, bound...)...)
			if n += removed; err != nil {
				return n, false, err
			}
		}
		from = org + "\x00" // the next text there can be
	}
	return n, true, ctx.Err()
}

// removeRuns removes some of the runs that a query lists, whose last argument is how many it
// lists: other writes wait for so long.
func (a *Store) removeRuns(
	ctx context.Context, query string, limit int, args ...any,
) (n int, more bool, err error) {
	limit = min(limit, file.PruneStep)
	removed := 0
	err = a.db.Write(ctx, func(tx *file.Tx) error {
		var ids []int64
		err := tx.Query(query, append(args[:len(args):len(args)], limit), func(r *file.Row) error {
			ids = append(ids, file.Cell[int64](r, 0))
			return nil
		})
		if removed = len(ids); err != nil || removed == 0 {
			return err
		}
		list, err := json.Marshal(ids)
		if err != nil {
			return err
		}
		return tx.Apply(file.Do(leaveSets, string(list)), file.Do(removeRuns, string(list)))
	})
	if err != nil { // the writer may still be at it
		return 0, false, err
	}
	return removed, removed == limit, nil
}
