package postgres_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/postgres"
	"github.com/seed-6363c74e/mortise/trigger"
)

// cutConn is a connection that ends with the first answer which has a text in it: the server
// has done what it was asked for, and nobody hears of it.
type cutConn struct {
	net.Conn
	at *atomic.Pointer[string] // nil: go on
}

func (c *cutConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if text := c.at.Load(); text != nil && bytes.Contains(p[:n], []byte(*text)) && c.at.CompareAndSwap(text, nil) {
		_ = c.Conn.Close()
		return 0, io.EOF
	}
	return n, err
}

// TestIdleSession: a connection of the pool that the server has ended because it was idle, or
// that somebody has ended there, costs no call: neither one that reads, nor one that writes.
func TestIdleSession(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	config, err := pgxpool.ParseConfig(d.server.DSN(d.name))
	require.NoError(t, err)
	config.ConnConfig.RuntimeParams["application_name"] = "idle"
	config.MaxConns = 1
	config.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false }
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(func() { closePool(t, pool) })
	db, err := postgres.New(t.Context(), pool, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	store := db.Trigger().Store
	stored := triggerEvent("acme")
	_, _, err = store.CreateEvent(t.Context(), *stored, time.Time{})
	require.NoError(t, err)

	admin := d.pool(t)
	sessions := func() (n int) {
		const count = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'idle' AND datname = current_database()"
		require.NoError(t, admin.QueryRow(t.Context(), count).Scan(&n))
		return n
	}
	ends := map[string]func(){
		"idle_session_timeout": func() {
			require.NoError(t, pool.AcquireFunc(t.Context(), func(c *pgxpool.Conn) error {
				_, err := c.Exec(t.Context(), "SET idle_session_timeout = 10")
				return err
			}))
		},
		"pg_terminate_backend": func() {
			const end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'idle' AND datname = current_database()"
			_, err := admin.Exec(t.Context(), end)
			require.NoError(t, err)
		},
	}
	attempts := 0
	for name, call := range map[string]func() error{
		"a read": func() error {
			_, err := store.Event(t.Context(), "acme", stored.ID)
			return err
		},
		"a write among others": func() error {
			_, created, err := store.CreateEvent(t.Context(), *triggerEvent("acme"), time.Time{})
			require.True(t, created || err != nil)
			return err
		},
		"a transaction": func() error {
			return store.UpdateEvent(t.Context(), "acme", stored.ID, func(e *trigger.Event) error {
				attempts++
				e.Attempts, e.Source = attempts, fmt.Sprint(attempts) // content: by itself
				return nil
			})
		},
	} {
		for by, end := range ends {
			require.NoError(t, call(), name) // its statements are prepared
			end()
			require.Eventually(t, func() bool { return sessions() == 0 }, time.Minute, 5*time.Millisecond, by)
			require.NoError(t, call(), "%s, after %s", name, by)
		}
	}
}

// directly calls do.
func directly(ctx context.Context, do func(ctx context.Context) error) error { return do(ctx) }

// TestLostAnswerToACommit: whether a change was stored whose answer is lost the caller has to
// find out. It is not made once more: update would be called for an event that has the change
// already, and a worker would take its own attempt for another one's.
func TestLostAnswerToACommit(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	var cut atomic.Pointer[string]
	config, err := pgxpool.ParseConfig(d.server.DSN(d.name))
	require.NoError(t, err)
	config.ConnConfig.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		return &cutConn{conn, &cut}, err
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(func() { closePool(t, pool) })
	db, err := postgres.New(t.Context(), pool, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	store := db.Trigger().Store

	for name, c := range map[string]struct {
		answer string // a command tag, as the protocol has it
		source string // of the event then; it is content, which is not written with others' changes
		within func(ctx context.Context, do func(ctx context.Context) error) error
	}{
		"a change among others": {"UPDATE 1\x00", "api", directly},
		"a transaction":         {"COMMIT\x00", "other", directly},
		"Transact": {"COMMIT\x00", "api", func(ctx context.Context, do func(ctx context.Context) error) error {
			return store.(mortise.Transactor).Transact(ctx, "acme", do)
		}},
	} {
		e := triggerEvent("acme")
		_, _, err := store.CreateEvent(t.Context(), *e, time.Time{})
		require.NoError(t, err, name)
		cut.Store(&c.answer)
		calls, own := 0, 0
		err = c.within(t.Context(), func(ctx context.Context) error {
			return store.UpdateEvent(ctx, e.Organization, e.ID, func(e *trigger.Event) error {
				calls++
				own += e.Attempts
				e.Attempts++
				e.Source = c.source
				return nil
			})
		})
		require.Nil(t, cut.Load(), "%s: no answer was lost", name)
		require.Error(t, err, name)
		require.Zero(t, own, "%s: update was called for its own change; calls: %d", name, calls)
		stored, err := store.Event(t.Context(), e.Organization, e.ID)
		require.NoError(t, err, name)
		require.Equal(t, 1, stored.Attempts, name)
	}
}
