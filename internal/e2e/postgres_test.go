package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/nightly"
	"github.com/seed-6363c74e/mortise/internal/pgserver"
)

// TestPostgres: servers on one database share the work, whatever becomes of one of them or
// of the database for a while. Events that were answered with 202 are there and are
// processed, and no server needs a restart.
func TestPostgres(t *testing.T) {
	t.Parallel()
	db := startPostgres(t)
	tr := newTrial(t, db)
	tr.through(append(killsOf(tr, 1), crashOf(tr, db)))
	tr.end()
}

// TestPostgresFaults is TestPostgres with many kills, and with all that may happen to a
// database.
func TestPostgresFaults(t *testing.T) {
	nightly.Only(t)
	t.Parallel()
	db := startPostgres(t)
	tr := newTrial(t, db)
	tr.through(append(killsOf(tr, 50), faultsOf(tr, db)...))
	tr.end()
}

// killsOf kills the servers by turns, and starts each again.
func killsOf(tr *trial, n int) []stage {
	var stages []stage
	for kill := range n {
		stages = append(stages, stage{"a kill", func() {
			tr.fleet.kill(kill % 2)
			tr.fleet.start(kill % 2)
		}})
	}
	return stages
}

// crashOf ends the database as a crash does, and starts it again.
func crashOf(tr *trial, db *pgserver.Server) stage {
	return stage{"a crash", func() {
		require.NoError(tr.t, db.Down(pgserver.Crash))
		awaitAway(tr.fleet.servers[1])
		require.NoError(tr.t, db.Up())
	}}
}

// faultsOf are the faults of a database.
func faultsOf(tr *trial, db *pgserver.Server) []stage {
	return []stage{{"terminated sessions", func() {
		for range 5 {
			terminateSessions(tr.t, db)
			time.Sleep(50 * time.Millisecond)
		}
	}}, {"no connection left", func() {
		free := occupy(tr.t, db)
		tr.fleet.servers[0].await("the servers to have none", func() bool {
			terminateSessions(tr.t, db) // what is free then, guests take too
			return tr.fleet.servers[0].do("GET", "/readyz", "", "").status == http.StatusServiceUnavailable
		})
		free()
	}}, crashOf(tr, db), {"a restart", func() {
		require.NoError(tr.t, db.Down(pgserver.Terminate))
		require.NoError(tr.t, db.Up())
	}}, {"a pause", func() {
		require.NoError(tr.t, db.Signal(syscall.SIGSTOP))
		awaitAway(tr.fleet.servers[0])
		require.NoError(tr.t, db.Signal(syscall.SIGCONT))
	}}}
}

// TestPostgresBouncer: between the servers and the database stands PgBouncer, which gives a
// connection to each transaction. The servers make the tables through it, too.
func TestPostgresBouncer(t *testing.T) {
	t.Parallel()
	nightly.Only(t)
	db := startPostgres(t)
	tr := newTrialAt(t, startBouncer(t, db))
	tr.through([]stage{{"terminated sessions", func() { terminateSessions(t, db) }}, {"a kill", func() {
		tr.fleet.kill(0)
		tr.fleet.start(0)
	}}})
	tr.end()
}

// TestPostgresNetwork: the network to the database is slow, loses what is on its way, and is
// cut off.
func TestPostgresNetwork(t *testing.T) {
	t.Parallel()
	nightly.Only(t)
	db := startPostgres(t)
	address, err := db.Listen()
	require.NoError(t, err)
	require.NoError(t, db.Down(pgserver.Terminate))
	require.NoError(t, db.Up())
	network := startNetwork(t, address)
	tr := newTrialAt(t, "postgres://mortise@"+network.Listen+"/mortise?sslmode=disable")
	tr.through([]stage{{"cuts", func() {
		for range 5 {
			network.Stop()
			time.Sleep(50 * time.Millisecond)
			require.NoError(t, network.Start())
			time.Sleep(100 * time.Millisecond)
		}
	}}, {"latency", func() {
		slow := network.spoil("latency", `{"latency":50,"jitter":50}`)
		time.Sleep(2 * time.Second)
		slow.heal()
	}}, {"lost packets", func() {
		lost := network.spoil("timeout", `{"timeout":0}`)
		awaitAway(tr.fleet.servers[0])
		lost.heal()
	}}})
	tr.end()
}

