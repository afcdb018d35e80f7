package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/trigger"
)

// scripts is a set of migrations: texts by their names below migrations/.
func scripts(texts map[string]string) fs.FS {
	files := make(fstest.MapFS)
	for name, text := range texts {
		files["migrations/"+name] = &fstest.MapFile{Data: []byte(text)}
	}
	return files
}

// released returns the real migrations up to a version of each domain, or of those that
// are named.
func released(t *testing.T, upTo int, domains ...string) fs.FS {
	t.Helper()
	steps, err := readSteps(migrations)
	require.NoError(t, err)
	files := make(fstest.MapFS)
	for _, s := range steps {
		if s.version <= upTo && (len(domains) == 0 || slices.Contains(domains, s.domain)) {
			files["migrations/"+s.domain+"/"+strconv.Itoa(s.version)+"_x.sql"] = &fstest.MapFile{Data: []byte(s.script)}
		}
	}
	return files
}

// newest are the versions of a file that is up to date, as "domain version".
func newest(t *testing.T) (versions []string) {
	t.Helper()
	steps, err := readSteps(migrations)
	require.NoError(t, err)
	for i, s := range steps {
		if i+1 == len(steps) || steps[i+1].domain != s.domain {
			versions = append(versions, fmt.Sprint(s.domain, " ", s.version))
		}
	}
	slices.Sort(versions) // as they are listed
	return versions
}

// migrationConn is a connection to the file as Open's is. The test's end closes it.
func migrationConn(t *testing.T, path string) *conn {
	t.Helper()
	require.NoError(t, create(path))
	return connectTo(t, path, url.Values{"_journal": {"WAL"}, "_sync": {"FULL"}, "_fk": {"1"}})
}

// connectTo opens a connection that the test's end closes.
func connectTo(t *testing.T, path string, settings url.Values) *conn {
	t.Helper()
	s, err := newSource(path, settings)
	require.NoError(t, err)
	c, err := s.connect()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.close()) })
	return c
}

// schema is everything that the tables are made of, and the versions.
func schema(t *testing.T, conn *conn) []string {
	t.Helper()
	found := column(t, conn, "SELECT type || ' ' || name || ' ' || coalesce(sql, '') FROM sqlite_schema ORDER BY 1")
	if slices.ContainsFunc(found, func(s string) bool { return len(s) > 22 && s[:22] == "table mortise_versions" }) {
		found = append(found, column(t, conn, "SELECT domain || ' ' || version FROM mortise_versions ORDER BY 1")...)
	}
	return found
}

// column is a query of one column.
func column(t *testing.T, conn *conn, query string) []string {
	t.Helper()
	found := []string{}
	require.NoError(t, conn.query(t.Context(), query, nil, func(r *row) error {
		found = append(found, fmt.Sprint(r.values[0]))
		return nil
	}))
	return found
}

func TestMigrateFresh(t *testing.T) {
	conn := migrationConn(t, filepath.Join(t.TempDir(), "test.db"))
	require.NoError(t, migrate(t.Context(), conn, migrations))
	fresh := schema(t, conn)
	require.Subset(t, fresh, newest(t))
	require.NoError(t, migrate(t.Context(), conn, migrations), "a second time")
	require.Equal(t, fresh, schema(t, conn))

	// Step by step it becomes the same.
	steps := migrationConn(t, filepath.Join(t.TempDir(), "test.db"))
	for version := range 100 { // more than any domain has
		require.NoError(t, migrate(t.Context(), steps, released(t, version)))
	}
	require.Equal(t, fresh, schema(t, steps))
}

