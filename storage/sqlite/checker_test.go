package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/trigger"
)

const pageSize = 4096

// closedFile is a file with some events that was closed in peace.
func closedFile(t *testing.T, events int) (path string, stored []trigger.Event) {
	t.Helper()
	path = EmptyFile(t)
	db, err := Open(t.Context(), path, nil)
	require.NoError(t, err)
	for range events {
		e := someEvent()
		_, _, err := db.Trigger().Store.CreateEvent(t.Context(), e, time.Time{})
		require.NoError(t, err)
		stored = append(stored, e)
	}
	require.NoError(t, db.Close())
	requireFiles(t, filepath.Dir(path), "test.db")
	return path, stored
}

// damageEvent overwrites the pages in which an event stands, of the table and of its
// indexes.
func damageEvent(t testing.TB, path string, id uuid.UUID) {
	t.Helper()
	file, err := os.ReadFile(path)
	require.NoError(t, err)
	damaged := 0
	for at := pageSize; at < len(file); at += pageSize {
		if page := file[at : at+pageSize]; bytes.Contains(page, id[:]) {
			copy(page, bytes.Repeat([]byte{0xff}, pageSize))
			damaged++
		}
	}
	require.Positive(t, damaged)
	require.NoError(t, os.WriteFile(path, file, 0o600))
}

// kill makes a file look as if the process had died that had it open: with a log, in
// which nothing stands.
func kill(t testing.TB, path string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path+"-wal", nil, 0o600))
}

// behind leaves everything to the checker.
var behind = checks{table: checkTable}

// refusal is how Open answers a damaged file.
func refusal(t testing.TB, path string) error {
	t.Helper()
	_, err := Open(t.Context(), path, nil)
	require.ErrorIs(t, err, ErrUnusable)
	require.ErrorIs(t, err, errDamaged)
	return err
}

// TestDamageAfterACrash: damage is found when the file is opened, or behind if there is
// no time. Then all calls fail, in the words of Open, and so does the next Open.
func TestDamageAfterACrash(t *testing.T) {
	path, events := closedFile(t, 300)
	damageEvent(t, path, events[100].ID)
	kill(t, path)
	line := refusal(t, path).Error()

	db, err := open(t.Context(), path, nil, behind)
	require.NoError(t, err)
	<-db.checker.stopped
	backends := db.Trigger()
	ctx := t.Context()
	before, err := os.ReadFile(path)
	require.NoError(t, err)
	for name, call := range map[string]func() error{
		"read":   func() error { _, err := backends.Store.Event(ctx, "acme", events[0].ID); return err },
		"absent": func() error { _, err := backends.Store.Event(ctx, "acme", uuid.New()); return err },
		"list": func() error {
			_, err := backends.Store.ListEvents(ctx, "acme", trigger.EventQuery{Limit: 1})
			return err
		},
		"write": func() error { _, _, err := backends.Store.CreateEvent(ctx, someEvent(), time.Time{}); return err },
		"claim": func() error {
			_, err := db.Jobs().Claim(ctx, mortise.Claim{Token: uuid.New(), Kinds: []string{trigger.JobKind}, Limit: 1, TTL: time.Hour})
			return err
		},
		"client": func() error { _, err := db.AuthMgmt().Store.(*AuthMgmt).Client(ctx, "acme", "c"); return err },
		"clients": func() error {
			_, err := db.AuthMgmt().Store.(*AuthMgmt).ListClients(ctx, "acme", "", 1)
			return err
		},
		"vault":   func() error { _, err := db.Vault().Store.(*Vault).Vault(ctx, "acme", "v"); return err },
		"dataset": func() error { _, err := db.AudioSearch().Store.Dataset(ctx, "acme", "d"); return err },
		"backup":  func() error { return db.Backup(ctx, filepath.Join(t.TempDir(), "backup.db")) },
		"ping":    func() error { return db.Ping(ctx) },
	} {
		err := call()
		require.ErrorIs(t, err, ErrUnusable, name)
		require.ErrorIs(t, err, errDamaged, name)
		require.ErrorContains(t, err, line, name)
		require.NotErrorIs(t, err, mortise.ErrNotFound, name)
	}
	require.EqualError(t, db.Ping(ctx), line)
	require.NoError(t, db.Close())
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, before, after, "something was written to a damaged file")
	require.EqualError(t, refusal(t, path), line, "after a damaged file was closed in peace")

	skipping, err := Open(t.Context(), path, &Options{SkipCheck: true})
	require.NoError(t, err)
	_, err = skipping.Trigger().Store.ListEvents(ctx, "acme", trigger.EventQuery{Limit: 300})
	require.Error(t, err)
	<-skipping.checker.stopped // at once: nothing is heard
	require.NoError(t, skipping.checker.err())
	require.NoError(t, skipping.Close())
	refusal(t, path) // nobody has looked
}

