package e2e

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/pgserver"
)

// fleet is some servers on one database, each at an address that it keeps.
type fleet struct {
	t       testing.TB
	program program
	env     []string
	args    []string
	dirs    []string
	ports   []string
	servers []*server
	urls    []string
	ended   []*server // killed or stopped
}

// newFleet prepares n servers on a database. None is started.
func newFleet(t *testing.T, n int, database string, args ...string) *fleet {
	t.Helper()
	key := writeKey(t, hex.EncodeToString(randomKey()))
	f := &fleet{
		t: t, program: buildServer(t), servers: make([]*server, n),
		args: append([]string{"-postgres", database, "-vault-key", key}, args...),
	}
	for range n {
		port := freeAddress(t, "127.0.0.1")
		f.ports, f.urls = append(f.ports, port), append(f.urls, "http://"+port)
		f.dirs = append(f.dirs, t.TempDir())
	}
	return f
}

// begin starts a server without waiting for it.
func (f *fleet) begin(i int) {
	f.t.Helper()
	s := f.program.run(f.t, f.dirs[i], f.env, append([]string{"-addr", f.ports[i]}, f.args...)...)
	s.secrets, s.url = secrets(), f.urls[i]
	f.servers[i] = s
}

// awaitListening waits until a server listens. A server ends if the database, which many tests
// keep busy, gives no answer at its start: then it is started once more, as a supervisor would.
func (f *fleet) awaitListening(i int) {
	f.t.Helper()
	if s := f.servers[i]; !s.listens() && strings.Contains(s.stderr.String(), "no answer within Options.Timeout") {
		f.begin(i)
	}
	f.servers[i].awaitListening()
}

// start starts a server.
func (f *fleet) start(i int) *server {
	f.t.Helper()
	f.begin(i)
	f.awaitListening(i)
	return f.servers[i]
}

// kill ends a server as a crash would.
func (f *fleet) kill(i int) {
	f.t.Helper()
	f.servers[i].kill()
	f.ended = append(f.ended, f.servers[i])
}

// restartEach restarts the servers in peace, one after the other, while clients submit, and
// waits until all is processed.
func (f *fleet) restartEach(l *load) {
	f.t.Helper()
	l.lostConnections = true // as who connects in the moment when a server closes its listener
	defer func() { l.lostConnections = false }()
	var over atomic.Bool
	var loading sync.WaitGroup
	loading.Go(func() {
		for !over.Load() && !f.t.Failed() {
			l.share(f.urls, int64(8*len(l.clients)))()
			time.Sleep(100 * time.Millisecond) // not to fill a history that nobody looks at
		}
	})
	for i, s := range f.servers {
		s.stop()
		f.ended = append(f.ended, s)
		f.start(i)
	}
	over.Store(true)
	loading.Wait()
	l.awaitIdle(f.servers[0])
	lost := 0
	for _, r := range l.sent {
		lost += r.lost
		assert.NotEmpty(f.t, r.id, "%q was never accepted", r.instructions)
	}
	f.t.Logf("%d servers restarted: %d events, %d times no connection or no answer", len(f.servers), len(l.sent), lost)
}

// stop ends all servers in peace, and counts how often each event was processed, in all and
// by those that ran then.
func (f *fleet) stop() (runs map[string]int, each []map[string]int) {
	f.t.Helper()
	runs = make(map[string]int)
	for _, s := range f.ended {
		s.countRuns(runs)
	}
	for _, s := range f.servers { // at once: each waits for a proxy to notice
		s.signal(syscall.SIGTERM)
	}
	for _, s := range f.servers {
		s.awaitExit()
		own := make(map[string]int)
		s.countRuns(own)
		for id, k := range own {
			runs[id] += k
		}
		each = append(each, own)
	}
	return runs, each
}

// startPostgres returns a database server that syncs to the disk, as an operator's does, with
// an empty database of a role that may do nothing special.
func startPostgres(t *testing.T) *pgserver.Server {
	t.Helper()
	db := pgserver.Start(t, pgserver.Settings{"max_connections=60"})
	asAdmin(t, db, "CREATE ROLE mortise LOGIN")
	asAdmin(t, db, "CREATE DATABASE mortise OWNER mortise")
	return db
}

// sharedRole makes the role of sharedDatabase, once.
var sharedRole sync.Once

// databases counts those of sharedDatabase.
var databases atomic.Int64

