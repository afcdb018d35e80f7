package sqlite_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/storage/sqlite"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/filetest"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// deleting is a domain of which organizations are deleted.
type deleting struct {
	name   string
	fill   func(t *testing.T, db *sqlite.DB, org string) // puts rows into most tables
	mark   func(ctx context.Context, db *sqlite.DB, org string) error
	remove func(ctx context.Context, db *sqlite.DB, org string, limit int) (more bool, err error)
	reads  func(ctx context.Context, db *sqlite.DB, org string) bool // whether its data are there
	left   map[string]int                                            // rows that stay of the organization
}

var deletions = []deleting{
	{
		"vault", fillVault,
		func(ctx context.Context, db *sqlite.DB, org string) error {
			_, err := db.Vault().Store.MarkDeleted(ctx, org, filetest.SomeTime, vault.AuditEvent{ID: uuid.New(), Organization: org, At: filetest.SomeTime})
			return err
		},
		func(ctx context.Context, db *sqlite.DB, org string, limit int) (more bool, err error) {
			_, more, err = db.Vault().Store.RemoveDeleted(ctx, org, limit)
			return more, err
		},
		func(ctx context.Context, db *sqlite.DB, org string) bool {
			_, err := db.Vault().Store.Vault(ctx, org, "v1")
			return err == nil
		},
		map[string]int{"vault_deleted_orgs": 1, "vault_audit": 1},
	},
	{
		"authmgmt", fillAuthMgmt,
		func(ctx context.Context, db *sqlite.DB, org string) error {
			_, err := db.AuthMgmt().Store.MarkDeleted(ctx, org, filetest.SomeTime, authmgmt.AuditEvent{ID: uuid.New(), Organization: org, At: filetest.SomeTime})
			return err
		},
		func(ctx context.Context, db *sqlite.DB, org string, limit int) (more bool, err error) {
			_, more, err = db.AuthMgmt().Store.RemoveDeleted(ctx, org, limit)
			return more, err
		},
		func(ctx context.Context, db *sqlite.DB, org string) bool {
			_, err := db.AuthMgmt().Store.Client(ctx, org, "robot0")
			return err == nil
		},
		map[string]int{"authmgmt_deleted": 1, "authmgmt_audit": 1},
	},
	{
		"trigger", fillTrigger,
		func(ctx context.Context, db *sqlite.DB, org string) error {
			_, err := db.Trigger().Store.MarkDeleted(ctx, org, filetest.SomeTime)
			return err
		},
		func(ctx context.Context, db *sqlite.DB, org string, limit int) (more bool, err error) {
			_, more, err = db.Trigger().Store.RemoveDeleted(ctx, org, limit)
			return more, err
		},
		func(ctx context.Context, db *sqlite.DB, org string) bool {
			page, err := db.Trigger().Store.ListEvents(ctx, org, trigger.EventQuery{Limit: 1})
			return err == nil && len(page.Items) > 0
		},
		map[string]int{"trigger_deleted": 1},
	},
	{
		"audiosearch", fillAudioSearch,
		func(ctx context.Context, db *sqlite.DB, org string) error {
			_, err := db.AudioSearch().Store.MarkDeleted(ctx, org, filetest.SomeTime)
			return err
		},
		func(ctx context.Context, db *sqlite.DB, org string, limit int) (more bool, err error) {
			_, more, err = db.AudioSearch().Store.RemoveDeleted(ctx, org, limit)
			return more, err
		},
		func(ctx context.Context, db *sqlite.DB, org string) bool {
			_, err := db.AudioSearch().Store.Dataset(ctx, org, "d")
			return err == nil
		},
		map[string]int{"audiosearch_deleted": 1},
	},
}

