package postgres_test

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/storage/postgres"
	"github.com/seed-6363c74e/mortise/trigger"
)

// TestInTxKilled: a process is killed, again and again, while it stores orders with their
// events in transactions of its own. There is never one without the other.
func TestInTxKilled(t *testing.T) {
	if dsn := os.Getenv(orderDatabase); dsn != "" {
		storeOrders(t, dsn)
	}
	t.Parallel()
	ctx := t.Context()
	d := newDatabase(t)
	pool := d.pool(t)
	_, err := pool.Exec(ctx, "CREATE TABLE orders (id int GENERATED ALWAYS AS IDENTITY)")
	require.NoError(t, err)
	for range 20 {
		child := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestInTxKilled$", "-test.count=1")
		child.Env = append(os.Environ(), orderDatabase+"="+d.server.DSN(d.name))
		output, err := child.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, child.Start())
		line, err := bufio.NewReader(output).ReadString('\n')
		require.NoError(t, err, line)
		time.Sleep(time.Duration(rand.IntN(10_000)) * time.Microsecond)
		require.NoError(t, child.Process.Kill())
		_ = child.Wait()
	}
	var orders, events, jobs int
	require.Eventually(t, func() bool { // until the server has noticed the last one's end
		var sessions int
		require.NoError(t, pool.QueryRow(ctx, "SELECT count(*), (SELECT count(*) FROM orders), (SELECT count(*) FROM mortise.trigger_events),"+
			" (SELECT count(*) FROM mortise.jobs) FROM pg_stat_activity WHERE application_name = $1", orderDatabase).
			Scan(&sessions, &orders, &events, &jobs))
		return sessions == 0
	}, time.Minute, time.Millisecond)
	require.Positive(t, orders)
	require.Equal(t, []int{orders, orders}, []int{events, jobs})
}

const orderDatabase = "MORTISE_POSTGRES_ORDERS"

// storeOrders is what the process does. It does not return.
func storeOrders(t *testing.T, dsn string) {
	ctx := t.Context()
	pool, err := pgxpool.New(ctx, dsn+" application_name="+orderDatabase)
	require.NoError(t, err)
	db, err := postgres.New(ctx, pool, nil)
	require.NoError(t, err)
	events, err := trigger.New(db.Trigger(), nil)
	require.NoError(t, err)
	for first := true; ; first = false {
		require.NoError(t, pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, "INSERT INTO orders DEFAULT VALUES"); err != nil {
				return err
			}
			_, err := events.Submit(postgres.InTx(ctx, tx), "acme", "ann", trigger.Submission{Instructions: "Describe it."})
			return err
		}))
		if first {
			fmt.Println("begun")
		}
	}
}
