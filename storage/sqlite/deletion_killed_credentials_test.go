package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/trigger"
)

// TestKilledWhileDeletingCredentials is TestKilledWhileDeleting for packages authmgmt and
// trigger: the services of another process go on.
func TestKilledWhileDeletingCredentials(t *testing.T) {
	if path := os.Getenv(childFile); path != "" { // the process
		stopWhileDeletingCredentials(t, path, os.Getenv(deletionPlace))
		return
	}
	for _, place := range deletionPlaces {
		t.Run(place, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "test.db")
			db, err := Open(t.Context(), path, nil)
			require.NoError(t, err)
			before := deletionService(t, db.authmgmt)
			mine, others := newCredentials(t, before, "acme"), newCredentials(t, before, "acme2")
			fillTrigger(t, db, "acme", 5)
			fillTrigger(t, db, "acme2", 5)
			rows, kept := triggerRowsOf(t, db, "acme"), triggerRowsOf(t, db, "acme2")
			credentials := len(rowsOf(t, db, "acme"))
			require.NoError(t, db.Close())

			killAt(t, "TestKilledWhileDeletingCredentials", path, place)

			db = openTrigger(t, path)
			s := deletionService(t, db.authmgmt)
			events, err := trigger.New(db.Trigger(), nil)
			require.NoError(t, err)
			marked := place != "in the mark"
			_, err = s.VerifyToken(t.Context(), mine.token)
			require.Equal(t, marked, errors.Is(err, authmgmt.ErrInvalidCredentials), "%v", err)
			page, err := events.ListEvents(t.Context(), "acme", trigger.EventQuery{})
			require.NoError(t, err)
			require.Equal(t, marked, len(page.Items) == 0)
			left := triggerRowsOf(t, db, "acme")
			if place == "after a step" {
				require.Less(t, left["trigger_events"], rows["trigger_events"])
				require.Less(t, len(rowsOf(t, db, "acme")), credentials)
			} else {
				delete(left, "trigger_deleted")
				require.Equal(t, rows, left)
			}
			for more := true; more; {
				more, err = s.DeleteOrganization(t.Context(), "acme", deleter)
				require.NoError(t, err)
			}
			for more := true; more; {
				more, err = events.DeleteOrganization(t.Context(), "acme", "")
				require.NoError(t, err)
			}
			trail, err := s.ListAuditEvents(t.Context(), "acme", authmgmt.AuditQuery{})
			require.NoError(t, err)
			require.Len(t, trail.Items, 1)
			who := mortise.Actor("who was killed")
			if !marked {
				who = deleter.Actor
			}
			require.Equal(t, who, trail.Items[0].Actor)
			require.Equal(t, map[string]int{"trigger_deleted": 1}, triggerRowsOf(t, db, "acme"))
			require.Equal(t, kept, triggerRowsOf(t, db, "acme2"))
			require.Empty(t, numbers(t, db, "SELECT 1 FROM pragma_foreign_key_check"))
			for name, err := range others.works(t, s, "acme2") {
				require.NoError(t, err, name)
			}
		})
	}
}

// stopWhileDeletingCredentials deletes up to a place, tells of it, and waits to be
// killed.
func stopWhileDeletingCredentials(t *testing.T, path, place string) {
	db, err := Open(t.Context(), path, nil)
	require.NoError(t, err)
	stop := func() { stopAt(place) }
	if place == "in the mark" {
		require.NoError(t, db.writer.write(t.Context(), func(tx *tx) error {
			require.NoError(t, tx.apply([]change{{markDeleted, []any{"acme", 1}}, {markTriggerDeleted, []any{"acme", 1}}}))
			stop()
			return errStopped
		}))
	}
	e := authmgmt.AuditEvent{
		ID: uuid.UUID{1}, Organization: "acme", At: someTime,
		Kind: mortise.KindOrganizationDeleted, Actor: "who was killed", Target: "acme",
	}
	_, err = db.AuthMgmt().Store.MarkDeleted(t.Context(), "acme", someTime, e)
	require.NoError(t, err)
	_, err = db.Trigger().Store.MarkDeleted(t.Context(), "acme", someTime)
	require.NoError(t, err)
	switch place {
	case "in a step":
		require.NoError(t, db.writer.write(t.Context(), func(tx *tx) error {
			_, err := tx.removeDeleted("acme", 3)
			require.NoError(t, err)
			r := &triggerRemoval{org: "acme", rows: 8}
			require.NoError(t, r.do(tx))
			require.True(t, r.more)
			stop()
			return errStopped
		}))
	case "after a step":
		_, _, err := db.AuthMgmt().Store.RemoveDeleted(t.Context(), "acme", 4)
		require.NoError(t, err)
		_, _, err = db.Trigger().Store.RemoveDeleted(t.Context(), "acme", 8)
		require.NoError(t, err)
	}
	stop()
}