func fillVault(t *testing.T, db *sqlite.DB, org string) {
	ctx, s := t.Context(), db.Vault().Store
	event := vault.AuditEvent{ID: uuid.New(), Organization: org, Vault: "v1", At: filetest.SomeTime}
	require.NoError(t, s.PutVault(ctx, vault.Vault{Organization: org, ID: "v1", Revision: 1}, nil, event))
	var rows []vault.Row
	for i := range 30 {
		rows = append(rows, vault.Row{
			Token: fmt.Sprint("t", i), Scope: fmt.Sprint("scope", i%3), Deterministic: true, CreatedAt: filetest.SomeTime,
			Sealed:       keyring.Sealed{Version: 1, Ciphertext: []byte("sealed")},
			Fingerprints: []vault.VersionedFingerprint{{Version: 1, Fingerprint: keyring.Fingerprint{byte(i)}}},
		})
	}
	_, err := s.InsertTokens(ctx, org, "v1", 1, rows)
	require.NoError(t, err)
}

func fillAuthMgmt(t *testing.T, db *sqlite.DB, org string) {
	ctx, s, at := t.Context(), db.AuthMgmt().Store, filetest.SomeTime
	event := func() authmgmt.AuditEvent {
		return authmgmt.AuditEvent{ID: uuid.New(), Organization: org, At: at}
	}
	for i := range 10 {
		id := fmt.Sprint("robot", i)
		digest := [32]byte([]byte(strings.Repeat(org+id, 32)[:32]))
		c := authmgmt.Client{Organization: org, ID: id, Name: id, CreatedAt: at, Secrets: []authmgmt.ClientSecret{{ID: uuid.New(), Digest: digest, CreatedAt: at}}}
		require.NoError(t, s.CreateClient(ctx, c, event()))
		token := authmgmt.Token{ID: uuid.New(), Organization: org, Subject: id, Digest: digest, CreatedAt: at, ExpiresAt: at.Add(time.Hour)}
		require.NoError(t, s.CreateToken(ctx, token, event()))
	}
}

func fillTrigger(t *testing.T, db *sqlite.DB, org string) {
	s := db.Trigger().Store.(trigger.TxStore)
	for range 10 {
		e := newEvent()
		e.Organization, e.Instructions = org, strings.Repeat("long ", 1000)
		_, _, err := s.CreateEventAndAdd(t.Context(), e, time.Time{}, e.Job())
		require.NoError(t, err)
	}
}

func fillAudioSearch(t *testing.T, db *sqlite.DB, org string) {
	ctx, s := t.Context(), db.AudioSearch().Store
	require.NoError(t, s.CreateDataset(ctx, audiosearch.Dataset{Organization: org, ID: "d"}))
	var videos []audiosearch.Video
	for i := range 20 {
		videos = append(videos, audiosearch.Video{ID: fmt.Sprint("v", i), Path: "p"})
	}
	require.NoError(t, s.PutVideos(ctx, org, "d", videos))
	for _, v := range videos[:5] {
		scoring := audiosearch.Scoring{Model: "m", Windows: 2, Classes: []sound.Class{"dog", "cat"}}
		require.NoError(t, s.PutScoring(ctx, org, "d", v.ID, v.Path, scoring, [][]uint16{{1, 2}, {3, 4}}))
	}
	r := audiosearch.Run{Organization: org, ID: int64(len(org)), State: audiosearch.StateQueued}
	require.NoError(t, s.CreateRun(ctx, r, 10))
}

// rowsOfTables says how many rows each table of the database has.
func rowsOfTables(t *testing.T, db *sqlite.DB) map[string]int {
	t.Helper()
	var tables []string
	const all = "/* of a test */ SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
	require.NoError(t, db.File().Find(t.Context(), file.NoOrg, all, nil, func(r *file.Row) error {
		tables = append(tables, r.Text(0))
		return nil
	}))
	rows := make(map[string]int)
	for _, table := range tables {
		rows[table] = filetest.Numbers(t, db.File(), "/* of a test */ SELECT count(*) FROM "+table)[0]
	}
	return rows
}

// Of a process of TestKilledWhileDeleting: the file, the domain, and where it is killed.
const killedFile, killedDomain, killedPlace = "MORTISE_SQLITE_KILLED_FILE", "MORTISE_SQLITE_KILLED_DOMAIN", "MORTISE_SQLITE_KILLED_PLACE"