// TestDamageInAClosedFile: after a file was closed in peace, damage to a table is found
// when it is read. From then on it is as after a crash. Damage to the header, the schema
// or the list of free pages is found when it is opened.
func TestDamageInAClosedFile(t *testing.T) {
	path, events := closedFile(t, 300)
	good, err := os.ReadFile(path)
	require.NoError(t, err)
	damageEvent(t, path, events[100].ID)
	db, err := Open(t.Context(), path, nil)
	require.NoError(t, err)
	require.NoError(t, db.Ping(t.Context()))
	_, err = db.Trigger().Store.Event(t.Context(), "acme", events[100].ID)
	require.Error(t, err)
	require.NotErrorIs(t, err, mortise.ErrNotFound)
	<-db.checker.stopped
	line := db.Ping(t.Context())
	require.ErrorIs(t, line, errDamaged)
	require.NoError(t, db.Close())
	require.EqualError(t, refusal(t, path), line.Error())

	for name, content := range map[string][]byte{
		"cut off":       good[:len(good)/2],
		"schema":        append(append(bytes.Clone(good[:100]), bytes.Repeat([]byte{0xff}, pageSize-100)...), good[pageSize:]...),
		"freelist":      append(append(bytes.Clone(good[:32]), 0, 0, 0, 9, 0, 0, 0, 1), good[40:]...), // begins at a page in use
		"no free pages": append(append(bytes.Clone(good[:36]), 0, 0, 0, 5), good[40:]...),
	} {
		path := filepath.Join(t.TempDir(), "test.db")
		require.NoError(t, os.WriteFile(path, content, 0o600))
		_, err := Open(t.Context(), path, nil)
		require.ErrorIs(t, err, ErrUnusable, name)
		require.True(t, isDamage(err), name)
		requireFiles(t, filepath.Dir(path), "test.db")
	}
}

// TestWriteMeetsDamage: damage that a write meets is looked for as well.
func TestWriteMeetsDamage(t *testing.T) {
	path, events := closedFile(t, 300)
	damageEvent(t, path, events[100].ID)
	db, err := Open(t.Context(), path, nil)
	require.NoError(t, err)
	err = db.Trigger().Store.UpdateEvent(t.Context(), "acme", events[100].ID, func(*trigger.Event) error { return nil })
	require.Error(t, err)
	<-db.checker.stopped
	require.ErrorIs(t, db.Ping(t.Context()), errDamaged)
	require.NoError(t, db.Close())
}

// TestCheckBehind: what a crash has left is whole once all tables were checked, and the
// next Open looks no more.
func TestCheckBehind(t *testing.T) {
	path, events := closedFile(t, 300)
	kill(t, path)
	var names []string
	k := checks{table: func(ctx context.Context, c *conn, name string) error {
		names = append(names, name)
		return checkTable(ctx, c, name)
	}}
	db, err := open(t.Context(), path, nil, k)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return !db.checker.unchecked.Load() }, time.Minute, time.Millisecond)
	_, err = db.Trigger().Store.Event(t.Context(), "acme", events[0].ID)
	require.NoError(t, err)
	require.NoError(t, db.Close())
	require.Contains(t, names, "sqlite_schema")
	require.Contains(t, names, "trigger_events")
	require.Contains(t, names, "mortise_jobs")
	requireFiles(t, filepath.Dir(path), "test.db")
}

