package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/storage/sqlite"
)

// databaseFile is the name of the database in the data folder.
const databaseFile = "mortise.db"

// openSQLite is the storage of -data: one file in a folder, which is made if it is
// missing. Several servers on one machine may share it.
func openSQLite(ctx context.Context, folder string, lease time.Duration, log *slog.Logger) (*backends, error) {
	if err := sqlite.MakeFolder(folder, log); err != nil {
		return nil, blame("-data", err)
	}
	db, err := sqlite.Open(ctx, filepath.Join(folder, databaseFile), nil)
	if err != nil {
		return nil, about("-data", err, sqlite.ErrUnusable)
	}
	back := backendsOf(db, "in the folder "+folder, lease, log)
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
