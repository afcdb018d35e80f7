package postgres_test

import (
	"context"
	"database/sql"
	"os"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

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

// A host on database/sql stores an order by its own *sql.Tx, which GORM and ent can work over,
// and the request to document it in the same transaction. (It is compiled and not run;
// TestInTxDatabaseSQL does the same.)
func ExampleInTx_databaseSQL() {
	ctx := context.Background()
	url := os.Getenv("DATABASE_URL")
	orders, err := sql.Open("pgx", url) // the driver of package stdlib
	check(err)
	defer func() { check(orders.Close()) }()
	pool, err := pgxpool.New(ctx, url)
	check(err)
	defer pool.Close()
	db, err := postgres.New(ctx, pool, nil)
	check(err)
	defer func() { check(db.Close()) }()
	requests, err := trigger.New(db.Trigger(), nil)
	check(err)

	conn, err := orders.Conn(ctx)
	check(err)
	defer func() { check(conn.Close()) }()
	tx, err := conn.BeginTx(ctx, nil)
	check(err)
	defer func() { _ = tx.Rollback() }() // after an error
	_, err = tx.ExecContext(ctx, "INSERT INTO orders (id) VALUES ($1)", 7)
	check(err)
	check(conn.Raw(func(driver any) error {
		inner, err := driver.(*stdlib.Conn).Conn().BeginTx(ctx, pgx.TxOptions{
			BeginQuery: "SAVEPOINT host", CommitQuery: "RELEASE SAVEPOINT host",
		})
		if err != nil {
			return err
		}
		if _, err := requests.Submit(postgres.InTx(ctx, inner), "acme", "shop", trigger.Submission{Instructions: "Document order 7."}); err != nil {
			return err
		}
		return inner.Commit(ctx)
	}))
	check(tx.Commit())
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
