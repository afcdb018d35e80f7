package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/seed-6363c74e/mortise/internal/pgserver"
	"github.com/seed-6363c74e/mortise/trigger"
)

// storages opens each storage anew.
var storages = map[string]func(t *testing.T) *backends{
	"SQLite": func(t *testing.T) *backends {
		return openStorageFor(t, &settings{data: filepath.Join(t.TempDir(), "data")})
	},
	"memory": func(t *testing.T) *backends { return openStorageFor(t, &settings{memory: true}) },
	"PostgreSQL": func(t *testing.T) *backends {
		database, err := parsePostgres(newDatabase(t))
		if err != nil {
			t.Fatal(err)
		}
		return openStorageFor(t, &settings{data: filepath.Join(t.TempDir(), "data"), database: database})
	},
}

func TestMain(m *testing.M) { pgserver.Main(m) }

// databases are those of the tests on PostgreSQL.
var databases struct {
	mu   sync.Mutex
	n    int
	idle []string // that tests are done with, and that are empty again
}

// newDatabase returns the URL of an empty database, which may have the tables already.
func newDatabase(t *testing.T) string {
	t.Helper()
	server := pgserver.Shared(t)
	databases.mu.Lock()
	defer databases.mu.Unlock()
	var name string
	if n := len(databases.idle); n > 0 {
		name = databases.idle[n-1]
		databases.idle = databases.idle[:n-1]
	} else {
		databases.n++
		name = fmt.Sprintf("server%d", databases.n)
		execSQL(t, server.DSN("postgres"), "CREATE DATABASE "+name)
	}
	t.Cleanup(func() { giveBack(t, server, name) })
	return server.URL(name)
}

// empty removes all rows but those that say which tables there are. To make the tables anew
// takes far longer.
const empty = `DO $$
DECLARE used text;
BEGIN
	SELECT string_agg(oid::regclass::text, ', ') INTO used FROM pg_class
	WHERE relnamespace = to_regnamespace('mortise') AND relkind = 'r' AND relname <> 'mortise_scripts' AND pg_relation_size(oid) > 0;
	IF used IS NOT NULL THEN
		EXECUTE 'TRUNCATE ' || used || ' RESTART IDENTITY CASCADE';
	END IF;
END $$`

// giveBack empties a database for the next test.
func giveBack(t *testing.T, server *pgserver.Server, name string) {
	const end = "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
	execSQL(t, server.DSN(name), end, empty)
	databases.mu.Lock()
	defer databases.mu.Unlock()
	databases.idle = append(databases.idle, name)
}

// execSQL executes statements.
func execSQL(t *testing.T, database string, statements ...string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	conn, err := pgx.Connect(ctx, database)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	for _, statement := range statements {
		if _, err := conn.Exec(ctx, statement); err != nil {
			t.Fatal(err)
		}
	}
}

func openStorageFor(t *testing.T, s *settings) *backends {
	t.Helper()
	b, err := openStorage(t.Context(), s, discard())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// onEach runs a test on the services of every storage.
func onEach(t *testing.T, test func(t *testing.T, s *services, b *backends)) {
	for name, open := range storages {
		t.Run(name, func(t *testing.T) {
			b := open(t)
			s, err := wire(testSettings(), b, testKey(), discard())
			if err != nil {
				t.Fatal(err)
			}
			test(t, s, b)
		})
	}
}

func TestCloseStorage(t *testing.T) {
	for name, test := range map[string]struct {
		close func() error
		took  time.Duration
		log   string
	}{
		"well":  {func() error { time.Sleep(time.Second); return nil }, time.Second, ""},
		"badly": {func() error { return errors.New("disk full") }, 0, "disk full"},
		"never": {func() error { time.Sleep(time.Hour); return nil }, leaveAfter, "left as it is"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				begun := time.Now()
				closeStorage(&backends{close: test.close}, slog.New(slog.NewJSONHandler(&log, nil)))
				took := time.Since(begun)
				time.Sleep(2 * time.Hour) // whatever was left behind ends before the test does
				if took != test.took {
					t.Errorf("took %v, want %v", took, test.took)
				}
				if !strings.Contains(log.String(), test.log) || (test.log == "") != (log.Len() == 0) {
					t.Errorf("logged %s", &log)
				}
			})
		})
	}
}

func TestInTime(t *testing.T) {
	failure := errors.New("no")
	for name, test := range map[string]struct {
		start func() error
		took  time.Duration // after the signal, which comes after an hour
		err   error
	}{
		"ended before":  {func() error { return failure }, -time.Hour, failure},
		"ended in time": {func() error { time.Sleep(time.Hour + 9*time.Second); return failure }, 9 * time.Second, failure},
		"hangs":         {func() error { time.Sleep(2 * time.Hour); return failure }, leaveAfter, errHangs},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, signal := context.WithTimeout(t.Context(), time.Hour)
				defer signal()
				begun := time.Now()
				err := inTime(ctx, test.start)
				took := time.Since(begun) - time.Hour
				time.Sleep(2 * time.Hour)
				if took != test.took || !errors.Is(err, test.err) {
					t.Errorf("took %v, want %v; error %v", took, test.took, err)
				}
				var log bytes.Buffer
				ended := status(ctx, err, &log)
				if hung := err == errHangs; (ended == exitOK) != hung || strings.Contains(log.String(), "not everything has ended") != hung {
					t.Errorf("ended with %d: %s", ended, &log)
				}
			})
		})
	}
}

