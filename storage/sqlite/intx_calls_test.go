package sqlite

import (
	"context"
	"errors"
)

// CallsInTx has each call of the stores and queues made in a transaction of InTx, of its own.
// So the suites find out what does not work there.
func CallsInTx(db *DB) {
	db.writer.hosted = func(ctx context.Context, do func(*tx) error) error {
		var failed error // which must not end the transaction: a savepoint is enough
		err := db.InTx(ctx, func(ctx context.Context, _ *Tx) error {
			failed = hostTxOf(ctx, db.file).write(ctx, do)
			return nil
		})
		return errors.Join(failed, err)
	}
	read := func(ctx context.Context, do func(*conn) error) error {
		var failed error
		err := db.InTx(ctx, func(ctx context.Context, _ *Tx) error {
			failed = hostTxOf(ctx, db.file).read(ctx, do)
			return nil
		})
		return errors.Join(failed, err)
	}
	db.finder.hosted, db.lister.hosted = read, read
}
