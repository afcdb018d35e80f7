package triggerdb

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/filetest"
	"github.com/seed-6363c74e/mortise/trigger"
)

// A mark counts for what comes after it in the same transaction, and what a transaction knows
// of organizations ends with it.
func TestMarkInAGroup(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	db, err := Open(t.Context(), path, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	create := func(tx *file.Tx, org string) error {
		e := trigger.Event{
			ID: uuid.New(), Organization: org, Status: trigger.StatusReceived, Source: "api",
			Instructions: "Document the release.", SubmittedAt: filetest.SomeTime,
		}
		c, err := newCreation(&e, time.Time{})
		require.NoError(t, err)
		return c.do(tx)
	}
	orgs := []string{"", "a", "b", "c", "d", "e", "f", "g", "h", "i"} // more than are remembered
	require.NoError(t, db.Write(t.Context(), func(tx *file.Tx) error {
		for range 2 {
			for _, org := range orgs {
				require.NoError(t, create(tx, org))
			}
		}
		require.NoError(t, markDeleted(tx, "i", filetest.SomeTime))
		require.ErrorIs(t, create(tx, "i"), mortise.ErrDeleted)
		return create(tx, "h")
	}))
	require.NoError(t, db.Write(t.Context(), func(tx *file.Tx) error {
		require.ErrorIs(t, create(tx, "i"), mortise.ErrDeleted)
		return create(tx, "h")
	}))

	// Another process marks while this one writes nothing.
	other, err := Open(t.Context(), path, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, other.Close()) })
	_, err = other.trigger.MarkDeleted(t.Context(), "h", filetest.SomeTime)
	require.NoError(t, err)
	require.NoError(t, db.Write(t.Context(), func(tx *file.Tx) error {
		require.ErrorIs(t, create(tx, "h"), mortise.ErrDeleted)
		return nil
	}))
}
