package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/url"
	"path/filepath"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/storage/postgres/fromsqlite"
	"github.com/seed-6363c74e/mortise/storage/sqlite"
	"github.com/seed-6363c74e/mortise/vault/localkeys"
)

// copyData copies the database of a data folder, whose server is stopped, into that of
// -postgres. A wrong key is told before anything is written there.
func copyData(ctx context.Context, s *settings, stdout io.Writer, log *slog.Logger) error {
	key, err := namedKey(s)
	if err != nil {
		return err
	}
	if err := checkCopied(ctx, s, key, log); err != nil {
		return err
	}
	if err := migrate(ctx, s, log); err != nil {
		return aboutPostgres(err)
	}
	pool, err := pgxpool.NewWithConfig(ctx, s.database)
	if err != nil {
		return about("-postgres", err)
	}
	defer pool.Close()
	source, err := openCopied(filepath.Join(s.copyFrom, databaseFile))
	if err != nil {
		return about("-copy-from", err)
	}
	err = fromsqlite.Copy(ctx, source, pool, &fromsqlite.Options{Out: stdout, Logger: log})
	switch {
	case ctx.Err() != nil:
		return errors.New("-copy-from: interrupted; the same command goes on with it") // which is no success, as it is of a server
	case errors.Is(err, fromsqlite.ErrSource), errors.Is(err, fromsqlite.ErrTarget):
		return usagef("-copy-from: %w", err)
	case err != nil:
		return fmt.Errorf("-copy-from: %w; the same command goes on with it", err)
	}
	fmt.Fprintln(stdout, "all of it is copied. Start no server on the folder again: it would do the same work once more")
	return nil
}

// openCopied opens the file for the copy. The driver is that of storage/sqlite.
func openCopied(path string) (fromsqlite.Source, error) {
	name := url.URL{Path: filepath.ToSlash(path)}
	db, err := sql.Open("sqlite", "file:"+name.EscapedPath()+"?mode=rw")
	return fromsqlite.Source{DB: db, AudioSearch: func(ctx context.Context) (audiosearch.Store, func() error, error) {
		from, err := sqlite.Open(ctx, path, nil)
		if err != nil {
			return nil, nil, err
		}
		return from.AudioSearch().Store, from.Close, nil
	}}, err
}

// checkCopied opens the file as a server does, which refuses a copy of another version and
// looks for damage, and asks it for the key that it began with.
func checkCopied(ctx context.Context, s *settings, key *localkeys.RootFile, log *slog.Logger) (err error) {
	db, err := openExisting(ctx, "-copy-from", s.copyFrom)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	back, forKeys := backendsOf(db, "", s.lease, log), *s
	forKeys.publicURL = "http://localhost" // of no link that anybody gets
	services, err := wire(&forKeys, back, key.Root, log)
	if err != nil {
		return err
	}
	if err := checkKey(ctx, services, key, log); err != nil {
		return err
	}
	at, now, _, err := look(ctx, services, key.Path, log)
	if err == nil && now.N < at.n {
		err = usagef("-copy-from: the database was restored from a backup; start the server on it with -restored first")
	}
	return err
}

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
