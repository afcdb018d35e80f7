package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/storage/postgres"
	"github.com/seed-6363c74e/mortise/storage/postgres/fromsqlite"
)

// poolSize is how many connections a server has to the database, unless the URL says
// otherwise by pool_max_conns.
const poolSize = 16

// parsePostgres reads the value of -postgres. Its errors do not repeat it: it may hold a
// password.
func parsePostgres(text string) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(text)
	if err != nil || text == "" {
		return nil, usagef("-postgres: must be the URL of a database, such as postgres://user@host:5432/name?sslmode=require")
	}
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = 5 * time.Second
	}
	if !strings.Contains(text, "pool_max_conns") {
		config.MaxConns = poolSize
	}
	return config, nil
}

// migrate makes the tables of -postgres that are missing. Several servers may do it at once.
func migrate(ctx context.Context, s *settings, log *slog.Logger) error {
	conn, err := pgx.ConnectConfig(ctx, s.database.ConnConfig)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	return postgres.Migrate(ctx, conn, &postgres.Options{Logger: log})
}

// aboutPostgres is about for -postgres: the operator has to replace a schema that is unusable.
func aboutPostgres(err error) error { return about("-postgres", err, postgres.ErrUnusable) }

// openPostgres is the storage of -postgres, which any number of servers share. The jobs are
// in a table beside the data, or in the streams of -queue.
func openPostgres(ctx context.Context, s *settings, log *slog.Logger) (*backends, error) {
	config := postgres.Bounded(s.database)
	config.ConnConfig.RuntimeParams["application_name"] = cmp.Or(config.ConnConfig.RuntimeParams["application_name"], "mortise")
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, about("-postgres", err)
	}
	db, err := postgres.New(ctx, pool, &postgres.Options{Logger: log})
	if errors.Is(err, postgres.ErrNoTables) {
		if err = migrate(ctx, s, log); err == nil {
			db, err = postgres.New(ctx, pool, &postgres.Options{Logger: log})
		}
	}
	if err != nil {
		pool.Close()
		return nil, aboutPostgres(err)
	}
	at := s.database.ConnConfig
	back := backendsOf(db, fmt.Sprintf("in the PostgreSQL database %s at %s", at.Database, at.Host), s.lease, log)
	back.others = []httpadapter.Part{{Name: "storage", Ping: db.Ping}} // whether writes succeed; the services ask whether reads do
	back.dead = db.DeadRows
	back.close = func() error {
		defer pool.Close()
		return db.Close()
	}
	unfinished, err := fromsqlite.Unfinished(ctx, pool, nil)
	err = about("-postgres", err)
	if unfinished {
		err = usagef("-postgres: the database has a part of a copy: start the same -copy-from again, which goes on with it")
	}
	if err == nil && s.queue != "" {
		err = back.useJetStream(ctx, s, log)
	}
	if err != nil {
		return nil, errors.Join(err, back.close())
	}
	return back, nil
}

// queueInPostgres is the value of -queue that is no URL.
const queueInPostgres = "postgres"

// checkPostgres refuses what -postgres and -queue cannot be, and a server that lacks the key.
func (s *settings) checkPostgres() error {
	if s.postgres == "" {
		return nil
	}
	var err error
	if s.database, err = parsePostgres(s.postgres); err != nil {
		return err
	}
	if s.queue == queueInPostgres {
		s.queue = ""
	}
	for address := range strings.SplitSeq(s.queue, ",") {
		u, err := url.Parse(strings.TrimSpace(address))
		if s.queue != "" && (err != nil || u.Host == "" || u.Scheme != "nats" && u.Scheme != "tls") {
			return usagef("-queue: must be %s, or the URL of a NATS server, such as nats://host:4222", queueInPostgres)
		}
	}
	if s.vaultKey == "" && s.copyFrom != "" {
		return usagef("-vault-key: needed with -copy-from: the key that the folder's server had, which is %s unless it was given another one",
			filepath.Join(s.copyFrom, keyFile))
	}
	if s.vaultKey == "" && !s.migrate && !s.checkConfig {
		return usagef("-vault-key: needed with -postgres, as all servers of one database must have the same key: openssl rand -hex 32 makes one")
	}
	return nil
}