// TestKilledWhileDeleting: a process is killed in the transaction that marks an organization,
// behind it, in the middle of a step that removes rows, and behind one. Another process, which
// opens the file next, sees the mark or does not, and goes on.
func TestKilledWhileDeleting(t *testing.T) {
	if path := os.Getenv(killedFile); path != "" { // the process
		for _, d := range deletions {
			if d.name == os.Getenv(killedDomain) {
				stopWhileDeleting(t, path, d, os.Getenv(killedPlace))
			}
		}
		t.Fatal("it was not killed")
	}
	t.Parallel()
	for _, d := range deletions {
		for _, place := range []string{"in the mark", "after the mark", "in a step", "after a step"} {
			t.Run(d.name+"/"+place, func(t *testing.T) { killWhileDeleting(t, d, place) })
		}
	}
}

func killWhileDeleting(t *testing.T, d deleting, place string) {
	path, ctx := filepath.Join(t.TempDir(), "test.db"), t.Context()
	db, err := sqlite.Open(ctx, path, nil)
	require.NoError(t, err)
	d.fill(t, db, "stays")
	left := rowsOfTables(t, db)
	for table, rows := range d.left {
		left[table] += rows
	}
	d.fill(t, db, "acme")
	full := rowsOfTables(t, db)
	require.NoError(t, db.Close())

	child := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestKilledWhileDeleting$", "-test.count=1")
	child.Env = append(os.Environ(), killedFile+"="+path, killedDomain+"="+d.name, killedPlace+"="+place)
	output, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	lines := bufio.NewScanner(output)
	for lines.Scan() && lines.Text() != place {
		t.Log(lines.Text())
	}
	require.Equal(t, place, lines.Text())
	require.NoError(t, child.Process.Kill())
	_ = child.Wait()

	db = openAt(t, path, nil)
	require.True(t, d.reads(ctx, db, "stays"))
	require.Equal(t, place == "in the mark", d.reads(ctx, db, "acme"))
	now := rowsOfTables(t, db)
	if place == "in the mark" {
		require.Equal(t, full, now)
		_, err := d.remove(ctx, db, "acme", 1000)
		require.ErrorIs(t, err, mortise.ErrNotFound, "it is not marked")
		require.NoError(t, d.mark(ctx, db, "acme"))
		require.False(t, d.reads(ctx, db, "acme"))
	} else {
		sum := func(rows map[string]int) (n int) {
			for _, of := range rows {
				n += of
			}
			return n
		}
		marked := sum(full) + sum(d.left)
		require.Equal(t, place == "after a step", sum(now) < marked, "a step is done or is not: %v", now)
		require.LessOrEqual(t, sum(now), marked)
	}
	for more := true; more; {
		more, err = d.remove(ctx, db, "acme", 7)
		require.NoError(t, err)
	}
	require.Equal(t, left, rowsOfTables(t, db))
	require.Empty(t, filetest.Numbers(t, db.File(), "/* of a test */ SELECT 1 FROM pragma_foreign_key_check"))
	require.True(t, d.reads(ctx, db, "stays"))
}

// stopWhileDeleting deletes up to a place, tells of it, and waits to be killed there.
func stopWhileDeleting(t *testing.T, path string, d deleting, place string) {
	db, err := sqlite.Open(t.Context(), path, nil)
	require.NoError(t, err)
	stop := func() {
		fmt.Println(place)
		time.Sleep(time.Minute)
	}
	if place == "in the mark" {
		db.File().Probe().Inside(stop)
	}
	require.NoError(t, d.mark(t.Context(), db, "acme"))
	if place == "in a step" {
		db.File().Probe().Inside(stop)
	}
	if place != "after the mark" {
		more, err := d.remove(t.Context(), db, "acme", 8)
		require.NoError(t, err)
		require.True(t, more)
	}
	stop()
}
