package sqlite

import (
	"net/url"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
)

// TestMigrateSound: a run that is running while a newer program opens the file goes on,
// and so does the program before, which knows nothing of the sound and leaves it as it
// is. It cannot open the file anew.
func TestMigrateSound(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	require.NoError(t, create(path))
	before := connectTo(t, path, url.Values{"_journal": {"WAL"}})
	require.NoError(t, migrate(t.Context(), before, released(t, 8)))
	require.Contains(t, schema(t, before), "audiosearch 8")
	at := time.Now().UTC().Truncate(time.Microsecond)
	insert := func(id int) {
		_, err := before.exec(t.Context(), `INSERT INTO audiosearch_runs
			(id, organization, created_at, actor, query, dataset, state, termination, message, done, total, attempts, updated_at, started_at)
			VALUES (?, 'acme', ?, 'ada', '{"Dataset":"d","Limit":40}', 'd', 'RUNNING', '', '', 3, 7, 1, ?, ?)`,
			id, at.UnixMicro(), at.UnixMicro(), at.UnixMicro())
		require.NoError(t, err)
	}
	insert(1)

	db, err := Open(t.Context(), path, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	insert(2)
	sound := audiosearch.SoundProgress{Done: 1500 * time.Millisecond, Total: time.Hour, Speed: 12.5}
	for id := range int64(2) {
		r, err := db.AudioSearch().Store.Run(t.Context(), "acme", id+1)
		require.NoError(t, err)
		require.Equal(t, []any{audiosearch.StateRunning, 3, 7}, []any{r.State, r.Done, r.Total})
		require.Zero(t, r.Sound)
		require.NoError(t, db.AudioSearch().Store.UpdateRun(t.Context(), "acme", r.ID, func(r *audiosearch.Run) error {
			r.Sound = sound
			return nil
		}))
		_, err = before.exec(t.Context(), "UPDATE audiosearch_runs SET (done, total) = (4, 7) WHERE id = ?", r.ID)
		require.NoError(t, err)
		r, err = db.AudioSearch().Store.Run(t.Context(), "acme", r.ID)
		require.NoError(t, err)
		require.Equal(t, 4, r.Done)
		require.Equal(t, sound, r.Sound)
	}
	require.ErrorIs(t, migrate(t.Context(), before, released(t, 8)), ErrUnusable)
}