// TestMigrateOld: a file of the first version, with rows, is brought up to date by Open
// and keeps them.
func TestMigrateOld(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	writeOld(t, path)
	db, err := Open(t.Context(), path, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	tables := &Trigger{db: db}
	e, err := tables.Event(t.Context(), "acme", uuid.UUID{7})
	require.NoError(t, err)
	require.Equal(t, trigger.Event{
		ID: uuid.UUID{7}, Organization: "acme", Status: trigger.StatusFailed, Source: "api", Instructions: "Old \x00 text.",
		SubmittedAt: time.UnixMicro(1_700_000_000_000_001).UTC(), Attempts: 3, LastError: "no", IdempotencyKey: "k",
		FinishedAt: time.UnixMicro(-5).UTC(),
	}, e)
	page, err := tables.ListEvents(t.Context(), "acme", trigger.EventQuery{Source: "api", Status: trigger.StatusFailed, Limit: 1})
	require.NoError(t, err)
	require.Equal(t, []trigger.Event{e}, page.Items, "the indexes that came later have it")
	stored, created, err := tables.CreateEvent(t.Context(), trigger.Event{
		ID: uuid.UUID{8}, Organization: "acme", Status: trigger.StatusReceived, Instructions: "New.", IdempotencyKey: "k",
	}, time.Time{})
	require.NoError(t, err)
	require.False(t, created, "the old event has the key")
	require.Equal(t, e, stored)
	require.NoError(t, db.Jobs().Add(t.Context(), e.Job()))
}

// TestMigrateJobs: the jobs of events come along into the one table, and events whose
// jobs are elsewhere are known as such.
func TestMigrateJobs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	require.NoError(t, create(path))
	conn := connectTo(t, path, url.Values{"_journal": {"WAL"}})
	require.NoError(t, migrate(t.Context(), conn, released(t, 4, "trigger")))
	event := func(n byte, status int) uuid.UUID {
		id := uuid.UUID{0xAB, 15: n}
		_, err := conn.exec(t.Context(), "INSERT INTO trigger_events (id, organization, status, source, instructions, submitted_at, attempts, last_error, generation)"+
			" VALUES (?, 'acme', ?, 'api', 'x', ?, 0, '', 3)", id[:], status, int64(n))
		require.NoError(t, err)
		return id
	}
	job := func(id uuid.UUID, at int64, ready int, token any, deliveries, dead int) {
		_, err := conn.exec(t.Context(), "INSERT INTO trigger_jobs (event, generation, organization, claimable_at, ready, token, deliveries, dead)"+
			" VALUES (?, 3, 'acme', ?, ?, ?, ?, ?)", id[:], at, ready, token, deliveries, dead)
		require.NoError(t, err)
	}
	waiting, held, dead, elsewhere := event(1, 0), event(2, 1), event(3, 3), event(4, 0)
	token := uuid.New()
	job(waiting, 5, 1, nil, 0, 0)
	job(held, 7, 0, token[:], 2, 0)
	job(dead, 6, 1, nil, 4, 1)
	require.NoError(t, conn.close())

	at := time.UnixMicro(6)
	db, err := Open(t.Context(), path, &Options{Now: func() time.Time { return at }})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	claim := func() []mortise.Lease {
		t.Helper()
		c := mortise.Claim{Token: uuid.New(), Kinds: []string{trigger.JobKind}, Limit: 10, TTL: time.Hour}
		leases, err := db.Jobs().Claim(t.Context(), c)
		require.NoError(t, err)
		return leases
	}
	jobOf := func(id uuid.UUID) mortise.Job {
		return (&trigger.Event{ID: id, Organization: "acme", Generation: 3}).Job()
	}
	leases := claim()
	require.Len(t, leases, 1)
	require.Equal(t, jobOf(waiting), leases[0].Job)
	require.NoError(t, db.Jobs().Extend(t.Context(), mortise.Lease{Job: jobOf(held), Token: token}, time.Microsecond), "its holder")
	require.NoError(t, db.Jobs().Add(t.Context(), jobOf(dead)))
	require.Empty(t, claim(), "what is dead stays so")
	at = at.Add(time.Microsecond)
	leases = claim()
	require.Len(t, leases, 1)
	require.Equal(t, jobOf(held), leases[0].Job)
	require.Equal(t, 3, leases[0].Deliveries)

	for id, checked := range map[uuid.UUID]time.Time{waiting: {}, held: {}, dead: {}, elsewhere: time.UnixMicro(4).UTC()} {
		e, err := db.Trigger().Store.Event(t.Context(), "acme", id)
		require.NoError(t, err)
		require.Equal(t, checked, e.CheckedAt)
		require.Equal(t, id == dead, e.DueAt.IsZero())
	}
}

// writeOld makes a file as the first version left it.
func writeOld(t *testing.T, path string) {
	t.Helper()
	require.NoError(t, create(path))
	conn := connectTo(t, path, url.Values{"_journal": {"WAL"}})
	require.NoError(t, migrate(t.Context(), conn, released(t, 1, "trigger")))
	require.Contains(t, schema(t, conn), "trigger 1")
	id := uuid.UUID{7}
	_, err := conn.exec(t.Context(), `INSERT INTO trigger_events (id, organization, status, source, instructions, submitted_at, finished_at,
		attempts, last_error, generation, idempotency_key) VALUES (?, 'acme', 3, 'api', ?, 1700000000000001, -5, 3, 'no', 0, 'k')`,
		id[:], "Old \x00 text.")
	require.NoError(t, err)
}

