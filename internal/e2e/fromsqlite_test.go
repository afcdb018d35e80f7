package e2e

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/internal/pgserver"
	"github.com/seed-6363c74e/mortise/storage/postgres"
	"github.com/seed-6363c74e/mortise/storage/postgres/fromsqlite"
	"github.com/seed-6363c74e/mortise/storage/sqlite"
)

// TestFromSQLite copies files of storage/sqlite into databases of one server.
func TestFromSQLite(t *testing.T) {
	t.Parallel()
	empty := newEmptyCopy(t)
	for name, test := range map[string]func(t *testing.T, c *sqliteCopy){
		"everything": testCopiesEverything, "refused": testCopyRefused, "values": testCopiedValues, "audio": testCopiedAudio, "views": testViews, "domains": testCopiedDomains,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newSQLiteCopy(t, empty))
		})
	}
}

// emptyCopy is what each copy begins with: a file and a database with all tables.
type emptyCopy struct {
	server   *pgserver.Server
	file     []byte
	database string
}

func newEmptyCopy(t *testing.T) *emptyCopy {
	t.Helper()
	e := &emptyCopy{server: pgserver.Shared(t), database: "copy_template"}
	path := filepath.Join(t.TempDir(), "mortise.db")
	db, err := sqlite.Open(t.Context(), path, nil)
	require.NoError(t, err)
	require.NoError(t, db.Close())
	e.file = read(t, path)
	asAdmin(t, e.server, "CREATE DATABASE "+e.database)
	conn, err := pgx.Connect(t.Context(), e.server.URL(e.database))
	require.NoError(t, err)
	require.NoError(t, postgres.Migrate(t.Context(), conn, nil))
	require.NoError(t, conn.Close(t.Context())) // or nobody could copy it
	return e
}

// sqliteCopy is a file of storage/sqlite and an empty database, both with all tables.
type sqliteCopy struct {
	empty *emptyCopy
	path  string
	pool  *pgxpool.Pool
	conn  *pgx.Conn // to the same database
	out   bytes.Buffer
	// What the copy ends with before it has reached the audio search, and behind it.
	cut, cutAtEnd error
}

func newSQLiteCopy(t *testing.T, empty *emptyCopy) *sqliteCopy {
	t.Helper()
	c := &sqliteCopy{empty: empty, path: filepath.Join(t.TempDir(), "mortise.db")}
	require.NoError(t, os.WriteFile(c.path, empty.file, 0o600))
	name := "copy_" + strings.ReplaceAll(uuid.NewString(), "-", "")
	asAdmin(t, empty.server, "CREATE DATABASE "+name+" TEMPLATE "+empty.database)
	c.conn = connectTo(t, empty.server.URL(name))
	var err error
	c.pool, err = pgxpool.New(t.Context(), empty.server.URL(name))
	require.NoError(t, err)
	t.Cleanup(c.pool.Close)
	return c
}

// another is a copy from and to what is new.
func (c *sqliteCopy) another(t *testing.T) *sqliteCopy {
	t.Helper()
	return newSQLiteCopy(t, c.empty)
}

func (c *sqliteCopy) run(t *testing.T) error {
	t.Helper()
	source, err := sql.Open("sqlite", "file:"+c.path+"?mode=rw")
	require.NoError(t, err)
	return fromsqlite.Copy(t.Context(), fromsqlite.Source{DB: source, AudioSearch: c.audio}, c.pool, &fromsqlite.Options{Out: &c.out})
}

func (c *sqliteCopy) audio(ctx context.Context) (audiosearch.Store, func() error, error) {
	if c.cut != nil {
		return nil, nil, c.cut
	}
	from, err := sqlite.Open(ctx, c.path, nil)
	if err != nil {
		return nil, nil, err
	}
	return from.AudioSearch().Store, func() error { return errors.Join(from.Close(), c.cutAtEnd) }, nil
}

func connectTo(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Second)
		defer cancel()
		_ = conn.Close(ctx)
	})
	return conn
}

// change runs statements on the file.
func (c *sqliteCopy) change(t *testing.T, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", c.path)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	for _, s := range statements {
		_, err := db.ExecContext(t.Context(), s)
		require.NoError(t, err, s)
	}
}

