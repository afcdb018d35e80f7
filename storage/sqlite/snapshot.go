package sqlite

import (
	"context"
	"errors"
)

// snapshot calls read with a connection on which all queries see the same state of the database. read may be called more than once; an error of its
// own costs the connection, so it is for failures only.
func (db *DB) snapshot(ctx context.Context, read func(*conn) error) error {
	return db.lister.use(ctx, db.busy, func(c *conn) error {
		if _, err := c.exec(unbounded, "BEGIN"); err != nil {
			return err
		}
		err := read(c)
		_, end := c.exec(unbounded, "ROLLBACK") // there is nothing to commit
		return errors.Join(err, end)
	})
}
