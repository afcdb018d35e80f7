package file

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

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
)

const pageSize = 4096

// closedFile is a file with some items that was closed in peace.
func closedFile(t *testing.T, items int) (path string, stored []item) {
	t.Helper()
	path = EmptyFile(t)
	db, err := Open(t.Context(), path, defaults)
	require.NoError(t, err)
	for range items {
		i := newItem()
		require.NoError(t, storeItem(t.Context(), db, i))
		stored = append(stored, i)
	}
	require.NoError(t, db.Close())
	requireFiles(t, filepath.Dir(path), "test.db")
	return path, stored
}

// damageItem overwrites the pages in which an item stands, of the table and of its index.
func damageItem(t testing.TB, path, id string) {
	t.Helper()
	file, err := os.ReadFile(path)
	require.NoError(t, err)
	damaged := 0
	for at := pageSize; at < len(file); at += pageSize {
		if page := file[at : at+pageSize]; bytes.Contains(page, []byte(id)) {
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
	_, err := Open(t.Context(), path, defaults)
	require.ErrorIs(t, err, ErrUnusable)
	require.ErrorIs(t, err, errDamaged)
	return err
}

// TestDamageAfterACrash: damage is found when the file is opened, or behind if there is
// no time. Then all calls fail, in the words of Open, and so does the next Open.
func TestDamageAfterACrash(t *testing.T) {
	path, items := closedFile(t, 300)
	damageItem(t, path, items[100].id)
	kill(t, path)
	line := refusal(t, path).Error()

	db, err := openWith(t.Context(), path, defaults, behind)
	require.NoError(t, err)
	<-db.checker.stopped
	ctx := t.Context()
	before, err := os.ReadFile(path)
	require.NoError(t, err)
	for name, call := range map[string]func() error{
		"find":   func() error { _, err := findItem(ctx, db, items[0].id); return err },
		"absent": func() error { _, err := findItem(ctx, db, "none"); return err },
		"list":   func() error { _, err := listItems(ctx, db, "acme", 1); return err },
		"read": func() error {
			return db.Read(ctx, "acme", func(c *Conn) error { return c.Query(ctx, "SELECT 1", nil, func(*Row) error { return nil }) })
		},
		"read long": func() error {
			return db.ReadLong(ctx, NoOrg, func(c *Conn) error { return c.Query(ctx, "SELECT 1", nil, func(*Row) error { return nil }) })
		},
		"write": func() error { return storeItem(ctx, db, newItem()) },
		"bring": func() error { return db.Bring(ctx, "acme", nothing) },
		"prune": func() error {
			_, _, err := db.Prune(ctx, "DELETE FROM mortise_jobs WHERE seq IN (SELECT seq FROM mortise_jobs WHERE claimable_at < ? LIMIT 0 + ?)", time.Now(), 1)
			return err
		},
		"transaction": func() error { return db.InTx(ctx, func(context.Context, *HostTx) error { return nil }) },
		"backup":      func() error { return db.Backup(ctx, filepath.Join(t.TempDir(), "backup.db")) },
		"ping":        func() error { return db.Ping(ctx) },
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

	skipping, err := Open(t.Context(), path, settingsOf(Options{SkipCheck: true}))
	require.NoError(t, err)
	_, err = listItems(ctx, skipping, "acme", 300)
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
	path, items := closedFile(t, 300)
	good, err := os.ReadFile(path)
	require.NoError(t, err)
	damageItem(t, path, items[100].id)
	db, err := Open(t.Context(), path, defaults)
	require.NoError(t, err)
	require.NoError(t, db.Ping(t.Context()))
	_, err = findItem(t.Context(), db, items[100].id)
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
		_, err := Open(t.Context(), path, defaults)
		require.ErrorIs(t, err, ErrUnusable, name)
		require.True(t, isDamage(err), name)
		requireFiles(t, filepath.Dir(path), "test.db")
	}
}

// TestWriteMeetsDamage: damage that a write meets is looked for as well.
func TestWriteMeetsDamage(t *testing.T) {
	path, items := closedFile(t, 300)
	damageItem(t, path, items[100].id)
	db, err := Open(t.Context(), path, defaults)
	require.NoError(t, err)
	err = db.Write(t.Context(), func(tx *Tx) error {
		_, err := tx.Exists("SELECT 1 FROM mortise_jobs NOT INDEXED WHERE id = ? AND trace IS NOT NULL", items[100].id)
		return err
	})
	require.Error(t, err)
	<-db.checker.stopped
	require.ErrorIs(t, db.Ping(t.Context()), errDamaged)
	require.NoError(t, db.Close())
}

// TestCheckBehind: what a crash has left is whole once all tables were checked, and the
// next Open looks no more.
func TestCheckBehind(t *testing.T) {
	path, items := closedFile(t, 300)
	kill(t, path)
	var names []string
	k := checks{table: func(ctx context.Context, c *Conn, name string) error {
		names = append(names, name)
		return checkTable(ctx, c, name)
	}}
	db, err := openWith(t.Context(), path, defaults, k)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return !db.checker.unchecked.Load() }, time.Minute, time.Millisecond)
	_, err = findItem(t.Context(), db, items[0].id)
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
	path, items := closedFile(t, 300)
	damageItem(t, path, items[100].id)
	kill(t, path)
	checking := make(chan struct{})
	k := checks{table: func(ctx context.Context, c *Conn, _ string) error {
		close(checking)
		const endless = "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
		return c.Query(ctx, endless, nil, func(*Row) error { return nil })
	}}
	db, err := openWith(t.Context(), path, defaults, k)
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
	path, items := closedFile(t, 300)
	damageItem(t, path, items[100].id)
	kill(t, path)
	for calls := 1; ; calls++ {
		db, err := openWith(&endsAt{t.Context(), calls}, path, defaults, behind)
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
	k := checks{table: func(ctx context.Context, c *Conn, name string) error {
		if looks.Add(1) == 1 {
			return fmt.Errorf("%w: so it seems", errDamaged)
		}
		return errors.Join(checkTable(ctx, c, name), checkTable(ctx, c, "no_such_table"))
	}}
	db, err := openWith(t.Context(), path, defaults, k)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return !db.checker.unchecked.Load() }, time.Minute, time.Millisecond)
	require.NoError(t, db.Ping(t.Context()))
	require.NoError(t, db.Close())
	requireFiles(t, filepath.Dir(path), "test.db")
}

// TestCheckTables: what there is time for is checked, and the rest is named.
func TestCheckTables(t *testing.T) {
	path, _ := closedFile(t, 300)
	db, err := Open(t.Context(), path, defaults)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	look := func(ctx context.Context, path string, limit time.Duration) (left []string, err error) {
		return inspect(ctx, path, settingsOf(Options{BusyTimeout: time.Second}), checks{time: limit})
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

	other, items := closedFile(t, 300)
	damageItem(t, other, items[100].id)
	kill(t, other)
	_, err = look(t.Context(), other, time.Hour)
	require.ErrorIs(t, err, errDamaged)
}
