package sqlite

import (
	"net/url"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
)

// TestMigrateAuthMgmtStats: what is there already is counted.
func TestMigrateAuthMgmtStats(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	require.NoError(t, create(path))
	conn := connectTo(t, path, url.Values{"_journal": {"WAL"}})
	require.NoError(t, migrate(t.Context(), conn, released(t, 1, "authmgmt")))
	for _, statement := range []string{
		"authmgmt_clients VALUES ('acme', 'build', 'x', '', 1, 1, NULL, 1)",
		"authmgmt_tokens VALUES (randomblob(32), randomblob(16), 'acme', 'x', NULL, NULL, '', 1, NULL, NULL)",
		"authmgmt_tokens VALUES (randomblob(32), randomblob(16), 'acme', 'x', NULL, NULL, '', 1, 100, NULL)",
		"authmgmt_tokens VALUES (randomblob(32), randomblob(16), 'acme', 'x', NULL, NULL, '', 1, 99, NULL)",
		"authmgmt_tokens VALUES (randomblob(32), randomblob(16), 'acme', 'x', NULL, NULL, '', 1, NULL, 5)",
		"authmgmt_invitations VALUES ('acme', 'pending', 'x', 'x', 'x', 'x', '', 0, 1, 1, 100, NULL, NULL, '', NULL, 0, 0, 0, 100)",
		"authmgmt_invitations VALUES ('acme', 'waiting', 'x', 'x', 'y', 'x', '', 0, 1, 1, 100, NULL, 7, 'x', NULL, 8, 1, 0, NULL)",
	} {
		_, err := conn.exec(t.Context(), "INSERT INTO "+statement)
		require.NoError(t, err, statement)
	}
	require.NoError(t, conn.close())

	db, err := Open(t.Context(), path, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	stats, err := db.AuthMgmt().Store.Stats(t.Context(), "acme", time.UnixMicro(99), 10)
	require.NoError(t, err)
	one, two := mortise.Count{N: 1}, mortise.Count{N: 2}
	at := time.UnixMicro(7).UTC()
	require.Equal(t, authmgmt.Stats{Clients: one, Tokens: two, Pending: one, Waiting: one, OldestWaiting: at}, stats)
	open, err := db.AuthMgmt().Store.StatsAll(t.Context(), 10)
	require.NoError(t, err)
	require.Equal(t, authmgmt.AllStats{Waiting: one, OldestWaiting: at, NextDue: time.UnixMicro(8).UTC()}, open)
}
