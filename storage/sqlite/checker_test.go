package sqlite_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/sqlite"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/authmgmtdb"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/filetest"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/vaultdb"
	"github.com/seed-6363c74e/mortise/trigger"
)

// TestDamageInAllStores: once damage to events was found, all calls of all stores and queues
// fail, in the words of Open.
func TestDamageInAllStores(t *testing.T) {
	path := filetest.EmptyFile(t)
	db, err := sqlite.Open(t.Context(), path, nil)
	require.NoError(t, err)
	var events []trigger.Event
	for range 300 {
		events = append(events, create(t, db, newEvent()))
	}
	require.NoError(t, db.Close())
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	const pageSize = 4096
	damaged := 0
	for at := 0; at < len(content); at += pageSize {
		if page := content[at : at+pageSize]; bytes.Contains(page, events[100].ID[:]) {
			copy(page, bytes.Repeat([]byte{0xff}, pageSize))
			damaged++
		}
	}
	require.Positive(t, damaged)
	require.NoError(t, os.WriteFile(path, content, 0o600))

	db = openAt(t, path, nil) // it was closed in peace, so nobody looks
	ctx := t.Context()
	store, jobs := db.Trigger().Store, db.Jobs()
	clients, vaults := db.AuthMgmt().Store.(*authmgmtdb.Store), db.Vault().Store.(*vaultdb.Store)
	datasets := db.AudioSearch().Store
	_, err = store.Event(ctx, "acme", events[100].ID)
	require.Error(t, err)
	require.NotErrorIs(t, err, mortise.ErrNotFound)
	require.Eventually(t, func() bool { return db.Ping(ctx) != nil }, time.Minute, time.Millisecond)
	err = db.Ping(ctx) // not that of a write which has met it
	require.ErrorContains(t, err, "it is damaged")
	line := err.Error()
	for name, call := range map[string]func() error{
		"read":   func() error { _, err := store.Event(ctx, "acme", events[0].ID); return err },
		"absent": func() error { _, err := store.Event(ctx, "acme", uuid.New()); return err },
		"list":   func() error { _, err := store.ListEvents(ctx, "acme", trigger.EventQuery{Limit: 1}); return err },
		"write":  func() error { _, _, err := store.CreateEvent(ctx, newEvent(), time.Time{}); return err },
		"claim": func() error {
			_, err := jobs.Claim(ctx, mortise.Claim{Token: uuid.New(), Kinds: []string{trigger.JobKind}, Limit: 1, TTL: time.Hour})
			return err
		},
		"client":  func() error { _, err := clients.Client(ctx, "acme", "c"); return err },
		"clients": func() error { _, err := clients.ListClients(ctx, "acme", "", 1); return err },
		"vault":   func() error { _, err := vaults.Vault(ctx, "acme", "v"); return err },
		"dataset": func() error { _, err := datasets.Dataset(ctx, "acme", "d"); return err },
		"transaction": func() error {
			return db.InTx(ctx, func(context.Context, *sqlite.Tx) error { return nil })
		},
		"backup": func() error { return db.Backup(ctx, filepath.Join(t.TempDir(), "backup.db")) },
		"ping":   func() error { return db.Ping(ctx) },
	} {
		err := call()
		require.ErrorIs(t, err, sqlite.ErrUnusable, name)
		require.ErrorContains(t, err, line, name)
		require.NotErrorIs(t, err, mortise.ErrNotFound, name)
	}
	require.NoError(t, db.Close())
	_, err = sqlite.Open(ctx, path, nil)
	require.EqualError(t, err, line)
}