// TestProvisioningAgain: the same document changes nothing in the storage.
func TestProvisioningAgain(t *testing.T) {
	document, err := os.ReadFile("testdata/acme.json")
	if err != nil {
		t.Fatal(err)
	}
	type state struct {
		Organization trigger.Organization
		Keys         []trigger.APIKey
	}
	onEach(t, func(t *testing.T, s *services, b *backends) {
		var states [3]state
		for i := range states {
			if err := apply(t, s, string(document)); err != nil {
				t.Fatal(err)
			}
			var orgErr error
			states[i].Organization, orgErr = b.trigger.Directory.Setup(t.Context(), "acme")
			page, keysErr := b.trigger.Keys.ListKeys(t.Context(), "acme", "", 10)
			states[i].Keys = page.Items
			if err := errors.Join(orgErr, keysErr); err != nil {
				t.Fatal(err)
			}
			if len(states[i].Keys) != 1 || len(states[i].Organization.Collections) != 1 || !reflect.DeepEqual(states[i], states[0]) {
				t.Errorf("time %d: %+v, first %+v", i, states[i], states[0])
			}
		}
	})
}

// TestProvisioningAtOnce: several servers on the same data start with the same document.
func TestProvisioningAtOnce(t *testing.T) {
	onEach(t, func(t *testing.T, s *services, b *backends) {
		for round := range 10 {
			key := fmt.Sprint(docKey, "-", round)
			var group sync.WaitGroup
			for range 4 {
				group.Go(func() {
					if err := apply(t, s, `{"organizations":[{"id":"acme","api_keys":[{"key":"`+key+`","revoked":true}]}]}`); err != nil {
						t.Error(err)
					}
				})
			}
			group.Wait()
			if k, err := s.trigger.service.FindKey(t.Context(), key); err != nil || k.Organization != "acme" || k.RevokedAt.IsZero() {
				t.Errorf("%+v, %v", k, err)
			}
		}
		page, err := b.trigger.Keys.ListKeys(t.Context(), "acme", "", 100)
		if err != nil || len(page.Items) != 10 {
			t.Errorf("%d keys, %v", len(page.Items), err)
		}
	})
}

// TestDemoCredentials: those of the demo work beside those of the storage, and are not in it.
func TestDemoCredentials(t *testing.T) {
	onEach(t, func(t *testing.T, s *services, b *backends) {
		if err := apply(t, s, orgDocument("demo", true, "[]", "[]")); err != nil {
			t.Fatal(err)
		}
		_, key, err := s.trigger.service.IssueKey(t.Context(), demoOrganization, "", "")
		if err != nil {
			t.Fatal(err)
		}
		settings := testSettings()
		settings.demo = newDemoCredentials()
		demo, err := wire(settings, b, testKey(), discard())
		if err != nil {
			t.Fatal(err)
		}
		ask := func(s *services, path, credentials string) int {
			handler, err := routes(t.Context(), settings, s, discard())
			if err != nil {
				t.Fatal(err)
			}
			r := httptest.NewRequest(http.MethodGet, path, nil)
			r.Header.Set("Authorization", "Bearer "+credentials)
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			return w.Code
		}
		other := newDemoCredentials()
		const clients, run = "/api/v1/auth-management/clients", "/api/v0/search/metadata-filters/job/status/1?dataset_id=sounds"
		for _, test := range []struct {
			path, own, stored string
			wrong             []string
			want              int
		}{
			{"/triggers", settings.demo.key, key.Reveal(), []string{settings.demo.token, other.key, docToken}, http.StatusOK},
			{clients, settings.demo.token, docToken, []string{settings.demo.key, other.token, key.Reveal()}, http.StatusOK},
			{run, settings.demo.token, docToken, []string{settings.demo.key, other.token}, http.StatusNotFound},
		} {
			for _, credentials := range []string{test.own, test.stored} {
				if code := ask(demo, test.path, credentials); code != test.want {
					t.Errorf("%s: %d, want %d", test.path, code, test.want)
				}
			}
			for _, credentials := range test.wrong {
				if code := ask(demo, test.path, credentials); code != http.StatusUnauthorized {
					t.Errorf("%s with the wrong credentials: %d", test.path, code)
				}
			}
			if code := ask(s, test.path, test.own); code != http.StatusUnauthorized {
				t.Errorf("%s, where there is no demo: %d", test.path, code)
			}
		}
		keys, err := s.trigger.service.ListKeys(t.Context(), demoOrganization, "", 0)
		tokens, err2 := s.authmgmt.service.ListTokens(t.Context(), demoOrganization, "", 10)
		if err := errors.Join(err, err2); err != nil || len(keys.Items) != 1 || len(tokens.Items) != 1 {
			t.Errorf("stored: %+v, %+v, %v", keys, tokens, err)
		}
	})
}

// TestUnusableSchema: tables that the program has not made are refused on one line, and with the
// status that says that starting it again is of no use.
func TestUnusableSchema(t *testing.T) {
	server := pgserver.Shared(t)
	execSQL(t, server.DSN("postgres"), "CREATE DATABASE unusable")
	execSQL(t, server.DSN("unusable"), "CREATE SCHEMA mortise", "CREATE TABLE mortise.trigger_events ()")
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte(strings.Repeat("ab", 32)), 0o600); err != nil {
		t.Fatal(err)
	}
	const want = `-postgres: postgres: %sunusable schema "mortise": the table trigger_events has a name of Mortise's:` +
		" rename it, or choose another schema\n"
	for _, migrate := range []bool{false, true} {
		prefix := ""
		if migrate {
			prefix = "migrate: "
		}
		var stderr strings.Builder
		args := []string{"-postgres", server.URL("unusable"), "-vault-key", key, fmt.Sprint("-migrate=", migrate)}
		status := run(args, nil, io.Discard, &stderr)
		if said := stderr.String(); status != exitUsage || said != fmt.Sprintf(want, prefix) {
			t.Errorf("-migrate=%v: status %d, %s", migrate, status, said)
		}
	}
}