// testCopiesEverything: there is nothing in the tables of either side that is not copied or
// left out on purpose. Whoever adds a column or a table finds tables.go by this. A table of
// the host's is not ours to copy.
func testCopiesEverything(t *testing.T, c *sqliteCopy) {
	c.change(t, "CREATE TABLE orders (id INTEGER)")
	require.NoError(t, c.run(t))

	for _, statement := range []string{
		"ALTER TABLE trigger_events ADD COLUMN more INTEGER",
		"ALTER TABLE trigger_bodies ADD COLUMN more INTEGER",
		"CREATE TABLE trigger_more (id INTEGER)",
	} {
		c := c.another(t)
		c.change(t, statement)
		assert.ErrorContains(t, c.run(t), "does not know how to copy", statement)
	}
	for statement, told := range map[string]string{
		"ALTER TABLE mortise.vault_tokens ADD COLUMN more bigint": "is not as Mortise made it",
		"CREATE TABLE mortise.vault_more (id bigint)":             "does not know how to copy",
		"CREATE SEQUENCE mortise.more_numbers":                    "does not know how to copy",
	} {
		c := c.another(t)
		_, err := c.conn.Exec(t.Context(), statement)
		require.NoError(t, err)
		assert.ErrorContains(t, c.run(t), told, statement)
	}
}

// testCopyRefused: a file that is open, a database that has rows, and a part of another copy
// are refused, and nothing is copied.
func testCopyRefused(t *testing.T, c *sqliteCopy) {
	c.change(t, "INSERT INTO trigger_organizations VALUES ('acme', 1)")
	count := func() (n int) {
		require.NoError(t, c.conn.QueryRow(t.Context(), "SELECT count(*) FROM mortise.trigger_organizations").Scan(&n))
		return n
	}
	unfinished := func() bool {
		is, err := fromsqlite.Unfinished(t.Context(), c.pool, nil)
		require.NoError(t, err)
		return is
	}

	db, err := sqlite.Open(t.Context(), c.path, nil)
	require.NoError(t, err)
	err = c.run(t)
	require.ErrorIs(t, err, fromsqlite.ErrSource)
	require.ErrorContains(t, err, "a program uses it; stop that first")
	require.NoError(t, db.Close())

	nowhere, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "nowhere.db")+"?mode=rw")
	require.NoError(t, err)
	require.ErrorContains(t, fromsqlite.Copy(t.Context(), fromsqlite.Source{DB: nowhere}, c.pool, nil), "both fields of Source")
	err = fromsqlite.Copy(t.Context(), fromsqlite.Source{DB: nowhere, AudioSearch: c.audio}, c.pool, nil)
	require.ErrorContains(t, err, "open the SQLite database")

	assert.Zero(t, count())
	assert.False(t, unfinished())

	// A part of a copy, of rows that have changed since.
	c.cut = errors.New("cut off")
	require.ErrorIs(t, c.run(t), c.cut)
	c.cut = nil
	assert.True(t, unfinished())
	c.change(t, "INSERT INTO trigger_organizations VALUES ('other', 1)")
	err = c.run(t)
	require.ErrorIs(t, err, fromsqlite.ErrTarget)
	require.ErrorContains(t, err, "another database")
	assert.Equal(t, 1, count())

	c.change(t, "DELETE FROM trigger_organizations WHERE id = 'other'")
	require.NoError(t, c.run(t))
	assert.False(t, unfinished())
	assert.Equal(t, 1, count())
	err = c.run(t)
	require.ErrorIs(t, err, fromsqlite.ErrTarget)
	require.ErrorContains(t, err, "not empty")

	// The audio search's, which are not copied row by row.
	sounds := c.another(t)
	_, err = sounds.conn.Exec(t.Context(), "INSERT INTO mortise.audiosearch_deleted (organization, since) VALUES ('acme', now())")
	require.NoError(t, err)
	err = sounds.run(t)
	require.ErrorIs(t, err, fromsqlite.ErrTarget)
	require.ErrorContains(t, err, "not empty (audiosearch_deleted has rows)")
}

