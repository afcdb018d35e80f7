package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-6363c74e/mortise/examples/server/copyfrom"
	"github.com/seed-6363c74e/mortise/storage/postgres"
	"github.com/seed-6363c74e/mortise/storage/sqlite"
)

// copyData copies the database of a data folder, whose server is stopped, into that of
// -postgres. A wrong key is told before anything is written there.
func copyData(ctx context.Context, s *settings, stdout io.Writer, log *slog.Logger) error {
	key, err := namedKey(s)
	if err != nil {
		return err
	}
	path := filepath.Join(s.copyFrom, databaseFile)
	if info, err := os.Stat(path); err != nil {
		return usagef("-copy-from: %w", err)
	} else if !info.Mode().IsRegular() || info.Size() == 0 {
		return usagef("-copy-from: %s is no database", path)
	}
	if err := checkCopied(ctx, s, path, key, log); err != nil {
		return err
	}
	if err := migrate(ctx, s, log); err != nil {
		return err
	}
	config, err := parsePostgres(s.postgres)
	if err != nil {
		return err
	}
	conn, err := pgx.ConnectConfig(ctx, config.ConnConfig)
	if err != nil {
		return fmt.Errorf("-postgres: %w", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	err = copyfrom.Run(ctx, path, conn, stdout, func(ctx context.Context, a *copyfrom.Audio) error {
		return copyAudio(ctx, path, config, a, stdout, log)
	})
	switch {
	case ctx.Err() != nil:
		return errors.New("-copy-from: interrupted; the same command goes on with it") // which is no success, as it is of a server
	case errors.Is(err, copyfrom.ErrSource), errors.Is(err, copyfrom.ErrTarget):
		return usagef("-copy-from: %w", err)
	case err != nil:
		return fmt.Errorf("-copy-from: %w; the same command goes on with it", err)
	}
	fmt.Fprintln(stdout, "all of it is copied. Start no server on the folder again: it would do the same work once more")
	return nil
}

// copyAudio copies the audio search, by the stores of both sides.
func copyAudio(ctx context.Context, path string, config *pgxpool.Config, a *copyfrom.Audio, stdout io.Writer, log *slog.Logger) (err error) {
	from, err := sqlite.Open(ctx, path, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return err
	}
	defer pool.Close()
	// Scores of hours of sound are one call.
	to, err := postgres.New(ctx, pool, &postgres.Options{Timeout: 10 * time.Minute, Logger: log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	return copyfrom.CopyAudio(ctx, from.AudioSearch().Store, to.AudioSearch().Store, a, stdout)
}

// checkCopied opens the file as a server does, which brings its tables up to date and
// looks for damage, and asks it for the key that it began with.
func checkCopied(ctx context.Context, s *settings, path string, key *foundKey, log *slog.Logger) (err error) {
	db, err := sqlite.Open(ctx, path, nil)
	if errors.Is(err, sqlite.ErrUnusable) {
		return usagef("-copy-from: %w", err)
	}
	if err != nil {
		return fmt.Errorf("-copy-from: %w", err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	back, forKeys := backendsOf(db, "", log), *s
	forKeys.publicURL = "http://localhost" // of no link that anybody gets
	credentials, err := newAuthMgmtService(&forKeys, back.authmgmt, &key.key, log)
	if err != nil {
		return err
	}
	vaults, err := newVaultService(&forKeys, back.vault, credentials.service, &key.key, log)
	if err != nil {
		return err
	}
	return checkKey(ctx, &services{authmgmt: credentials, vault: vaults}, key, log)
}
