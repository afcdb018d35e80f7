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

// withJobs opens a database with jobs 1 to n of a kind, of acme but for the last one. They
// became claimable in this order, in 1970.
func withJobs(t *testing.T, n int) *DB {
	t.Helper()
	db, err := Open(t.Context(), filetest.EmptyFile(t), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	require.NoError(t, db.Write(t.Context(), func(tx *file.Tx) error {
		_, err := tx.Exec("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)"+
			" INSERT INTO mortise_jobs (id, kind, organization, claimable_at, deliveries, dead, ready)"+
			" SELECT i, 'search', iif(i < ?1, 'acme', 'other'), i, 0, 0, 0 FROM n", n)
		return err
	}))
	return db
}

// TestManyJobsBecomeClaimable: the job of another organization has its turn in the first
// claim, however many have become claimable before it.
func TestManyJobsBecomeClaimable(t *testing.T) {
	db := withJobs(t, 2500)
	claim := mortise.Claim{Token: uuid.New(), Kinds: []string{"search"}, Limit: 3, TTL: time.Hour}
	leases, err := db.jobs.Claim(t.Context(), claim)
	require.NoError(t, err)
	var ids []string
	for _, l := range leases {
		ids = append(ids, l.Job.ID)
	}
	require.ElementsMatch(t, []string{"1", "2", "2500"}, ids)
}
