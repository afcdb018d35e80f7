//go:build linux || darwin

package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/storage/leases"
	"github.com/seed-6363c74e/mortise/storage/postgres"
	"github.com/seed-6363c74e/mortise/storage/sqlite"
	"github.com/seed-6363c74e/mortise/trigger"
)

// lease is how long a server that is stopped or dead holds the events that it was working on.
const lease = 2 * time.Second

var quiet = slog.New(slog.DiscardHandler)

// serve is one server. It ends with its parent, or is killed.
func serve(address string) error {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	limitFiles()
	ctx := context.Background()
	db, err := open(ctx, address)
	if err != nil {
		return err
	}
	service, err := trigger.New(db.Backend, &trigger.Options{Env: mortise.Env{Logger: quiet}})
	if err != nil {
		return err
	}
	// This is all that exactly once takes: the row is inserted in the transaction that ends
	// the event.
	work := func(_ context.Context, e trigger.Event) (trigger.Outcome, error) {
		insert := func(ctx context.Context) error { return db.insert(ctx, e.ID.String()) }
		return trigger.Outcome{Summary: "inserted a row", Apply: insert}, nil
	}
	worker, err := trigger.NewWorker(service, work, &trigger.WorkerOptions{Apply: true, Concurrency: 16, MaxAttempts: 1_000_000})
	if err != nil {
		return err
	}
	anybody := httpadapter.AuthenticatorFunc(func(*http.Request) (httpadapter.Principal, error) {
		return httpadapter.Principal{Organization: "acme", Access: access.Full()}, nil
	})
	triggers, err := httpadapter.NewTrigger(service, anybody, &httpadapter.TriggerOptions{Options: httpadapter.Options{Logger: quiet}, History: true})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go func() { fail(worker.Run(ctx)) }()
	fmt.Printf("http://%s\n", listener.Addr())
	return (&http.Server{Handler: triggers, ReadHeaderTimeout: 5 * time.Second}).Serve(listener)
}

// limitFiles has this process write nothing beyond the first 4 KiB of a file from SIGUSR1 on,
// as on a disk that is full, until SIGUSR2. No disk is filled.
func limitFiles() {
	signal.Ignore(syscall.SIGXFSZ) // a write fails instead
	heard := make(chan os.Signal, 1)
	signal.Notify(heard, syscall.SIGUSR1, syscall.SIGUSR2)
	go func() {
		for s := range heard {
			var limit syscall.Rlimit
			fail(syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit))
			if limit.Cur = limit.Max; s == syscall.SIGUSR1 {
				limit.Cur = 4096
			}
			fail(syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit))
		}
	}()
}

// database is Mortise's and the host's: they are one.
type database struct {
	trigger.Backend
	insert func(ctx context.Context, event string) error // a row, in the transaction of ctx
}

// open opens a PostgreSQL database by its URL, or a file of SQLite's by its name.
func open(ctx context.Context, address string) (*database, error) {
	every := &leases.Options{TTL: lease, Poll: 100 * time.Millisecond, Logger: quiet}
	if !isPostgres(address) {
		db, err := sqlite.Open(ctx, address, nil)
		if err != nil {
			return nil, err
		}
		return &database{trigger.Backend{Store: db.Trigger().Store, Queue: db.Queue(every)}, func(ctx context.Context, event string) error {
			tx, _ := sqlite.HostTx(ctx)
			_, err := tx.ExecContext(ctx, "INSERT INTO killme (event) VALUES (?)", event)
			return err
		}}, nil
	}
	pool, err := pgxpool.New(ctx, address)
	if err != nil {
		return nil, err
	}
	db, err := postgres.New(ctx, pool, &postgres.Options{Schema: "killme", Logger: quiet})
	if err != nil {
		return nil, err
	}
	return &database{trigger.Backend{Store: db.Trigger().Store, Queue: db.Queue(every)}, func(ctx context.Context, event string) error {
		tx, _ := postgres.HostTx(ctx)
		_, err := tx.Exec(ctx, "INSERT INTO killme.killme (event) VALUES ($1)", event)
		return err
	}}, nil
}
