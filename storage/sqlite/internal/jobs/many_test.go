package jobs

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/filetest"
)

// TestTurnBehindManyJobs: the one job of an organization has its turn in the next claim,
// although 10,000 of another one became claimable before it, and no claim has looked at
// them yet.
func TestTurnBehindManyJobs(t *testing.T) {
	db, err := Open(t.Context(), filetest.EmptyFile(t), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	require.NoError(t, db.Write(t.Context(), func(tx *file.Tx) error {
		const many = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)" +
			" INSERT INTO mortise_jobs (id, kind, organization, claimable_at, ready, deliveries, dead)" +
			" SELECT 'job-' || i, 'docs', 'acme', i, 0, 0, 0 FROM n"
		_, err := tx.Exec(many)
		return err
	}))
	one := mortise.Job{Kind: "docs", Organization: "other", ID: "one"}
	require.NoError(t, db.jobs.Add(t.Context(), one))
	c := mortise.Claim{Token: uuid.New(), Kinds: []string{"docs"}, Limit: 3, TTL: time.Hour}
	leases, err := db.jobs.Claim(t.Context(), c)
	require.NoError(t, err)
	var ids []string
	for _, l := range leases {
		ids = append(ids, l.Job.ID)
	}
	require.ElementsMatch(t, []string{"job-1", "job-2", "one"}, ids)
}
