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
	"time"

	"github.com/seed-6363c74e/mortise/storage/sqlite"
	"github.com/seed-6363c74e/mortise/trigger"
)

// databaseFile is the name of the database in the data folder.
const databaseFile = "mortise.db"

// busyTimeout is how long a request waits for a lock that another process holds. Many HTTP clients give up after 5 s; they shall hear
// that the storage is unavailable before that.
const busyTimeout = 4 * time.Second

// openSQLite is the storage of -data: one file in a folder, which is made if it is missing. Several servers on one machine may
// share it.
func openSQLite(ctx context.Context, folder string, log *slog.Logger) (*backends, error) {
	err := makeFolder(filepath.Clean(folder), log)
	if err != nil && mayPass(err) {
		return nil, fmt.Errorf("-data: %w", err)
	}
	if err != nil {
		return nil, usagef("-data: %w", err)
	}
	db, err := sqlite.Open(ctx, filepath.Join(folder, databaseFile), &sqlite.Options{BusyTimeout: busyTimeout})
	if err != nil && (ctx.Err() != nil || mayPass(err)) {
		return nil, fmt.Errorf("-data: %w", err)
	}
	if err != nil {
		return nil, usagef("-data: %w", err)
	}
	t := db.Trigger()
	return &backends{
		trigger: triggerBackend{
			store:         t,
			organizations: t,
			keys:          t,
			queue:         t.Queue(&trigger.LeaseOptions{Logger: log}),
		},
		kept:  "in the folder " + folder,
		close: db.Close,
	}, nil
}

// mayPass says whether a database that cannot be opened now may be opened later with nothing changed by the operator. All other
// errors say that the file is damaged, is none of ours or is out of reach.
func mayPass(err error) bool {
	for _, passing := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EIO, syscall.EMFILE, syscall.ENFILE} {
		if errors.Is(err, passing) {
			return true
		}
	}
	var coded interface{ Code() int } // SQLite's own result code, of which the low byte is the kind: https://www.sqlite.org/rescode.html
	if !errors.As(err, &coded) {
		return false
	}
	switch coded.Code() & 0xff {
	case 5, 6, 7, 9, 10, 13: // busy, locked, no memory, interrupted, I/O error, disk full
		return true
	}
	return false
}

// makeFolder makes a folder, and those above it, for this user alone. One that is there stays as it is.
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

// syncFolder puts what was made in a folder on the disk. The database does that for its own files, not for the folder they are in.
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
