package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// backUp copies the database of the data folder to a new file, also while a server uses
// it.
func backUp(ctx context.Context, s *settings, stdout io.Writer) (err error) {
	db, err := openExisting(ctx, "-data", s.data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	err = db.Backup(ctx, s.backup)
	if ctx.Err() != nil {
		return errors.New("-backup: interrupted; there is no copy") // which is no success, as it is of a server
	}
	if err != nil {
		return about("-backup", err, fs.ErrExist, fs.ErrNotExist, fs.ErrPermission)
	}
	_, err = fmt.Fprintln(stdout, "the copy is complete: "+oneLine(s.backup)+". Keep the root key as well, in another place")
	return err
}
