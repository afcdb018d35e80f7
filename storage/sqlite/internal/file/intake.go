package file

import (
	"context"
	"time"
)

// maxIntake bounds how many operations that bring work are under way while workers of this
// process take it up. A worker has as many operations under way as it makes attempts. If
// more callers bring work than that, transactions are mostly theirs, and the worker falls
// behind the further the more there are.
const maxIntake = 64

// Bring is Write for an operation that brings work of an organization. While workers
// of this process take work up, the organizations take turns.
func (db *File) Bring(ctx context.Context, org string, do func(*Tx) error) error {
	// A transaction of the host's has the file: those who have a place wait for its end.
	if !db.working() || hostTxOf(ctx, db) != nil {
		return db.writer.write(ctx, do)
	}
	called := time.Now()
	if err := takePlace(ctx, db.intake, db.writer.ctx.Done(), org); err != nil {
		return err
	}
	defer db.intake.Give(org)
	return db.writer.writeSince(ctx, called, do)
}
