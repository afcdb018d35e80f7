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
	"time"
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
	// SQLite would take some relative paths for addresses.
	if path, err = filepath.Abs(path); err != nil {
		return err
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
	err = db.copyTo(ctx, partial)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(partial, path); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(path))
}

// copyTo uses a connection of its own: those of the readers are not allowed to write, not even elsewhere.
func (db *DB) copyTo(ctx context.Context, file string) error {
	s, err := newSource(db.writer.source.path, url.Values{})
	if err != nil {
		return err
	}
	return retryBusy(ctx, db.reader.ended, time.Now().Add(db.busy), func() (err error) {
		if err := db.writer.source.inPlace(); err != nil {
			return err
		}
		c, err := s.connect()
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, c.close()) }()
		_, err = c.exec(ctx, "VACUUM INTO ?", file)
		return err
	})
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
