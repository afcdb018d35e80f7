package sqlite

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/vault"
)

// deletionPlace is the place at which the process of a test like TestKilledWhileDeleting
// stops.
const deletionPlace = "MORTISE_SQLITE_DELETION_PLACE"

var deletionPlaces = []string{"in the mark", "after the mark", "in a step", "after a step"}

var errStopped = errors.New("it was not killed")

// killAt runs a test in a process of its own, on a file, and kills it at a place.
func killAt(t *testing.T, test, path, place string) {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+test+"$", "-test.count=1")
	child.Env = append(os.Environ(), childFile+"="+path, deletionPlace+"="+place)
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
}

// stopAt is called in that process. It waits to be killed.
func stopAt(place string) {
	fmt.Println(place)
	time.Sleep(time.Minute)
}

// TestKilledWhileDeleting: a process is killed between the mark and the steps, in the
// middle of a step, and after one. Whoever opens the file next sees the mark, and goes
// on.
func TestKilledWhileDeleting(t *testing.T) {
	if path := os.Getenv(childFile); path != "" { // the process
		stopWhileDeleting(t, path, os.Getenv(deletionPlace))
		return
	}
	for _, place := range deletionPlaces {
		t.Run(place, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "test.db")
			db, err := Open(t.Context(), path, nil)
			require.NoError(t, err)
			for _, id := range []string{"v1", "v2"} {
				fillVault(t, db.vault, "acme", id)
				fillVault(t, db.vault, "stays", id)
			}
			furnishOrg(t, db, "stays", 100, 40)
			furnishOrg(t, db, "acme", 200, 40)
			full, heard := counts(content(t, db)), db.audioRows(t)
			require.NoError(t, db.Close())

			killAt(t, "TestKilledWhileDeleting", path, place)

			db, err = Open(t.Context(), path, nil)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, db.Close()) })
			tokens, audio := db.vault, db.audiosearch
			_, _, vaultErr := tokens.RemoveDeleted(t.Context(), "acme", 0)
			_, _, audioErr := audio.RemoveDeleted(t.Context(), "acme", 0)
			switch now := counts(content(t, db)); place {
			case "in the mark":
				require.ErrorIs(t, vaultErr, mortise.ErrNotFound, "nothing of it is stored")
				require.Error(t, audioErr)
				require.Equal(t, full, now)
				require.Equal(t, heard, db.audioRows(t))
				markBoth(t, db)
			case "after a step":
				require.Less(t, now["tokens"], full["tokens"])
			default:
				require.NoError(t, errors.Join(vaultErr, audioErr))
				require.Equal(t, full["tokens"], now["tokens"], "a step is removed or is not")
				require.Equal(t, full["fingerprints"], now["fingerprints"])
			}
			_, err = tokens.Vault(t.Context(), "acme", "v1")
			require.ErrorIs(t, err, mortise.ErrNotFound)
			for more := true; more; {
				_, more, err = tokens.RemoveDeleted(t.Context(), "acme", 1000)
				require.NoError(t, err)
			}
			for more := true; more; {
				_, more, err = audio.RemoveDeleted(t.Context(), "acme", 1000)
				require.NoError(t, err)
			}
			left := counts(content(t, db))
			require.Equal(t, map[string]int{"vaults": 2, "scopes": 6, "tokens": 60, "fingerprints": 116, "audit": 24, "deleted_orgs": 1}, left)
			require.Empty(t, numbers(t, db, "SELECT 1 FROM pragma_foreign_key_check"))
			checkAudioTables(t, db)
			_, _, err = audio.Videos(t.Context(), "stays", "d", []string{"v1"})
			require.NoError(t, err)
		})
	}
}

// markBoth marks an organization in both domains.
func markBoth(t *testing.T, db *DB) {
	t.Helper()
	_, err := db.Vault().Store.MarkDeleted(t.Context(), "acme", someTime, vault.AuditEvent{})
	require.NoError(t, err)
	_, err = db.AudioSearch().Store.MarkDeleted(t.Context(), "acme", someTime)
	require.NoError(t, err)
}

// stopWhileDeleting deletes up to a place, tells of it, and waits to be killed there.
func stopWhileDeleting(t *testing.T, path, place string) {
	db, err := Open(t.Context(), path, nil)
	require.NoError(t, err)
	stop := func() { stopAt(place) }
	marked := func(tx *tx) error {
		return tx.apply([]change{{markOrg, []any{"acme", 1, nil}}, {insertDeletedOrg, []any{"acme", 1}}})
	}
	switch place {
	case "in the mark":
		require.NoError(t, db.writer.write(t.Context(), func(tx *tx) error {
			require.NoError(t, marked(tx))
			stop()
			return errStopped
		}))
	case "after the mark":
		markBoth(t, db)
	case "in a step":
		markBoth(t, db)
		require.NoError(t, db.writer.write(t.Context(), func(tx *tx) error {
			tokens := vaultRemoval{tx: tx, limit: 40}
			done, err := tokens.organization("acme")
			require.NoError(t, err)
			require.False(t, done)
			audio := &removal{tx: tx, org: "acme", left: removable{40, freedAtOnce}}
			require.NoError(t, audio.step())
			require.True(t, audio.more)
			stop()
			return errStopped
		}))
	case "after a step":
		markBoth(t, db)
		_, _, err := db.Vault().Store.RemoveDeleted(t.Context(), "acme", 40)
		require.NoError(t, err)
		_, _, err = db.AudioSearch().Store.RemoveDeleted(t.Context(), "acme", 40)
		require.NoError(t, err)
	}
	stop()
}