// sharedDatabase returns the value of -postgres for an empty database of a role that may do
// nothing special, on a server that the tests share. It is for tests that do nothing to the
// server itself: it does not sync to the disk.
func sharedDatabase(t testing.TB) (url string) {
	t.Helper()
	db := pgserver.Shared(t)
	sharedRole.Do(func() { asAdmin(t, db, "CREATE ROLE mortise LOGIN") })
	name := fmt.Sprintf("mortise_%d", databases.Add(1))
	asAdmin(t, db, "CREATE DATABASE "+name+" OWNER mortise")
	return strings.Replace(db.URL(name), "postgres@", "mortise@", 1)
}

// databaseURL is the value of -postgres for the database of startPostgres.
func databaseURL(db *pgserver.Server) string {
	return strings.Replace(db.URL("mortise"), "postgres@", "mortise@", 1)
}

// tablespace returns a folder on a disk, of the user as whom the database runs.
func tablespace(t *testing.T, db *pgserver.Server, disk string) (dir string) {
	t.Helper()
	info, err := os.Stat(filepath.Join(db.Dir, "data"))
	require.NoError(t, err)
	user := info.Sys().(*syscall.Stat_t)
	dir = filepath.Join(disk, "tables")
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NoError(t, os.Chown(dir, int(user.Uid), int(user.Gid)))
	return dir
}

// tooManyConnections is a SQLSTATE (PostgreSQL, appendix A).
const tooManyConnections = "53300"

// asAdmin runs a statement as a superuser.
func asAdmin(t testing.TB, db *pgserver.Server, statement string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, db.DSN("postgres"))
	// Those whom the server is about to refuse have all places for a moment, too.
	for code := (*pgconn.PgError)(nil); errors.As(err, &code) && code.Code == tooManyConnections; {
		time.Sleep(25 * time.Millisecond)
		conn, err = pgx.Connect(ctx, db.DSN("postgres"))
	}
	require.NoError(t, err)
	defer func() { _ = conn.Close(ctx) }()
	_, err = conn.Exec(ctx, statement)
	require.NoError(t, err)
}

// startBouncer returns the value of -postgres for a PgBouncer before the database, of any
// version: those before 1.21 know no prepared statements.
func startBouncer(t *testing.T, db *pgserver.Server) (url string) {
	t.Helper()
	program := tool(t, "pgbouncer")
	address := freeAddress(t, "127.0.0.1")
	_, port, _ := strings.Cut(address, ":")
	dir, err := os.MkdirTemp("", "bouncer") // which its user can read
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755))
	config, users := filepath.Join(dir, "pgbouncer.ini"), filepath.Join(dir, "users.txt")
	require.NoError(t, os.WriteFile(users, []byte(`"mortise" ""`+"\n"), 0o644))
	require.NoError(t, os.WriteFile(config, []byte("[databases]\nmortise = host="+db.Dir+" port=5432\n"+
		"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = "+port+"\nunix_socket_dir =\nauth_type = trust\nauth_file = "+users+
		"\npool_mode = transaction\nmax_client_conn = 200\ndefault_pool_size = 10\n"+
		"ignore_startup_parameters = statement_timeout, lock_timeout, idle_in_transaction_session_timeout\n"), 0o644))
	args := []string{config}
	if os.Getuid() == 0 { // which it refuses to be
		args = []string{"-u", "postgres", config}
	}
	var log processOutput
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = &log, &log
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	require.True(t, eventually(func() bool {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	}), "%s", &log)
	return "postgres://mortise@" + address + "/mortise?sslmode=disable&default_query_exec_mode=exec"
}

// network is a way to a server that can be made worse.
type network struct {
	*toxiproxy.Proxy
	t testing.TB
}

func startNetwork(t *testing.T, upstream string) *network {
	t.Helper()
	n := &network{toxiproxy.NewProxy(toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop()),
		"network", freeAddress(t, "127.0.0.1"), upstream), t}
	require.NoError(t, n.Start())
	t.Cleanup(n.Stop)
	return n
}

// spoiled is a network with something wrong in it, in both directions.
type spoiled struct {
	n     *network
	names []string
}

// spoil adds one of toxiproxy's toxics.
func (n *network) spoil(toxic, attributes string) *spoiled {
	n.t.Helper()
	s := &spoiled{n: n}
	for _, direction := range []string{"upstream", "downstream"} {
		name := toxic + " " + direction
		_, err := n.Toxics.AddToxicJson(strings.NewReader(`{"name":"` + name + `","type":"` + toxic + `","stream":"` + direction + `","attributes":` + attributes + `}`))
		require.NoError(n.t, err)
		s.names = append(s.names, name)
	}
	return s
}

