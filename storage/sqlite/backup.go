package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
)

// Backup writes a copy of the database to a new file at path, while reads and writes go on: what was acknowledged before the call
// is in it. The copy is complete and on the disk when Backup returns; until then it stands in path with ".partial" added. A file that
// is there already is not touched: the error is fs.ErrExist.
//
// It is VACUUM INTO (https://www.sqlite.org/lang_vacuum.html). A copy made by other means, of the one file while the program runs, is
// not whole.
func (db *DB) Backup(ctx context.Context, path string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("sqlite: backup: %w", err)
		}
	}()
	if db.writer.ctx.Err() != nil {
		return ErrClosed
	}
	if _, err := os.Lstat(path); err == nil {
		return &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
	}
	partial := path + ".partial"
	// An empty file counts as none for SQLite, and has the mode that we want.
	f, err := os.OpenFile(partial, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(partial)
		}
	}()
	// Readers' connections are not allowed to write, not even elsewhere.
	pool, err := openPool(db.path, url.Values{})
	if err != nil {
		return errors.Join(err, f.Close())
	}
	err = retryBusy(ctx, db.busy, func() error {
		_, err := pool.ExecContext(ctx, "VACUUM INTO ?", partial)
		return err
	})
	if err := errors.Join(err, pool.Close(), f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(partial, path); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(path))
}

// syncFolder makes the names in a folder durable.
func syncFolder(path string) error {
	if runtime.GOOS == "windows" { // has no such call
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