// TestPostgresFailover: the database's machine is gone, and its standby takes over. The
// servers find it by themselves.
func TestPostgresFailover(t *testing.T) {
	t.Parallel()
	nightly.Only(t)
	primary := startPostgres(t)
	standby := primary.Standby(t)
	tr := newTrialAt(t, fmt.Sprintf("postgres://mortise@/mortise?host=%s,%s&port=5432,5432&sslmode=disable&target_session_attrs=read-write", primary.Dir, standby.Dir))
	tr.during("a failover", func() {
		require.NoError(t, primary.Down(pgserver.Crash))
		awaitAway(tr.fleet.servers[0])
		require.NoError(t, standby.Promote())
	})
	tr.end()
}

// TestPostgresFullDisk: there is no room for the tables of the database. Who submits something
// is told so, what is there can be read, and once there is room again the servers go on.
func TestPostgresFullDisk(t *testing.T) {
	t.Parallel()
	nightly.Only(t)
	disk := mountMemory(t, "size=64m,mode=777")
	require.NoError(t, os.Chmod(filepath.Dir(disk), 0o711))
	db := startPostgres(t)
	asAdmin(t, db, "CREATE TABLESPACE small LOCATION '"+tablespace(t, db, disk)+"'")
	asAdmin(t, db, "ALTER DATABASE mortise SET TABLESPACE small")
	tr := newTrial(t, db)
	tr.during("a full disk", func() {
		ballast := filepath.Join(disk, "ballast")
		fill(t, ballast)
		s, c := tr.fleet.servers[0], tr.load.client("who fills the rest", seeded(t))
		c.allKeys = true
		submit := func() int {
			status, err := c.send(t.Context(), s.url, c.take())
			assert.Contains(t, []int{http.StatusAccepted, http.StatusServiceUnavailable}, status, err)
			return status
		}
		s.await("no room for an event", func() bool { return submit() == http.StatusServiceUnavailable })
		for _, s := range tr.fleet.servers {
			assert.Equal(t, http.StatusOK, s.do("GET", "/triggers?limit=1", goodKey, "").status, "what is there can be read")
		}
		require.NoError(t, os.Remove(ballast))
		s.await("room for the event", func() bool { return submit() == http.StatusAccepted })
	})
	tr.end()
}

// TestPostgresJetStream is the same with the queue on NATS, which also loses jobs: those that
// were not on the disk of a server that syncs by default, and those of a stream that somebody
// deletes. Their events are queued again at the next sweep.
func TestPostgresJetStream(t *testing.T) {
	t.Parallel()
	nightly.Only(t)
	db, queue := startPostgres(t), startNATS(t)
	tr := newTrial(t, db, "-queue", queue.url)
	tr.load.refused = "could not be queued"
	stages := []stage{{"no queue", func() {
		queue.stop()
		tr.fleet.servers[0].await("the queue to be missed", func() bool {
			a := tr.fleet.servers[0].do("GET", "/readyz", "", "")
			return a.status == http.StatusServiceUnavailable && strings.Contains(a.body, `"away":"queue"`)
		})
		queue.start()
	}}, {"a kill", func() {
		tr.fleet.kill(0)
		tr.fleet.start(0)
	}}, {"a loss of the stream", func() {
		queue.hold()
		tr.acknowledged(90)
		queue.lose()
	}}, {"a crash of the queue's machine", func() {
		queue.hold()
		tr.acknowledged(40)
		image := queue.onDisk()
		tr.acknowledged(90)
		queue.crash(image)
		queue.release()
	}}}
	for range 5 {
		stages = append(stages, stage{"a crash", func() {
			require.NoError(t, db.Down(pgserver.Crash))
			require.NoError(t, db.Up())
		}})
	}
	tr.through(stages)
	tr.end()
	for _, s := range tr.fleet.servers {
		_, end, found := strings.Cut(s.stderr.String(), `"msg":"shutting down"`)
		assert.True(t, found)
		assert.NotContains(t, end, "the queue is away", "the server has left it")
	}
}

