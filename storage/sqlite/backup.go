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

// Backup writes a copy of the database to a new file at path (mode 0600), while reads and
// writes go on: what was acknowledged before the call is in it. The copy is complete and
// on the disk when Backup returns. A file that is there already is not touched: the error
// is fs.ErrExist. Until it is complete, the copy has a name of its own in the same
// folder, which ends in ".partial"; a process that dies meanwhile leaves that behind.
//
// To restore a backup, stop every program that uses the database, remove the files beside
// it (its name with -wal and -shm added), and put the backup in its place. With the -wal
// file of another database beside it, SQLite would damage it.
//
// It is VACUUM INTO (https://www.sqlite.org/lang_vacuum.html). A plain copy of the file
// while a program has it open is not whole: what is in the -wal file is missing.
func (db *file) Backup(ctx context.Context, path string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("sqlite: backup: %w", err)
		}
	}()
	if db.writer.ctx.Err() != nil {
		return ErrClosed
	}
	if err := db.checker.err(); err != nil {
		return err
	}
	// SQLite would take some relative paths for addresses.
	if path, err = filepath.Abs(path); err != nil {
		return err
	}
	if _, err := os.Lstat(path); err == nil {
		return &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
	}
	// An empty file counts as none for SQLite, and has the mode that we want.
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.partial")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	err = db.copyTo(ctx, f.Name())
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := publish(f.Name(), path); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(path))
}

// publish gives a file its name. It replaces nothing, as far as the file system has hard
// links.
func publish(partial, path string) error {
	err := os.Link(partial, path)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	return os.Rename(partial, path)
}

// copyTo uses a connection of its own: those of the readers are not allowed to write, not
// even elsewhere.
func (db *file) copyTo(ctx context.Context, file string) error {
	s, err := newSource(db.writer.source.path, url.Values{})
	if err != nil {
		return err
	}
	return retryBusy(ctx, db.lister.ended, time.Now().Add(db.busy), func() (err error) {
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

// syncFolder makes the names in a folder durable. It is internal/durable of the core, which a
// backend does not import: backends are written as those of others are.
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
