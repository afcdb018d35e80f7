package sqlite

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/trigger"
)

// manyEvents opens a database with n events of acme, of which only the newest has the source "rare".
func manyEvents(t *testing.T, n int) *DB {
	t.Helper()
	db, err := Open(t.Context(), filepath.Join(t.TempDir(), "test.db"), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	require.NoError(t, db.writer.write(t.Context(), func(tx *tx) error {
		_, err := tx.exec("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)"+
			" INSERT INTO trigger_events (id, organization, submitted_at, source, instructions, status, attempts, last_error, generation)"+
			" SELECT randomblob(16), 'acme', i, iif(i = ?, 'rare', 'api'), 'x', 2, 0, '', 0 FROM n", n, n)
		return err
	}))
	return db
}

// TestListEndsWithContext: also when the first event is found at once and the next one never.
func TestListEndsWithContext(t *testing.T) {
	db := manyEvents(t, 100_000)
	page, err := db.Trigger().List(t.Context(), "acme", trigger.Query{Source: "rare", Limit: 10})
	require.NoError(t, err)
	require.Len(t, page.Events, 1)
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err = db.Trigger().List(ctx, "acme", trigger.Query{Source: "rare", Limit: 10})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	page, err = db.Trigger().List(t.Context(), "acme", trigger.Query{Limit: 10}) // the connection was given up, not the pool
	require.NoError(t, err)
	require.Len(t, page.Events, 10)
}

// TestListsHoldUpNobody: however many lists run, what an index answers is answered.
func TestListsHoldUpNobody(t *testing.T) {
	db, err := Open(t.Context(), filepath.Join(t.TempDir(), "test.db"), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	var held []*conn
	for range cap(db.lister.conns) {
		held = append(held, <-db.lister.conns)
	}
	_, err = db.Trigger().KeyByDigest(t.Context(), [32]byte{})
	require.ErrorIs(t, err, trigger.ErrNotFound)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	_, err = db.Trigger().List(ctx, "acme", trigger.Query{Limit: 1})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	for _, c := range held {
		db.lister.conns <- c
	}
}
