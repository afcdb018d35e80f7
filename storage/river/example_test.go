package river_test

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/jackc/pgx/v5/pgxpool"
	riverqueue "github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/river"
)

// A job is added twice, is there once, and is handled.
func ExampleNew() {
	ctx, cancel := context.WithCancel(context.Background())
	pool, err := pgxpool.New(ctx, databaseURL())
	check(err)
	defer pool.Close()
	check(river.Migrate(ctx, pool, nil)) // when the program is deployed

	queue, err := river.New(pool, &river.Options{Logger: slog.New(slog.DiscardHandler)})
	check(err)
	order := mortise.Job{Kind: "order", Organization: "acme", ID: "42"}
	check(queue.Enqueue(ctx, order))
	check(queue.Enqueue(ctx, order))
	check(queue.Consume(ctx, mortise.ConsumeOptions{Kinds: []string{"order"}}, func(_ context.Context, d mortise.Delivery) mortise.Verdict {
		fmt.Println("send", d.Job.ID)
		cancel()
		return mortise.Verdict{Kind: mortise.VerdictDone}
	}))
	// Output: send 42
}

// The host's own client works the jobs, among others of its own.
func ExampleNewOver() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, databaseURL())
	check(err)
	defer pool.Close()
	check(river.Migrate(ctx, pool, &river.Options{Schema: "jobs"})) // or as the host does it

	sent := make(chan string)
	// In place of this, the Handle of a trigger.Worker, which is made later: its service needs
	// the queue.
	handle := func(_ context.Context, d mortise.Delivery) mortise.Verdict {
		sent <- d.Job.ID
		return mortise.Verdict{Kind: mortise.VerdictDone}
	}
	workers := riverqueue.NewWorkers()
	riverqueue.AddWorker(workers, river.NewWorker(handle, nil))
	client, err := riverqueue.NewClient(riverpgxv5.New(pool), &riverqueue.Config{
		Schema:  "jobs",
		Workers: workers,
		Queues:  map[string]riverqueue.QueueConfig{river.QueueName("order"): {MaxWorkers: 10}},
		Logger:  slog.New(slog.DiscardHandler),
	})
	check(err)
	queue, err := river.NewOver(client, nil)
	check(err)
	check(client.Start(ctx))
	defer func() { check(client.Stop(ctx)) }()

	check(queue.Enqueue(ctx, mortise.Job{Kind: "order", Organization: "acme", ID: "42"}))
	fmt.Println("send", <-sent)
	// Output: send 42
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
