package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/seed-6363c74e/mortise/storage/sqlite"
)

// backUp copies the database of the data folder to a new file, also while a server uses
// it.
func backUp(ctx context.Context, s *settings, stdout io.Writer) (err error) {
	path := filepath.Join(s.data, databaseFile)
	if info, err := os.Stat(path); err != nil {
		return usagef("-data: %w", err) // to open it would make one
	} else if !info.Mode().IsRegular() || info.Size() == 0 {
		return usagef("-data: %s is no database", path)
	}
	db, err := sqlite.Open(ctx, path, nil)
	if errors.Is(err, sqlite.ErrUnusable) {
		return usagef("-data: %w", err)
	}
	if err != nil {
		return fmt.Errorf("-data: %w", err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	err = db.Backup(ctx, s.backup)
	switch {
	case ctx.Err() != nil:
		return errors.New("-backup: interrupted; there is no copy") // which is no success, as it is of a server
	case errors.Is(err, fs.ErrExist), errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		return usagef("-backup: %w", err)
	case err != nil:
		return fmt.Errorf("-backup: %w", err)
	}
	_, err = fmt.Fprintln(stdout, "the copy is complete: "+oneLine(s.backup)+". Keep the root key as well, in another place")
	return err
}
