package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/storage/sqlite"
)

// databaseFile is the name of the database in the data folder.
const databaseFile = "mortise.db"

// openSQLite is the storage of -data: one file in a folder, which is made if it is
// missing. Several servers on one machine may share it.
func openSQLite(ctx context.Context, folder string, log *slog.Logger) (*backends, error) {
	if err := makeFolder(filepath.Clean(folder), log); err != nil {
		return nil, blame("-data", err)
	}
	db, err := sqlite.Open(ctx, filepath.Join(folder, databaseFile), nil)
	if err != nil {
		return nil, about("-data", err, sqlite.ErrUnusable)
	}
	back := backendsOf(db, "in the folder "+folder, log)
	back.others = []httpadapter.Part{{Name: "storage", Ping: db.Ping}} // whether writes succeed; the services ask whether reads do
	return back, nil
}

// openExisting opens the database in a folder that a flag names. It makes none.
func openExisting(ctx context.Context, flag, folder string) (*sqlite.DB, error) {
	path := filepath.Join(folder, databaseFile)
	if info, err := os.Stat(path); err != nil {
		return nil, usagef("%s: %w", flag, err)
	} else if !info.Mode().IsRegular() || info.Size() == 0 {
		return nil, usagef("%s: %s is no database", flag, path)
	}
	db, err := sqlite.Open(ctx, path, nil)
	return db, about(flag, err, sqlite.ErrUnusable)
}

// blame says which flag an error of the file system is about. It is the operator's, unless
// it may be gone at another time.
func blame(flag string, err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EIO) {
		return fmt.Errorf("%s: %w", flag, err)
	}
	return usagef("%s: %w", flag, err)
}

// makeFolder makes a folder, and those above it, for this user alone. One that is there
// stays as it is.
func makeFolder(path string, log *slog.Logger) error {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return nil
	case err == nil:
		return fmt.Errorf("%s is not a folder", path)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	parent := filepath.Dir(path)
	if parent == path { // a drive that is not there
		return err
	}
	if err := makeFolder(parent, log); err != nil {
		return err
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		if info, statErr := os.Stat(path); statErr == nil && info.IsDir() {
			return nil // another server was faster
		}
		return err
	}
	if err := syncFolder(parent); err != nil {
		log.Warn("a power cut in the next seconds may take the data folder with it", "folder", path, "error", err)
	}
	return nil
}

// syncFolder puts what was made in a folder on the disk. The database does that for its
// own files, not for the folder they are in.
func syncFolder(path string) error {
	if runtime.GOOS == "windows" {
		return nil // has no such thing
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