func (s *spoiled) heal() {
	s.n.t.Helper()
	for _, name := range s.names {
		require.NoError(s.n.t, s.n.Toxics.RemoveToxic(s.n.t.Context(), name))
	}
}

// natsServer is a NATS server in this process, at an address that it keeps.
type natsServer struct {
	t    testing.TB
	url  string
	opts *natsserver.Options
	srv  *natsserver.Server
}

// startNATS returns one that syncs as NATS does by default: every two minutes.
func startNATS(t *testing.T) *natsServer {
	t.Helper()
	host, port, err := net.SplitHostPort(freeAddress(t, "127.0.0.1"))
	require.NoError(t, err)
	number, err := strconv.Atoi(port)
	require.NoError(t, err)
	n := &natsServer{t: t, url: "nats://" + net.JoinHostPort(host, port), opts: &natsserver.Options{
		ServerName: "e2e", Host: host, Port: number, NoSigs: true, NoLog: true, JetStream: true, StoreDir: t.TempDir(),
	}}
	n.start()
	t.Cleanup(n.stop)
	return n
}

func (n *natsServer) start() {
	n.t.Helper()
	srv, err := natsserver.NewServer(n.opts.Clone())
	require.NoError(n.t, err)
	srv.Start()
	require.True(n.t, srv.ReadyForConnections(patience), "the NATS server does not start")
	n.srv = srv
}

func (n *natsServer) stop() {
	if n.srv != nil {
		n.srv.Shutdown()
		n.srv.WaitForShutdown()
		n.srv = nil
	}
}

// trial is two servers on one database, under load, while things go wrong.
type trial struct {
	t      testing.TB
	fleet  *fleet
	load   *load
	faults int
	before int64 // acknowledged before the present fault
}

// newTrial starts the servers at once, on an empty database: one of them makes the tables.
func newTrial(t *testing.T, db *pgserver.Server, args ...string) *trial {
	t.Helper()
	return newTrialAt(t, databaseURL(db), args...)
}

func newTrialAt(t *testing.T, database string, args ...string) *trial {
	t.Helper()
	return newTrialOf(t, newFleet(t, 2, database, append(args, "-config", writeConfig(t))...))
}

func newTrialOf(t *testing.T, f *fleet) *trial {
	t.Helper()
	tr := &trial{t: t, fleet: f}
	for i := range tr.fleet.servers {
		tr.fleet.begin(i)
	}
	for i := range tr.fleet.servers {
		tr.fleet.awaitListening(i)
	}
	tr.load = newLoad(t, seeded(t), 8)
	tr.load.lostConnections = true
	return tr
}

// stage is a fault that comes and goes.
type stage struct {
	name  string
	fault func()
}

// through is during for one fault after the other.
func (tr *trial) through(stages []stage) {
	tr.t.Helper()
	for _, s := range stages {
		tr.during(s.name, s.fault)
	}
}

// during has events submitted, and a fault come and go in the middle of that. Then it waits
// until all are processed.
func (tr *trial) during(name string, fault func()) {
	tr.t.Helper()
	tr.before = tr.load.acknowledged.Load()
	wait := tr.load.share(tr.fleet.urls, tr.events())
	tr.acknowledged(10)
	fault()
	tr.faults++
	began := time.Now()
	wait()
	tr.load.awaitIdle(tr.fleet.servers[0])
	tr.t.Logf("%s: idle again after %v", name, time.Since(began).Round(10*time.Millisecond))
}

// events is how many are submitted around a fault.
func (tr *trial) events() int64 { return 100 }

// acknowledged waits until so much of the load around the present fault is, in percent.
func (tr *trial) acknowledged(percent int64) {
	tr.t.Helper()
	tr.fleet.servers[0].await("requests to be acknowledged", func() bool {
		return tr.load.acknowledged.Load() >= tr.before+tr.events()*percent/100
	})
}

// end compares what the clients know with what is there.
func (tr *trial) end() {
	tr.t.Helper()
	const concurrency, batch = 4, 4
	for _, s := range tr.fleet.servers {
		s.await("readiness", func() bool { return s.do("GET", "/readyz", "", "").status == http.StatusOK })
		tr.load.checkEach(s)
	}
	history, unanswered := tr.load.check(tr.fleet.servers[0])
	runs, _ := tr.fleet.stop()
	assert.Zero(tr.t, unanswered, "every request was sent until it got a 202")
	duplicates := tr.load.checkRuns(history, runs)
	assert.LessOrEqual(tr.t, duplicates, tr.faults*len(tr.fleet.servers)*(concurrency+batch))
	tr.t.Logf("%d faults; %d events; processed twice: %d", tr.faults, len(history), duplicates)
}