// TestCloseDuringCheck: a check ends at once when the file is closed, and the next Open
// begins again.
func TestCloseDuringCheck(t *testing.T) {
	path, events := closedFile(t, 300)
	damageEvent(t, path, events[100].ID)
	kill(t, path)
	checking := make(chan struct{})
	k := checks{table: func(ctx context.Context, c *conn, _ string) error {
		close(checking)
		const endless = "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
		return c.query(ctx, endless, nil, func(*row) error { return nil })
	}}
	db, err := open(t.Context(), path, nil, k)
	require.NoError(t, err)
	<-checking
	require.NoError(t, db.Ping(t.Context()))
	require.NoError(t, db.Close())
	require.NoError(t, db.checker.err())
	refusal(t, path)
}

// TestMarkOutlivesAFailedOpen: an Open that fails at whatever moment does not make the file
// look closed in peace.
func TestMarkOutlivesAFailedOpen(t *testing.T) {
	path, events := closedFile(t, 300)
	damageEvent(t, path, events[100].ID)
	kill(t, path)
	for calls := 1; ; calls++ {
		db, err := open(&endsAt{t.Context(), calls}, path, nil, behind)
		require.FileExists(t, path+"-wal", calls)
		if err == nil {
			require.NoError(t, db.Close())
			break
		}
		require.ErrorIs(t, err, context.Canceled)
	}
	refusal(t, path)
}

// endsAt is a context that has ended from a call of Err on.
type endsAt struct {
	context.Context
	calls int // of Err until then
}

func (e *endsAt) Err() error {
	if e.calls--; e.calls <= 0 {
		return context.Canceled
	}
	return nil
}

// TestDoubts: damage that a second look does not find is none, and a table that another
// process has dropped is left out.
func TestDoubts(t *testing.T) {
	path, _ := closedFile(t, 1)
	kill(t, path)
	var looks atomic.Int32
	k := checks{table: func(ctx context.Context, c *conn, name string) error {
		if looks.Add(1) == 1 {
			return fmt.Errorf("%w: so it seems", errDamaged)
		}
		return errors.Join(checkTable(ctx, c, name), checkTable(ctx, c, "no_such_table"))
	}}
	db, err := open(t.Context(), path, nil, k)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return !db.checker.unchecked.Load() }, time.Minute, time.Millisecond)
	require.NoError(t, db.Ping(t.Context()))
	require.NoError(t, db.Close())
	requireFiles(t, filepath.Dir(path), "test.db")
}

// TestCheckTables: what there is time for is checked, and the rest is named.
func TestCheckTables(t *testing.T) {
	path, _ := closedFile(t, 300)
	db, err := Open(t.Context(), path, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	look := func(ctx context.Context, path string, limit time.Duration) (left []string, err error) {
		return inspect(ctx, path, &Options{BusyTimeout: time.Second}, checks{time: limit})
	}
	left, err := look(t.Context(), path, time.Hour)
	require.NoError(t, err)
	require.Empty(t, left)
	left, err = look(t.Context(), path, 0)
	require.NoError(t, err)
	require.Contains(t, left, "sqlite_schema")
	require.Contains(t, left, "trigger_events")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = look(ended, path, time.Hour)
	require.ErrorIs(t, err, context.Canceled)

	other, events := closedFile(t, 300)
	damageEvent(t, other, events[100].ID)
	kill(t, other)
	_, err = look(t.Context(), other, time.Hour)
	require.ErrorIs(t, err, errDamaged)
}
