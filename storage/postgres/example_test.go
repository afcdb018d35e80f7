package postgres_test

import (
	"context"
	"os"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-6363c74e/mortise/storage/postgres"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/localkeys"
)

// A customer's card gets its token first: that takes keys and time. Then the customer's row
// and the request to document the account are stored together, or not at all. (It needs a
// database, so it is compiled and not run; TestInTx and TestInTxKilled do the same.)
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
	requests, err := trigger.New(db.Trigger(), nil)
	check(err)
	root, err := localkeys.NewRoot([]byte("not random, for examples only 01"))
	check(err)
	keyring, err := localkeys.New(localkeys.Key{Version: 1, Root: root})
	check(err)
	cards, err := vault.New(db.Vault(), keyring, nil)
	check(err)

	tokens, err := cards.Insert(ctx, "acme", "shop", "v1", []vault.Item{
		{Place: vault.InColumn("customers", "card"), Value: vault.NewValue("4111111111111111")},
	})
	check(err)
	check(pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "INSERT INTO customers (name, card) VALUES ($1, $2)", "Ada", tokens[0]); err != nil {
			return err
		}
		_, err := requests.Submit(postgres.InTx(ctx, tx), "acme", "shop", trigger.Submission{Instructions: "Document Ada's account."})
		return err
	}))
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
