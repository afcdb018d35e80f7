package postgres_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/storage/postgres"
	"github.com/seed-6363c74e/mortise/trigger"
)

// TestInTxDatabaseSQL: an order that is stored by database/sql, over pgx, and the request to
// document it are stored together or not at all.
func TestInTxDatabaseSQL(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	d := newDatabase(t)
	requests, err := trigger.New(d.open(t, nil).Trigger(), nil)
	require.NoError(t, err)
	orders, err := sql.Open("pgx", d.server.DSN(d.name))
	require.NoError(t, err)
	defer func() { require.NoError(t, orders.Close()) }()
	_, err = orders.ExecContext(ctx, "CREATE TABLE orders (id int PRIMARY KEY)")
	require.NoError(t, err)

	order := func(id int, instructions string, failure error) error {
		conn, err := orders.Conn(ctx)
		require.NoError(t, err)
		defer func() { require.NoError(t, conn.Close()) }()
		tx, err := conn.BeginTx(ctx, nil)
		require.NoError(t, err)
		defer func() { _ = tx.Rollback() }()
		if _, err := tx.ExecContext(ctx, "INSERT INTO orders VALUES ($1)", id); err != nil {
			return err
		}
		if err := conn.Raw(inRaw(ctx, func(ctx context.Context) error {
			_, err := requests.Submit(ctx, "acme", "shop", trigger.Submission{Instructions: instructions})
			return err
		})); err != nil {
			return err
		}
		var n int
		require.NoError(t, tx.QueryRowContext(ctx, "SELECT count(*) FROM orders").Scan(&n), "database/sql goes on")
		if failure != nil {
			return failure
		}
		return tx.Commit()
	}
	undone := errors.New("no money")
	require.NoError(t, order(1, "Document order 1.", nil))
	require.ErrorIs(t, order(2, "Document order 2.", undone), undone)
	require.Error(t, order(3, "", nil), "it is invalid")
	require.Error(t, order(1, "Document order 1 again.", nil), "it is there")

	var ids []int
	rows, err := orders.QueryContext(ctx, "SELECT id FROM orders")
	require.NoError(t, err)
	for rows.Next() {
		var id int
		require.NoError(t, rows.Scan(&id))
		ids = append(ids, id)
	}
	require.NoError(t, errors.Join(rows.Err(), rows.Close()))
	require.Equal(t, []int{1}, ids)
	page, err := requests.ListEvents(ctx, "acme", trigger.EventQuery{})
	require.NoError(t, err)
	require.Len(t, page.Items, 1)
	require.Equal(t, "Document order 1.", page.Items[0].Instructions)
}

// inRaw returns a function for sql.Conn.Raw that calls do within the transaction which
// database/sql has begun on the connection.
func inRaw(ctx context.Context, do func(ctx context.Context) error) func(driver any) error {
	return func(driver any) error {
		tx, err := driver.(*stdlib.Conn).Conn().BeginTx(ctx, pgx.TxOptions{
			BeginQuery: "SAVEPOINT host", CommitQuery: "RELEASE SAVEPOINT host",
		})
		if err != nil {
			return err
		}
		if err := do(postgres.InTx(ctx, tx)); err != nil {
			return err
		}
		return tx.Commit(ctx)
	}
}