// testCopiedValues: what the two have in different forms.
func testCopiedValues(t *testing.T, c *sqliteCopy) {
	const id = "x'0102030405060708090a0b0c0d0e0f10'"
	c.change(t,
		// Long ones stand apart.
		"INSERT INTO trigger_events (id, organization, status, source, instructions, submitted_at, attempts, last_error, generation, body, submitted_by)"+
			" VALUES ("+id+", 'a', 0, 's', '', 1, 3, CAST(x'00ff41' AS TEXT), 2, 1, '')",
		"INSERT INTO trigger_bodies VALUES ("+id+", 'long', '{}')",
		// A vault that is there, one that is being removed, one that is gone.
		"INSERT INTO vault_vaults VALUES (1, 'a', 'there', 1, 5, 6, '{}'), (7, CAST('a' AS BLOB), CAST('hidden' AS BLOB), 1, 5, 6, '')",
		"INSERT INTO vault_deleted_vaults VALUES ('a', 'hidden', 8), ('a', 'gone', 9)",
		// The event that says that an organization was deleted.
		"INSERT INTO vault_audit VALUES (4, "+id+", 'b', 1, 'k', '', '', NULL, NULL), (5, "+id+", 'b', 2, 'k', '', '', NULL, NULL)",
		"INSERT INTO vault_deleted_orgs VALUES ('b', 1, 5, 0)",
		"INSERT INTO mortise_jobs VALUES (3, 'j', 'trigger', 'a', -62135596800000000, 0, "+id+", 1, 0, NULL), (4, 'j', 'audiosearch', 'a', 1, 1, NULL, 0, 0, NULL)",
	)
	require.NoError(t, c.run(t))
	want := func(query, want string) {
		t.Helper()
		var got string
		require.NoError(t, c.conn.QueryRow(t.Context(), "SELECT coalesce(string_agg(x::text, ' ' ORDER BY x::text), '') FROM ("+query+") AS x").Scan(&got))
		assert.Equal(t, want, got)
	}
	_, err := c.conn.Exec(t.Context(), "SET search_path = mortise")
	require.NoError(t, err)
	want("SELECT id, attempts, last_error, convert_from(instructions, 'UTF8'), context FROM trigger_events",
		`(01020304-0506-0708-090a-0b0c0d0e0f10,3,"\\x00ff41",long,{})`)
	want("SELECT seq, id, deleted_at IS NOT NULL, rest FROM vault_vaults", "(1,there,f,f) (7,hidden,t,t) (8,gone,t,f)")
	want("SELECT extract(second FROM at) > 0.0000015, mark FROM vault_audit", "(f,f) (t,t)")
	want("SELECT seq, kind, token IS NOT NULL, extract(year FROM claimable_at AT TIME ZONE 'UTC') FROM jobs", "(3,trigger,t,1) (4,audiosearch,f,1970)")
	want("SELECT nextval('vault_vaults_seq_seq'), nextval('jobs_seq_seq')", "(9,5)")
}