// TestPostgresSearch: two servers score the videos of one folder, each video once. What was
// begun at one of them is told by the other one, which sees new metadata at once.
func TestPostgresSearch(t *testing.T) {
	t.Parallel()
	nightly.Only(t)
	m := newMedia(t)
	var clips []clip
	for i := range 8 {
		name := fmt.Sprint("clip-", i)
		m.wav(name+".wav", whiteNoise(2, uint64(i)))
		clips = append(clips, clip{ID: name, Path: name + ".wav", Metadata: object{"half": i % 2}})
	}
	f := newFleet(t, 2, sharedDatabase(t), "-config", m.document(clips...))
	for i := range f.servers {
		f.begin(i)
	}
	scored := 0
	for _, s := range f.servers {
		s.awaitListening()
		s.awaitIngestion()
		scored += s.scored()
	}
	assert.GreaterOrEqual(t, scored, len(clips))
	for i, s := range f.servers {
		other := f.servers[1-i]
		run := s.search(rootToken, "White noise", object{"metadata_filters": []object{{"key": "half", "value": "1"}}})
		assert.Equal(t, "SUCCESS", *other.awaitRun(rootToken, run).Termination)
		found := other.results(rootToken, run)
		assert.Equal(t, s.results(rootToken, run), found)
		videos := make(map[string]bool)
		for _, one := range found {
			videos[one.Video.ID] = true
			assert.JSONEq(t, `{"half":1}`, string(one.Video.Metadata))
		}
		assert.Len(t, videos, len(clips)/2)
	}
	f.stop()
}

// awaitAway waits until a server says that the database is away.
func awaitAway(s *server) {
	s.t.Helper()
	s.await("the database to be missed", func() bool {
		a := s.do("GET", "/readyz", "", "")
		if a.status != http.StatusOK {
			assert.Contains(s.t, a.body, `"away":"`)
			assert.Contains(s.t, a.body, "storage")
		}
		return a.status == http.StatusServiceUnavailable
	})
}

// terminateSessions ends all sessions of a database but this one and those of guests.
func terminateSessions(t testing.TB, db *pgserver.Server) {
	t.Helper()
	asAdmin(t, db, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"+
		" WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() AND usename <> 'guest'")
}

// occupy takes all connections of a database that are free, or become free, until it is told
// to let go.
func occupy(t testing.TB, db *pgserver.Server) (free func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	asAdmin(t, db, "CREATE ROLE guest LOGIN")
	var taking sync.WaitGroup
	for range 8 {
		taking.Go(func() {
			var conns []*pgx.Conn
			for ctx.Err() == nil {
				config, err := pgx.ParseConfig(db.DSN("postgres"))
				if !assert.NoError(t, err) {
					break
				}
				config.User = "guest" // whom none is kept for
				if conn, err := pgx.ConnectConfig(ctx, config); err == nil {
					conns = append(conns, conn)
				} else {
					time.Sleep(25 * time.Millisecond) // each try is a process
				}
			}
			for _, conn := range conns {
				_ = conn.Close(context.WithoutCancel(ctx))
			}
		})
	}
	return func() {
		cancel()
		taking.Wait()
	}
}

// TestPostgresShare: of work that is enough for all, no server gets less than half of its
// share, and each event is processed once. So is what comes while the servers are restarted
// one after the other, to clients that send again what was refused or got no answer.
func TestPostgresShare(t *testing.T) {
	t.Parallel()
	nightly.Only(t)
	testShare(t, 4)
}