// TestMigrateNewer: a file of a newer program is refused, and is the same afterwards,
// byte for byte.
func TestMigrateNewer(t *testing.T) {
	for name, newer := range map[string]string{
		"a newer version":   "UPDATE mortise_versions SET version = 1000",
		"an unknown domain": "INSERT INTO mortise_versions (domain, version) VALUES ('chat', 1)",
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "test.db")
			db, err := Open(t.Context(), path, nil)
			require.NoError(t, err)
			require.NoError(t, db.Close())
			source, err := newSource(path, url.Values{})
			require.NoError(t, err)
			conn, err := source.connect()
			require.NoError(t, err)
			_, err = conn.exec(t.Context(), newer)
			require.NoError(t, errors.Join(err, conn.close()))
			before, err := os.ReadFile(path)
			require.NoError(t, err)

			_, err = Open(t.Context(), path, nil)
			require.ErrorContains(t, err, "use a newer program")
			require.ErrorContains(t, err, path)
			after, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, before, after)
			require.NoFileExists(t, path+"-wal")
		})
	}
}

// TestMigrateFailing: whatever fails in whichever step, the file is as it was, and can be
// migrated by what is whole.
func TestMigrateFailing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	conn := migrationConn(t, path)
	old := map[string]string{"a/0001_x.sql": "CREATE TABLE a1 (x); INSERT INTO a1 VALUES (1), (2)"}
	require.NoError(t, migrate(t.Context(), conn, scripts(old)))
	before := schema(t, conn)
	for name, script := range map[string]string{
		"no SQL":                   "CREATE TABLE a2 (x); CREATE TABEL",
		"a constraint":             "CREATE TABLE a2 (x UNIQUE); INSERT INTO a2 VALUES (1); INSERT INTO a2 VALUES (1)",
		"a table twice":            "ALTER TABLE a1 ADD COLUMN y; DELETE FROM a1; CREATE TABLE a1 (x)",
		"a foreign key at the end": "CREATE TABLE p (id PRIMARY KEY); CREATE TABLE c (p REFERENCES p (id) DEFERRABLE INITIALLY DEFERRED); INSERT INTO c VALUES (1)",
	} {
		t.Run(name, func(t *testing.T) {
			files := scripts(map[string]string{
				"a/0001_x.sql": "", "a/0002_good.sql": "CREATE TABLE good (x); DELETE FROM a1 WHERE x = 1", "a/0003_bad.sql": script,
				"b/0001_good.sql": "CREATE TABLE b1 (x)",
			})
			require.Error(t, migrate(t.Context(), conn, files))
			require.Equal(t, before, schema(t, conn))
			require.Equal(t, []string{"1", "2"}, column(t, conn, "SELECT x FROM a1 ORDER BY 1"))
			// The connection is not left in a transaction.
			_, err := conn.exec(t.Context(), "BEGIN IMMEDIATE")
			require.NoError(t, err)
			_, err = conn.exec(t.Context(), "ROLLBACK")
			require.NoError(t, err)
		})
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, migrate(ended, conn, scripts(map[string]string{"a/1_x.sql": "", "a/2_x.sql": "CREATE TABLE a2 (x)"})), context.Canceled)
	require.Equal(t, before, schema(t, conn))

	require.NoError(t, migrate(t.Context(), conn, scripts(map[string]string{"a/0001_x.sql": "", "a/0002_x.sql": "ALTER TABLE a1 ADD COLUMN y"})))
	require.Contains(t, schema(t, conn), "a 2")
}