// testCopiedAudio: models that were replaced, scores, problems, runs in each state and what they
// found are the same in both, also after a copy that was cut off.
func testCopiedAudio(t *testing.T, c *sqliteCopy) {
	ctx := t.Context()
	from, err := sqlite.Open(ctx, c.path, nil)
	require.NoError(t, err)
	a := from.AudioSearch().Store
	at := func(n int) time.Time { return time.Date(2026, 1, n, 0, 0, 0, 1000, time.UTC) }
	for _, org := range []string{"acme", "other", "gone"} {
		require.NoError(t, a.CreateDataset(ctx, audiosearch.Dataset{Organization: org, ID: "d", CreatedAt: at(1)}))
	}
	videos := []audiosearch.Video{{ID: "a", Path: "a.wav", Metadata: metadata.Map{"n": metadata.Int(1)}}, {ID: "b", Path: "b.wav"}}
	require.NoError(t, a.PutVideos(ctx, "acme", "d", videos))
	for i, model := range []string{"old", "newer", "newest"} {
		_, err := a.ModelOrder(ctx, "f", model)
		require.NoError(t, err)
		scoring := audiosearch.Scoring{Model: model, FileTime: at(2), At: at(3), Duration: 2 * time.Second, Window: time.Second, Hop: time.Second,
			Windows: 2, Keyframes: []time.Duration{0, time.Second}, Classes: []sound.Class{"Bark", "Meow"}}
		require.NoError(t, a.PutScoring(ctx, "acme", "d", "a", "a.wav", scoring, [][]uint16{{1, uint16(i)}, {3, 4}}))
		require.NoError(t, a.PutScoring(ctx, "acme", "d", "b", "b.wav", audiosearch.Scoring{Model: model, At: at(3), Problem: "no sound"}, nil))
		before := []string{"", "old", "newer"}[i]
		require.NoError(t, a.SetModel(ctx, "acme", "d", audiosearch.ModelChange{Family: "f", From: before, To: model, At: at(4 + i)}))
	}
	for i, state := range []audiosearch.State{audiosearch.StateTerminated, audiosearch.StateQueued} {
		r := audiosearch.Run{Organization: "acme", ID: int64(i) + 7, Actor: "ada", Query: audiosearch.Query{Dataset: "d", Class: "Bark"},
			State: audiosearch.StateQueued, CreatedAt: at(7), UpdatedAt: at(7), DueAt: at(7)}
		require.NoError(t, a.CreateRun(ctx, r, 10))
		set := uuid.New()
		require.NoError(t, a.PutResultVideos(ctx, "acme", r.ID, set, videos))
		require.NoError(t, a.PutResults(ctx, "acme", r.ID, set, slices.Repeat([]audiosearch.Result{{VideoID: "a", End: time.Second, Score: 0.5}}, 120)))
		if state == audiosearch.StateTerminated {
			require.NoError(t, a.UpdateRun(ctx, "acme", r.ID, func(r *audiosearch.Run) error {
				r.State, r.Termination, r.FinishedAt, r.ResultSet = state, audiosearch.Success, at(8), set
				return nil
			}))
		}
	}
	_, err = a.MarkDeleted(ctx, "gone", at(9))
	require.NoError(t, err)
	require.NoError(t, from.Close())

	to, err := postgres.New(ctx, c.pool, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = to.Close() })
	b := to.AudioSearch().Store
	// Cut off when all of the audio search was copied, by a store whose closing fails.
	c.cutAtEnd = errors.New("cut off")
	require.ErrorIs(t, c.run(t), c.cutAtEnd)
	c.cutAtEnd = nil
	require.NoError(t, b.DeleteVideo(ctx, "acme", "d", "b")) // as if it had not come as far
	require.NoError(t, c.run(t))
	assert.Contains(t, c.out.String(), "audiosearch: datasets 2, videos 2, scorings 6, runs 2, digest ")

	models, err := b.Models(ctx, "acme", "d")
	require.NoError(t, err)
	require.Len(t, models, 3)
	assert.Equal(t, []time.Time{at(6), {}, at(5)}, []time.Time{models[0].ReplacedAt, models[1].ReplacedAt, models[2].ReplacedAt}, "newer, newest, old")
	place, err := b.ModelOrder(ctx, "f", "newest")
	require.NoError(t, err)
	assert.EqualValues(t, 3, place)
	found, err := b.RunResults(ctx, "acme", 7, 100)
	require.NoError(t, err)
	assert.Len(t, found, 20)
	waiting, err := b.Run(ctx, "acme", 8)
	require.NoError(t, err)
	assert.Equal(t, audiosearch.StateQueued, waiting.State)
	since, err := b.MarkDeleted(ctx, "gone", at(20))
	require.NoError(t, err)
	assert.Equal(t, at(9), since)
}

// testCopiedDomains: of a file with some domains, these are copied into a database that has them,
// among others or not, and into no other.
func testCopiedDomains(t *testing.T, c *sqliteCopy) {
	path := filepath.Join(t.TempDir(), "mortise.db")
	db, err := sqlite.Open(t.Context(), path, &sqlite.Options{Domains: []string{"trigger"}})
	require.NoError(t, err)
	require.NoError(t, db.Close())
	copyTo := func(c *sqliteCopy, domains ...string) error {
		source, err := sql.Open("sqlite", "file:"+path+"?mode=rw")
		require.NoError(t, err)
		return fromsqlite.Copy(t.Context(), fromsqlite.Source{DB: source, AudioSearch: c.audio}, c.pool, &fromsqlite.Options{Domains: domains})
	}
	for name, domains := range map[string][]string{"all": nil, "one": {"trigger"}, "another": {"vault"}} {
		c := c.another(t)
		c.path = path
		c.change(t, "INSERT OR REPLACE INTO trigger_organizations VALUES ('acme', 1)")
		_, err := c.conn.Exec(t.Context(), "DROP SCHEMA mortise CASCADE")
		require.NoError(t, err)
		require.NoError(t, postgres.Migrate(t.Context(), c.conn, &postgres.Options{Domains: domains}))
		if err := copyTo(c, domains...); name == "another" {
			require.ErrorIs(t, err, fromsqlite.ErrTarget)
			require.ErrorContains(t, err, "opened without trigger")
			continue
		} else {
			require.NoError(t, err, name)
		}
		var id string
		require.NoError(t, c.conn.QueryRow(t.Context(), "SELECT id FROM mortise.trigger_organizations").Scan(&id))
		require.Equal(t, "acme", id)
	}
}
