package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/storage/leases"
	"github.com/seed-6363c74e/mortise/storage/postgres"
	"github.com/seed-6363c74e/mortise/storage/river"
	"github.com/seed-6363c74e/mortise/trigger"
)

// rescueAfter is when River takes a job from a worker that died. It knows no heartbeat, so
// the attempts of hostOnPostgres may not take long.
const rescueAfter = 40 * time.Second

// work is how long an attempt of hostOnPostgres takes.
const work = 5 * time.Millisecond

// hostOnPostgres is a program such as hosts have: the trigger service with its store on
// PostgreSQL, and its queue on River or beside the events. It is started as the example
// server is, and says the same, so that the rig of that can be used.
func hostOnPostgres(onRiver bool, args []string) error {
	flags := flag.NewFlagSet("host", flag.ContinueOnError)
	address, database, config := flags.String("addr", "", ""), flags.String("postgres", "", ""), flags.String("config", "", "")
	lease := flags.Duration("lease", 0, "")
	_ = flags.String("vault-key", "", "") // which this host has no use for
	if err := flags.Parse(args); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	slog.SetDefault(log)
	keys, err := keysOf(*config)
	if err != nil {
		return err
	}
	pool, err := pgxpool.New(ctx, *database)
	if err != nil {
		return err
	}
	defer pool.Close()
	opts := &postgres.Options{Logger: log}
	err = pool.AcquireFunc(ctx, func(conn *pgxpool.Conn) error { return postgres.Migrate(ctx, conn.Conn(), opts) })
	if err == nil && onRiver {
		opts.Queue, err = riverQueue(ctx, pool, log)
	}
	if err != nil {
		return err
	}
	db, err := postgres.New(ctx, pool, opts)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	log.Info("storage opened")
	backend := db.Trigger()
	if !onRiver {
		backend.Queue = db.Queue(&leases.Options{TTL: *lease, Logger: log})
	}
	service, err := trigger.New(backend, &trigger.Options{Env: mortise.Env{Logger: log}})
	if err != nil {
		return err
	}
	routes, err := httpadapter.NewTrigger(service, httpadapter.Bearer(keys.verify), &httpadapter.TriggerOptions{
		Options: httpadapter.Options{Logger: log}, History: true,
	})
	if err != nil {
		return err
	}
	worker, err := trigger.NewWorker(service, func(ctx context.Context, e trigger.Event) (trigger.Outcome, error) {
		log.InfoContext(ctx, "trigger event", "event", e.ID)
		time.Sleep(work)
		return trigger.Outcome{Summary: "Logged."}, nil
	}, &trigger.WorkerOptions{Timeout: 2 * time.Second, Grace: time.Second, Drain: time.Second})
	if err != nil {
		return err
	}

	mux := http.NewServeMux()
	mux.Handle("/", routes)
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if err := service.Ping(r.Context()); err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprintln(w, `{"away":"storage"}`)
		}
	})
	listener, err := net.Listen("tcp", *address)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	g, running := errgroup.WithContext(ctx)
	g.Go(func() error { return worker.Run(running) })
	g.Go(func() error {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	g.Go(func() error {
		<-running.Done()
		return server.Shutdown(context.WithoutCancel(ctx))
	})
	fmt.Printf("listening on http://%s\n", listener.Addr())
	return g.Wait()
}

// riverQueue makes River's tables, and returns the queue. Several hosts may do it at once.
func riverQueue(ctx context.Context, pool *pgxpool.Pool, log *slog.Logger) (*river.Queue, error) {
	opts := &river.Options{RescueAfter: rescueAfter, Tx: postgres.HostTx, Logger: log}
	if err := river.Migrate(ctx, pool, opts); err != nil {
		return nil, err
	}
	return river.New(pool, opts)
}

// apiKeys are the organizations of a provisioning document by their API keys.
type apiKeys map[string]string

func keysOf(config string) (apiKeys, error) {
	text, err := os.ReadFile(config)
	if err != nil {
		return nil, err
	}
	var document struct {
		Organizations []struct {
			ID   string
			Keys []struct{ Key string } `json:"api_keys"`
		}
	}
	if err := json.Unmarshal(text, &document); err != nil {
		return nil, err
	}
	keys := make(apiKeys)
	for _, org := range document.Organizations {
		for _, k := range org.Keys {
			keys[k.Key] = org.ID
		}
	}
	return keys, nil
}

func (k apiKeys) verify(_ context.Context, token string) (httpadapter.Principal, error) {
	org, ok := k[token]
	if !ok {
		return httpadapter.Principal{}, httpadapter.ErrUnauthenticated
	}
	return httpadapter.Principal{Organization: org, Subject: "ops", Access: access.Full()}, nil
}
