package file

import (
	"context"
	"time"
)

// PruneStep is how many rows go at a time: other writes wait for so long.
const PruneStep = 100

// Prune removes some rows that ended before a time: other writes wait for so long.
func (db *File) Prune(ctx context.Context, statement string, before time.Time, limit int) (n int, more bool, err error) {
	limit = min(limit, PruneStep)
	var removed int64
	err = db.writer.write(ctx, func(tx *Tx) (err error) {
		removed, err = tx.Exec(statement, CeilMicros(before), limit)
		return err
	})
	if err != nil { // the writer may still be at it
		return 0, false, err
	}
	return int(removed), int(removed) == limit, nil
}