func testShare(t *testing.T, n int) {
	const clients = 16
	db := startPostgres(t)
	f := newFleet(t, n, databaseURL(db), "-config", writeConfig(t), "-lease", "15s") // which no busy machine outlasts
	for i := range f.servers {
		f.start(i)
	}
	l := newLoad(t, seeded(t), clients)
	f.restartEach(l)
	before := l.history(f.servers[0], "")
	l.share(f.urls, 1000)()
	l.awaitIdle(f.servers[0])
	history, _ := l.check(f.servers[n-1])
	runs, each := f.stop()
	assert.Zero(t, l.checkRuns(history, runs), "processed twice")
	counts := make([]int, n)
	for i, own := range each {
		for id, k := range own {
			if _, earlier := before[id]; !earlier {
				counts[i] += k
			}
		}
		assert.GreaterOrEqual(t, counts[i], (len(history)-len(before))/n/2, "server %d", i)
	}
	t.Logf("%d events before, %d then, by server: %v", len(before), len(history)-len(before), counts)
}

// TestPostgresVault: of two servers on one database, what one of them knows of the vault the
// other one does, too: a value has one token, and what is deleted is gone.
func TestPostgresVault(t *testing.T) {
	t.Parallel()
	nightly.Only(t)
	const values, clients = 200, 4
	f := newFleet(t, 2, sharedDatabase(t), "-config", writeVaults(t, personsTable, ""))
	for i := range f.servers {
		f.start(i)
	}
	c := newVaultCaller(t, 2*clients)
	all := make([]string, values)
	for i := range all {
		all[i] = fmt.Sprintf("value %d", i)
	}
	given := insertAtOnce(t, c, f.servers, clients, all)
	for _, s := range f.servers {
		tokens, _, err := c.tokenize(t, s.url, all)
		require.NoError(t, err)
		for i, token := range tokens {
			assert.Equal(t, map[string]bool{token: true}, given[all[i]], "the tokens of %s", all[i])
		}
	}
	deleted := c.mustInsert(t, f.servers[0].url, "new")
	require.Equal(t, http.StatusOK, f.servers[1].status("DELETE", tokensPath+deleted, rootToken))
	_, status, _ := c.tokenize(t, f.servers[0].url, []string{"new"})
	assert.Equal(t, http.StatusNotFound, status)
	f.stop()
}

// TestPostgresStart: the server refuses what cannot work, makes the tables when it is asked
// to, and does not tell the password of the database.
func TestPostgresStart(t *testing.T) {
	nightly.Only(t)
	t.Parallel()
	p, url := buildServer(t), sharedDatabase(t)
	told := p.refusal(t, 2, nil, "-postgres", url)
	assert.Contains(t, told, "-vault-key: needed with -postgres")
	const password = "a-password-that-nobody-must-see"
	key := writeKey(t, "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff")
	for url, status := range map[string]int{
		"postgres://user:" + password + "@127.0.0.1:1/x":            1,
		"postgres://user:" + password + "@127.0.0.1:1/x?sslmode=no": 2,
		"postgres://user:" + password + "@127.0.0.1:port/x":         2,
	} {
		told := p.refusal(t, status, nil, "-postgres", url, "-vault-key", key)
		assert.NotContains(t, told, password)
		assert.Contains(t, told, "-postgres: ")
	}
	for range 2 {
		s := p.run(t, t.TempDir(), nil, "-migrate", "-postgres", url)
		s.awaitExit()
		assert.Equal(t, "the tables are there\n", s.stdout.String())
	}
	s := p.start(t, nil, "-postgres", url, "-vault-key", key, "-config", writeConfig(t))
	s.stop()
	told = p.refusal(t, 2, nil, "-postgres", url, "-vault-key", writeKey(t, "ff112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"))
	assert.Contains(t, told, "key")
	told = p.refusal(t, 1, nil, "-postgres", url, "-queue", "nats://127.0.0.1:1", "-vault-key", key)
	assert.Contains(t, told, "-queue: ")
}
