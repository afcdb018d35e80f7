package authmgmtdb

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/filetest"
)

// TestPruneAuthMgmtSteps: however many rows there are, the limit is kept, the oldest go
// first, and those that have not ended stay.
func TestPruneAuthMgmtSteps(t *testing.T) {
	db, tables := openAuthMgmt(t)
	const n = 2*file.PruneStep + 50
	rows := fmt.Sprintf("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) INSERT INTO ", n)
	filetest.Run(t, db.File,
		rows+"authmgmt_audit SELECT NULL, randomblob(16), 'acme', i, 'x', 'x', 'x', NULL, NULL FROM n",
		rows+"authmgmt_tokens SELECT randomblob(32), randomblob(16), 'acme', 'x', NULL, NULL, '', 0, i, NULL FROM n",
		rows+"authmgmt_tokens SELECT randomblob(32), randomblob(16), 'acme', 'x', NULL, NULL, '', 0, NULL, i FROM n",
		rows+"authmgmt_invitations SELECT 'acme', i, 'x', 'x', 'x', i, 'x', '', 0, i, 0, 0, NULL, NULL, 'x', NULL, 0, 0, 0, i FROM n",
		rows+"authmgmt_invitations SELECT 'acme', 'accepted' || i, 'x', 'x', 'x', i, 'x', '', 0, i, 0, 0, NULL, i, 'x', NULL, 0, 0, 0, NULL FROM n",
	)
	numbers := func(query string) (found [2]int) {
		require.NoError(t, db.Find(t.Context(), file.NoOrg, query, nil, func(r *file.Row) error {
			found = [2]int{r.Number(0), r.Number(1)}
			return nil
		}))
		return found
	}
	for query, prune := range map[string]func(context.Context, time.Time, int) (int, bool, error){
		"SELECT min(at), count(at) FROM authmgmt_audit":                   tables.PruneAudit,
		"SELECT min(expires_at), count(expires_at) FROM authmgmt_tokens":  tables.PruneTokens,
		"SELECT min(ended_at), count(ended_at) FROM authmgmt_invitations": tables.PruneInvitations,
	} {
		removed := 0
		for _, c := range []struct{ limit, want int }{{10, 10}, {1000, file.PruneStep}, {1000, file.PruneStep}, {1000, 39}} {
			did, more, err := prune(t.Context(), time.UnixMicro(n), c.limit)
			require.NoError(t, err)
			require.Equal(t, c.want, did, query)
			require.Equal(t, c.want != 39, more, query)
			removed += did
			require.Equal(t, [2]int{removed + 1, n - removed}, numbers(query), query)
		}
		require.Equal(t, [2]int{n, 1}, numbers(query), "%s: the last one did not end before that time", query)
	}
	// What never expires, and what is not granted yet.
	require.Equal(t, [2]int{0, n + 1}, numbers("SELECT 0, count(*) FROM authmgmt_tokens"))
	require.Equal(t, [2]int{0, n + 1}, numbers("SELECT 0, count(*) FROM authmgmt_invitations"))
}
