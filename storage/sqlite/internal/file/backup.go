package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/seed-6363c74e/mortise/internal/durable"
)

// Backup is sqlite.DB.Backup.
func (db *File) Backup(ctx context.Context, path string) (err error) {
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
	return durable.Names(filepath.Dir(path))
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
func (db *File) copyTo(ctx context.Context, file string) error {
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
		defer func() { err = errors.Join(err, c.Close()) }()
		_, err = c.Exec(ctx, "VACUUM INTO ?", file)
		return err
	})
}
