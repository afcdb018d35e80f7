package sqlite_test

import (
	"bufio"
	"context"
	"fmt"
	"maps"
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
	fill   func(t *testing.T, db *sqlite.DB, org string)
	mark   func(ctx context.Context, db *sqlite.DB, org string, by mortise.Actor) error
	remove func(ctx context.Context, db *sqlite.DB, org string, limit int) (more bool, err error)
	read   func(ctx context.Context, db *sqlite.DB, org string) error           // ErrNotFound: its data are gone
	by     func(ctx context.Context, db *sqlite.DB, org string) []mortise.Actor // of the audit events that it has; nil: no trail
	left   map[string]int                                                       // rows that stay of the organization
}

var deletions = []deleting{
	{
		"vault", fillVault,
		func(ctx context.Context, db *sqlite.DB, org string, by mortise.Actor) error {
			e := vault.AuditEvent{ID: uuid.New(), Organization: org, At: filetest.SomeTime, Kind: mortise.KindOrganizationDeleted, Actor: by}
			_, err := db.Vault().Store.MarkDeleted(ctx, org, filetest.SomeTime, e)
			return err
		},
		func(ctx context.Context, db *sqlite.DB, org string, limit int) (more bool, err error) {
			_, more, err = db.Vault().Store.RemoveDeleted(ctx, org, limit)
			return more, err
		},
		func(ctx context.Context, db *sqlite.DB, org string) error {
			_, err := db.Vault().Store.Vault(ctx, org, "v1")
			return err
		},
		func(ctx context.Context, db *sqlite.DB, org string) (by []mortise.Actor) {
			page, err := db.Vault().Store.ListAuditEvents(ctx, org, vault.AuditQuery{Limit: 100})
			for _, e := range page.Items {
				by = append(by, e.Actor)
			}
			return orError(by, err)
		},
		map[string]int{"vault_deleted_orgs": 1, "vault_audit": 1},
	},
	{
		"authmgmt", fillAuthMgmt,
		func(ctx context.Context, db *sqlite.DB, org string, by mortise.Actor) error {
			e := authmgmt.AuditEvent{ID: uuid.New(), Organization: org, At: filetest.SomeTime, Kind: mortise.KindOrganizationDeleted, Actor: by}
			_, err := db.AuthMgmt().Store.MarkDeleted(ctx, org, filetest.SomeTime, e)
			return err
		},
		func(ctx context.Context, db *sqlite.DB, org string, limit int) (more bool, err error) {
			_, more, err = db.AuthMgmt().Store.RemoveDeleted(ctx, org, limit)
			return more, err
		},
		func(ctx context.Context, db *sqlite.DB, org string) error {
			_, err := db.AuthMgmt().Store.Client(ctx, org, "robot0")
			return err
		},
		func(ctx context.Context, db *sqlite.DB, org string) (by []mortise.Actor) {
			page, err := db.AuthMgmt().Store.ListAuditEvents(ctx, org, authmgmt.AuditQuery{Limit: 100})
			for _, e := range page.Items {
				by = append(by, e.Actor)
			}
			return orError(by, err)
		},
		map[string]int{"authmgmt_deleted": 1, "authmgmt_audit": 1},
	},
	{
		"trigger", fillTrigger,
		func(ctx context.Context, db *sqlite.DB, org string, _ mortise.Actor) error {
			_, err := db.Trigger().Store.MarkDeleted(ctx, org, filetest.SomeTime)
			return err
		},
		func(ctx context.Context, db *sqlite.DB, org string, limit int) (more bool, err error) {
			_, more, err = db.Trigger().Store.RemoveDeleted(ctx, org, limit)
			return more, err
		},
		func(ctx context.Context, db *sqlite.DB, org string) error {
			page, err := db.Trigger().Store.ListEvents(ctx, org, trigger.EventQuery{Limit: 1})
			if err == nil && len(page.Items) == 0 {
				err = mortise.ErrNotFound
			}
			return err
		},
		nil,
		map[string]int{"trigger_deleted": 1},
	},
	{
		"audiosearch", fillAudioSearch,
		func(ctx context.Context, db *sqlite.DB, org string, _ mortise.Actor) error {
			_, err := db.AudioSearch().Store.MarkDeleted(ctx, org, filetest.SomeTime)
			return err
		},
		func(ctx context.Context, db *sqlite.DB, org string, limit int) (more bool, err error) {
			_, more, err = db.AudioSearch().Store.RemoveDeleted(ctx, org, limit)
			return more, err
		},
		func(ctx context.Context, db *sqlite.DB, org string) error {
			_, err := db.AudioSearch().Store.Dataset(ctx, org, "d")
			return err
		},
		nil,
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
	require.NoError(t, db.AuthMgmt().Directory.(authmgmt.Organizations).UpdateOrganization(ctx, org, func(o *authmgmt.Organization) (authmgmt.AuditEvent, error) {
		o.RBAC = true
		return event(), nil
	}))
	i := authmgmt.Invitation{Organization: org, ID: "i", Email: "ada@example.com", Name: "Ada", CreatedAt: at, ExpiresAt: at.Add(time.Hour)}
	require.NoError(t, s.CreateInvitation(ctx, i, false, event()))
}

func fillTrigger(t *testing.T, db *sqlite.DB, org string) {
	s := db.Trigger().Store.(trigger.TxStore)
	for range 10 {
		e := newEvent()
		e.Organization, e.Instructions = org, strings.Repeat("long ", 1000)
		_, _, err := s.CreateEventAndAdd(t.Context(), e, time.Time{}, e.Job())
		require.NoError(t, err)
	}
	require.NoError(t, s.(trigger.Organizations).UpdateOrganization(t.Context(), org, func(o *trigger.Organization) error {
		o.SetCollection(uuid.UUID{1}, true)
		return nil
	}))
	id := uuid.New()
	k := trigger.APIKey{ID: id, Organization: org, Digest: [32]byte(append(id[:], id[:]...)), CreatedAt: filetest.SomeTime}
	require.NoError(t, s.(trigger.APIKeys).CreateKey(t.Context(), k))
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
	part := audiosearch.Part{Video: "v7", Path: "p", Model: "m", Classes: []sound.Class{"dog", "cat"}}
	_, err := s.PutPart(ctx, org, "d", part, [][]uint16{{1, 2}, {3, 4}})
	require.NoError(t, err)
	require.NoError(t, s.SetModel(ctx, org, "d", audiosearch.ModelChange{Family: "f", To: "m", At: filetest.SomeTime}))
	r := audiosearch.Run{Organization: org, ID: int64(len(org)), State: audiosearch.StateQueued}
	require.NoError(t, s.(audiosearch.TxStore).CreateRunAndAdd(ctx, r, 10, r.Job()))
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
	require.NoError(t, d.read(ctx, db, "stays"))
	now, marked := rowsOfTables(t, db), maps.Clone(full)
	for table, rows := range d.left {
		marked[table] += rows
	}
	by := mortise.Actor("killed")
	switch place {
	case "in the mark":
		require.Equal(t, full, now)
		require.NoError(t, d.read(ctx, db, "acme"))
		_, err := d.remove(ctx, db, "acme", 1000)
		require.ErrorIs(t, err, mortise.ErrNotFound, "it is not marked")
		by = "next"
	case "after a step":
		require.NotEqual(t, marked, now)
		for table, rows := range now {
			require.LessOrEqual(t, rows, marked[table], table)
		}
	default:
		require.Equal(t, marked, now, "a step is done or is not")
	}
	require.NoError(t, d.mark(ctx, db, "acme", "next")) // as the service does that goes on
	require.ErrorIs(t, d.read(ctx, db, "acme"), mortise.ErrNotFound)
	for more := true; more; {
		more, err = d.remove(ctx, db, "acme", 7)
		require.NoError(t, err)
	}
	require.Equal(t, left, rowsOfTables(t, db))
	require.Empty(t, filetest.Numbers(t, db.File(), "/* of a test */ SELECT 1 FROM pragma_foreign_key_check"))
	require.NoError(t, d.read(ctx, db, "stays"))
	if d.by != nil {
		require.Equal(t, []mortise.Actor{by}, d.by(ctx, db, "acme"))
	}
}

// orError returns actors, or one that is an error's text.
func orError(by []mortise.Actor, err error) []mortise.Actor {
	if err != nil {
		return []mortise.Actor{mortise.Actor(err.Error())}
	}
	return by
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
	require.NoError(t, d.mark(t.Context(), db, "acme", "killed"))
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
