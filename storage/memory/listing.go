package memory

import (
	"context"
	"sort"
)

// listingStep is how many rows a listing looks at before it leaves the lock to others.
// They take a fraction of a millisecond.
const listingStep = 4096

// position is the place of a row in a listing. Compare is negative if the row is older
// than the other one.
type position[P any] interface{ Compare(P) int }

// newestFirst calls look for rows, the newest first, until look returns false. It begins
// at the newest row, or behind a position. all returns the rows, oldest first. all and
// look are called under the lock.
//
// It leaves the lock after each step. Otherwise a filter that few of many rows pass would
// hold up the writes of all organizations. So a long listing shows each row as it was at
// some moment of the call, and not all as they were at the same moment.
func newestFirst[T any, P position[P]](
	ctx context.Context, db *DB, after *P, all func(*tables) []T, at func(*T) P, look func(*T) (more bool),
) error {
	step := func() (more bool, err error) {
		c, err := db.read(ctx)
		if err != nil {
			return false, err
		}
		defer c.end()
		rows := all(c.tables)
		if after != nil { // rows may have come and gone since the last step
			rows = rows[:sort.Search(len(rows), func(i int) bool { return at(&rows[i]).Compare(*after) >= 0 })]
		}
		first := max(0, len(rows)-listingStep)
		for i := len(rows) - 1; i >= first; i-- {
			if !look(&rows[i]) {
				return false, nil
			}
		}
		if first > 0 {
			last := at(&rows[first])
			after = &last
		}
		return first > 0, nil
	}
	for {
		if more, err := step(); err != nil || !more {
			return err
		}
	}
}