func TestMigrateNames(t *testing.T) {
	for name, texts := range map[string]map[string]string{
		"a gap":                        {"a/0001_x.sql": "", "a/0003_x.sql": ""},
		"no first one":                 {"a/0002_x.sql": ""},
		"zero":                         {"a/0000_x.sql": "", "a/0001_x.sql": ""},
		"negative":                     {"a/-1_x.sql": "", "a/0001_x.sql": ""},
		"a version twice":              {"a/0001_x.sql": "", "a/0001_y.sql": ""},
		"a version twice, other zeros": {"a/0001_x.sql": "", "a/1_y.sql": ""},
		"no number":                    {"a/x.sql": ""},
		"a number of another kind":     {"a/1a_x.sql": ""},
		"a gap in another domain":      {"a/0001_x.sql": "", "b/0002_x.sql": ""},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "test.db")
			conn := migrationConn(t, path)
			require.Error(t, migrate(t.Context(), conn, scripts(texts)))
			require.Empty(t, schema(t, conn))
		})
	}
	steps, err := readSteps(scripts(map[string]string{"b/0002_x.sql": "b2", "b/0001_x.sql": "b1", "a/0001_x.sql": "a1"}))
	require.NoError(t, err)
	require.Equal(t, []step{{"a", 1, "a1"}, {"b", 1, "b1"}, {"b", 2, "b2"}}, steps)
	// More than nine, by number.
	many := make(map[string]string)
	for _, n := range []string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11"} {
		many["a/"+n+"_x.sql"] = n
	}
	steps, err = readSteps(scripts(many))
	require.NoError(t, err)
	require.Equal(t, "11", steps[10].script)
}

// TestMigrateDomains: each domain has a version of its own.
func TestMigrateDomains(t *testing.T) {
	conn := migrationConn(t, filepath.Join(t.TempDir(), "test.db"))
	require.NoError(t, migrate(t.Context(), conn, scripts(map[string]string{
		"a/1_x.sql": "CREATE TABLE a1 (x)", "a/2_x.sql": "CREATE TABLE a2 (x)",
	})))
	require.NoError(t, migrate(t.Context(), conn, scripts(map[string]string{
		"a/1_x.sql": "CREATE TABLE a1 (x)", "a/2_x.sql": "CREATE TABLE a2 (x)", "b/1_x.sql": "CREATE TABLE b1 (x)",
	})))
	require.NoError(t, migrate(t.Context(), conn, scripts(map[string]string{
		"a/1_x.sql": "CREATE TABLE a1 (x)", "a/2_x.sql": "CREATE TABLE a2 (x)", "b/1_x.sql": "CREATE TABLE b1 (x)", "b/2_x.sql": "CREATE TABLE b2 (x)",
	})))
	require.Equal(t, []string{"a 2", "b 2"}, column(t, conn, "SELECT domain || ' ' || version FROM mortise_versions ORDER BY 1"))
}

// TestMigrateTogether: several that open an old file, or a new one, at once all succeed,
// and each step is done once.
func TestMigrateTogether(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(t *testing.T, path string){
		"an old file": writeOld,
		"no file":     func(*testing.T, string) {},
	} {
		t.Run(name, func(t *testing.T) {
			for range 5 {
				path := filepath.Join(t.TempDir(), "test.db")
				prepare(t, path)
				var opened [8]*DB
				var wg sync.WaitGroup
				start := make(chan struct{})
				for i := range opened {
					wg.Go(func() {
						<-start
						var err error
						opened[i], err = Open(t.Context(), path, &Options{BusyTimeout: time.Minute})
						assert.NoError(t, err)
					})
				}
				close(start)
				wg.Wait()
				for _, db := range opened {
					if assert.NotNil(t, db) {
						assert.NoError(t, db.Jobs().Add(t.Context(), mortise.Job{Kind: "k", Organization: "acme", ID: uuid.NewString()}))
					}
				}
				conn := migrationConn(t, path)
				require.Equal(t, []string{"8"}, column(t, conn, "SELECT count(*) FROM mortise_jobs"))
				require.ElementsMatch(t, newest(t), column(t, conn, "SELECT domain || ' ' || version FROM mortise_versions"))
				for _, db := range opened {
					if db != nil {
						require.NoError(t, db.Close())
					}
				}
			}
		})
	}

	// A step that must not be done twice.
	files := scripts(map[string]string{"a/1_x.sql": "CREATE TABLE a (x); INSERT INTO a VALUES (1)", "a/2_x.sql": "UPDATE a SET x = x + 1"})
	path := filepath.Join(t.TempDir(), "test.db")
	first := migrationConn(t, path)
	require.NoError(t, migrate(t.Context(), first, scripts(map[string]string{"a/1_x.sql": "CREATE TABLE a (x); INSERT INTO a VALUES (1)"})))
	var wg sync.WaitGroup
	for range 8 {
		conn := migrationConn(t, path)
		wg.Go(func() {
			assert.NoError(t, retryBusy(t.Context(), nil, time.Now().Add(10*time.Second), func() error { return migrate(t.Context(), conn, files) }))
		})
	}
	wg.Wait()
	require.Equal(t, []string{"2"}, column(t, first, "SELECT x FROM a"))
}
