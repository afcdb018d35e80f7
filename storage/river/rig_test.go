package river_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/pgserver"
	"github.com/seed-6363c74e/mortise/internal/testmain"
	"github.com/seed-6363c74e/mortise/storage/river"
)

func TestMain(m *testing.M) {
	testmain.Parallel(2) // for what River does at intervals
	pgserver.Main(m)
}

// template is a database with River's tables, of which the tests have copies.
var template struct {
	once sync.Once
	mu   sync.Mutex // CREATE DATABASE copies one at a time
	err  error
	n    atomic.Int64

	idle []*database // that tests are done with, and that are empty again
}

const templateName = "river_template"

// database is a database of a test.
type database struct {
	server *pgserver.Server
	name   string
}

// newDatabase returns an empty database with River's tables, on the server that the tests
// share.
func newDatabase(t testing.TB) *database {
	t.Helper()
	server := pgserver.Shared(t)
	template.once.Do(func() {
		template.err = exec(server, "postgres", "CREATE DATABASE "+templateName)
		if template.err != nil {
			return
		}
		pool, err := pgxpool.New(context.Background(), server.DSN(templateName))
		if err != nil {
			template.err = err
			return
		}
		defer pool.Close()
		template.err = river.Migrate(context.Background(), pool, nil)
	})
	require.NoError(t, template.err)
	template.mu.Lock()
	defer template.mu.Unlock()
	if n := len(template.idle); n > 0 {
		d := template.idle[n-1]
		template.idle = template.idle[:n-1]
		t.Cleanup(func() { d.giveBack(t) })
		return d
	}
	d := &database{server: server, name: fmt.Sprintf("t%d", template.n.Add(1))}
	t.Cleanup(func() { d.giveBack(t) })
	require.NoError(t, exec(server, "postgres", "CREATE DATABASE "+d.name+" TEMPLATE "+templateName+" STRATEGY file_copy"))
	return d
}

// empty makes a database what its template is, which takes far less than another copy.
const empty = `DO $$
DECLARE used text;
BEGIN
	SELECT string_agg(oid::regclass::text, ', ') INTO used FROM pg_class
	WHERE relnamespace = 'mortise_river'::regnamespace AND relkind = 'r' AND relname <> 'river_migration' AND pg_relation_size(oid) > 0;
	IF used IS NOT NULL THEN
		EXECUTE 'TRUNCATE ' || used || ' RESTART IDENTITY CASCADE';
	END IF;
END $$`

// giveBack ends the connections to the database and empties it for the next test.
func (d *database) giveBack(t testing.TB) {
	t.Helper()
	const end = "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE datname = $1"
	require.NoError(t, exec(d.server, "postgres", end, d.name))
	require.NoError(t, exec(d.server, d.name, empty))
	template.mu.Lock()
	defer template.mu.Unlock()
	template.idle = append(template.idle, d)
}

func exec(server *pgserver.Server, database, statement string, args ...any) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, server.DSN(database))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	_, err = conn.Exec(ctx, statement, args...)
	return err
}

// pool returns a pool of the database's, which the test's end closes.
func (d *database) pool(t testing.TB) *pgxpool.Pool {
	t.Helper()
	config, err := pgxpool.ParseConfig(d.server.DSN(d.name))
	require.NoError(t, err)
	config.MaxConns = 16
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}

// quiet keeps what River logs out of the tests' output.
var quiet = slog.New(slog.DiscardHandler)

func (d *database) queue(t testing.TB, opts *river.Options) *river.Queue {
	t.Helper()
	if opts == nil {
		opts = &river.Options{}
	}
	opts.Logger = quiet
	q, err := river.New(d.pool(t), opts)
	require.NoError(t, err)
	return q
}

// refuse ends the connections to the database and lets nobody in, until heal is called.
func (d *database) refuse(t testing.TB) (heal func()) {
	t.Helper()
	allow := func(allowed bool) {
		require.NoError(t, exec(d.server, "postgres", fmt.Sprintf("ALTER DATABASE %s ALLOW_CONNECTIONS %v", d.name, allowed)))
	}
	allow(false)
	require.NoError(t, exec(d.server, "postgres", "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE datname = $1", d.name))
	return sync.OnceFunc(func() { allow(true) })
}

// jobID numbers the jobs of the tests.
var jobID atomic.Int64

func job(kind string) mortise.Job {
	return mortise.Job{Kind: kind, Organization: "acme", ID: fmt.Sprintf("%012d", jobID.Add(1))}
}

// databaseURL returns how an example connects to an empty database, which it cannot skip.
func databaseURL() string {
	server := pgserver.Shared(example{})
	name := fmt.Sprintf("t%d", template.n.Add(1))
	check(exec(server, "postgres", "CREATE DATABASE "+name))
	return server.DSN(name)
}

// example stands in for the test that an example has not got.
type example struct{ testing.TB }

func (example) Helper()                        {}
func (example) Skip(args ...any)               { panic(fmt.Sprint(args...)) }
func (example) Fatalf(format string, a ...any) { panic(fmt.Sprintf(format, a...)) }
