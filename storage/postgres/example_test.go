package postgres_test

import (
	"context"
	"fmt"
	"os"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/postgres"
)

// An order and the job to send it are stored together or not at all. (It needs a database,
// so it is compiled and not run; TestInTx does the same.)
func ExampleInTx() {
	ctx := context.Background()
	url := os.Getenv("DATABASE_URL")
	conn, err := pgx.Connect(ctx, url)
	check(err)
	check(postgres.Migrate(ctx, conn, nil)) // when the program is deployed
	check(conn.Close(ctx))

	pool, err := pgxpool.New(ctx, url)
	check(err)
	defer pool.Close()
	db, err := postgres.New(ctx, pool, nil)
	check(err)
	defer func() { check(db.Close()) }()
	queue := db.Queue(nil)

	check(pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "INSERT INTO orders (id) VALUES ($1)", 42); err != nil {
			return err
		}
		return queue.Enqueue(postgres.InTx(ctx, tx), mortise.Job{Kind: "order", Organization: "acme", ID: "42"})
	}))
	check(queue.Consume(ctx, mortise.ConsumeOptions{Kinds: []string{"order"}}, func(_ context.Context, d mortise.Delivery) mortise.Verdict {
		fmt.Println("send", d.Job.ID)
		return mortise.Verdict{Kind: mortise.VerdictDone}
	}))
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
